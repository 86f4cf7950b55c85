//! Tasks as processes: the test binary starts itself again for every task, passes addresses around
//! over pipes, and kills whoever is still there when time is up.

#![allow(dead_code, unreachable_pub, reason = "each test binary uses a part")]

use lapis_core::transport::abi::HostTable;
use lapis_core::transport::*;
use lapis_patience::Patience;
use lapis_shm::{Shm, ShmWaiter};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Lines that the transport logged in this process.
pub static LOG: Mutex<Vec<String>> = Mutex::new(Vec::new());

unsafe extern "C" fn log(level: u32, _: *const u8, _: usize, text: *const u8, len: usize) {
    // SAFETY: the transport passes a valid range.
    let text = unsafe { std::slice::from_raw_parts(text, len) };
    LOG.lock().unwrap().push(format!("{level} {}", String::from_utf8_lossy(text)));
}
unsafe extern "C" fn log_enabled(_: u32, _: *const u8, _: usize) -> i32 {
    1
}
unsafe extern "C" fn option(name: *const u8, len: usize, buf: *mut u8, capacity: usize) -> isize {
    // SAFETY: the transport passes valid ranges.
    unsafe {
        let name = std::str::from_utf8(std::slice::from_raw_parts(name, len)).unwrap();
        let Ok(value) = std::env::var(name) else { return -1 };
        std::ptr::copy_nonoverlapping(value.as_ptr(), buf, value.len().min(capacity));
        value.len() as isize
    }
}
static HOST: HostTable =
    HostTable { struct_size: size_of::<HostTable>() as u32, abi_major: 1, log, log_enabled, option };

/// The host that tests give to transports.
pub fn host() -> Host {
    // SAFETY: the table is static.
    unsafe { Host::from_raw(&raw const HOST, "shm") }
}

/// Opens an instance.
pub fn try_open(
    task: u32,
    tasks: u32,
    context: u32,
    incarnation: u32,
    job: &str,
) -> Result<(Shm, ShmWaiter), TransportError> {
    let secret = [0x5a; 32];
    Shm::open(
        host(),
        &OpenParams { task, tasks, context, incarnation, job, secret: &secret, interrupts: false },
    )
}

/// A job's name that no other test uses.
pub fn job_name(what: &str) -> String {
    format!("test-{what}-{}-{}", std::process::id(), Instant::now().elapsed().as_nanos())
}

/// `tasks` connected instances in this process.
pub fn local_job(what: &str, tasks: u32) -> Vec<(Shm, ShmWaiter)> {
    let job = job_name(what);
    let mut all: Vec<_> = (0..tasks).map(|t| try_open(t, tasks, 0, 0, &job).unwrap()).collect();
    let addresses: Vec<_> = all.iter().map(|(t, _)| t.address()).collect();
    for (t, _) in &mut all {
        for (peer, address) in addresses.iter().enumerate() {
            t.connect(peer as u32, address).unwrap();
        }
    }
    settle(&mut all.iter_mut().map(|(t, _)| t).collect::<Vec<_>>());
    all
}

/// Drives connections until all are made.
pub fn settle(all: &mut [&mut Shm]) {
    let mut patience = Patience::with_myself(Duration::from_secs(30));
    // Each gets its turn: they need one another.
    while all.iter_mut().filter_map(|t| (!t.progress_connect().unwrap()).then_some(())).count() > 0 {
        assert!(!patience.is_over(), "connections were not made");
    }
}

/// Sends, polling (and handing events to `on`) while there is no room.
pub fn send(t: &mut Shm, peer: PeerId, bytes: &[u8], on: &mut dyn FnMut(&Event)) -> Status {
    let mut patience = Patience::with_myself(Duration::from_secs(60));
    loop {
        let status = if bytes.len() <= 8192 {
            t.am_short(peer, &bytes[..bytes.len() / 3], &bytes[bytes.len() / 3..])
        } else {
            t.am_packed(peer, bytes.len(), &mut |into| into.copy_from_slice(bytes))
        };
        if status != Status::Again {
            return status;
        }
        assert!(!patience.is_over(), "no room for a message to task {peer}");
        if poll(t, on) == 0 {
            std::thread::yield_now();
        }
    }
}

/// Polls once.
pub fn poll(t: &mut Shm, on: &mut dyn FnMut(&Event)) -> usize {
    let mut events = [Event::EMPTY; 32];
    let n = t.poll(&mut events);
    events[..n].iter().for_each(on);
    n
}

/// The bytes of a message event.
pub fn bytes(e: &Event) -> Vec<u8> {
    assert_eq!(e.kind, EventKind::Message as u32, "{e:?}");
    // SAFETY: called between two polls.
    unsafe { std::slice::from_raw_parts(e.data, e.len as usize) }.to_vec()
}

/// A message that says who sent it, which one it is, and whether it is whole.
pub fn message(from: u32, number: u64, len: usize) -> Vec<u8> {
    let mut m = vec![0; len.max(12)];
    m[..4].copy_from_slice(&from.to_le_bytes());
    m[4..12].copy_from_slice(&number.to_le_bytes());
    for (i, b) in m.iter_mut().enumerate().skip(12) {
        *b = (number as usize * 31 + i * 7 + from as usize) as u8;
    }
    m
}

/// Checks a [`message`] and gives sender and number.
pub fn parse(m: &[u8]) -> (u32, u64) {
    let from = u32::from_le_bytes(m[..4].try_into().unwrap());
    let number = u64::from_le_bytes(m[4..12].try_into().unwrap());
    assert_eq!(m, message(from, number, m.len()), "message {number} of task {from} is damaged");
    (from, number)
}

/// This process's part when it was started by [`Job::start`].
pub struct Task {
    pub t: Shm,
    pub w: ShmWaiter,
    pub me: u32,
    pub tasks: u32,
}

/// The role this process was started for, if any.
pub fn role() -> Option<String> {
    std::env::var("SHM_TEST_ROLE").ok()
}

fn number(name: &str) -> u32 {
    std::env::var(name).unwrap().parse().unwrap()
}

/// The task's end of the address exchange, and the connections.
pub fn join() -> Task {
    let (me, tasks) = (number("SHM_TEST_ME"), number("SHM_TEST_TASKS"));
    let (t, w) = try_open(me, tasks, 0, 0, &std::env::var("SHM_TEST_JOB").unwrap())
        .unwrap_or_else(|e| exit_with(&format!("open: {e}")));
    let mut task = Task { t, w, me, tasks };
    let hex: String = task.t.address().iter().map(|b| format!("{b:02x}")).collect();
    tell(&hex);
    for peer in 0..tasks {
        let line = hear();
        let address: Vec<u8> =
            (0..line.len() / 2).map(|i| u8::from_str_radix(&line[2 * i..2 * i + 2], 16).unwrap()).collect();
        if let Err(e) = task.t.connect(peer, &address) {
            exit_with(&format!("connect: {e}"));
        }
    }
    loop {
        match task.t.progress_connect() {
            Ok(true) => break,
            Ok(false) => std::thread::yield_now(),
            Err(e) => exit_with(&format!("progress_connect: {e}")),
        }
    }
    tell("connected");
    assert_eq!(hear(), "go");
    task
}

/// Says why and ends: the parent shows it.
pub fn exit_with(text: &str) -> ! {
    tell(&format!("error {text}"));
    std::process::exit(3)
}

/// A line to the parent.
pub fn tell(line: &str) {
    // Past the test harness, which would capture it.
    let mut out = std::io::stderr().lock();
    out.write_all(format!("@{line}\n").as_bytes()).unwrap();
}

/// A line from the parent.
pub fn hear() -> String {
    let mut line = Vec::new();
    let mut byte = [0u8];
    loop {
        match std::io::stdin().read(&mut byte) {
            Ok(1) if byte[0] == b'\n' => return String::from_utf8(line).unwrap(),
            Ok(1) => line.push(byte[0]),
            _ => std::process::exit(4),
        }
    }
}

/// Tasks of a job, seen from the parent.
pub struct Job {
    pub children: Vec<Child>,
    lines: Vec<std::sync::mpsc::Receiver<String>>,
    /// With this process and the tasks, since a task said something or ended.
    patience: Patience,
}

impl Job {
    /// Starts tasks in the roles given; `prepare` may change their commands.
    pub fn start(what: &str, roles: &[&str], prepare: impl Fn(u32, &mut Command)) -> Self {
        let name = job_name(what);
        let patience = Patience::with_myself(Duration::from_secs(120));
        let mut job = Self { children: Vec::new(), lines: Vec::new(), patience };
        for (me, role) in roles.iter().enumerate() {
            let mut command = Command::new(std::env::current_exe().unwrap());
            command
                .args(["--exact", "child", "--nocapture", "--test-threads=1"])
                .env("SHM_TEST_ROLE", role)
                .env("SHM_TEST_ME", me.to_string())
                .env("SHM_TEST_TASKS", roles.len().to_string())
                .env("SHM_TEST_JOB", &name)
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .stderr(Stdio::piped());
            prepare(me as u32, &mut command);
            let mut child = command.spawn().unwrap();
            let (tx, rx) = std::sync::mpsc::channel();
            let err = BufReader::new(child.stderr.take().unwrap());
            std::thread::spawn(move || {
                for line in err.lines().map_while(Result::ok) {
                    match line.strip_prefix('@') {
                        Some(line) => drop(tx.send(line.to_owned())),
                        None => eprintln!("task {me}: {line}"),
                    }
                }
            });
            job.children.push(child);
            job.lines.push(rx);
        }
        job
    }

    /// The next line of a task.
    pub fn line(&mut self, task: usize) -> String {
        match self.patience.receive(&self.lines[task]) {
            Ok(line) => line,
            Err(e) => {
                self.kill();
                panic!("task {task} said nothing more ({e}); the others were killed");
            }
        }
    }

    /// Writes a line to a task.
    pub fn say(&mut self, task: usize, line: &str) {
        // A task that has ended need not hear it.
        let _ = self.children[task].stdin.as_mut().unwrap().write_all(format!("{line}\n").as_bytes());
    }

    /// Exchanges addresses and waits until all are connected. The first complaint is the answer.
    pub fn connect(&mut self) -> Result<(), String> {
        let n = self.children.len();
        let mut addresses = Vec::new();
        for task in 0..n {
            let line = self.line(task);
            if let Some(text) = line.strip_prefix("error ") {
                return Err(text.to_owned());
            }
            addresses.push(line);
        }
        for task in 0..n {
            addresses.iter().for_each(|a| self.say(task, a));
        }
        // One task's failure makes another's: which comes first is chance, so tell them all.
        let answers: Vec<String> = (0..n).map(|task| self.line(task)).collect();
        if answers.iter().any(|a| a != "connected") {
            return Err(answers.join("; ").replace("error ", ""));
        }
        (0..n).for_each(|task| self.say(task, "go"));
        Ok(())
    }

    /// Waits for a task's end.
    pub fn wait(&mut self, task: usize) -> ExitStatus {
        loop {
            if let Some(status) = self.children[task].try_wait().unwrap() {
                self.patience.heard();
                return status;
            }
            if self.patience.is_over() {
                self.kill();
                panic!("time is up: task {task} is still running; all were killed");
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Waits for all and demands success.
    pub fn finish(&mut self) {
        for task in 0..self.children.len() {
            let status = self.wait(task);
            assert!(status.success(), "task {task} ended with {status}");
        }
    }

    fn kill(&mut self) {
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        self.kill();
    }
}
