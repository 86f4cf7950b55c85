//! Members that die, and members that do not call: everybody who waits for them hears of it, and
//! other teams go on.

#[path = "support/calls.rs"]
mod calls;
#[path = "support/machines.rs"]
mod machines;
#[allow(dead_code, reason = "not every test file uses all of it")]
#[path = "support/sheets.rs"]
mod sheets;
mod support;

use calls::{CALLS, Called, Ended, raised, start};
use lapis_collectives::{CollectiveError, Combine, Group, Operator, Team};
use lapis_core::Context;
use lapis_testing::{Finished, Job};
use machines::Machines;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;
use support::{SHM, job};

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
    /// The same, by a panic that the program catches.
    Panicking,
}

impl Death {
    fn text(self) -> String {
        match self {
            Self::First => "first".to_owned(),
            Self::Between => "between".to_owned(),
            Self::After(delay) => delay.to_string(),
            Self::Folding => "folding".to_owned(),
            Self::Panicking => "panicking".to_owned(),
        }
    }

    fn of(text: &str) -> Self {
        match text {
            "first" => Self::First,
            "between" => Self::Between,
            "folding" => Self::Folding,
            "panicking" => Self::Panicking,
            delay => Self::After(delay.parse().unwrap()),
        }
    }
}

/// What carries the data of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    Memory,
    Messages,
    /// Messages, some of which are lost.
    LossyMessages,
    /// Memory within each of two machines; messages between them, some of which are lost.
    Both,
}

impl By {
    fn transports(self) -> &'static str {
        match self {
            Self::Memory => "shm",
            Self::Messages | Self::LossyMessages => "udp",
            Self::Both => "shm,udp",
        }
    }
}

/// Runs a job in which a member dies in the calls of a name, or in each of them; the others end by
/// themselves. Two machines have half of the tasks each.
fn run(tasks: u32, victim: u32, name: &str, death: Death, by: By, machines: Option<&Machines>) {
    let mut command = match machines {
        Some(machines) => machines.command(tasks / 2, &["--keep-going"]),
        None => Job::new(tasks).option("--keep-going").launcher(),
    };
    command.arg(std::env::current_exe().unwrap()).args(["child", "--exact", "--nocapture"]);
    command.env("TEAM_TEST_CALL", name).env("TEAM_TEST_VICTIM", victim.to_string());
    command.env("TEAM_TEST_DEATH", death.text()).env("LAPIS_TRANSPORT", by.transports());
    if matches!(by, By::LossyMessages | By::Both) {
        command.env("LAPIS_CHAOS", "seed=5,drop=2%,dup=1%,reorder=2%,mtu=1400");
    }
    let done = lapis_testing::run(command);
    let what = format!("{name} among {tasks}, {victim} dies {} ({by:?})", death.text());
    (0..tasks).filter(|task| *task != victim).for_each(|task| heard(&done, task, tasks, victim, &what));
}

/// A task has heard of the death, in calls of both teams, and has gone on.
fn heard(done: &Finished, task: u32, tasks: u32, victim: u32, what: &str) {
    let said = format!("task {task}: the team is over: task {victim}, a member, can't be reached any more");
    assert_eq!(done.out.matches(&said).count(), 2, "{what}: task {task} heard of something else: {done:?}");
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
    let all = 0..context.tasks();
    let back: Vec<u32> = all.clone().rev().collect();
    let back = Team::of(&context, Group::from_list(&back).unwrap()).unwrap();
    let survivors: Vec<u32> = all.filter(|task| *task != victim).collect();
    let dies = context.task() == victim;
    let rest = (!dies).then(|| Team::of(&context, Group::from_list(&survivors).unwrap()).unwrap());
    // These go on all the time.
    let begun = rest.as_ref().map(|rest| [1, 700, 30_000].map(|count| start(rest, count)));
    let mut both = Both { teams: [&team, &back], ended: [None, None] };
    both.call_until_death(&name, death, dies);
    let (Some(rest), Some(begun)) = (rest, begun) else { std::process::abort() };
    both.ended.iter().flatten().for_each(|ended| println!("task {}: {ended}", context.task()));
    let left = survivors.len() as u64;
    for request in begun {
        assert!(request.wait().unwrap().1.iter().all(|sum| *sum == left));
    }
    context.acknowledge_failure(victim);
    // The others go on by themselves.
    rest.barrier().unwrap();
    let mut sum = [1];
    rest.all_reduce(&mut sum, Operator::Sum).unwrap();
    println!("task {}: {} left", context.task(), sum[0]);
    let _ = context.terminate();
}

/// Two teams with the same members, and how their calls have ended.
struct Both<'a> {
    teams: [&'a Team; 2],
    ended: [Option<CollectiveError>; 2],
}

impl Both<'_> {
    /// Makes a call of each team that has not failed. True if both have.
    fn call(&mut self, call: impl Fn(&Team) -> Ended) -> bool {
        for (team, ended) in self.teams.iter().zip(&mut self.ended) {
            if ended.is_none() {
                *ended = call(team).err();
            }
        }
        self.ended.iter().all(Option::is_some)
    }

    /// Makes calls until both teams have failed, or this process `dies`.
    fn call_until_death(&mut self, name: &str, death: Death, dies: bool) {
        let named: Vec<Called> = CALLS
            .iter()
            .filter(|(known, _)| [*known, "all"].contains(&name))
            .map(|(_, call)| *call)
            .collect();
        assert!(!named.is_empty(), "{name}");
        let early = match death {
            Death::First => 0,
            _ if name == "all" => 1,
            _ => 5,
        };
        // Who waits for others only may be several calls behind the one that dies.
        let all_have_failed = (0..early).flat_map(|_| &named).any(|call| self.call(call));
        match death {
            _ if all_have_failed => {}
            Death::First | Death::Between if dies => std::process::abort(),
            Death::After(delay) if dies => {
                std::thread::spawn(move || {
                    std::thread::sleep(Duration::from_micros(delay));
                    std::process::abort()
                });
            }
            Death::Folding => {
                if dies {
                    // The others come first, and doze.
                    std::thread::sleep(Duration::from_millis(50));
                }
                self.call(|team| {
                    let fold =
                        Combine::ordered(move |a: u64, b| if dies { std::process::abort() } else { a + b });
                    team.all_reduce(&mut [1u64; 20], fold)
                });
            }
            Death::Panicking => {
                let fold = Combine::ordered(move |a: u64, b| if dies { panic!("on purpose") } else { a + b });
                let [team, other] = self.teams;
                let call = AssertUnwindSafe(|| team.all_reduce(&mut [1u64; 3000], fold));
                let Ok(ended) = catch_unwind(call) else {
                    // The program would go on, without its part in the call.
                    loop {
                        std::thread::park();
                    }
                };
                self.ended[0] = ended.err();
                self.ended[1] = other.barrier().err();
            }
            _ => {}
        }
        while !named.iter().any(|call| self.call(call)) {}
    }
}

/// Numbers that nobody chose, the same in each run.
fn random(seed: u64) -> u64 {
    let mixed = (seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 33
}

#[test]
fn the_death_of_a_member_ends_calls_of_the_others() {
    for (name, _) in CALLS {
        run(3, 1, name, Death::Between, By::Memory, None);
    }
    for seed in 0..12 {
        run(3, 1, "all", Death::After(random(seed) % 5000), By::Memory, None);
    }
    run(3, 1, "layouts", Death::Between, By::Messages, None);
}

/// Eight and more meet in the first one's memory, which outlives it.
#[test]
fn a_death_at_any_moment_ends_calls_of_eight() {
    for (seed, (name, _)) in CALLS.iter().enumerate() {
        let seed = seed as u64;
        run(8, (seed % 8) as u32, name, Death::After(random(seed) % 3000), By::Memory, None);
    }
}

#[test]
fn a_death_at_any_moment_ends_calls_of_sixteen() {
    for seed in 100..116 {
        let victim = (seed % 16) as u32;
        run(16, victim, "all", Death::After(random(seed) % 100_000), By::Memory, None);
    }
}

#[test]
fn a_death_at_any_moment_ends_calls_by_messages_that_get_lost() {
    for seed in 200..206 {
        let victim = (seed % 5) as u32;
        run(5, victim, "all", Death::After(random(seed) % 300_000), By::LossyMessages, None);
    }
}

#[test]
fn a_death_at_any_moment_ends_calls_through_memory_and_by_messages() {
    let Some(machines) = Machines::make("deaths", 2) else { return };
    for seed in 300..308 {
        let victim = (seed % 6) as u32;
        run(6, victim, "all", Death::After(random(seed) % 300_000), By::Both, Some(&machines));
    }
}

/// Any number of deaths that differ from run to run: `TEAM_TEST_DEATHS` of them, for long runs.
#[test]
fn deaths_that_nobody_chose_end_calls_of_the_others() {
    let many = std::env::var("TEAM_TEST_DEATHS").ok().and_then(|n| n.parse().ok()).unwrap_or(0u64);
    if many == 0 {
        return;
    }
    let machines = Machines::make("killed", 2);
    let ways = &[By::Memory, By::LossyMessages, By::Both][..2 + usize::from(machines.is_some())];
    let begin = u64::from(std::process::id()) << 16;
    for seed in begin..begin + many {
        let number = |at: u64, below: u64| random(seed * 8 + at) % below;
        let by = ways[number(1, ways.len() as u64) as usize];
        let machines = machines.as_ref().filter(|_| by == By::Both);
        let tasks = machines.map_or(3 + number(0, 7), |_| 4 + 2 * number(0, 3)) as u32;
        let name = match number(2, 3) {
            0 => CALLS[number(3, CALLS.len() as u64) as usize].0,
            _ => "all",
        };
        let victim = number(4, u64::from(tasks)) as u32;
        let death = Death::After(number(5, 2) * number(6, 1_000_000) + number(7, 20_000));
        eprintln!("{seed}: {name} among {tasks}, {victim} dies {} ({by:?})", death.text());
        run(tasks, victim, name, death, by, machines);
    }
}

#[test]
fn who_dies_before_its_first_call_is_missed() {
    for (at, name) in
        ["barrier", "allreduce", "broadcast", "tested", "then", "awaited", "layouts"].iter().enumerate()
    {
        let at = at as u32;
        run(8, at, name, Death::First, By::Memory, None);
        run(16, 15 - at, name, Death::First, By::Memory, None);
    }
}

#[test]
fn who_dies_as_the_last_one_at_a_meeting_leaves_nobody_waiting() {
    for (tasks, victim) in [(8, 0), (8, 5), (16, 15)] {
        run(tasks, victim, "allreduce", Death::Folding, By::Memory, None);
    }
}

/// A function that panics while it folds ends its process, in memory and where messages are under
/// way; the others hear of it.
#[test]
fn a_function_that_panics_ends_its_process() {
    for by in [By::Memory, By::Messages] {
        run(3, 2, "allreduce", Death::Panicking, by, None);
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
