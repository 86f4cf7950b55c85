//! A lesson in active messages: a message that names the function to run where it arrives.
//!
//! `lapirun -n 4 am_lesson` — every task sends a line of text to its right neighbour, which stores
//! and prints it.

use lapis::{CompletionHandler, Counter, Delivery, Destination, HandlerId, Result, Run};
use std::ptr::NonNull;
use std::sync::{Arc, Mutex};

/// Handlers are known by number, the same in all tasks: all run the same program.
const LINE: HandlerId = HandlerId(1);

fn main() -> Result<()> {
    // 1. Join the job. From here on the tasks know each other by number.
    let context = lapis::init()?;
    let (me, tasks) = (context.task(), context.tasks());

    // 2. Register a header handler. It runs when a message's first packet is here, before there is
    //    a place for the data: finding that place is its task. It knows who sent the message, how
    //    long it is, and the user header, a few words that the sender added. It is short and calls
    //    nothing of Lapis.
    let lines: Arc<Mutex<Vec<(u32, String)>>> = Arc::default();
    let arrived = Arc::new(Counter::new(0));
    let (store, count) = (Arc::clone(&lines), Arc::clone(&arrived));
    context.set_handler(LINE, move |_, message| {
        let number = message.user_header.first().copied().unwrap_or(0);
        let (from, len) = (message.source, message.len as usize);
        let (store, count) = (Arc::clone(&store), Arc::clone(&count));
        let mut text = vec![0; len];
        let place = NonNull::from(text.as_mut_slice()).cast();

        // 3. What the header handler returns says where the data goes, and what runs when all of it
        //    is there: the completion handler. It owns the text, so the place stays valid until
        //    then. On a handler thread it might even send.
        let stored = move |_: &lapis::Context| {
            let text = String::from_utf8_lossy(&text).into_owned();
            store.lock().unwrap().push((from, format!("line {number}: {text}")));
            count.increment();
        };
        let completion = Some(CompletionHandler::Closure(Box::new(stored)));
        Delivery { into: Destination::Contiguous(place), drop: false, completion, run: Run::Thread }
    })?;

    // 4. Nobody may send before everybody has registered.
    context.gfence()?;

    // 5. Send two lines, a short and a long one. `send` returns when its arguments may be reused.
    //    How the bytes travel, in one packet or many or by a copy from memory to memory, is not the
    //    program's business; nor is the order of arrival.
    let right = (me + 1) % tasks;
    context.send(right, LINE, &[1, 0, 0, 0], format!("good morning, {right}").as_bytes())?;
    context.send(right, LINE, &[2, 0, 0, 0], "la ".repeat(20_000).as_bytes())?;

    // 6. Wait until two completion handlers have run here. Waiting makes progress; a counter that
    //    was waited for is back at 0.
    context.wait_counter(&arrived, 2)?;

    // 7. Print, task by task.
    for turn in 0..tasks {
        if turn == me {
            let mut lines = lines.lock().unwrap();
            lines.sort();
            for (from, line) in lines.iter() {
                println!("task {me} got from {from} {:.30} ({} characters)", line, line.chars().count());
            }
        }
        context.gfence()?;
    }

    // 8. Leave in good order, so that nobody takes it for a failure.
    context.terminate()
}
