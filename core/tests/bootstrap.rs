//! The bootstrap over real sockets, with threads for tasks; the launcher's tests do the same with
//! processes.

use lapis_patience::Patience;
use std::sync::mpsc;
use std::time::Duration;

use lapis_core::bootstrap::{
    Address, Bootstrap, BootstrapError, Environment, Listener, Options, Origin, Server, ServerConfig,
    detect_in, random_secret,
};

/// More than any operation takes, on a busy machine as well: no test waits for its end.
const WAIT: Duration = Duration::from_secs(300);

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

struct Job {
    server: Server,
    secret: [u8; 32],
    tasks: u32,
}

impl Job {
    fn start(address: &str, tasks: u32) -> Self {
        let secret = random_secret().unwrap();
        let listener = Listener::bind(&address.parse::<Address>().unwrap()).unwrap();
        let server = Server::start(listener, ServerConfig::new(tasks, secret), |_| {}).unwrap();
        Self { server, secret, tasks }
    }

    fn join_with(&self, task: u32, secret: &[u8; 32]) -> Result<Box<dyn Bootstrap>, BootstrapError> {
        let environment = Environment::of([
            ("LAPIS_KVS", &*self.server.address().to_string()),
            ("LAPIS_JOB_ID", "test"),
            ("LAPIS_JOB_SECRET", &*hex(secret)),
            ("LAPIS_TASK", &*task.to_string()),
            ("LAPIS_TASKS", &*self.tasks.to_string()),
            ("LAPIS_INIT_TIMEOUT", "300"),
        ]);
        detect_in(&environment, &Options::default())
    }

    fn join(&self, task: u32) -> Box<dyn Bootstrap> {
        self.join_with(task, &self.secret).unwrap()
    }
}

fn name(what: &str) -> String {
    format!("unix:@lapis-test-{}-{what}", std::process::id())
}

/// Runs one closure per task, each in its thread; a minute of the process' own time in which no
/// task returns or panics fails the test.
fn each_task<T: Send + 'static>(tasks: u32, body: impl Fn(u32) -> T + Send + Sync + 'static) -> Vec<T> {
    let body = std::sync::Arc::new(body);
    let (done, results) = mpsc::channel();
    for task in 0..tasks {
        let (body, done) = (body.clone(), done.clone());
        std::thread::spawn(move || done.send((task, body(task))));
    }
    drop(done);
    let mut patience = Patience::with_myself(Duration::from_secs(60));
    let mut all: Vec<(u32, T)> = (0..tasks)
        .map(|n| {
            patience.receive(&results).unwrap_or_else(|e| panic!("only {n} of {tasks} tasks returned: {e}"))
        })
        .collect();
    all.sort_by_key(|(task, _)| *task);
    all.into_iter().map(|(_, value)| value).collect()
}

fn all_operations(address: &str, tasks: u32) {
    let job = std::sync::Arc::new(Job::start(address, tasks));
    each_task(tasks, move |task| {
        let mut me = job.join(task);
        assert_eq!((me.task(), me.tasks(), me.job().origin), (task, tasks, Origin::Launcher));
        for round in 0..5u8 {
            let values = me.exchange("card", &[task as u8, round], WAIT).unwrap();
            let expected: Vec<Vec<u8>> = (0..tasks).map(|t| vec![t as u8, round]).collect();
            assert_eq!(values, expected);
        }
        me.put(&format!("from {task}"), &vec![task as u8; 60_000]).unwrap();
        let left = (task + tasks - 1) % tasks;
        assert_eq!(me.get(&format!("from {left}"), WAIT).unwrap(), vec![left as u8; 60_000]);
        me.fence(WAIT).unwrap();
        // A second context at the same time, then the first one once more.
        let mut second = me.context(1).unwrap();
        assert!(second.get("from 0", Duration::from_millis(1)).is_err(), "keys of another context");
        second.fence(WAIT).unwrap();
        me.finalize().unwrap();
        me.finalize().unwrap();
        let mut again = me.context(0).unwrap();
        assert_eq!((me.generation(), again.generation()), (0, 1));
        again.fence(WAIT).unwrap();
        assert_eq!(second.exchange("x", b"", WAIT).unwrap().len(), tasks as usize);
        again.finalize().unwrap();
        second.finalize().unwrap();
        assert!(matches!(again.fence(WAIT), Err(BootstrapError::Unusable { .. })));
    });
}

#[test]
fn tasks_exchange_over_unix() {
    all_operations(&name("exchange"), 6);
}

#[test]
fn tasks_exchange_over_tcp() {
    all_operations("tcp:127.0.0.1:0", 3);
}

#[test]
fn a_wrong_secret_is_refused_and_harms_nobody() {
    let job = Job::start(&name("secret"), 1);
    let error = job.join_with(0, &[0; 32]).err().unwrap().to_string();
    assert!(error.contains("refused task 0") && error.contains("secret"), "{error}");
    job.join(0).fence(WAIT).unwrap();
}

#[test]
fn a_server_that_cannot_prove_itself_is_refused() {
    // Answers every greeting without knowing the secret: here, a server of another secret in the
    // client's place would refuse first, so the impostor replays the bytes of a real handshake.
    use std::io::{Read, Write};
    use std::os::linux::net::SocketAddrExt;
    let address = format!("lapis-test-{}-impostor", std::process::id());
    let socket = std::os::unix::net::SocketAddr::from_abstract_name(&address).unwrap();
    let listener = std::os::unix::net::UnixListener::bind_addr(&socket).unwrap();
    let impostor = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut challenge = vec![1u8];
        challenge.extend_from_slice(b"LAPISKVS");
        challenge.extend_from_slice(&3u16.to_le_bytes());
        challenge.push(0);
        challenge.extend_from_slice(&[5; 32]);
        stream.write_all(&(challenge.len() as u32).to_le_bytes()).unwrap();
        stream.write_all(&challenge).unwrap();
        let mut hello = [0u8; 4 + 91];
        stream.read_exact(&mut hello).unwrap();
        let mut welcome = vec![3u8];
        welcome.extend_from_slice(&[9; 32]);
        welcome.extend_from_slice(&0u32.to_le_bytes());
        welcome.extend_from_slice(&0u32.to_le_bytes());
        welcome.extend_from_slice(&0u32.to_le_bytes());
        welcome.push(0);
        stream.write_all(&(welcome.len() as u32).to_le_bytes()).unwrap();
        stream.write_all(&welcome).unwrap();
        let _ = stream.read(&mut hello);
    });
    let environment = Environment::of([
        ("LAPIS_KVS", &*format!("unix:@{address}")),
        ("LAPIS_JOB_ID", "test"),
        ("LAPIS_JOB_SECRET", &*hex(&[7; 32])),
        ("LAPIS_TASK", "0"),
        ("LAPIS_TASKS", "1"),
    ]);
    let error = detect_in(&environment, &Options::default()).err().unwrap();
    assert!(matches!(error, BootstrapError::Impostor { .. }), "{error}");
    impostor.join().unwrap();
}

#[test]
fn a_task_that_vanishes_fails_the_fence_of_the_others() {
    let job = std::sync::Arc::new(Job::start(&name("vanish"), 3));
    let errors = each_task(3, move |task| {
        let mut me = job.join(task);
        me.fence(WAIT).unwrap();
        if task == 1 {
            return None;
        }
        Some(me.fence(WAIT).unwrap_err().to_string())
    });
    for error in errors.into_iter().flatten() {
        assert!(error.contains("task 1") && error.contains("fence 1"), "{error}");
    }
}

#[test]
fn a_dropped_server_is_reported_not_waited_for() {
    let job = Job::start(&name("dropped"), 2);
    let mut me = job.join(0);
    let waiting = std::thread::spawn(move || me.fence(WAIT));
    drop(job);
    let error = waiting.join().unwrap().unwrap_err();
    assert!(matches!(error, BootstrapError::ServerLost { .. }), "{error}");
}

#[test]
fn sizes_are_limited_with_numbers() {
    let job = Job::start(&name("sizes"), 1);
    let mut me = job.join(0);
    let error = me.put("k", &vec![0; 65_537]).unwrap_err().to_string();
    assert!(error.contains("65537") && error.contains("65536"), "{error}");
    assert!(me.put(&"k".repeat(256), b"").is_err());
    me.put("k", &vec![1; 65_536]).unwrap();
    assert_eq!(me.get("k", WAIT).unwrap().len(), 65_536);
}

#[test]
fn tasks_without_a_launcher_meet_in_any_order() {
    let partition = format!("t{}", std::process::id());
    let results = each_task(4, move |task| {
        // The highest number comes first.
        std::thread::sleep(Duration::from_millis(u64::from(3 - task) * 30));
        let environment = Environment::of([
            ("MP_CHILD", &*task.to_string()),
            ("MP_PROCS", "4"),
            ("MP_PARTITION", &*partition),
            ("LAPIS_INIT_TIMEOUT", "300"),
        ]);
        let mut me = detect_in(&environment, &Options::default()).unwrap();
        assert_eq!(me.exchange("k", &[task as u8], WAIT).unwrap(), vec![vec![0], vec![1], vec![2], vec![3]]);
        let mut other = me.context(5).unwrap();
        other.fence(WAIT).unwrap();
        other.finalize().unwrap();
        me.finalize().unwrap();
        (me.job().id.clone(), me.job().secret, me.job().local_tasks.clone())
    });
    assert!(results.iter().all(|r| *r == results[0]), "one identity, one secret");
    assert_ne!(results[0].1, [0; 32]);
    assert_eq!(results[0].2, Some(vec![0, 1, 2, 3]));
}

/// Whoever binds a name and never listens stands for a stranger: a user of another number can't be
/// had in a test.
#[test]
fn tasks_without_a_launcher_meet_although_a_stranger_has_taken_every_name_that_can_be_guessed() {
    use rustix::net::{AddressFamily, SocketAddrUnix, SocketType};
    let partition = format!("s{}", std::process::id());
    let name = format!("lapis-partition-{}-{partition}", rustix::process::geteuid().as_raw());
    let others = (1..64).map(|number| format!("{name}~{number}"));
    let strangers: Vec<_> = std::iter::once(name.clone())
        .chain(others)
        .map(|name| {
            let stranger = rustix::net::socket(AddressFamily::UNIX, SocketType::STREAM, None).unwrap();
            let name = SocketAddrUnix::new_abstract_name(name.as_bytes()).unwrap();
            rustix::net::bind(&stranger, &name).unwrap();
            stranger
        })
        .collect();
    each_task(3, move |task| {
        let environment = Environment::of([
            ("MP_CHILD", &*task.to_string()),
            ("MP_PROCS", "3"),
            ("MP_PARTITION", &*partition),
            ("LAPIS_INIT_TIMEOUT", "60"),
        ]);
        let mut me = detect_in(&environment, &Options::default()).unwrap();
        assert_eq!(me.exchange("k", &[task as u8], WAIT).unwrap(), vec![vec![0], vec![1], vec![2]]);
        me.finalize().unwrap();
    });
    drop(strangers);
}

#[test]
fn missing_partners_are_an_error_after_the_deadline() {
    let environment = Environment::of([
        ("MP_CHILD", "1"),
        ("MP_PROCS", "3"),
        ("MP_PARTITION", &*format!("m{}", std::process::id())),
        ("LAPIS_INIT_TIMEOUT", "1"),
    ]);
    let error = detect_in(&environment, &Options::default()).err().unwrap();
    let text = error.to_string();
    assert!(matches!(error, BootstrapError::PartnersMissing { .. }), "{text}");
    for part in ["1 of 3 tasks", "task 0 (never connected)", "task 2", "MP_PARTITION", "LAPIS_INIT_TIMEOUT"] {
        assert!(text.contains(part), "{part} missing in {text}");
    }
}
