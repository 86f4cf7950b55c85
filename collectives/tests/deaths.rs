//! Members that die, and members that do not call: everybody who waits for them hears of it, and
//! other teams go on.

#[allow(dead_code, reason = "not every test file uses all of it")]
#[path = "support/sheets.rs"]
mod sheets;
mod support;

use lapis_collectives::{Call, CollectiveError, Combine, Edge, Group, Operator, Part, Parts, Request, Team};
use lapis_core::{Context, Counter, Error, LapiCode};
use lapis_testing::{Finished, Job};
use sheets::{Sheet, Sheets};
use std::ptr::NonNull;
use std::sync::Mutex;
use std::time::Duration;
use support::{SHM, job, sleep_on};

type Ended = Result<(), CollectiveError>;

/// A call that all members make.
type Called = fn(&Team) -> Ended;

/// Calls of all kinds, and of all ways to be told of their end.
const CALLS: &[(&str, Called)] = &[
    ("barrier", Team::barrier),
    ("broadcast", |team| team.broadcast(&mut [0u64], 1)),
    ("long broadcast", |team| team.broadcast(&mut vec![0u64; 100_000], 0)),
    ("multicast", |team| team.multicast(&mut [0u64], 1, &Group::all(team.len() as u32))),
    ("reduce", |team| team.reduce(&[1u64], &mut [0], Operator::Sum, 0)),
    ("allreduce", |team| team.all_reduce(&mut [1u64], Operator::Sum)),
    ("long allreduce", |team| team.all_reduce(&mut vec![1u64; 300_000], Operator::Sum)),
    ("ordered", |team| team.all_reduce(&mut [1u64; 40], Combine::ordered(|a: u64, _| a))),
    ("reduce_scatter", |team| {
        let n = team.len();
        team.reduce_scatter_block(&vec![1u64; 3 * n], &mut [0; 3], Operator::Sum)
    }),
    ("allgather", |team| team.all_gather(&[1u64], &mut vec![0; team.len()])),
    ("long allgather", |team| team.all_gather(&[1u64; 3000], &mut vec![0; 3000 * team.len()])),
    ("allgatherv", all_gather_v),
    ("alltoall", |team| team.all_to_all(&vec![1u64; team.len()], &mut vec![0; team.len()], 1)),
    ("long alltoall", |team| {
        let len = 3000 * team.len();
        team.all_to_all(&vec![1u64; len], &mut vec![0; len], 3000)
    }),
    ("alltoallv", all_to_all_v),
    ("gather", |team| team.gather(&[1u64], &mut vec![0; team.len()], 0)),
    ("scatter", |team| team.scatter(&vec![1u64; team.len()], &mut [0], 1)),
    ("scan", |team| team.scan(&mut [1u64], Operator::Sum)),
    ("exscan", |team| team.exscan(&mut [1u64; 700], Operator::Sum)),
    ("neighbours", neighbours),
    ("started", |team| {
        let requests: Vec<_> = (0..3).map(|_| start(team, 30_000)).collect();
        requests.into_iter().try_for_each(|request| request.wait().map(|_| ()))
    }),
    ("tested", |team| {
        let mut requests: Vec<_> = [3, 30_000].map(|count| start(team, count)).into();
        while let Some(request) = requests.last_mut() {
            if request.test()? {
                requests.pop();
            }
        }
        Ok(())
    }),
    ("then", then),
    ("counted", counted),
    ("awaited", |team| sleep_on(start(team, 30_000)).map(|_| ())),
    ("kept", kept),
    ("layouts", layouts),
    ("cast in layouts", cast_in_layouts),
    ("gathered in layouts", gathered_in_layouts),
];

fn all_gather_v(team: &Team) -> Ended {
    let counts: Vec<usize> = (0..team.len()).map(|rank| rank % 3).collect();
    let starts: Vec<usize> = (0..team.len()).map(|rank| 3 * rank).collect();
    let mine = vec![1u64; counts[team.rank()]];
    team.all_gather_v(&mine, &mut vec![0; 3 * team.len()], Parts { counts: &counts, starts: &starts })
}

fn all_to_all_v(team: &Team) -> Ended {
    let (me, n) = (team.rank(), team.len());
    let counts: Vec<usize> = (0..n).map(|rank| (rank + me) % 4).collect();
    let starts: Vec<usize> = (0..n).map(|rank| 4 * rank).collect();
    let parts = || Parts { counts: &counts, starts: &starts };
    team.all_to_all_v(&vec![1u64; 4 * n], parts(), &mut vec![0; 4 * n], parts())
}

fn neighbours(team: &Team) -> Ended {
    let (me, n) = (team.rank(), team.len());
    let edge = |member: usize| Edge { member: member % n, start: 0, len: 9 };
    team.neighbours(&[1u64; 9], &[edge(me + 1)], &mut [0; 9], &[edge(me + n - 1)])
}

fn start(team: &Team, count: usize) -> Request<(Vec<u64>, Vec<u64>)> {
    let sum = Combine::from(Operator::Sum);
    team.start(&Call::AllReduce { count }, sum, vec![1; count], vec![0; count]).unwrap()
}

fn then(team: &Team) -> Ended {
    let (tell, told) = std::sync::mpsc::channel();
    start(team, 30_000).then(move |_, ended| tell.send(ended.map(|_| ())).unwrap());
    let mut ended = None;
    let look = || {
        ended = ended.take().or_else(|| told.try_recv().ok());
        ended.is_some()
    };
    team.context().wait_quietly(look, None).unwrap();
    ended.unwrap()
}

/// What was raised because nobody waited for a collective, and the member that it concerns.
static RAISED: Mutex<Option<(LapiCode, u32)>> = Mutex::new(None);

fn raised(error: &Error, peer: u32) -> bool {
    if let Error::Invalid { code, .. } = error {
        *RAISED.lock().unwrap() = Some((*code, peer));
    }
    // Waits fail as without a handler.
    false
}

/// Waits until a counter counts an operation's end, or its failure is raised.
fn counted(team: &Team) -> Ended {
    let counter = Counter::default();
    // SAFETY: the counter is waited for; what has failed does not count.
    unsafe { start(team, 30_000).count_in(NonNull::from(&counter)) };
    let mut raised = None;
    let look = || {
        raised = RAISED.lock().unwrap().take();
        raised.is_some() || counter.value() > 0
    };
    team.context().wait_quietly(look, None).unwrap();
    match raised {
        None => Ok(()),
        Some((code, task)) => {
            assert_eq!(code, LapiCode::OWN_TEAM_OVER);
            Err(CollectiveError::Gone { task })
        }
    }
}

fn kept(team: &Team) -> Ended {
    let sum = Combine::from(Operator::Sum);
    let mut kept = team.persistent(&Call::AllReduce { count: 50 }, sum, vec![1u64; 50], vec![0; 50])?;
    for _ in 0..3 {
        kept.start()?;
        kept.wait()?;
    }
    Ok(())
}

/// Two exchanges of layouts under way at once, one of them set up before.
fn layouts(team: &Team) -> Ended {
    let [mut first, mut second] = [1, 2].map(|round| Sheets::new(team, round));
    first.fill(0);
    second.fill(0);
    let mut kept = first.persistent();
    kept.start()?;
    let begun = second.start();
    kept.wait()?;
    first.check(0);
    begun.wait()?;
    second.check(0);
    Ok(())
}

fn cast_in_layouts(team: &Team) -> Ended {
    let mut sheet = Sheet::new(70_000, team.rank());
    let laid = team.broadcast_w(Part { layout: sheet.layout(), len: 70_000 }, 1)?;
    // SAFETY: the sheet is kept until the request is over.
    unsafe { laid.start() }?.wait()
}

fn gathered_in_layouts(team: &Team) -> Ended {
    let mut given = Sheet::new(100, team.rank());
    let mut got: Vec<Sheet> = (0..team.len()).map(|rank| Sheet::new(100, rank)).collect();
    let mut give = || Part { layout: given.layout(), len: 100 };
    let mut get = || got.iter_mut().map(|sheet| Part { layout: sheet.layout(), len: 100 }).collect();
    // SAFETY: the sheets live, and nobody else uses them.
    unsafe {
        team.all_gather_w(give(), get())?.call()?;
        team.gather_w(give(), get(), 2)?.call()
    }
}

/// How the member of a job dies that is to die.
#[derive(Clone, Copy)]
enum Death {
    /// Before its first call, while the others look for memory.
    First,
    /// After some calls.
    Between,
    /// So many microseconds later.
    After(u64),
    /// While it folds what all have put, as the last of all who has come.
    Folding,
}

impl Death {
    fn text(self) -> String {
        match self {
            Self::First => "first".to_owned(),
            Self::Between => "between".to_owned(),
            Self::After(delay) => delay.to_string(),
            Self::Folding => "folding".to_owned(),
        }
    }

    fn of(text: &str) -> Self {
        match text {
            "first" => Self::First,
            "between" => Self::Between,
            "folding" => Self::Folding,
            delay => Self::After(delay.parse().unwrap()),
        }
    }
}

/// Runs a job in which a member dies in the calls of a name, or in each of them; the others end by
/// themselves.
fn run(tasks: u32, victim: u32, name: &str, death: Death, shm: &str) {
    let job = Job::new(tasks)
        .option("--keep-going")
        .var("TEAM_TEST_CALL", name)
        .var("TEAM_TEST_VICTIM", &victim.to_string())
        .var("TEAM_TEST_DEATH", &death.text())
        .var("LAPI_USE_SHM", shm);
    let done = job.run(std::env::current_exe().unwrap(), &["child", "--exact", "--nocapture"]);
    let what = format!("{name} among {tasks}, {victim} dies {}", death.text());
    (0..tasks).filter(|task| *task != victim).for_each(|task| heard(&done, task, tasks, victim, &what));
}

fn heard(done: &Finished, task: u32, tasks: u32, victim: u32, what: &str) {
    let said = format!("task {task}: the team is over: task {victim}, a member, can't be reached any more");
    assert!(done.out.contains(&said), "{what}: task {task} heard of nothing: {done:?}");
    let left = format!("task {task}: {} left", tasks - 1);
    assert!(done.out.contains(&left), "{what}: task {task} did not go on: {done:?}");
}

/// What the processes do that the tests start.
#[test]
fn child() {
    let variable = |name: &str| std::env::var(name).ok();
    let Some(name) = variable("TEAM_TEST_CALL") else { return };
    let victim: u32 = variable("TEAM_TEST_VICTIM").unwrap().parse().unwrap();
    let death = Death::of(&variable("TEAM_TEST_DEATH").unwrap());
    let context = Context::builder()
        .transport(lapis_loopback::table())
        .transport(lapis_shm::table())
        .transport(lapis_udp::table())
        .interrupts(name == "awaited")
        .on_error(|_, error, peer| raised(error, peer))
        .init()
        .unwrap();
    let team = Team::world(&context).unwrap();
    let survivors: Vec<u32> = (0..context.tasks()).filter(|task| *task != victim).collect();
    let dies = context.task() == victim;
    let rest = (!dies).then(|| Team::of(&context, Group::from_list(&survivors).unwrap()).unwrap());
    let ended = calls_until_death(&team, &name, death, dies);
    let Some(rest) = rest else { std::process::abort() };
    println!("task {}: {ended}", context.task());
    context.acknowledge_failure(victim);
    // The others go on by themselves.
    rest.barrier().unwrap();
    let mut sum = [1];
    rest.all_reduce(&mut sum, Operator::Sum).unwrap();
    println!("task {}: {} left", context.task(), sum[0]);
    let _ = context.terminate();
}

/// Calls until a call fails, or this process `dies`.
fn calls_until_death(team: &Team, name: &str, death: Death, dies: bool) -> CollectiveError {
    let named = || CALLS.iter().filter(|(known, _)| [*known, "all"].contains(&name));
    assert!(named().next().is_some(), "{name}");
    let early = match death {
        Death::First => 0,
        _ if name == "all" => 1,
        _ => 5,
    };
    for _ in 0..early {
        // Who waits for others only may be several calls behind the one that dies.
        if let Some(e) = named().find_map(|(_, call)| call(team).err()) {
            return e;
        }
    }
    match death {
        Death::First | Death::Between if dies => std::process::abort(),
        Death::After(delay) if dies => {
            std::thread::spawn(move || {
                std::thread::sleep(Duration::from_micros(delay));
                std::process::abort()
            });
        }
        Death::Folding => {
            let fold = Combine::ordered(move |a: u64, b| if dies { std::process::abort() } else { a + b });
            if dies {
                // The others come first, and doze.
                std::thread::sleep(Duration::from_millis(50));
            }
            if let Err(e) = team.all_reduce(&mut [1u64; 20], fold) {
                return e;
            }
        }
        _ => {}
    }
    named().cycle().find_map(|(_, call)| call(team).err()).unwrap()
}

/// Numbers that nobody chose, the same in each run.
fn random(seed: u64) -> u64 {
    let mixed = (seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 33
}

#[test]
fn the_death_of_a_member_ends_calls_of_the_others() {
    for (name, _) in CALLS {
        run(3, 1, name, Death::Between, "yes");
    }
    for seed in 0..12 {
        run(3, 1, "all", Death::After(random(seed) % 5000), "yes");
    }
    run(3, 1, "layouts", Death::Between, "no");
}

/// Eight and more meet in the first one's memory, which outlives it.
#[test]
fn a_death_at_any_moment_ends_calls_of_eight() {
    for (seed, (name, _)) in CALLS.iter().enumerate() {
        let seed = seed as u64;
        run(8, (seed % 8) as u32, name, Death::After(random(seed) % 3000), "yes");
    }
}

#[test]
fn a_death_at_any_moment_ends_calls_of_sixteen() {
    for seed in 100..116 {
        let victim = (seed % 16) as u32;
        run(16, victim, "all", Death::After(random(seed) % 100_000), "yes");
    }
}

#[test]
fn who_dies_before_its_first_call_is_missed() {
    for (at, name) in
        ["barrier", "allreduce", "broadcast", "tested", "then", "awaited", "layouts"].iter().enumerate()
    {
        let at = at as u32;
        run(8, at, name, Death::First, "yes");
        run(16, 15 - at, name, Death::First, "yes");
    }
}

#[test]
fn who_dies_as_the_last_one_at_a_meeting_leaves_nobody_waiting() {
    for (tasks, victim) in [(8, 0), (8, 5), (16, 15)] {
        run(tasks, victim, "allreduce", Death::Folding, "yes");
    }
}

/// A task calls late, after the others have given up; who the others heard of is told.
fn gives_up(tasks: u32, late: u32, call: Called) {
    job(tasks, SHM, move |context| {
        let team = Team::world(context).unwrap();
        let other = Team::world(context).unwrap();
        other.barrier().unwrap();
        call(&team).unwrap();
        if context.task() == late {
            // It takes part in other things, which the others come to once they have given up.
            other.barrier().unwrap();
            let ended = call(&team);
            // What the others have left in memory may be found before the news that they gave up.
            let told = match &ended {
                Ok(()) => true,
                Err(CollectiveError::Gone { task }) => *task == late,
                Err(_) => false,
            };
            assert!(told, "{ended:?}");
        } else {
            context.set_timeout(Duration::from_secs(1));
            let ended = call(&team);
            let (Err(CollectiveError::Silent { task, .. }) | Err(CollectiveError::Gone { task })) = ended
            else {
                panic!("{ended:?}")
            };
            assert_eq!(task, late);
            context.set_timeout(Duration::from_secs(900));
            other.barrier().unwrap();
        }
    });
}

#[test]
fn who_does_not_call_in_time_is_named() {
    gives_up(3, 1, |team| team.all_reduce(&mut [1u8], Operator::Max));
}

#[test]
fn who_does_not_come_to_a_meeting_in_time_is_named() {
    gives_up(8, 0, Team::barrier);
    gives_up(8, 6, |team| team.all_to_all(&[1u64; 8], &mut [0; 8], 1));
    gives_up(16, 9, |team| team.all_reduce(&mut [1u8], Operator::Max));
    gives_up(16, 15, |team| start(team, 9).wait().map(|_| ()));
}
