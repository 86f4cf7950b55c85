//! A services daemon that takes adapters down at the worst moment: when somebody has just learnt
//! that they are up, and asks for a window.

use lapis_adapters::channel::{Address, Channel};
use lapis_adapters::listener::Listener;
use lapis_adapters::protocol::{MAX_REQUEST, Request};
use lapis_nsd::{Caller, Conversation, Tables, soft_adapters};
use rustix::io::ioctl_fionbio;
use rustix::net::{Shutdown, shutdown};
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// The daemon's own client.
const ROOT: Caller = Caller { client: 0, user: 0, process: 0, administrator: true };

/// Serves until it is dropped.
pub(crate) struct Puller {
    pub(crate) address: Address,
    listener: Arc<Listener>,
    thread: Option<JoinHandle<()>>,
}

impl Puller {
    /// Begins to listen, with four adapters on two networks, of which it pulls some.
    pub(crate) fn start(pulled: &'static [&'static str]) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let address = Address::new(&format!("lapis-test-puller-{}-{number}", std::process::id()));
        let listener = Arc::new(Listener::bind(&address).expect("nobody listens there"));
        listener.listen().expect("it is bound");
        ioctl_fionbio(&listener, false).expect("a socket");
        let adapters = soft_adapters(4, 2, 16).expect("possible");
        let tables = Arc::new(Mutex::new(Tables::new(adapters, Some(16)).expect("memory")));
        let clients = Arc::clone(&listener);
        let thread = std::thread::spawn(move || {
            // Until the socket is shut down.
            for number in 1.. {
                let Ok(Some(client)) = clients.accept() else { return };
                ioctl_fionbio(client.as_fd(), false).expect("a socket");
                let tables = Arc::clone(&tables);
                std::thread::spawn(move || serve(number, &client, &tables, pulled));
            }
        });
        Self { address, listener, thread: Some(thread) }
    }
}

impl Drop for Puller {
    fn drop(&mut self) {
        let _ = shutdown(&self.listener, Shutdown::Both);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Answers a client until it has gone.
fn serve(client: u64, channel: &Channel, tables: &Mutex<Tables>, pulled: &[&str]) {
    let tables = || tables.lock().unwrap_or_else(PoisonError::into_inner);
    channel.let_descriptors_in(true);
    let (user, process) = channel.peer().expect("connected");
    let mut conversation = Conversation::new(Caller { client, user, process, administrator: true });
    let (mut bytes, mut fds) = ([0; MAX_REQUEST], Vec::new());
    while let Ok(len) = channel.receive(&mut bytes, &mut fds, true)
        && len > 0
    {
        let mut tables = tables();
        if let Ok(Request::Open { adapter, .. }) = serde_json::from_slice(&bytes[..len])
            && pulled.contains(&&*adapter)
        {
            tables.handle(ROOT, Request::Set { adapter, up: false }, Vec::new());
        }
        let answer = conversation.answer(&mut tables, 1, &bytes[..len], std::mem::take(&mut fds));
        let theirs: Vec<_> = answer.fds.iter().map(OwnedFd::as_fd).collect();
        if channel.send(&answer.bytes, &theirs, true).is_err() || answer.last {
            break;
        }
    }
    tables().gone(client, None);
}
