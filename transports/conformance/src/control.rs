//! The connection between the tasks of a case and its coordinator. It carries frames over a socket
//! in the abstract name space, so it serves threads and processes alike.

use lapis_patience::Patience;
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// What a task tells the coordinator.
#[derive(Debug)]
pub(crate) enum Report {
    /// It exists.
    Hello,
    /// What it is about to do, for the watchdog.
    Doing(String),
    /// Its part of an exchange, and the exchange's name. It waits for everybody's parts.
    Gather(String, Vec<u8>),
    /// It finished.
    Passed,
    /// It skips the case: why.
    Skipped(String),
    /// It failed: why.
    Failed(String),
    /// Its end of the wire is closed.
    Gone,
}

/// Reads one frame: kind, two lengths, two byte strings.
pub(crate) fn read_frame(from: &mut impl Read) -> io::Result<(u8, String, Vec<u8>)> {
    let mut head = [0u8; 9];
    from.read_exact(&mut head)?;
    let word = |i: usize| u32::from_le_bytes([head[i], head[i + 1], head[i + 2], head[i + 3]]) as usize;
    let (mut a, mut b) = (vec![0; word(1)], vec![0; word(5)]);
    from.read_exact(&mut a)?;
    from.read_exact(&mut b)?;
    Ok((head[0], String::from_utf8_lossy(&a).into_owned(), b))
}

pub(crate) fn write_frame(to: &mut impl Write, kind: u8, a: &str, b: &[u8]) -> io::Result<()> {
    let mut frame = vec![kind];
    frame.extend((a.len() as u32).to_le_bytes());
    frame.extend((b.len() as u32).to_le_bytes());
    frame.extend(a.as_bytes());
    frame.extend(b);
    to.write_all(&frame)
}

pub(crate) fn send(to: &mut impl Write, report: &Report) -> io::Result<()> {
    match report {
        Report::Hello => write_frame(to, 0, "", &[]),
        Report::Doing(what) => write_frame(to, 1, what, &[]),
        Report::Gather(what, data) => write_frame(to, 2, what, data),
        Report::Passed => write_frame(to, 3, "", &[]),
        Report::Skipped(why) => write_frame(to, 4, why, &[]),
        Report::Failed(why) => write_frame(to, 5, why, &[]),
        Report::Gone => Ok(()),
    }
}

fn receive(from: &mut impl Read) -> Report {
    match read_frame(from) {
        Ok((0, _, _)) => Report::Hello,
        Ok((1, what, _)) => Report::Doing(what),
        Ok((2, what, data)) => Report::Gather(what, data),
        Ok((3, _, _)) => Report::Passed,
        Ok((4, why, _)) => Report::Skipped(why),
        Ok((5, why, _)) => Report::Failed(why),
        Ok((kind, _, _)) => Report::Failed(format!("frame of unknown kind {kind}")),
        Err(_) => Report::Gone,
    }
}

/// Connects task `task` to the coordinator listening as `name`.
pub(crate) fn connect(name: &str, task: u32) -> io::Result<UnixStream> {
    let mut stream = UnixStream::connect_addr(&SocketAddr::from_abstract_name(name)?)?;
    stream.write_all(&task.to_le_bytes())?;
    send(&mut stream, &Report::Hello)?;
    Ok(stream)
}

/// How a case ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Passed,
    Skipped(String),
    Failed(String),
}

enum State {
    Starting,
    Running(String),
    Waiting(String, Vec<u8>),
    Over(Outcome),
    Dead,
}

struct Task {
    state: State,
    since: Instant,
    stream: Option<UnixStream>,
}

/// Answers exchanges and watches over the tasks.
pub(crate) struct Coordinator {
    listener: UnixListener,
    tasks: u32,
    patience: Duration,
}

impl Coordinator {
    pub(crate) fn new(name: &str, tasks: u32) -> io::Result<Self> {
        let listener = UnixListener::bind_addr(&SocketAddr::from_abstract_name(name)?)?;
        let patience = std::env::var("LAPIS_TEST_PATIENCE").ok().and_then(|s| s.parse().ok()).unwrap_or(60);
        Ok(Self { listener, tasks, patience: Duration::from_secs(patience) })
    }

    /// Runs until every task is over. `mortal`: the task that may vanish.
    pub(crate) fn run(self, mortal: Option<u32>) -> Outcome {
        let (to_main, reports) = mpsc::channel::<(u32, Report, Option<UnixStream>)>();
        let Self { listener, tasks, patience: limit } = self;
        let mut patience = Patience::with_myself(limit);
        accept(listener, tasks, to_main);
        let mut all: BTreeMap<u32, Task> = (0..tasks)
            .map(|t| (t, Task { state: State::Starting, since: Instant::now(), stream: None }))
            .collect();
        loop {
            match patience.receive(&reports) {
                Ok((task, report, writer)) => {
                    let Some(t) = all.get_mut(&task) else {
                        return Outcome::Failed(format!("a task {task} appeared that is not in the case"));
                    };
                    t.since = Instant::now();
                    t.stream = writer.or(t.stream.take());
                    t.state = match report {
                        Report::Hello => State::Running("opening".into()),
                        Report::Doing(what) => State::Running(what),
                        Report::Gather(what, data) => State::Waiting(what, data),
                        Report::Passed => State::Over(Outcome::Passed),
                        Report::Skipped(why) => State::Over(Outcome::Skipped(why)),
                        Report::Failed(why) => return Outcome::Failed(format!("task {task}: {why}")),
                        Report::Gone if matches!(t.state, State::Over(_)) => continue,
                        Report::Gone if mortal == Some(task) => State::Dead,
                        Report::Gone => {
                            let story = story(&all);
                            return Outcome::Failed(format!("task {task} vanished\n{story}"));
                        }
                    };
                }
                Err(_) => {
                    let story = story(&all);
                    return Outcome::Failed(format!("nothing happened for {limit:?}\n{story}"));
                }
            }
            if let Err(why) = answer(&mut all) {
                return Outcome::Failed(format!("{why}\n{}", story(&all)));
            }
            if all.values().all(|t| matches!(t.state, State::Over(_) | State::Dead)) {
                break;
            }
        }
        let skipped = all.into_values().find_map(|t| match t.state {
            State::Over(Outcome::Skipped(why)) => Some(Outcome::Skipped(why)),
            _ => None,
        });
        skipped.unwrap_or(Outcome::Passed)
    }
}

/// Takes the tasks' connections and passes on what they report.
fn accept(listener: UnixListener, tasks: u32, to_main: mpsc::Sender<(u32, Report, Option<UnixStream>)>) {
    // Accepting ends with the count; if a task never comes, the watchdog speaks and this thread
    // stays behind.
    std::thread::spawn(move || {
        for _ in 0..tasks {
            let Ok((mut stream, _)) = listener.accept() else { return };
            let to_main = to_main.clone();
            std::thread::spawn(move || {
                let mut task = [0; 4];
                if stream.read_exact(&mut task).is_err() {
                    return;
                }
                let task = u32::from_le_bytes(task);
                loop {
                    let report = receive(&mut stream);
                    let writer = matches!(report, Report::Hello).then(|| stream.try_clone().ok()).flatten();
                    let end = matches!(report, Report::Gone);
                    if to_main.send((task, report, writer)).is_err() || end {
                        return;
                    }
                }
            });
        }
    });
}

/// When all living tasks wait in the same exchange, gives everybody everybody's parts.
fn answer(all: &mut BTreeMap<u32, Task>) -> Result<(), String> {
    let mut name: Option<String> = None;
    let mut parts = Vec::new();
    for (task, t) in &*all {
        match &t.state {
            State::Waiting(what, data) => {
                if name.as_ref().is_some_and(|n| n != what) {
                    return Err("tasks wait in different exchanges".to_owned());
                }
                name = Some(what.clone());
                parts.extend(task.to_le_bytes());
                parts.extend((data.len() as u32).to_le_bytes());
                parts.extend(data);
            }
            State::Dead => {}
            _ => return Ok(()),
        }
    }
    let Some(name) = name else { return Ok(()) };
    for t in all.values_mut().filter(|t| matches!(t.state, State::Waiting(..))) {
        t.state = State::Running(format!("after exchange \"{name}\""));
        t.since = Instant::now();
        if let Some(stream) = &mut t.stream {
            // A task that died meanwhile shows up as gone.
            let _ = write_frame(stream, 0, &name, &parts);
        }
    }
    Ok(())
}

/// Who does or waits for what.
fn story(all: &BTreeMap<u32, Task>) -> String {
    let waiting_for: Vec<String> = all
        .iter()
        .filter(|(_, t)| matches!(t.state, State::Starting | State::Running(_)))
        .map(|(task, _)| task.to_string())
        .collect();
    let mut text = String::new();
    for (task, t) in all {
        let what = match &t.state {
            State::Starting => "has not started".to_owned(),
            State::Running(what) => format!("is at: {what}"),
            State::Waiting(what, _) => {
                format!("waits in exchange \"{what}\" for task {}", waiting_for.join(", "))
            }
            State::Over(outcome) => format!("is over: {outcome:?}"),
            State::Dead => "is dead, as the case wants".to_owned(),
        };
        text += &format!("  task {task} {what} (for {:.1} s)\n", t.since.elapsed().as_secs_f64());
    }
    text
}
