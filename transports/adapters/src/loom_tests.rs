//! The model checker on the code that ships:
//! `RUSTFLAGS="--cfg loom" cargo test -p lapis-adapters --release --lib`.

use crate::fifo::{Control, Data, Found, Geometry, INLINE, Outcome, Owner, Places, Sender, Slot};
use lapis_core::sync::{Arc, AtomicU64, UnsafeCell, thread};

struct Fifo {
    control: Control,
    slots: Vec<Slot>,
}

impl Fifo {
    fn new() -> Arc<Self> {
        let slot = || Slot { word: AtomicU64::new(0), data: Data(UnsafeCell::new([0; INLINE])) };
        Arc::new(Self { control: Control::default(), slots: (0..2).map(|_| slot()).collect() })
    }

    fn places(&self) -> Places {
        let geometry = Geometry { slots: 2, chunks: 2, chunk: 0, lanes: 0 };
        Places {
            control: &raw const self.control,
            slots: self.slots.as_ptr(),
            chunks: std::ptr::null_mut(),
            lanes: std::ptr::null_mut(),
            geometry,
        }
    }

    fn sender(&self) -> Sender {
        // SAFETY: the models keep the FIFO until their senders have gone.
        unsafe { Sender::attach(self.places()) }
    }

    fn owner(&self) -> Owner {
        // SAFETY: the models keep the FIFO until its owner has gone.
        unsafe { Owner::attach(self.places()) }
    }
}

fn send(sender: &mut Sender, byte: u8) -> Option<Outcome> {
    let claim = sender.claim(1)?;
    // SAFETY: the claim is for one byte.
    unsafe { claim.bytes.write(byte) };
    Some(sender.publish(claim))
}

fn pop(owner: &mut Owner) -> Option<u8> {
    let mut byte = [0; INLINE];
    // SAFETY: so many bytes are there.
    match unsafe { owner.pop(byte.as_mut_ptr(), INLINE) } {
        Found::Datagram(len) => {
            assert_eq!(len, 1);
            Some(byte[0])
        }
        _ => None,
    }
}

fn explore(preemptions: Option<usize>, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = preemptions;
    builder.check(model);
}

/// Each datagram that a sender was told is there comes once, whole and in the sender's order,
/// though the owner leaves claims at once.
#[test]
fn loom_two_senders_and_an_owner_that_leaves_claims() {
    explore(Some(2), || {
        let fifo = Fifo::new();
        let senders: Vec<_> = [1u8, 10]
            .map(|first| {
                let fifo = Arc::clone(&fifo);
                thread::spawn(move || {
                    let mut sender = fifo.sender();
                    let sent = |byte| matches!(send(&mut sender, byte), Some(Outcome::There)).then_some(byte);
                    [first, first + 1].into_iter().filter_map(sent).collect::<Vec<u8>>()
                })
            })
            .into_iter()
            .collect();
        let mut owner = fifo.owner();
        let mut got: Vec<u8> = Vec::new();
        for _ in 0..2 {
            got.extend(pop(&mut owner));
            owner.give_back();
        }
        let sent: Vec<Vec<u8>> = senders.into_iter().map(|s| s.join().expect("ends")).collect();
        while let Some(byte) = pop(&mut owner) {
            got.push(byte);
        }
        for (first, sent) in [1u8, 10].into_iter().zip(sent) {
            let from: Vec<u8> = got.iter().copied().filter(|b| (first..first + 2).contains(b)).collect();
            assert_eq!(from, sent);
        }
    });
}

/// Whoever arms and sees nothing is woken.
#[test]
fn loom_no_wake_up_is_lost() {
    explore(None, || {
        let fifo = Fifo::new();
        let sender = {
            let fifo = Arc::clone(&fifo);
            thread::spawn(move || send(&mut fifo.sender(), 7).expect("room"))
        };
        let mut owner = fifo.owner();
        let slept = owner.arm();
        let outcome = sender.join().expect("ends");
        assert!(!slept || outcome == Outcome::Wake, "asleep, and nobody rings");
        assert_eq!(pop(&mut owner), Some(7));
    });
}
