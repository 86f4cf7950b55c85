//! The halo of a three-dimensional array that is cut into slabs along its middle dimension: faces
//! go out of the array's cells and into the neighbours' ghosts, without a copy by the program.
//! Along the other dimensions a task is its own neighbour.
//!
//! `lapirun -n 4 halo`

use lapis::layouts::{self, Layout, Layouts, Order, Registered};
use lapis::{Delivery, HandlerId, Memory};
use std::sync::Arc;

const FACE: HandlerId = HandlerId(1);
/// Cells in each dimension, ghosts included.
const N: [u64; 3] = [10, 12, 8];

/// One layer of inner cells across a dimension.
fn face(dimension: usize) -> Result<Registered, Box<dyn std::error::Error>> {
    let mut cells = N.map(|n| n - 2);
    cells[dimension] = 1;
    let layout = Layout::subarray(&N, &cells, &[0; 3], Order::C, &Layout::bytes(8)?)?;
    Ok(Registered::verified(layout.compile()?)?)
}

/// The byte at which a face begins whose coordinate is `at`.
fn corner(dimension: usize, at: u64) -> usize {
    let mut c = [1; 3];
    c[dimension] = at;
    byte(c)
}

fn byte([x, y, z]: [u64; 3]) -> usize {
    8 * ((x * N[1] + y) * N[2] + z) as usize
}

fn value(owner: u32, [x, y, z]: [u64; 3]) -> f64 {
    f64::from(owner) * 1e6 + (x * 10_000 + y * 100 + z) as f64
}

fn cells() -> impl Iterator<Item = [u64; 3]> {
    (0..N[0]).flat_map(|x| (0..N[1]).flat_map(move |y| (0..N[2]).map(move |z| [x, y, z])))
}

fn is_ghost(dimension: usize, c: [u64; 3]) -> bool {
    c[dimension] == 0 || c[dimension] == N[dimension] - 1
}

fn set_up(memory: &Memory, me: u32) {
    for c in cells() {
        let cell = if (0..3).any(|d| is_ghost(d, c)) { -1.0 } else { value(me, c) };
        memory.write(byte(c), &cell.to_ne_bytes());
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let context = lapis::init()?;
    let (me, tasks) = (context.task(), context.tasks());
    let (left, right) = ((me + tasks - 1) % tasks, (me + 1) % tasks);
    let memory = Arc::new(context.alloc(8 * N.iter().product::<u64>() as usize)?);
    set_up(&memory, me);

    let faces = [Arc::new(face(0)?), Arc::new(face(1)?), Arc::new(face(2)?)];
    // Weakly: the context keeps its handlers, and the memory its context.
    let (shapes, here) = (faces.clone(), Arc::downgrade(&memory));
    context.set_handler(FACE, move |context, message| {
        let Some(here) = here.upgrade() else { return Delivery::bury() };
        // The user header says which ghosts are meant: dimension, and 0 or 1 for the lower or upper
        // ones.
        let (dimension, upper) = (usize::from(message.user_header[0]), message.user_header[1] == 1);
        let at = if upper { N[dimension] - 1 } else { 0 };
        layouts::receive_into(context, message, &shapes[dimension], &here, corner(dimension, at))
    })?;
    context.gfence()?;

    for (dimension, face) in faces.iter().enumerate() {
        let (down, up) = if dimension == 1 { (left, right) } else { (me, me) };
        let size = face.descriptor().size as u64;
        let d = dimension as u8;
        let last = corner(dimension, N[dimension] - 2);
        context.send_layout_of(up, FACE, &[d, 0, 0, 0], face, &memory, last, size)?;
        context.send_layout_of(down, FACE, &[d, 1, 0, 0], face, &memory, corner(dimension, 1), size)?;
    }
    context.gfence()?;
    report(&memory, me, left, right);
    drop(memory);
    Ok(context.terminate()?)
}

fn report(memory: &Memory, me: u32, left: u32, right: u32) {
    let (mut good, mut bad) = (0, 0);
    for c in cells() {
        let ghosts: Vec<usize> = (0..3).filter(|&d| is_ghost(d, c)).collect();
        let expected = match ghosts[..] {
            [] => value(me, c),
            [d] => {
                let (owner, at) = if c[d] == 0 { (left, N[d] - 2) } else { (right, 1) };
                let mut there = c;
                there[d] = at;
                value(if d == 1 { owner } else { me }, there)
            }
            // Edges and corners have no neighbour here.
            _ => -1.0,
        };
        let mut bytes = [0; 8];
        memory.read(byte(c), &mut bytes);
        match (f64::from_ne_bytes(bytes) == expected, ghosts.len()) {
            (true, 1) => good += 1,
            (true, _) => {}
            (false, _) => bad += 1,
        }
    }
    println!("task {me}: {good} ghost cells right, {bad} cells wrong");
}
