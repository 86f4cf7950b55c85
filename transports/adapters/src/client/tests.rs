use super::*;
use crate::protocol::VERSION;
use lapis_core::sync::{Arc, AtomicUsize};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

#[test]
fn an_answer_that_comes_too_late_is_none_to_the_next_request() {
    let flags = SocketFlags::CLOEXEC;
    let (near, far) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).expect("sockets");
    let soon = Some(Duration::from_millis(1));
    rustix::net::sockopt::set_socket_timeout(&near, rustix::net::sockopt::Timeout::Recv, soon).expect("set");
    let (near, far) = (Channel::of(near), Channel::of(far));
    let (address, late) = (Address::new("nobody"), AtomicU32::new(0));
    let ask = || ask(&address, &near, &Request::Adapters, &[], &late);
    assert!(matches!(ask(), Err(DaemonError::Silent(..))));
    let nodes = Reply::Nodes { nodes: Vec::new(), next: None };
    for reply in [&Reply::Done, &Reply::Changed, &nodes] {
        far.send(&serde_json::to_vec(reply).expect("plain"), &[], true).expect("room");
    }
    assert!(matches!(ask(), Ok((Reply::Nodes { .. }, _))), "the first one was the former request's");
    assert_eq!(late.load(Ordering::Relaxed), 0);
    // One that can't be taken is one nevertheless: the next one answers the next request.
    far.send(&vec![b' '; MAX_REPLY + 1], &[], true).expect("room");
    far.send(&serde_json::to_vec(&nodes).expect("plain"), &[], true).expect("room");
    assert!(matches!(ask(), Err(DaemonError::Silent(..))));
    assert!(matches!(ask(), Ok((Reply::Nodes { .. }, _))), "this request's");
}

/// What a daemon is asked after its hello may take it longer than to say hello.
#[test]
fn a_daemon_that_has_said_in_time_that_it_is_there_may_take_longer_to_answer() {
    const QUICK: Duration = Duration::from_millis(200);
    let address = Address::new(&format!("lapis-client-slow-{}", std::process::id()));
    let listener = crate::listener::Listener::bind(&address).expect("free");
    listener.listen().expect("bound");
    let daemon = std::thread::spawn(move || {
        rustix::io::ioctl_fionbio(&listener, false).expect("a socket");
        let client = listener.accept().expect("descriptors").expect("one comes");
        rustix::io::ioctl_fionbio(client.as_fd(), false).expect("a socket");
        let matrix = crate::matrix::Writer::new().expect("memory");
        let (mut bytes, mut fds) = ([0; 4096], Vec::new());
        let mut answer = |reply: &Reply, with: &[BorrowedFd<'_>], after| {
            client.receive(&mut bytes, &mut fds, true).expect("a request");
            std::thread::sleep(after);
            client.send(&serde_json::to_vec(reply).expect("plain"), with, true).expect("room");
        };
        let welcome = Reply::Welcome { version: VERSION, daemon: 1 };
        answer(&welcome, &[matrix.file().as_fd()], Duration::ZERO);
        answer(&Reply::Adapters { adapters: Vec::new() }, &[], 3 * QUICK);
    });
    let client = Daemon::connect_within(&address, QUICK).expect("it says hello at once");
    assert_eq!(client.adapters().expect("it answers").len(), 0);
    daemon.join().expect("ends");
}

#[test]
fn a_long_answer_that_comes_too_late_is_not_the_daemons_end() {
    let flags = SocketFlags::CLOEXEC;
    let (near, far) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).expect("sockets");
    let (near, far, late) = (Channel::of(near), Channel::of(far), AtomicU32::new(2));
    far.send(&[b' '; 500], &[], true).expect("room");
    far.send(&serde_json::to_vec(&Reply::Done).expect("plain"), &[], true).expect("room");
    assert!(!has_gone(&near, &late));
    assert_eq!(late.load(Ordering::Relaxed), 0);
    drop(far);
    assert!(has_gone(&near, &late));
}

/// A task whose other traffic stands still meanwhile asks for a window of a daemon that has just
/// begun. The daemon answers otherwise in the end, which the task does not wait for; at the start
/// of a job it does.
#[test]
fn what_may_be_there_soon_is_asked_for_again_for_no_longer_than_answers_are_waited_for() {
    // More often than there is time for.
    const MOST: usize = 400;
    let address = Address::new(&format!("lapis-client-soon-{}", std::process::id()));
    let listener = crate::listener::Listener::bind(&address).expect("free");
    listener.listen().expect("bound");
    let (left, refusals) =
        (Arc::new(AtomicUsize::new(MOST)), Reply::Refused { why: Why::Soon, text: String::new() });
    let at_daemon = Arc::clone(&left);
    let daemon = std::thread::spawn(move || {
        rustix::io::ioctl_fionbio(&listener, false).expect("a socket");
        let client = listener.accept().expect("descriptors").expect("one comes");
        rustix::io::ioctl_fionbio(client.as_fd(), false).expect("a socket");
        let matrix = crate::matrix::Writer::new().expect("memory");
        let (mut bytes, mut fds) = ([0; 4096], Vec::new());
        let mut answer = |reply: &Reply, with: &[BorrowedFd<'_>]| {
            let is_there = client.receive(&mut bytes, &mut fds, true).is_ok_and(|len| len > 0);
            is_there && client.send(&serde_json::to_vec(reply).expect("plain"), with, true).is_ok()
        };
        answer(&Reply::Welcome { version: VERSION, daemon: 1 }, &[matrix.file().as_fd()]);
        while at_daemon.load(Ordering::Relaxed) > 0 && answer(&refusals, &[]) {
            at_daemon.fetch_sub(1, Ordering::Relaxed);
        }
        answer(&Reply::Done, &[]);
    });
    let client = Daemon::connect(&address).expect("it says hello at once");
    let place = Place { adapter: "sn0".to_owned(), window: 0 };
    let attach = |client: &Daemon| client.attach(&place, Key::of_text("x"));
    let answer = client.within(Duration::from_millis(500), attach);
    assert!(matches!(answer, Err(DaemonError::Refused { why: Why::Soon, .. })), "{answer:?}");
    left.store(3, Ordering::Relaxed);
    let answer = attach(&client);
    assert!(matches!(answer, Err(DaemonError::Confused(..))), "it was asked until it answered: {answer:?}");
    daemon.join().expect("ends");
}

/// As where two containers share the network and each has a daemon at one path.
#[test]
fn one_path_in_two_folders_is_two_places_and_one_folder_by_two_names_is_one() {
    let all = std::env::temp_dir().join(format!("lapis-client-places-{}", std::process::id()));
    let (one, other, named) = (all.join("one"), all.join("other"), all.join("run"));
    for folder in [&one, &other] {
        std::fs::create_dir_all(folder).expect("a folder");
    }
    let identity_in = |folder: &Path| identity(&Address::new(&folder.join("nsd").to_string_lossy()));
    std::os::unix::fs::symlink(&one, &named).expect("a link");
    let first = identity_in(&named);
    std::fs::remove_file(&named).expect("the link");
    std::os::unix::fs::symlink(&other, &named).expect("a link");
    let second = identity_in(&named);
    let plain = [&one, &other].map(|folder| identity_in(folder));
    let _ = std::fs::remove_dir_all(&all);
    assert_eq!([first, second], plain);
    assert_ne!(first, second);
    assert_eq!(identity(&Address::new("nsd")), identity(&Address::new("nsd")));
}
