//! Layouts from safe Rust, in a job of one task: what arrives, and what is refused before it can do
//! harm.

use lapis::core::bootstrap::singleton;
use lapis::core::config::Environment;
use lapis::core::stats::Path;
use lapis::layouts::{self, Accumulate, Layout, Layouts, Operand, Operation, Registered};
use lapis::{Context, Delivery, Error, HandlerId, Incoming, LapiCode};
use std::sync::{Arc, Mutex, mpsc};

const HERE: HandlerId = HandlerId(1);

type Errors = Arc<Mutex<Vec<LapiCode>>>;

fn alone() -> (Context, Errors) {
    let errors = Errors::default();
    let heard = Arc::clone(&errors);
    let context = lapis::builder()
        .environment(Environment::default())
        .bootstrap(singleton(0).unwrap())
        .interrupts(false)
        .on_error(move |_, error, _| {
            heard.lock().unwrap().push(error.code());
            true
        })
        .init()
        .unwrap();
    (context, errors)
}

fn registered(layout: &Layout) -> Arc<Registered> {
    Arc::new(Registered::verified(layout.compile().unwrap()).unwrap())
}

/// `count` blocks of `len` bytes, `stride` apart; each repetition behind the one before.
fn strided(count: u64, len: u64, stride: i64) -> Layout {
    Layout::hvector(count, len, stride, &Layout::bytes(1).unwrap()).unwrap()
}

/// Sends `len` bytes and gives what arrived.
fn deliver(
    context: &Context,
    from: (&Registered, &[u8], usize),
    len: u64,
    answer: impl Fn(&Context, &Incoming<'_>, mpsc::Sender<Vec<u8>>) -> Delivery + Send + Sync + 'static,
) -> Option<Vec<u8>> {
    let (keep, kept) = mpsc::channel();
    context.set_handler(HERE, move |context, message| answer(context, message, keep.clone())).unwrap();
    context.send_layout(0, HERE, &[], from.0, from.1, from.2, len).unwrap();
    context.fence().unwrap();
    kept.try_recv().ok()
}

fn refused(outcome: Result<(), Error>) -> LapiCode {
    outcome.expect_err("the layout leaves the memory").code()
}

#[test]
fn layouts_of_all_lengths_arrive_as_packing_and_unpacking_say() {
    let (context, errors) = alone();
    let memory: Vec<u8> = (0..400_000u32).map(|i| (i * 7 + i / 255) as u8).collect();
    let (source, target) = (registered(&strided(5, 3, 7)), registered(&strided(2, 4, 9)));
    for len in [0, 1, 14, 15, 16, 100, 5000, 150_000] {
        let mut packed = vec![0; len];
        source.pack_slice(&memory, 11, 0, &mut packed).unwrap();
        let mut expected = vec![0xee; 300_000];
        target.unpack_slice(&mut expected, 5, 0, &packed).unwrap();
        let place = Arc::clone(&target);
        let got = deliver(&context, (&source, &memory, 11), len as u64, move |context, message, keep| {
            layouts::receive(context, message, &place, vec![0xee; 300_000], 5, move |memory| {
                keep.send(memory).unwrap();
            })
        });
        assert!(got.expect("it has arrived") == expected, "{len} bytes");
    }
    assert!(errors.lock().unwrap().is_empty());
}

#[test]
fn a_layout_to_this_task_goes_without_packets() {
    let (context, errors) = alone();
    let len = 3_000_000;
    let memory: Vec<u8> = (0..5_000_040u32).map(|i| (i * 7 + i / 255) as u8).collect();
    let (source, target) = (registered(&strided(5, 24, 40)), registered(&strided(3, 16, 48)));
    let mut packed = vec![0; len];
    source.pack_slice(&memory, 8, 0, &mut packed).unwrap();
    let mut expected = vec![0xee; 8_000_000];
    target.unpack_slice(&mut expected, 5, 0, &packed).unwrap();
    for place in [&target, &source] {
        let mut expected = vec![0xee; 8_000_000];
        place.unpack_slice(&mut expected, 5, 0, &packed).unwrap();
        let place = Arc::clone(place);
        let before = *context.statistics().path(Path::Local);
        let got = deliver(&context, (&source, &memory, 8), len as u64, move |context, message, keep| {
            layouts::receive(context, message, &place, vec![0xee; 8_000_000], 5, move |memory| {
                keep.send(memory).unwrap();
            })
        });
        assert!(got.expect("it has arrived") == expected);
        let after = *context.statistics().path(Path::Local);
        // The announcement, its answer, and a fence's.
        assert!(after.packets_sent - before.packets_sent <= 4, "{before:?} {after:?}");
        assert_eq!(after.data_sent - before.data_sent, len as u64);
    }
    assert!(errors.lock().unwrap().is_empty());
}

#[test]
fn blocks_of_one_memory_move_in_between_each_other() {
    let (context, errors) = alone();
    let memory = Arc::new(context.alloc(400_000).unwrap());
    let old: Vec<u8> = (0..400_000u32).map(|i| (i * 7 + i / 255) as u8).collect();
    memory.write(0, &old);
    let every_other = registered(&strided(1000, 100, 200));
    let (place, here) = (Arc::clone(&every_other), Arc::downgrade(&memory));
    context
        .set_handler(HERE, move |context, message| {
            let Some(here) = here.upgrade() else { return Delivery::bury() };
            layouts::receive_into(context, message, &place, &here, 100)
        })
        .unwrap();
    context.send_layout_of(0, HERE, &[], &every_other, &memory, 0, 100_000).unwrap();
    context.fence().unwrap();
    let mut new = vec![0; 400_000];
    memory.read(0, &mut new);
    let moved = |i: usize| if i < 200_000 && i % 200 >= 100 { i - 100 } else { i };
    assert!((0..400_000).all(|i| new[i] == old[moved(i)]));
    assert!(errors.lock().unwrap().is_empty());
}

#[test]
fn a_layout_that_leaves_the_memory_is_not_sent() {
    let (context, _) = alone();
    context.set_handler(HERE, |_, _| panic!("nothing was sent")).unwrap();
    let memory = [0u16; 50];
    let (forward, backward) = (registered(&strided(5, 2, 20)), registered(&strided(5, 2, -20)));
    let send = |layout: &Registered, origin, len| {
        refused(context.send_layout(0, HERE, &[], layout, &memory, origin, len))
    };
    // 82 bytes at 19 fill bytes 18 to 100; the origin counts elements.
    for (layout, origin, len) in [
        (&forward, 10, 10),
        (&forward, 0, 11),
        (&forward, usize::MAX, 10),
        (&backward, 39, 10),
        (&backward, 50, 10),
        (&forward, 0, u64::MAX >> 1),
    ] {
        assert_eq!(send(layout, origin, len), LapiCode::ERR_DGSP_OTHER, "{origin} {len}");
    }
    assert_eq!(send(&forward, 0, u64::MAX), LapiCode::ERR_DATA_LEN);
    let empty = registered(&Layout::bytes(0).unwrap());
    assert_eq!(send(&empty, 0, 1), LapiCode::ERR_DGSP_OTHER);
    let control = strided(5, 2, 20).compile().unwrap().under_control(0, 0, 2);
    let control = Registered::verified(control).unwrap();
    assert_eq!(send(&control, 0, 10), LapiCode::ERR_DGSP_CTL);
    context.fence().unwrap();

    context.set_handler(HERE, |_, _| Delivery::bury()).unwrap();
    context.send_layout(0, HERE, &[], &forward, &memory, 9, 10).unwrap();
    context.send_layout(0, HERE, &[], &backward, &memory, 40, 10).unwrap();
    context.send_layout(0, HERE, &[], &empty, &memory, 0, 0).unwrap();
}

#[test]
fn a_message_that_does_not_fit_is_buried_and_told() {
    let (context, errors) = alone();
    let plain = registered(&Layout::bytes(1).unwrap());
    let target = registered(&strided(5, 2, 20));
    for (len, size, origin) in [(10, 81, 0), (11, 100, 0), (10, 100, 19)] {
        let place = Arc::clone(&target);
        let got = deliver(&context, (&plain, &[1; 64], 0), len, move |context, message, keep| {
            layouts::receive(context, message, &place, vec![0; size], origin, move |m| keep.send(m).unwrap())
        });
        assert!(got.is_none());
    }
    context.wait_until(|| errors.lock().unwrap().len() == 3).unwrap();
    assert_eq!(*errors.lock().unwrap(), [LapiCode::ERR_DGSP_OTHER; 3]);
}

#[test]
fn numbers_are_combined_whole_or_not_at_all() {
    let (context, errors) = alone();
    let numbers = strided(1, 8, 8).compile().unwrap();
    let sum = numbers.under_control(Operation::Sum as i32, Operand::U64 as i32, 8);
    let sum = Arc::new(Registered::verified(sum).unwrap());
    let memory = Arc::new(context.alloc(8 * 20_000).unwrap());
    let (place, here) = (Arc::clone(&sum), Arc::downgrade(&memory));
    context
        .set_handler(HERE, move |context, message| {
            let Some(here) = here.upgrade() else { return Delivery::bury() };
            layouts::combine_into(context, message, &place, &here, 0, Accumulate)
        })
        .unwrap();
    let ones = vec![1u64; 20_000];
    let mut atoms = numbers.clone();
    atoms.atom_size = 8;
    let (atoms, loose) = (Registered::verified(atoms).unwrap(), Registered::verified(numbers).unwrap());
    for round in 1..=3 {
        context.send_layout(0, HERE, &[], &atoms, &ones, 0, 160_000).unwrap();
        context.fence().unwrap();
        let mut bytes = vec![0; 160_000];
        memory.read(0, &mut bytes);
        assert!(bytes.chunks_exact(8).all(|b| u64::from_ne_bytes(b.try_into().unwrap()) == round));
    }
    assert!(errors.lock().unwrap().is_empty());
    // Half a number at the end.
    context.send_layout(0, HERE, &[], &loose, &ones, 0, 12).unwrap();
    context.wait_until(|| !errors.lock().unwrap().is_empty()).unwrap();
    assert_eq!(*errors.lock().unwrap(), [LapiCode::ERR_DGSP_ATOM]);

    // CONTROL wants to be combined with.
    let (place, here) = (Arc::clone(&sum), Arc::downgrade(&memory));
    context
        .set_handler(HERE, move |context, message| {
            let Some(here) = here.upgrade() else { return Delivery::bury() };
            layouts::receive_into(context, message, &place, &here, 0)
        })
        .unwrap();
    context.send_layout(0, HERE, &[], &atoms, &ones, 0, 16).unwrap();
    context.wait_until(|| errors.lock().unwrap().len() == 2).unwrap();
    assert_eq!(errors.lock().unwrap()[1], LapiCode::ERR_DGSP_CTL);
}
