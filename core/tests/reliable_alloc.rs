//! The packet engine's steady state takes nothing from the allocator, losses or not.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use lapis_core::reliable::{
    Body, Channel, Engine, EngineConfig, JobAuth, Memory, PathInfo, SubmitError, Transmit, Verdict,
};

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: every call is passed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller keeps `alloc`'s contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps `dealloc`'s contract, and the memory came from `System`.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller keeps `realloc`'s contract, and the memory came from `System`.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

struct Zeros([u8; 2048]);

impl Memory for Zeros {
    fn read(&mut self, _: u64, _: u64, len: u32, read: &mut dyn FnMut(&[u8])) {
        read(&self.0[..len as usize]);
    }
}

#[test]
fn the_steady_state_does_not_allocate() {
    let config = EngineConfig { receive_buffer: 4 << 20, ..EngineConfig::default() };
    let paths = [0, 1].map(|path_id| PathInfo::new(path_id, 1472));
    let mut engines = [0, 1].map(|task| {
        let mut engine = Engine::new(config.clone(), task, 1, JobAuth::new(&[1; 32])).expect("valid");
        engine.add_peer(0, 1 - task, 1, Some(1), &paths).expect("a new peer");
        engine
    });
    let (mut out, mut datagram) = (Transmit::default(), Vec::with_capacity(4096));
    let (mut now, mut carried, mut received, mut memory) = (0, 0u64, 0u64, Zeros([0; 2048]));
    let mut stream = |rounds: u64| {
        let before = received;
        for round in 0..rounds {
            now += 20_000;
            for (from, channel) in [(0, Channel::Request), (1, Channel::Reply)] {
                for n in 0..64 {
                    let body = match (round + n) % 3 {
                        0 => Body::External { buffer: 1, offset: 0, len: 1200 },
                        _ => Body::Copy(&[7; 24]),
                    };
                    match engines[from].submit(now, 1 - from as u32, channel, b"head", body, n) {
                        Ok(()) => {}
                        Err(SubmitError::Again) => break,
                        Err(error) => panic!("{error}"),
                    }
                }
            }
            for from in 0..2 {
                engines[from].on_timeout(now);
                while engines[from].poll_transmit(now, &mut memory, &mut out) {
                    for index in 0..out.datagrams() {
                        carried += 1;
                        if carried.is_multiple_of(40) {
                            continue;
                        }
                        datagram.clear();
                        out.copy_datagram(index, &mut memory, &mut datagram);
                        engines[1 - from].on_datagram(now, &datagram, |_| {
                            received += 1;
                            Verdict::Accept
                        });
                    }
                }
                while engines[from].poll_event().is_some() {}
            }
        }
        received - before
    };
    // Until every ring has met its worst case.
    stream(20_000);
    let before = ALLOCATIONS.with(Cell::get);
    let units = stream(5000);
    let allocations = ALLOCATIONS.with(Cell::get) - before;
    assert!(units > 100_000, "only {units} units");
    assert_eq!(allocations, 0, "{allocations} allocations for {units} units");
    let resent = engines[0].stats(1).expect("a peer").units_resent;
    assert!(resent > 1000, "only {resent} units were sent again");
}
