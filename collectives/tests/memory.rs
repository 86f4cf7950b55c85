//! Teams on one host: calls go through memory, waits sleep and wake, and the loss of a member ends
//! calls.

#[allow(dead_code, reason = "not every test file uses all of it")]
#[path = "support/sheets.rs"]
mod sheets;
mod support;

use lapis_collectives::{Call, CollectiveError, Combine, Group, Operator, Request, Team};
use lapis_core::{Context, Counter, Error, LapiCode};
use lapis_testing::Job;
use sheets::Sheets;
use std::ptr::NonNull;
use std::sync::Mutex;
use std::time::Duration;
use support::{SHM, job, sleep_on};

fn sent(context: &Context) -> u64 {
    context.statistics().total().packets_sent
}

/// Small calls of all kinds.
fn small_calls(team: &Team, round: u64) {
    let (n, me) = (team.len(), team.rank() as u64);
    let ranks: Vec<u64> = (0..n as u64).collect();
    team.barrier().unwrap();
    let mut sum = [me + round, 1];
    team.all_reduce(&mut sum, Operator::Sum).unwrap();
    assert_eq!(sum, [ranks.iter().sum::<u64>() + n as u64 * round, n as u64]);
    let root = round as usize % n;
    let mut word = [me * 100 + round];
    team.broadcast(&mut word, root).unwrap();
    assert_eq!(word, [root as u64 * 100 + round]);
    let mut all = vec![0; n];
    team.all_gather(&[me], &mut all).unwrap();
    assert_eq!(all, ranks);
    let mut parts = vec![0; n];
    let given: Vec<u64> = ranks.iter().map(|to| me << 32 | to).collect();
    team.all_to_all(&given, &mut parts, 1).unwrap();
    assert!(parts.iter().zip(&ranks).all(|(part, from)| *part == from << 32 | me), "{parts:?}");
    let mut least = [u64::MAX];
    team.reduce(&[me + 7], &mut least, Operator::Min, root).unwrap();
    assert_eq!(least[0], if me as usize == root { 7 } else { u64::MAX });
}

#[test]
fn calls_on_one_host_send_nothing_once_the_way_is_known() {
    job(4, SHM, |context| {
        let team = Team::world(context).unwrap();
        // Members doze while others begin, and are woken by messages; later on, too, but seldom.
        for round in 0..100 {
            small_calls(&team, round);
        }
        let before = sent(context);
        for round in 0..1000 {
            small_calls(&team, round);
        }
        let messages = sent(context) - before;
        assert!(messages < 1000, "{messages} packets for 6000 calls");
    });
}

#[test]
fn more_tasks_than_cores_mix_calls_of_overlapping_teams() {
    job(16, SHM, |context| {
        let all = Team::world(context).unwrap();
        let pair = all.split(Some(context.task() / 2), 0).unwrap().unwrap();
        let odd =
            (context.task() % 2 == 1).then(|| Team::of(context, Group::strided(1, 2, 8).unwrap()).unwrap());
        for round in 0..30 {
            small_calls(&pair, round);
            if let Some(odd) = &odd {
                small_calls(odd, round);
            }
            small_calls(&all, round);
        }
        // Who is late is waited for by sleepers.
        if context.task() == 3 {
            std::thread::sleep(Duration::from_millis(40));
        }
        small_calls(&all, 1);
    });
}

#[test]
fn operands_of_functions_keep_their_order_at_any_length() {
    job(5, SHM, |context| {
        let team = Team::world(context).unwrap();
        // x → ax + b, packed: composing does not commute.
        let then = |first: u64, second: u64| {
            let ((a, b), (c, d)) = ((first >> 32, first & 0xffff_ffff), (second >> 32, second & 0xffff_ffff));
            ((a * c) & 0xffff_ffff) << 32 | (b * c + d) & 0xffff_ffff
        };
        let value = |rank: u64, i: u64| (2 * rank + 3) << 32 | (rank * 31 + i) & 0xffff_ffff;
        for count in [1u64, 10, 700, 30_000] {
            let mine: Vec<u64> = (0..count).map(|i| value(team.rank() as u64, i)).collect();
            let mut all = mine.clone();
            team.all_reduce(&mut all, Combine::ordered(then)).unwrap();
            let folded = |i: u64| (0..5).map(|rank| value(rank, i)).reduce(then).unwrap();
            assert!((0..count).all(|i| all[i as usize] == folded(i)), "{count} elements");
        }
    });
}

#[test]
fn messages_and_requests_go_on_while_a_call_waits() {
    job(3, SHM, |context| {
        let team = Team::world(context).unwrap();
        team.barrier().unwrap();
        let none = None::<Combine<'static, u64>>;
        let call = Call::AllGather { count: 20_000 };
        let mine = vec![context.task() as u64; 20_000];
        // Long data is sent when its receiver is ready: members 0 and 1 wait in the barrier while 2
        // gets it.
        let request = team.start(&call, none, mine, vec![0; 60_000]).unwrap();
        if context.task() == 2 {
            let (_, all) = request.wait().unwrap();
            assert!((0..3).all(|rank| all[rank * 20_000] == rank as u64));
            team.barrier().unwrap();
        } else {
            team.barrier().unwrap();
            request.wait().unwrap();
        }
    });
}

#[test]
fn who_does_not_call_in_time_is_named() {
    job(3, SHM, |context| {
        let team = Team::world(context).unwrap();
        let other = Team::world(context).unwrap();
        other.barrier().unwrap();
        team.barrier().unwrap();
        if context.task() == 1 {
            // It takes part in other things, which the others come to once they have given up.
            other.barrier().unwrap();
            let late = team.all_reduce(&mut [1u8], Operator::Max);
            // What the others have left in memory may be found before the news that they gave up.
            assert!(matches!(late, Ok(()) | Err(CollectiveError::Gone { task: 1 })), "{late:?}");
        } else {
            context.set_timeout(Duration::from_secs(1));
            let ended = team.all_reduce(&mut [1u8], Operator::Max);
            assert!(
                matches!(
                    ended,
                    Err(CollectiveError::Silent { task: 1, .. } | CollectiveError::Gone { task: 1 })
                ),
                "{ended:?}"
            );
            context.set_timeout(Duration::from_secs(900));
            other.barrier().unwrap();
        }
    });
}

/// The operations of [`the_death_of_a_member_ends_calls_of_the_others`].
const DEADLY: [&str; 14] = [
    "barrier",
    "broadcast",
    "reduce",
    "allreduce",
    "allgather",
    "alltoall",
    "gather",
    "scatter",
    "long",
    "started",
    "then",
    "counted",
    "awaited",
    "layouts",
];

/// What was raised because nobody waited for a collective, and the member that it concerns.
static RAISED: Mutex<Option<(LapiCode, u32)>> = Mutex::new(None);

fn start(team: &Team, count: usize) -> Request<(Vec<u64>, Vec<u64>)> {
    let sum = Combine::from(Operator::Sum);
    team.start(&Call::AllReduce { count }, sum, vec![1; count], vec![0; count]).unwrap()
}

fn call(team: &Team, name: &str) -> Result<(), CollectiveError> {
    let n = team.len();
    match name {
        "barrier" => team.barrier(),
        "broadcast" => team.broadcast(&mut [0u64], 1),
        "reduce" => team.reduce(&[1u64], &mut [0], Operator::Sum, 0),
        "allreduce" => team.all_reduce(&mut [1u64], Operator::Sum),
        "allgather" => team.all_gather(&[1u64], &mut vec![0; n]),
        "alltoall" => team.all_to_all(&vec![1u64; n], &mut vec![0; n], 1),
        "gather" => team.gather(&[1u64], &mut vec![0; n], 0),
        "started" => {
            let requests: Vec<_> = (0..3).map(|_| start(team, 30_000)).collect();
            requests.into_iter().try_for_each(|request| request.wait().map(|_| ()))
        }
        "then" => {
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
        "counted" => counted(team),
        "awaited" => sleep_on(start(team, 30_000)).map(|_| ()),
        "layouts" => layouts(team),
        "scatter" => team.scatter(&vec![1u64; n], &mut [0], 1),
        _ => team.all_reduce(&mut vec![1u64; 300_000], Operator::Sum),
    }
}

/// Two exchanges of layouts under way at once, one of them set up before.
fn layouts(team: &Team) -> Result<(), CollectiveError> {
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

/// Waits until a counter counts an operation's end, or its failure is raised.
fn counted(team: &Team) -> Result<(), CollectiveError> {
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

fn raised(error: &Error, peer: u32) -> bool {
    if let Error::Invalid { code, .. } = error {
        *RAISED.lock().unwrap() = Some((*code, peer));
    }
    // Waits fail as without a handler.
    false
}

/// What the processes do that the next test starts.
#[test]
fn child() {
    let Ok(name) = std::env::var("TEAM_TEST_CALL") else { return };
    let context = Context::builder()
        .transport(lapis_loopback::table())
        .transport(lapis_shm::table())
        .transport(lapis_udp::table())
        .interrupts(name == "awaited")
        .on_error(|_, error, peer| raised(error, peer))
        .init()
        .unwrap();
    let team = Team::world(&context).unwrap();
    let rest = (context.task() != 1).then(|| Team::of(&context, Group::from_list(&[0, 2]).unwrap()).unwrap());
    let ended = if let Some(seed) = name.strip_prefix("random ") {
        if context.task() == 1 {
            let after = Duration::from_micros(seed.parse::<u64>().unwrap() * 377 % 5000);
            std::thread::spawn(move || {
                std::thread::sleep(after);
                std::process::abort()
            });
        }
        let names = DEADLY.iter().cycle();
        names.map(|name| call(&team, name)).find_map(Result::err).unwrap()
    } else {
        for _ in 0..5 {
            call(&team, &name).unwrap();
        }
        if context.task() == 1 {
            std::process::abort()
        }
        loop {
            if let Err(e) = call(&team, &name) {
                break e;
            }
        }
    };
    let Some(rest) = rest else { std::process::abort() };
    println!("task {}: {ended}", context.task());
    context.acknowledge_failure(1);
    // The others go on by themselves.
    rest.barrier().unwrap();
    let mut sum = [1];
    rest.all_reduce(&mut sum, Operator::Sum).unwrap();
    println!("task {}: {} left", context.task(), sum[0]);
    let _ = context.terminate();
}

#[test]
fn the_death_of_a_member_ends_calls_of_the_others() {
    // In every operation, and at moments that nobody chose.
    let random = (0..12).map(|seed| format!("random {seed}"));
    let shared = DEADLY.map(String::from).into_iter().chain(random).map(|name| (name, "yes"));
    for (name, shm) in shared.chain([("layouts".to_owned(), "no")]) {
        let job = Job::new(3).option("--keep-going").var("TEAM_TEST_CALL", &name).var("LAPI_USE_SHM", shm);
        let done = job.run(std::env::current_exe().unwrap(), &["child", "--exact", "--nocapture"]);
        for task in [0, 2] {
            let said = format!("task {task}: the team is over: task 1, a member, can't be reached any more");
            assert!(done.out.contains(&said), "{name}: {done:?}");
            assert!(done.out.contains(&format!("task {task}: 2 left")), "{name}: {done:?}");
        }
    }
}
