//! Every task greets, in order.
//!
//! `lapirun -n 4 hello`

use lapis::Result;

fn main() -> Result<()> {
    let context = lapis::init()?; // A program that nobody launched is a job of one task.
    for turn in 0..context.tasks() {
        if turn == context.task() {
            println!("hello from task {} of {}", context.task(), context.tasks());
        }
        context.gfence()?; // Everybody waits here for everybody.
    }
    context.terminate()
}
