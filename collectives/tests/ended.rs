//! A context that ends while data of a collective is on its way: who waits for the call is told.

mod support;

use lapis_collectives::{Call, Combine, Edge, Team};
use std::time::Duration;
use support::{Stage, UDP, job};

/// Bytes that do not arrive at once.
const LONG: usize = 16 << 20;

/// Task 0 gives task 1 long data, of which that one stops taking any. Another thread waits for it.
#[test]
fn who_waits_while_another_thread_ends_the_context_is_told() {
    let stage = Stage::default();
    job(2, UDP, move |context| {
        let team = Team::world(context).unwrap();
        team.barrier().unwrap();
        let (me, edge) = (context.task(), |member| [Edge { member, start: 0, len: LONG }]);
        let none = None::<Combine<'static, u8>>;
        if me == 0 {
            let call = Call::Neighbours { from: &[], to: &edge(1) };
            let mut pending = team.start(&call, none, vec![7; LONG], vec![]).unwrap();
            while !stage.is_reached(1) {
                assert!(!pending.test().unwrap(), "all of it has gone");
            }
            std::thread::scope(|scope| {
                let waits = scope.spawn(|| pending.wait().map(|_| ()));
                context.terminate().unwrap();
                let ended = waits.join().unwrap();
                assert!(ended.is_err());
            });
            stage.reach(2);
        } else {
            let call = Call::Neighbours { from: &edge(0), to: &[] };
            let mut pending = team.start(&call, none, vec![], vec![9; LONG]).unwrap();
            let received = || context.statistics().path(lapis_core::stats::Path::Network).packets_received;
            let before = received();
            while received() < before + 50 {
                assert!(!pending.test().unwrap(), "{LONG} bytes in fewer than 50 packets");
            }
            stage.reach(1);
            stage.wait_for(2);
            // The farewell may have been lost, for want of room.
            context.set_timeout(Duration::from_secs(1));
            assert!(pending.wait().is_err());
            context.terminate().unwrap();
        }
    });
}
