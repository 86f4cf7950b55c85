//! Paths that go down and come back faster than the peer answers.

use super::*;

/// Which of the two paths are up at a time: they are down in turns, and both up in between.
fn up(now: Nanos, down: Nanos) -> [bool; 2] {
    let place = now % (3 * down);
    [place >= down, !(3 * down / 2..5 * down / 2).contains(&place)]
}

impl Pair {
    /// A task runs again after others had its processor: it hears which paths are up by now if that
    /// has changed, takes what has arrived, and sends. What it sends over a path that it has heard
    /// to be down is lost.
    fn turn(&mut self, task: usize, now_up: [bool; 2], heard: &mut [bool; 2]) {
        for path in [0, 1] {
            if std::mem::replace(&mut heard[path], now_up[path]) != now_up[path] {
                self.engines[task].hint_path(1 - task as u32, path as u8, now_up[path]).unwrap();
            }
        }
        self.receive(task);
        self.send(task);
        self.wires[1 - task].retain(|datagram| heard[usize::from(header(datagram).path)]);
    }
}

/// Sends so many units, each when the one before has been acknowledged. Both tasks run once in
/// `round`, and a path is `down` for so long each time. Says how often both ran.
fn rounds(units: u64, round: Nanos, down: Nanos) -> u64 {
    let paths = [0, 1].map(|path| PathInfo::new(path, 1472));
    let mut pair = Pair::with(&EngineConfig::default(), &paths, Some(1));
    let (mut heard, mut next) = ([[true; 2]; 2], 0);
    for round_number in 0..100 * units {
        for (task, heard) in heard.iter_mut().enumerate() {
            pair.now += round / 2;
            if task == 0 && pair.engines[0].outstanding(1) == Some(0) {
                if next == units {
                    assert_eq!(pair.got[1].len() as u64, units);
                    return round_number;
                }
                pair.submit(0, Channel::Request, &next.to_ne_bytes(), next).unwrap();
                next += 1;
            }
            pair.turn(task, up(pair.now, down), heard);
        }
    }
    panic!("{next} of {units} units with rounds of {round} ns and paths that are down for {down} ns");
}

#[test]
fn messages_arrive_although_paths_change_faster_than_peers_answer() {
    const UNITS: u64 = 50;
    for round in [1, 2, 5, 11, 23, 41, 70, 97, 130, 211] {
        for down in [2, 4, 8, 20] {
            let rounds = rounds(UNITS, round * MS, down * MS);
            // Two for a unit and its acknowledgement.
            assert!(rounds <= 4 * UNITS, "{rounds} rounds of {round} ms, paths down for {down} ms");
        }
    }
}

#[test]
fn a_path_whose_link_is_back_soon_asks_again_if_its_first_datagrams_are_lost() {
    let mut pair = Pair::new();
    pair.engines[0].hint_path(1, 0, false).unwrap();
    pair.submit(0, Channel::Request, b"a unit", 0).unwrap();
    let back = pair.now + 5000 * MS;
    while pair.now < back {
        pair.send(0);
        pair.wires[1].clear();
        let next = pair.engines[0].next_timeout().expect("it asks again and again");
        pair.now = pair.now.max(next);
    }
    let back = pair.now;
    pair.engines[0].hint_path(1, 0, true).unwrap();
    pair.send(0);
    pair.wires[1].clear();
    pair.run(20 * MS);
    assert_eq!(pair.engines[0].outstanding(1), Some(0), "{} ns after", pair.now - back);
}
