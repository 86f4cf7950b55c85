//! Sorts numbers that all tasks have together: afterwards task 0 has the smallest ones, task 1
//! those that follow, and so on.
//!
//! `lapirun -n 4 sort 100000` — so many numbers at each task.

use lapis_collectives::{Operator, Parts, Team};

/// The numbers of a task: the same in every run.
fn numbers(task: usize, count: usize) -> Vec<u64> {
    let mut state = task as u64 + 1;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33).wrapping_mul(state >> 20)
    };
    (0..count).map(|_| next()).collect()
}

/// Where each part begins, one behind the other.
fn starts(counts: &[usize]) -> Vec<usize> {
    let mut sum = 0;
    let start = |count: &usize| {
        sum += count;
        sum - count
    };
    counts.iter().map(start).collect()
}

/// Sorts what all members have; gives the caller its share of the result.
fn sort(team: &Team, mut mine: Vec<u64>) -> lapis_collectives::Result<Vec<u64>> {
    let n = team.len();
    mine.sort_unstable();

    // 1. Everybody shows some of its numbers, at equal distances, and from all of these everybody
    //    takes the same n - 1 borders between the shares.
    let sample: Vec<u64> =
        (0..n).map(|i| mine.get(i * mine.len() / n).copied().unwrap_or(u64::MAX)).collect();
    let mut samples = vec![0; n * n];
    team.all_gather(&sample, &mut samples)?;
    samples.sort_unstable();
    let borders: Vec<u64> = (1..n).map(|i| samples[i * n]).collect();

    // 2. Each member's numbers fall into n parts, one for each member. All tell all how many come.
    let ends = borders.iter().map(|border| mine.partition_point(|number| number < border));
    let ends: Vec<usize> = ends.chain([mine.len()]).collect();
    let give: Vec<usize> = (0..n).map(|i| ends[i] - if i == 0 { 0 } else { ends[i - 1] }).collect();
    let told: Vec<u64> = give.iter().map(|count| *count as u64).collect();
    let mut come = vec![0; n];
    team.all_to_all(&told, &mut come, 1)?;
    let get: Vec<usize> = come.iter().map(|count| *count as usize).collect();

    // 3. The parts change hands, and each member sorts what it got.
    let mut share = vec![0; get.iter().sum()];
    let (give_starts, get_starts) = (starts(&give), starts(&get));
    let from = Parts { counts: &give, starts: &give_starts };
    let to = Parts { counts: &get, starts: &get_starts };
    team.all_to_all_v(&mine, from, &mut share, to)?;
    share.sort_unstable();
    Ok(share)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let count = std::env::args().nth(1).map_or(Ok(10_000), |count| count.parse())?;
    let context = lapis::init()?;
    let team = Team::world(&context)?;
    let share = sort(&team, numbers(team.rank(), count))?;

    // Is it sorted? Each member's share in itself, and no number before one of a member before.
    let mut before = [share.last().copied().unwrap_or(0)];
    team.exscan(&mut before, Operator::Max)?;
    let follows = team.rank() == 0 || share.first().is_none_or(|first| *first >= before[0]);
    let mut good = [u8::from(share.is_sorted() && follows)];
    team.all_reduce(&mut good, Operator::Min)?;

    // Are they the same numbers? They are as many and have the same sum.
    let mut sums = [share.len() as u64, share.iter().fold(0, |sum: u64, number| sum.wrapping_add(*number))];
    team.all_reduce(&mut sums, Operator::Sum)?;

    // Whoever has the middle one tells it.
    let mut place = [share.len() as u64];
    team.exscan(&mut place, Operator::Sum)?;
    let first = if team.rank() == 0 { 0 } else { place[0] };
    let middle = (sums[0] / 2).checked_sub(first).and_then(|at| share.get(at as usize));
    let mut middle = [middle.copied().unwrap_or(0)];
    team.all_reduce(&mut middle, Operator::Max)?;
    if team.rank() == 0 {
        let order = if good[0] == 1 { "in order" } else { "NOT IN ORDER" };
        println!("{} numbers {order}, sum {}, middle {}", sums[0], sums[1], middle[0]);
    }
    drop(team);
    Ok(context.terminate()?)
}
