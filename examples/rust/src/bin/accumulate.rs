//! Remote accumulation: every task adds its column of numbers to a column of a matrix that task 0
//! has, and its largest numbers to another. The numbers are combined where they arrive.
//!
//! `lapirun -n 4 accumulate`

use lapis::layouts::{self, Accumulate, Layout, Layouts, Operand, Operation, Registered};
use lapis::{Delivery, HandlerId};
use std::sync::Arc;

const ADD: HandlerId = HandlerId(1);
const ROWS: usize = 1000;
const COLUMNS: usize = 3;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let context = lapis::init()?;
    let (me, tasks) = (context.task(), context.tasks());
    let matrix = Arc::new(context.alloc(8 * ROWS * COLUMNS)?);

    let number = Layout::bytes(8)?;
    let column = Layout::vector(ROWS as u64, 1, COLUMNS as i64, &number)?.compile()?;
    let under = |operation: Operation| {
        Registered::verified(column.under_control(operation as i32, Operand::F64 as i32, 8)).map(Arc::new)
    };
    let columns = [under(Operation::Sum)?, under(Operation::Max)?];
    // Weakly: the context keeps its handlers, and the memory its context.
    let here = Arc::downgrade(&matrix);
    context.set_handler(ADD, move |context, message| {
        let Some(here) = here.upgrade() else { return Delivery::bury() };
        let which = usize::from(message.user_header[0]);
        layouts::combine_into(context, message, &columns[which], &here, 8 * (which + 1), Accumulate)
    })?;
    context.gfence()?;

    // The sender's numbers lie one after the other. The atom size keeps each of them whole in its
    // packet.
    let mut plain = number.compile()?;
    plain.atom_size = 8;
    let plain = Registered::verified(plain)?;
    let mine: Vec<f64> = (0..ROWS).map(|row| f64::from(me + 1) * 0.5 + row as f64).collect();
    for which in [0, 1] {
        context.send_layout(0, ADD, &[which, 0, 0, 0], &plain, &mine, 0, 8 * ROWS as u64)?;
    }
    context.gfence()?;

    if me == 0 {
        let mut bytes = vec![0; 8 * ROWS * COLUMNS];
        matrix.read(0, &mut bytes);
        let cell = |row: usize, column: usize| {
            let at = 8 * (row * COLUMNS + column);
            f64::from_ne_bytes(std::array::from_fn(|i| bytes[at + i]))
        };
        let sum: f64 = (0..ROWS).map(|row| cell(row, 1)).sum();
        let untouched = (0..ROWS).all(|row| cell(row, 0) == 0.0);
        println!("{tasks} tasks: sum {sum}, largest {}, untouched {untouched}", cell(ROWS - 1, 2));
    }
    drop(matrix);
    Ok(context.terminate()?)
}
