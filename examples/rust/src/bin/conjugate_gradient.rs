//! Solves a system of linear equations by the method of conjugate gradients: the temperature of a
//! plate whose edges are kept at 0 and which is heated everywhere.
//!
//! `lapirun -n 4 conjugate_gradient 60` — on a grid of 60 × 60 points.
//!
//! Each task has some rows of the grid. A step needs the rows beside them, which the neighbours
//! have, and two sums over all points.

use lapis_collectives::{Edge, Operator, Result, Team};

/// A task's rows, and one above and below them for what the neighbours have.
struct Plate<'a> {
    team: &'a Team,
    /// Points in a row.
    width: usize,
    /// The task's own rows.
    rows: usize,
    /// From whom a row comes, and to whom one goes, in elements of a field with its two rows more.
    come: Vec<Edge>,
    go: Vec<Edge>,
}

impl<'a> Plate<'a> {
    fn new(team: &'a Team, width: usize) -> Self {
        let (me, n) = (team.rank(), team.len());
        let rows = (me + 1) * width / n - me * width / n;
        let edge = |member: usize, row: usize| Edge { member, start: row * width, len: width };
        // A task may have no rows: then it is nobody's neighbour.
        let has = |rank: usize| (rank + 1) * width / n > rank * width / n;
        let above = (0..me).rev().find(|rank| has(*rank)).filter(|_| rows > 0);
        let below = (me + 1..n).find(|rank| has(*rank)).filter(|_| rows > 0);
        let mut plate = Self { team, width, rows, come: vec![], go: vec![] };
        if let Some(above) = above {
            plate.come.push(edge(above, 0));
            plate.go.push(edge(above, 1));
        }
        if let Some(below) = below {
            plate.come.push(edge(below, rows + 1));
            plate.go.push(edge(below, rows));
        }
        plate
    }

    /// A field of zeroes.
    fn field(&self) -> Vec<f64> {
        vec![0.0; (self.rows + 2) * self.width]
    }

    /// The task's own points.
    fn own(&self) -> std::ops::Range<usize> {
        self.width..(self.rows + 1) * self.width
    }

    /// How much more heat leaves each point than comes: four times the point less its neighbours.
    fn apply(&self, field: &mut [f64], out: &mut [f64]) -> Result<()> {
        let sent = field.to_vec();
        self.team.neighbours(&sent, &self.go, field, &self.come)?;
        for at in self.own() {
            let left = if at % self.width > 0 { field[at - 1] } else { 0.0 };
            let right = if at % self.width < self.width - 1 { field[at + 1] } else { 0.0 };
            out[at] = 4.0 * field[at] - left - right - field[at - self.width] - field[at + self.width];
        }
        Ok(())
    }

    /// The sum over all points of two fields' products.
    fn dot(&self, a: &[f64], b: &[f64]) -> Result<f64> {
        let mine = self.own().map(|at| a[at] * b[at]).sum();
        let mut sum = [mine];
        self.team.all_reduce(&mut sum, Operator::Sum)?;
        Ok(sum[0])
    }

    /// The field that `apply` turns into `heat`, and how many steps that took.
    fn solve(&self, heat: &[f64]) -> Result<(Vec<f64>, usize)> {
        let (mut x, mut product) = (self.field(), self.field());
        let mut residual = heat.to_vec();
        let mut direction = heat.to_vec();
        let mut size = self.dot(&residual, &residual)?;
        let small = 1e-24 * size;
        let mut steps = 0;
        while size > small && steps < 10 * self.width {
            self.apply(&mut direction, &mut product)?;
            let length = size / self.dot(&direction, &product)?;
            for at in self.own() {
                x[at] += length * direction[at];
                residual[at] -= length * product[at];
            }
            let now = self.dot(&residual, &residual)?;
            for at in self.own() {
                direction[at] = residual[at] + now / size * direction[at];
            }
            size = now;
            steps += 1;
        }
        Ok((x, steps))
    }
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let width: usize = std::env::args().nth(1).map_or(Ok(50), |width| width.parse())?;
    let context = lapis::init()?;
    let team = Team::world(&context)?;
    let plate = Plate::new(&team, width);

    // A field that we know, and the heat that makes it.
    let mut known = plate.field();
    let first = team.rank() * width / team.len();
    for at in plate.own() {
        let (row, column) = (first + at / width - 1, at % width);
        known[at] = (row * (width - row)) as f64 * (1.0 + column as f64).sqrt();
    }
    let mut heat = plate.field();
    plate.apply(&mut known, &mut heat)?;

    let (found, steps) = plate.solve(&heat)?;
    let off = plate.own().map(|at| (found[at] - known[at]).abs()).fold(0.0, f64::max);
    let most = plate.own().map(|at| known[at]).fold(0.0, f64::max);
    let mut worst = [off, most];
    team.all_reduce(&mut worst, Operator::Max)?;
    if team.rank() == 0 {
        let good = if worst[0] <= 1e-8 * worst[1] { "solved" } else { "NOT SOLVED" };
        println!("{} equations {good} in {steps} steps", width * width);
    }
    drop(team);
    Ok(context.terminate()?)
}
