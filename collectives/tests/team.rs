//! Teams of several tasks, each a thread of this process with a context of its own, over shared memory.

use lapis_collectives::{CollectiveError, Team, max, sum};
use lapis_core::bootstrap::{self, Address, Environment, Listener, Options, Server, ServerConfig};
use lapis_core::{Context, HandlerId};
use std::sync::mpsc;
use std::time::Duration;

const TEAM: HandlerId = HandlerId(9);

/// Runs `body` in a job of so many tasks; fails if it does not end.
fn job(tasks: u32, body: impl Fn(&Context) + Clone + Send + 'static) {
    let secret = bootstrap::random_secret().unwrap();
    let name = format!("unix:@lapis-team-{}-{:02x?}", std::process::id(), &secret[..4]);
    let address: Address = name.replace([' ', '[', ']', ','], "").parse().unwrap();
    let listener = Listener::bind(&address).unwrap();
    let server = Server::start(listener, ServerConfig::new(tasks, secret), |_| {}).unwrap();
    let hex: String = secret.iter().map(|b| format!("{b:02x}")).collect();
    let (tell, told) = mpsc::channel();
    for task in 0..tasks {
        let (at, id) = (server.address().to_string(), format!("team-{}", std::process::id()));
        let environment = Environment::of([
            ("LAPIS_KVS", at.as_str()),
            ("LAPIS_JOB_ID", id.as_str()),
            ("LAPIS_JOB_SECRET", hex.as_str()),
            ("LAPIS_TASK", task.to_string().as_str()),
            ("LAPIS_TASKS", tasks.to_string().as_str()),
        ]);
        let (tell, body) = (tell.clone(), body.clone());
        std::thread::spawn(move || {
            let job = bootstrap::detect_in(&environment, &Options::default()).unwrap();
            let context = Context::builder()
                .environment(lapis_core::config::Environment::from_pairs([("LAPI_USE_SHM", "only")]))
                .bootstrap(job)
                .transport(lapis_loopback::table())
                .transport(lapis_shm::table())
                .interrupts(false)
                .init()
                .unwrap();
            body(&context);
            context.gfence().unwrap();
            context.terminate().unwrap();
            tell.send(task).unwrap();
        });
    }
    drop(tell);
    let mut ended = Vec::new();
    for _ in 0..tasks {
        match told.recv_timeout(Duration::from_secs(120)) {
            Ok(task) => ended.push(task),
            Err(e) => panic!("of {tasks} tasks only {ended:?} ended: {e}"),
        }
    }
}

#[test]
fn collectives_give_everybody_the_same_right_answer() {
    for tasks in [1, 2, 3, 5] {
        job(tasks, move |context| {
            let mut team = Team::of_all(context, TEAM).unwrap();
            let me = u64::from(context.task());
            let n = u64::from(tasks);
            for round in 0..20u64 {
                let mut data = [me + round, me * me];
                team.all_reduce(&mut data, sum).unwrap();
                assert_eq!(data, [n * (n - 1) / 2 + n * round, (0..n).map(|m| m * m).sum()]);
                let mut largest = [me as f64];
                team.all_reduce(&mut largest, max).unwrap();
                assert_eq!(largest, [(n - 1) as f64]);
                let root = (round % n) as usize;
                let mut word = [if team.rank() == root { round + 7 } else { 0 }];
                team.broadcast(&mut word, root).unwrap();
                assert_eq!(word, [round + 7]);
                let all = team.all_gather(&[me, round]).unwrap();
                assert_eq!(all, (0..n).flat_map(|m| [m, round]).collect::<Vec<_>>());
                team.barrier().unwrap();
            }
        });
    }
}

#[test]
fn large_data_travels_whole() {
    job(3, |context| {
        let mut team = Team::of_all(context, TEAM).unwrap();
        let mut data: Vec<u32> = (0..300_000).map(|i| i * (context.task() + 1)).collect();
        team.all_reduce(&mut data, |a, b| a.wrapping_add(b)).unwrap();
        assert!(data.iter().zip(0..).all(|(v, i): (&u32, u32)| *v == i.wrapping_mul(6)));
    });
}

#[test]
fn a_team_of_some_tasks_leaves_the_others_alone() {
    job(4, |context| {
        let team = Team::new(context, TEAM, vec![3, 1]).unwrap();
        assert_eq!(team.is_some(), context.task() % 2 == 1);
        if let Some(mut team) = team {
            let mut value = [context.task()];
            team.broadcast(&mut value, 0).unwrap();
            assert_eq!(value, [3]);
        }
    });
}

#[test]
fn unequal_lengths_are_told_with_the_numbers() {
    job(2, |context| {
        let mut team = Team::of_all(context, TEAM).unwrap();
        let mut data = vec![0u8; 4 + context.task() as usize];
        match team.all_reduce(&mut data, sum) {
            Err(CollectiveError::Mismatch { got, expected, .. }) => assert_eq!(got + expected, 9),
            other => panic!("{other:?}"),
        }
    });
}
