//! Operations as futures: every task sends to all others at once and awaits the confirmations in
//! one place.
//!
//!     lapirun -n 4 target/release/awaiting
//!
//! The executor is thirty lines of std; any other one does as well.

use lapis::{Delivery, HandlerId, Result};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;

const NUMBERS: HandlerId = HandlerId(1);

fn main() -> Result<()> {
    // Interrupt mode, the default: a thread of the context makes progress and wakes the futures
    // while we are parked.
    let context = lapis::init()?;
    let (me, tasks) = (context.task(), context.tasks());
    context.set_handler(NUMBERS, |_, _| Delivery::bury())?;
    context.gfence()?;
    let handled = block_on(async {
        // All are under way before the first is awaited.
        let mut under_way = Vec::new();
        for to in 0..tasks {
            under_way.push(context.send_and_confirm(to, NUMBERS, &[], vec![me as u8; 10_000])?);
        }
        let mut handled = 0;
        for pending in under_way {
            // The buffer comes back once the other side has worked through it.
            handled += pending.await?.len();
        }
        Ok::<_, lapis::Error>(handled)
    })?;
    println!("task {me}: {handled} bytes were handled");
    context.gfence()?;
    context.terminate()
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Runs one future on this thread.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(value) => return value,
            Poll::Pending => std::thread::park(),
        }
    }
}
