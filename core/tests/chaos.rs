//! Faults of datagrams are made as often as asked, the same in every run with one seed, and none
//! without.

use lapis_core::transport::{Caps, DatagramBatch, Event, Link, OpenParams, Plugin, RawSlice};
use std::collections::HashMap;

fn open(faults: &str) -> Link {
    let mut plugin = Plugin::from_table(lapis_testing::mirror()).expect("a good table");
    plugin.set_chaos(Some(faults.parse().expect("good faults")));
    let secret = [0; 32];
    let params = OpenParams {
        task: 0,
        tasks: 1,
        context: 0,
        incarnation: 0,
        job: "j",
        secret: &secret,
        interrupts: false,
    };
    plugin.open(&params).expect("opens")
}

const COUNT: u32 = 20_000;

/// Sends numbered datagrams of 100 bytes, five to a batch, and returns what came, in order.
fn traffic(link: &mut Link) -> Vec<Vec<u8>> {
    let mut came = Vec::new();
    let mut collect = |link: &mut Link| {
        let mut events = [Event::EMPTY; 64];
        loop {
            let n = link.poll(&mut events).expect("poll works");
            for e in &events[..n] {
                // SAFETY: until the next poll the bytes are there.
                came.push(unsafe { std::slice::from_raw_parts(e.data, e.len as usize) }.to_vec());
            }
            if n == 0 {
                return came.len();
            }
        }
    };
    for first in (0..COUNT).step_by(5) {
        let mut bytes = Vec::new();
        for i in first..first + 5 {
            let mut datagram = [0u8; 100];
            datagram[..4].copy_from_slice(&i.to_le_bytes());
            bytes.extend(datagram);
        }
        // Cut where no datagram ends.
        let (a, b) = bytes.split_at(123);
        let slices = [a, b].map(|s| RawSlice { ptr: s.as_ptr().cast_mut(), len: s.len() });
        let batch = DatagramBatch { peer: 0, path: 0, slices: slices.as_ptr(), count: 2, segment: 100 };
        // SAFETY: the slices outlive the call.
        while unsafe { link.send_datagrams(&[batch]) } == Ok(0) {
            collect(link);
        }
        collect(link);
    }
    // What was held goes when its time comes.
    let mut quiet = std::time::Instant::now();
    let mut before = 0;
    while quiet.elapsed().as_millis() < 60 {
        let now = collect(link);
        if now != before {
            (before, quiet) = (now, std::time::Instant::now());
        }
    }
    came
}

fn numbers(came: &[Vec<u8>]) -> Vec<u32> {
    came.iter().map(|d| u32::from_le_bytes([d[0], d[1], d[2], d[3]])).collect()
}

#[track_caller]
fn about(count: usize, part: f64) {
    let expected = f64::from(COUNT) * part;
    assert!(
        (count as f64 - expected).abs() < 0.15 * expected,
        "{count} of {COUNT}, expected about {expected}"
    );
}

#[test]
fn without_faults_everything_comes_once_and_in_order() {
    let mut link = open("seed=5");
    assert_eq!(link.name(), "mirror");
    assert_eq!(link.caps(), Caps::DATAGRAM | Caps::SELF_ONLY);
    assert_eq!(link.note(), "mirror; chaos: seed=5");
    assert!(numbers(&traffic(&mut link)).into_iter().eq(0..COUNT));
}

#[test]
fn losses_and_duplicates_are_as_many_as_asked() {
    let came = numbers(&traffic(&mut open("drop=0.1,dup=0.05,seed=1")));
    let mut times: HashMap<u32, u32> = HashMap::new();
    for n in &came {
        *times.entry(*n).or_default() += 1;
    }
    about(COUNT as usize - times.len(), 0.1);
    about(times.values().filter(|t| **t == 2).count(), 0.9 * 0.05);
    let again = numbers(&traffic(&mut open("drop=0.1,dup=0.05,seed=1")));
    assert_eq!(came, again, "one seed, one story");
    let other = numbers(&traffic(&mut open("drop=0.1,dup=0.05,seed=2")));
    assert_ne!(came, other, "another seed, another story");
}

#[test]
fn reordered_datagrams_come_late_and_none_is_lost() {
    let came = numbers(&traffic(&mut open("reorder=0.1,seed=1")));
    let overtaken = came.windows(2).filter(|w| w[1] < w[0]).count();
    assert!(overtaken > COUNT as usize / 50, "only {overtaken} were overtaken");
    let mut sorted = came;
    sorted.sort_unstable();
    assert!(sorted.into_iter().eq(0..COUNT));
}

#[test]
fn corrupt_datagrams_differ_in_one_bit() {
    let came = traffic(&mut open("corrupt=0.1,seed=1"));
    assert_eq!(came.len(), COUNT as usize);
    let mut spoilt = 0;
    for (i, datagram) in came.iter().enumerate() {
        let mut honest = [0u8; 100];
        honest[..4].copy_from_slice(&(i as u32).to_le_bytes());
        let bits: u32 = datagram.iter().zip(honest).map(|(a, b)| (a ^ b).count_ones()).sum();
        assert!(bits <= 1, "{bits} bits of datagram {i} differ");
        spoilt += bits as usize;
    }
    about(spoilt, 0.1);
}

#[test]
fn a_path_that_is_cut_now_and_then_carries_what_comes_between() {
    let came = numbers(&traffic(&mut open("cut=1ms,seed=1")));
    assert!(came.is_sorted(), "nothing else happens to them");
    // What is lost is lost in runs.
    let gaps = came.windows(2).filter(|w| w[1] != w[0] + 1).count();
    let lost = COUNT as usize - came.len();
    assert!(lost > 100 && came.len() > COUNT as usize / 10, "{lost} lost");
    assert!(lost > 20 * gaps.max(1), "{lost} lost in {gaps} gaps");
}

#[test]
fn delayed_and_refused_datagrams_all_come() {
    let mut sorted = numbers(&traffic(&mut open("delay=300us,again=0.3,seed=1")));
    sorted.sort_unstable();
    assert!(sorted.into_iter().eq(0..COUNT));
}

#[test]
fn a_path_has_faults_of_its_own() {
    // All traffic goes over path 0.
    let came = numbers(&traffic(&mut open("drop=0.9,dup=0.2,path0.drop=0.1,path1.drop=0.5,seed=1")));
    let distinct: std::collections::HashSet<u32> = came.iter().copied().collect();
    about(COUNT as usize - distinct.len(), 0.1);
    about(came.len() - distinct.len(), 0.9 * 0.2);
    let alone = numbers(&traffic(&mut open("path1.drop=0.5,path1.delay=1ms,seed=1")));
    assert!(alone.into_iter().eq(0..COUNT), "nothing happens on the other path");
}
