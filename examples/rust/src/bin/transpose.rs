//! A matrix is transposed on its way to the right neighbour: sent row by row, stored column by
//! column.
//!
//! `lapirun -n 4 transpose [rows] [columns]`

use lapis::HandlerId;
use lapis::layouts::{self, Layout, Layouts, Registered};
use std::sync::{Arc, Mutex};

const MATRIX: HandlerId = HandlerId(1);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1).map(|a| a.parse::<usize>());
    let rows = arguments.next().unwrap_or(Ok(3))?;
    let columns = arguments.next().unwrap_or(Ok(5))?;
    let context = lapis::init()?;
    let (me, tasks) = (context.task(), context.tasks());

    // Columns of a matrix with `rows` columns: an element of each row; the next column begins an
    // element further.
    let number = Layout::bytes(8)?;
    let column = Layout::vector(columns as u64, 1, rows as i64, &number)?.resized(0, 8)?;
    let in_columns = Arc::new(Registered::verified(column.compile()?)?);
    let in_order = Registered::verified(number.compile()?)?;

    let arrived: Arc<Mutex<Option<Vec<f64>>>> = Arc::default();
    let place = Arc::clone(&arrived);
    context.set_handler(MATRIX, move |context, message| {
        let place = Arc::clone(&place);
        let memory = vec![0.0f64; message.len as usize / 8];
        layouts::receive(context, message, &in_columns, memory, 0, move |transposed| {
            *place.lock().unwrap() = Some(transposed);
        })
    })?;
    context.gfence()?;

    let matrix: Vec<f64> = (0..rows * columns)
        .map(|i| f64::from(me) + (i / columns) as f64 * 10.0 + (i % columns) as f64)
        .collect();
    context.send_layout((me + 1) % tasks, MATRIX, &[], &in_order, &matrix, 0, 8 * matrix.len() as u64)?;
    context.gfence()?;

    let left = f64::from((me + tasks - 1) % tasks);
    let transposed = arrived.lock().unwrap().take().expect("the fence says that it is here");
    let right = (0..rows * columns).all(|i| {
        let (row, column) = (i % rows, i / rows);
        transposed[i] == left + row as f64 * 10.0 + column as f64
    });
    println!("task {me}: {columns} x {rows} from {left}: {}", if right { "transposed" } else { "wrong" });
    Ok(context.terminate()?)
}
