//! The socket that clients of a daemon connect to, and the name that only one daemon has.

use crate::channel::{Address, Channel, let_descriptors_in, socket};
use rustix::fs::{FlockOperation, Mode, OFlags, flock, fstat, open, stat};
use rustix::io::Errno;
use rustix::net::{SocketAddrUnix, SocketFlags, bind, connect, listen};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

/// Clients that may wait to be accepted.
const QUEUE: i32 = 128;

/// A daemon's socket. When it is dropped, the path is removed if it is still this socket's.
#[derive(Debug)]
pub struct Listener {
    socket: OwnedFd,
    _name: Option<Name>,
}

/// A path that is a socket's.
#[derive(Debug)]
struct Name {
    path: PathBuf,
    /// Device and number of what was bound there.
    file: (u64, u64),
    /// Who has it may take the path, and look whether it was left behind. The kernel lets go of it
    /// when the process ends, however that comes.
    _lock: Lock,
}

#[derive(Debug)]
struct Lock {
    path: PathBuf,
    file: OwnedFd,
}

impl Listener {
    /// Takes an address, so that nobody else does. Until this [listens](Self::listen), clients are
    /// told at once that nobody is there.
    ///
    /// # Errors
    /// Somebody has it already, or the system is short of something.
    pub fn bind(at: &Address) -> io::Result<Self> {
        let (socket, address) = (socket()?, at.socket_address()?);
        let Some(path) = at.path() else {
            bind(&socket, &address)?;
            return Ok(Self { socket, _name: None });
        };
        let lock = Lock::of(path)?;
        match bind(&socket, &address) {
            Err(Errno::ADDRINUSE) if is_left_behind(path, &address) => {
                std::fs::remove_file(path)?;
                bind(&socket, &address)?;
            }
            bound => bound?,
        }
        let file = number_of(path)?;
        let name = Some(Name { path: path.to_owned(), file, _lock: lock });
        Ok(Self { socket, _name: name })
    }

    /// Lets clients connect. Answers whether the kernel keeps them from passing descriptors before
    /// they are [let in](Channel::let_descriptors_in).
    ///
    /// # Errors
    /// What the system says.
    pub fn listen(&self) -> io::Result<bool> {
        let are_kept_out = let_descriptors_in(&self.socket, false);
        listen(&self.socket, QUEUE)?;
        rustix::io::ioctl_fionbio(&self.socket, true)?;
        Ok(are_kept_out)
    }

    /// Takes the next client, if one waits.
    ///
    /// # Errors
    /// Descriptors are short.
    pub fn accept(&self) -> io::Result<Option<Channel>> {
        match rustix::net::accept_with(&self.socket, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
            Ok(socket) => Ok(Some(Channel::of(socket))),
            Err(Errno::AGAIN | Errno::INTR | Errno::CONNABORTED) => Ok(None),
            Err(e) => Err(e.into()),
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for Name {
    fn drop(&mut self) {
        if number_of(&self.path).is_ok_and(|file| file == self.file) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

impl Lock {
    /// Takes the lock beside a path.
    fn of(path: &Path) -> io::Result<Self> {
        let mut name = path.as_os_str().to_owned();
        name.push(".lock");
        let path = PathBuf::from(name);
        loop {
            let flags = OFlags::CREATE | OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW;
            let file = open(&path, flags, Mode::RUSR | Mode::WUSR)?;
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Err(Errno::WOULDBLOCK) => return Err(Errno::ADDRINUSE.into()),
                locked => locked?,
            }
            // The one before may have removed it in between: then others lock another file.
            let (own, there) = (fstat(&file)?, stat(&path));
            if there.is_ok_and(|there| (there.st_dev, there.st_ino) == (own.st_dev, own.st_ino)) {
                return Ok(Self { path, file });
            }
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // While it is locked, so that nobody locks it and loses it.
        let _ = std::fs::remove_file(&self.path);
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

fn number_of(path: &Path) -> io::Result<(u64, u64)> {
    use std::os::unix::fs::MetadataExt as _;
    let file = path.symlink_metadata()?;
    Ok((file.dev(), file.ino()))
}

/// Whether a path is the socket of somebody who has ended.
fn is_left_behind(path: &Path, address: &SocketAddrUnix) -> bool {
    use std::os::unix::fs::FileTypeExt as _;
    let is_socket = path.symlink_metadata().is_ok_and(|file| file.file_type().is_socket());
    let refused = || {
        let socket = socket()?;
        // A daemon that is behind with its clients is there.
        rustix::io::ioctl_fionbio(&socket, true)?;
        Ok::<bool, io::Error>(connect(&socket, address) == Err(Errno::CONNREFUSED))
    };
    is_socket && refused().unwrap_or(false)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::Barrier;
    use std::time::Duration;

    fn at_path(test: &str) -> (PathBuf, Address) {
        let path = std::env::temp_dir().join(format!("lapis-{test}-{}", std::process::id()));
        let at = Address::new(&path.to_string_lossy());
        (path, at)
    }

    fn is_taken(at: &Address) -> bool {
        Listener::bind(at).err().is_some_and(|e| e.kind() == io::ErrorKind::AddrInUse)
    }

    /// What a killed daemon leaves.
    fn leave_behind(path: &Path, at: &Address) {
        bind(socket().expect("a socket"), &at.socket_address().expect("short")).expect("free");
        assert!(path.exists());
    }

    #[test]
    fn a_socket_that_was_left_is_replaced_and_nothing_else_is() {
        let (path, at) = at_path("left");
        leave_behind(&path, &at);
        let listener = Listener::bind(&at).expect("nobody listens");
        assert!(is_taken(&at), "somebody is about to listen");
        listener.listen().expect("bound");
        assert!(is_taken(&at), "somebody listens");
        Channel::connect(&at, Duration::from_secs(9)).expect("listens");
        drop(listener);
        assert!(!path.exists() && !path.with_extension("lock").exists(), "nothing is left");
        std::fs::write(&path, "not a socket").expect("a file");
        assert!(is_taken(&at), "somebody's file");
        assert_eq!(std::fs::read(&path).expect("is there still"), b"not a socket");
        std::fs::remove_file(&path).expect("ours");
    }

    #[test]
    fn one_of_two_who_find_a_path_that_was_left_gets_it() {
        let (path, at) = at_path("two");
        for round in 0..200 {
            leave_behind(&path, &at);
            let both = Barrier::new(2);
            let open = || {
                both.wait();
                let listener = Listener::bind(&at);
                // Nobody goes before the other one has tried.
                both.wait();
                listener
            };
            let got = std::thread::scope(|scope| {
                [(); 2].map(|()| scope.spawn(open)).map(|thread| thread.join().expect("ends"))
            });
            assert_eq!(got.iter().flatten().count(), 1, "{round}: {got:?}");
        }
    }

    #[test]
    fn a_path_that_is_another_daemons_by_now_stays() {
        let (path, at) = at_path("others");
        let first = Listener::bind(&at).expect("free");
        std::fs::remove_file(&path).expect("an administrator does");
        leave_behind(&path, &at);
        drop(first);
        assert!(path.exists(), "it is another one's");
        std::fs::remove_file(&path).expect("ours");
    }

    #[test]
    fn who_does_not_listen_yet_keeps_no_client_waiting_and_others_out() {
        let (_, path) = at_path("soon");
        for at in [Address::new(&format!("lapis-soon-{}", std::process::id())), path] {
            let listener = Listener::bind(&at).expect("free");
            let refused = Channel::connect(&at, Duration::from_secs(60)).expect_err("not yet");
            assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
            assert!(is_taken(&at));
            listener.listen().expect("bound");
            Channel::connect(&at, Duration::from_secs(60)).expect("listens");
        }
    }

    #[test]
    fn descriptors_come_from_those_who_are_let_in() {
        let at = Address::new(&format!("lapis-let-in-{}", std::process::id()));
        let listener = Listener::bind(&at).expect("free");
        if !listener.listen().expect("bound") {
            return eprintln!("SKIPPED: descriptors may always be passed before Linux 6.16");
        }
        let near = Channel::connect(&at, Duration::from_secs(60)).expect("listens");
        let pass = || near.send(b"x", &[listener.as_fd()], true);
        assert!(pass().is_err(), "it waits");
        let far = listener.accept().expect("descriptors").expect("one waits");
        assert!(pass().is_err(), "it is accepted");
        near.send(b"x", &[], true).expect("messages may come");
        assert!(far.let_descriptors_in(true));
        pass().expect("it is let in");
    }
}
