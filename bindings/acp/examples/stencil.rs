//! Heat in a rod, whose pieces are processes': each writes the ends of its piece into the
//! neighbours' halos, then a number that says for which step. The number waits for the value, so
//! whoever sees the number has the value.

use acp::{After, GlobalSlice};

const CELLS: usize = 6;
const STEPS: u64 = 40;

/// Words of a process's halo: for even and odd steps, value and step, from the left and the right.
const HALO: u64 = 8;

fn main() -> acp::Result<()> {
    let job = acp::init()?;
    let (rank, procs) = (job.rank() as usize, job.procs() as usize);
    let halo = job.alloc::<u64>(HALO, job.rank())?;
    let halos: Vec<GlobalSlice<u64>> =
        job.exchange(halo.first())?.into_iter().map(|first| first.slice(HALO)).collect();
    // Where the rod is held hot, and what its other end has.
    let mut cells = [0.0_f64; CELLS];
    let ends = job.register(vec![0_u64; 8])?;
    for step in 1..=STEPS {
        // Two buffers: a neighbour is at most one step ahead, for it waits for this process, too.
        let buffer = step % 2 * 4;
        for (side, neighbour) in [(2, rank.checked_sub(1)), (0, Some(rank + 1).filter(|next| *next < procs))]
        {
            let Some(neighbour) = neighbour else { continue };
            // This process is the right neighbour of the left one, and the other way round.
            let value = if side == 2 { cells[0] } else { cells[CELLS - 1] };
            let from = ends.global().part(buffer + side, 2)?;
            job.write_all(from, &[value.to_bits(), step])?;
            let to = halos[neighbour].part(buffer + side, 2)?;
            let value = job.copy(to.part(0, 1)?, from.part(0, 1)?, After::Nothing)?;
            drop(job.copy(to.part(1, 1)?, from.part(1, 1)?, value.after())?);
        }
        let from_side = |side: u64, there: bool, edge: f64| -> acp::Result<f64> {
            if !there {
                return Ok(edge);
            }
            while job.read(halo.at(buffer + side + 1)?)? != step {
                std::thread::yield_now();
            }
            job.read(halo.at(buffer + side)?).map(f64::from_bits)
        };
        let left = from_side(0, rank > 0, 100.0)?;
        let right = from_side(2, rank + 1 < procs, 0.0)?;
        let old = cells;
        for (at, cell) in cells.iter_mut().enumerate() {
            let before = if at == 0 { left } else { old[at - 1] };
            let after = if at == CELLS - 1 { right } else { old[at + 1] };
            *cell = old[at] + 0.25 * (before - 2.0 * old[at] + after);
        }
    }
    job.complete()?;
    let rod = job.exchange(cells.map(f64::to_bits))?;
    if rank == 0 {
        let all: Vec<f64> = rod.iter().flatten().map(|bits| f64::from_bits(*bits)).collect();
        let text: Vec<String> = all.iter().step_by(4).map(|value| format!("{value:.3}")).collect();
        println!("{} cells after {STEPS} steps: {}", all.len(), text.join(" "));
    }
    job.sync()?;
    drop(ends);
    job.finalize()
}
