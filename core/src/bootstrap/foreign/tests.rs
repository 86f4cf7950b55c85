//! Jobs of threads, each with a board of its own over common memory: what is pinned, and who gets
//! which secret.

use super::*;
use std::collections::HashMap;
use std::sync::{Arc, Barrier};

#[derive(Clone)]
struct Wall {
    texts: Arc<Mutex<HashMap<(u32, String), String>>>,
    all: Arc<Barrier>,
    reads: Arc<Mutex<Vec<(u32, u32)>>>,
    task: u32,
    tasks: u32,
}

impl Board for Wall {
    fn task(&self) -> u32 {
        self.task
    }
    fn tasks(&self) -> u32 {
        self.tasks
    }
    fn job(&self) -> &str {
        "job-7"
    }
    fn pin(&mut self, key: &str, text: &str) -> Result<(), BootstrapError> {
        self.texts.lock().unwrap().insert((self.task, key.to_owned()), text.to_owned());
        Ok(())
    }
    fn fence(&mut self, _: Duration) -> Result<(), BootstrapError> {
        self.all.wait();
        Ok(())
    }
    fn read(&mut self, from: u32, key: &str, _: Duration) -> Result<String, BootstrapError> {
        self.reads.lock().unwrap().push((self.task, from));
        Ok(self.texts.lock().unwrap()[&(from, key.to_owned())].clone())
    }
    fn abort(&mut self, _: i32, _: &str) {}
    fn leave(&mut self) {}
}

#[test]
fn all_tasks_get_one_secret_which_is_on_no_board() {
    const TASKS: u32 = 5;
    let wall = Wall {
        texts: Arc::default(),
        all: Arc::new(Barrier::new(TASKS as usize)),
        reads: Arc::default(),
        task: 0,
        tasks: TASKS,
    };
    let meet_all = |task| {
        let mut board = Wall { task, ..wall.clone() };
        std::thread::spawn(move || meet(&mut board, Origin::Pmi, Duration::from_secs(300)).unwrap())
    };
    let tasks: Vec<_> = (0..TASKS).map(meet_all).collect();
    let all: Vec<Membership> = tasks.into_iter().map(|t| t.join().unwrap()).collect();
    assert!(all.iter().all(|m| m.job.secret == all[0].job.secret && m.job.id == "job-7"));
    let secret = card::hex(&all[0].job.secret);
    assert!(wall.texts.lock().unwrap().values().all(|text| !text.contains(&secret)));
    // Nobody but task 0 reads what concerns others.
    let reads = wall.reads.lock().unwrap();
    assert!(reads.iter().all(|(by, from)| *by == 0 || *from == 0), "{reads:?}");
    assert_eq!(reads.iter().filter(|(by, _)| *by == 3).count(), 2);
    // The store is there, for those who know the secret.
    let mut clients: Vec<Client> = all.iter().map(|m| Client::join(m.clone(), 0).unwrap()).collect();
    clients[1].put("k", b"v").unwrap();
    assert_eq!(clients[4].get("k", Duration::from_secs(300)).unwrap(), b"v");
    let mut stranger = all[2].clone();
    stranger.job.secret[0] ^= 1;
    assert!(matches!(Client::try_join(&stranger, 1, Duration::from_secs(9)), Err(JoinError::Final(_))));
}
