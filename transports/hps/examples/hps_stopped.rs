//! A task of `tests/jobs.rs`: task 1 stops itself, and task 0 sends it long messages until a lane
//! holds no more. When task 0 has been told of the silence it lets task 1 go on, and both end.

use lapis::core::sync::{AtomicBool, Ordering};
use lapis::{Delivery, Error, HandlerId, Result};
use rustix::process::{Pid, Signal, getpid, kill_process};
use std::sync::Arc;

const DATA: HandlerId = HandlerId(1);
/// More than a lane has room for.
const MESSAGES: usize = 64;

fn main() -> Result<()> {
    let told = Arc::new(AtomicBool::new(false));
    let tell = Arc::clone(&told);
    let builder = lapis::builder().on_error(move |_, error, _| {
        if let Error::Timeout { task, doing, .. } = error {
            println!("task {task} is silent: {doing}");
            tell.store(true, Ordering::Relaxed);
        }
        // Whoever does not answer is given up.
        !matches!(error, Error::Timeout { .. })
    });
    let context = builder.init()?;
    context.set_handler(DATA, |_, _| Delivery::bury())?;
    let all = context.all_gather(&getpid().as_raw_nonzero().get().to_ne_bytes())?;
    let (all, _) = all.as_chunks();
    let other = Pid::from_raw(i32::from_ne_bytes(all[1 - context.task() as usize])).expect("a process");
    let data = vec![7; 256 << 10];
    // The lane is taken, and in use.
    context.send(1 - context.task(), DATA, &[], &data)?;
    context.gfence()?;
    if context.task() == 1 {
        kill_process(getpid(), Signal::STOP).expect("this process");
        std::process::exit(0);
    }
    let failed = (0..MESSAGES).map(|_| context.send(1, DATA, &[], &data)).find_map(Result::err);
    println!("told: {}, failed: {}", told.load(Ordering::Relaxed), failed.is_some());
    kill_process(other, Signal::CONT).expect("nobody has waited for it");
    std::process::exit(0);
}
