//! Closes what clients have passed, their connections, and their windows.
//!
//! To close a descriptor may take as long as the one who made it likes, as with a socket of his
//! that is to linger, and the memory of a large file takes a while to be freed. Such descriptors
//! may wait in the queue of a connection, too. To mark a window's memory as closed takes as long as
//! its owner has the kernel work at it (fallocate). So each user has a thread of his own as long as
//! there is something of his to close, and [`Closer::waiting`] says how much that is.

use lapis_adapters::soft::Parts;
use std::collections::{HashMap, VecDeque};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;

/// What nobody needs any more.
#[derive(Debug)]
pub enum Unused {
    /// It is to be closed.
    Descriptor(OwnedFd),
    /// A window, whose senders are to be told before.
    Window(Parts),
}

impl Unused {
    fn close(self) {
        if let Self::Window(parts) = &self {
            parts.mark_closed();
        }
        drop(self);
    }
}

/// What is to be closed at once: it counts as one.
type Item = Vec<Unused>;

/// What a user has to have closed. It is there as long as there is something.
#[derive(Default)]
struct User {
    waiting: VecDeque<Item>,
    /// There is a thread, which is closing one thing more.
    has_thread: bool,
}

type Users = Mutex<HashMap<u32, User>>;

/// See the module. Its threads end when everything is closed, also when this is dropped before.
#[derive(Default)]
pub(crate) struct Closer(Arc<Users>);

fn lock(users: &Users) -> MutexGuard<'_, HashMap<u32, User>> {
    users.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Closer {
    /// Closes these some time. They count as one thing of the user's.
    pub(crate) fn close(&self, user: u32, item: Item) {
        if item.is_empty() {
            return;
        }
        let mut users = lock(&self.0);
        let theirs = users.entry(user).or_default();
        theirs.waiting.push_back(item);
        if !theirs.has_thread {
            let all = Arc::clone(&self.0);
            let builder = Builder::new().name("lapis-nsd-close".to_owned());
            // If threads are short it waits, and counts, until something else is to be closed.
            theirs.has_thread = lapis_core::threads::spawn(builder, move || close_all_of(&all, user)).is_ok();
        }
    }

    /// How many things of a user's are not closed yet.
    pub(crate) fn waiting(&self, user: u32) -> usize {
        lock(&self.0).get(&user).map_or(0, |theirs| theirs.waiting.len() + usize::from(theirs.has_thread))
    }
}

fn close_all_of(users: &Users, user: u32) {
    let next = || {
        let mut users = lock(users);
        let item = users.get_mut(&user).and_then(|theirs| theirs.waiting.pop_front());
        if item.is_none() {
            users.remove(&user);
        }
        item
    };
    while let Some(item) = next() {
        item.into_iter().for_each(Unused::close);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lapis_adapters::fifo::Geometry;
    use lapis_adapters::soft::Sender;
    use lapis_copies::Copies;
    use lapis_testing::Patience;
    use std::io::{Read as _, Write as _};
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::net::UnixStream;
    use std::time::Duration;

    const ANN: u32 = 1000;
    const BOB: u32 = 1001;
    const LONG: Duration = Duration::from_secs(60);

    /// A connection whose close waits until the other end, which comes with it, has gone.
    fn lingering() -> (OwnedFd, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let mut near = TcpStream::connect(listener.local_addr().expect("bound")).expect("listens");
        let (far, _) = listener.accept().expect("a connection");
        rustix::net::sockopt::set_socket_linger(&near, Some(10 * LONG)).expect("can be set");
        near.set_nonblocking(true).expect("can be set");
        while near.write(&[0; 1 << 16]).is_ok() {}
        near.set_nonblocking(false).expect("can be set");
        (near.into(), far)
    }

    fn until(what: &str, mut is_so: impl FnMut() -> bool) {
        let mut patience = Patience::with_myself(LONG);
        while !is_so() {
            assert!(!patience.is_over(), "{what}");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn who_takes_long_to_close_keeps_nobody_but_himself_waiting() {
        let closer = Closer::default();
        let (slow, far) = lingering();
        closer.close(ANN, vec![Unused::Descriptor(slow)]);
        // Ann's thread is at it before something of Bob's comes.
        until("nobody closes", || lock(&closer.0).get(&ANN).is_some_and(|ann| ann.waiting.is_empty()));
        let [(mut anns, hers), (mut bobs, his)] = [(); 2].map(|()| UnixStream::pair().expect("two sockets"));
        closer.close(ANN, vec![Unused::Descriptor(hers.into())]);
        closer.close(BOB, vec![Unused::Descriptor(his.into())]);
        bobs.set_read_timeout(Some(LONG)).expect("can be set");
        assert_eq!(bobs.read(&mut [0]).expect("the end"), 0);
        until("Bob's thread stays", || closer.waiting(BOB) == 0);
        assert_eq!(closer.waiting(ANN), 2, "what is being closed counts");
        anns.set_nonblocking(true).expect("can be set");
        assert!(anns.read(&mut [0]).is_err(), "hers wait for each other");
        drop(far);
        until("Ann's are never closed", || closer.waiting(ANN) == 0);
        assert_eq!(anns.read(&mut [0]).expect("the end"), 0);
    }

    /// The senders of a window that was closed hear of it.
    #[test]
    fn windows_are_marked_before_they_are_closed() {
        let geometry = Geometry { slots: 16, chunks: 16, chunk: 1024, lanes: 0 };
        let parts = Parts::make("test", geometry).expect("memory");
        let sender = Sender::open(parts.try_clone().expect("descriptors"), Copies::USUAL).expect("maps");
        assert!(!sender.fifo().is_closed());
        Closer::default().close(ANN, vec![Unused::Window(parts)]);
        until("it is not marked", || sender.fifo().is_closed());
    }
}
