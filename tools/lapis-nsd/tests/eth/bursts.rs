//! Datagrams that leave together, and arrive in one piece or singly.

use super::{Hosts, hosts, open, receive, send, v6_hosts, way};
use lapis_adapters::eth::burst::Burst;
use lapis_adapters::eth::port::Port;
use lapis_adapters::key::Key;

fn bytes(len: usize, seed: usize) -> Vec<u8> {
    (0..len).map(|at| (at * 13 + at / 251 + seed) as u8).collect()
}

/// Sends bytes as datagrams of `each` bytes, each of which is added in two parts.
fn send_burst(port: &mut Port, burst: &mut Burst, all: &[u8], each: usize) {
    burst.begin(each);
    for datagram in all.chunks(each) {
        let (head, tail) = datagram.split_at(datagram.len() / 3);
        burst.start();
        [head, tail].iter().for_each(|part| burst.add(part.as_ptr(), part.len()));
    }
    // SAFETY: the parts are those of `all`, which lives through the call.
    unsafe { port.send_burst(burst) }.expect("the kernel sends");
}

fn bursts(hosts: &Hosts) {
    let (Some(_a), Some(_b)) = (hosts.daemon(0, &[]), hosts.daemon(1, &[])) else { return };
    let (near, far) = (hosts.client(0), hosts.client(1));
    let key = Key::of_text("job");
    let (mut here, mut there) = (open(&near, key).1, open(&far, key).1);
    assert!(here.wire().joins && there.wire().joins, "the generic code is in use");
    let (go, room) = (way(&near, &here, &there), here.wire().room as usize);
    let to = (there.wire().address, there.wire().port);
    let mut burst = hosts.spaces[0].inside(|| here.burst(to.0, to.1)).expect("a socket of the host's");
    let mut frames = 0;
    for each in [1, 12, 13, 300, 1412, 1738, 1792, room - 1, room].into_iter().filter(|each| *each <= room) {
        for count in [1, 2, 3, 17.min(Burst::most(each)), Burst::most(each)] {
            for short in [0, each / 2, each - 1] {
                let all = bytes(each * count - short, each + count);
                // What leaves before and behind it arrives before and behind it.
                send(&mut here, &go, b"before");
                send_burst(&mut here, &mut burst, &all, each);
                send(&mut here, &go, b"behind");
                assert_eq!(receive(&mut there), b"before");
                for datagram in all.chunks(each) {
                    assert_eq!(receive(&mut there), datagram, "{count} of {each} bytes, less {short}");
                }
                assert_eq!(receive(&mut there), b"behind");
                frames += count + 2;
            }
        }
    }
    assert_eq!(there.counts().arrived, frames as u64);
    assert_eq!((there.counts().refused, there.lost()), (0, 0));
    // Far more than there are frames: each comes back.
    let all = bytes(Burst::most(room) * room, 5);
    for _ in 0..2000 {
        send_burst(&mut here, &mut burst, &all, room);
        for datagram in all.chunks(room) {
            assert_eq!(receive(&mut there), datagram);
        }
    }
    // One for which the place is too short is lost with those behind it; the next one is not.
    send_burst(&mut here, &mut burst, &all, room);
    send(&mut here, &go, b"behind");
    assert_eq!(there.receive(&mut [0; 6]), Some(6));
    assert_eq!(there.counts().refused, 1);
}

#[test]
fn datagrams_that_leave_together_arrive_one_by_one() {
    let Some(hosts) = hosts("bursts", 1) else { return };
    bursts(&hosts);
}

#[test]
fn datagrams_that_leave_together_arrive_one_by_one_over_ipv6() {
    let Some(hosts) = v6_hosts("bursts6", 1) else { return };
    bursts(&hosts);
}

#[test]
fn datagrams_that_leave_together_arrive_one_by_one_in_jumbo_frames() {
    let Some(hosts) = super::hosts_with("jumbobursts", 1, |[a, b]| {
        [a, b].iter().all(|host| host.ip("link set r0 mtu 9000"))
    }) else {
        return;
    };
    bursts(&hosts);
}
