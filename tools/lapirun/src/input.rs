//! The launcher's standard input, read by a thread of its own, so that a blocked read does not
//! block the launcher.

use std::io::{self, IsTerminal, Read, Write};
use std::os::fd::OwnedFd;
use std::process::ChildStdin;
use std::sync::{Arc, mpsc};
use std::time::Duration;

/// How much is read at once.
const CHUNK: usize = 16 << 10;
/// How often a launcher in the background looks whether the terminal is its own.
const BACKGROUND: Duration = Duration::from_millis(300);

/// The next part of the input; an empty one when there is none any more.
///
/// At a terminal whose shell has the launcher in the background it waits until it is fetched: who
/// reads there would be stopped, and the launcher with it.
fn read() -> Vec<u8> {
    let mut chunk = vec![0; CHUNK];
    loop {
        if io::stdin().is_terminal() && !in_foreground() {
            std::thread::sleep(BACKGROUND);
            continue;
        }
        match io::stdin().lock().read(&mut chunk) {
            Ok(n) => {
                chunk.truncate(n);
                return chunk;
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return Vec::new(),
        }
    }
}

/// Whether the terminal on standard input belongs to this process's group.
fn in_foreground() -> bool {
    // No answer: it is not the terminal of this session, and nobody stops who reads it.
    rustix::termios::tcgetpgrp(rustix::stdio::stdin())
        .map_or(true, |group| group == rustix::process::getpgrp())
}

fn start(name: &str, run: impl FnOnce() + Send + 'static) {
    // Without the thread the tasks see an input that never comes, or an empty one: the user sees
    // either at once.
    let _ = std::thread::Builder::new().name(name.into()).spawn(run);
}

/// Copies the input to tasks of this machine, until it or all of them have ended.
pub(crate) fn copy_to(mut readers: Vec<ChildStdin>) {
    start("lapirun-stdin", move || {
        while !readers.is_empty() {
            let chunk = read();
            if chunk.is_empty() {
                return;
            }
            readers.retain_mut(|to| to.write_all(&chunk).is_ok());
        }
    });
}

/// The input part by part, for those who ask for each.
pub(crate) struct Parts {
    asks: mpsc::Sender<()>,
    parts: mpsc::Receiver<Vec<u8>>,
}

impl Parts {
    /// Starts the thread, which rings the bell for each part.
    pub(crate) fn start(bell: &Arc<OwnedFd>) -> Self {
        let (asks, asked) = mpsc::channel::<()>();
        let (to, parts) = mpsc::channel();
        let bell = Arc::clone(bell);
        start("lapirun-stdin", move || {
            while asked.recv().is_ok() && to.send(read()).is_ok() {
                let _ = rustix::io::write(&*bell, &1u64.to_ne_bytes());
            }
        });
        Self { asks, parts }
    }

    /// Asks for the next part.
    pub(crate) fn ask(&self) {
        // A thread that could not be started gives nothing.
        let _ = self.asks.send(());
    }

    /// A part that was asked for, once it is there; an empty one is the end.
    pub(crate) fn next(&self) -> Option<Vec<u8>> {
        self.parts.try_recv().ok()
    }
}
