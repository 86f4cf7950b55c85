//! Finding loops in lists: repeated patterns at a constant stride.
//!
//! Greedy, from the front, the shortest pattern first, and again until nothing changes. What comes out depends on the list
//! alone.

use std::collections::HashMap;

use crate::error::Error;
use crate::ir::{Body, Item, Kind, WORTH_LOOPING, merge, repeat};

/// Patterns up to this long are tried everywhere. Longer ones are tried where their first two items come again.
const SHORT: usize = WORTH_LOOPING as usize;
/// Places where a pattern may come again that are tried.
const MOST_TRIES: usize = 64;
/// Comparisons for long patterns, for each item of the list. Only lists made to be difficult need as many.
const EFFORT: usize = 64;
/// In longer lists only short patterns are looked for.
const LONGEST_LIST: usize = 1 << 16;

/// Turns runs of a repeated pattern into loops, until nothing changes.
pub(crate) fn roll(mut items: Vec<Item>) -> Result<Vec<Item>, Error> {
    while let Some(rolled) = once(&items)? {
        items = merge(rolled)?;
    }
    Ok(items)
}

fn once(items: &[Item]) -> Result<Option<Vec<Item>>, Error> {
    if (items.len() as u64) < WORTH_LOOPING {
        return Ok(None);
    }
    let mut again = Again::new(items);
    let mut out = Vec::with_capacity(items.len());
    let (mut at, mut changed) = (0, false);
    while at < items.len() {
        let short = (1..=SHORT).find_map(|p| Some((p, worthwhile(&items[at..], p)?)));
        let Some((p, run)) = short.or_else(|| again.pattern(at)) else {
            out.push(items[at].clone());
            at += 1;
            continue;
        };
        let stride = items[at + p].off.wrapping_sub(items[at].off);
        // A long pattern may have loops of its own.
        let body = Body::new(items[at..at + p].to_vec())?;
        out.extend(repeat(0, run as u64, stride, &body)?);
        at += run * p;
        changed = true;
    }
    Ok(changed.then_some(out))
}

/// How often the first `p` items repeat, if a loop pays.
fn worthwhile(items: &[Item], p: usize) -> Option<usize> {
    let run = run_length(items, p);
    (run >= 2 && (run * p) as u64 >= WORTH_LOOPING).then_some(run)
}

/// How often the first `p` items repeat at a constant stride, themselves included.
fn run_length(items: &[Item], p: usize) -> usize {
    1 + same(items, p) / p
}

/// How many items are the ones `p` before them, moved on by one stride.
fn same(items: &[Item], p: usize) -> usize {
    let Some(step) = items.get(p).and_then(|i| i.off.checked_sub(items[0].off)) else { return 0 };
    (p..items.len()).take_while(|&i| items[i - p].same_at(&items[i], step)).count()
}

/// Where two items come again, as far apart as before.
struct Again<'i> {
    items: &'i [Item],
    /// For each item the next place like it; 0 for none.
    next: Vec<usize>,
    effort: usize,
}

impl<'i> Again<'i> {
    fn new(items: &'i [Item]) -> Self {
        let mut next = Vec::new();
        if (2 * SHORT..=LONGEST_LIST).contains(&items.len()) {
            let mut seen: HashMap<(&Kind, i64), usize> = HashMap::with_capacity(items.len());
            next.resize(items.len(), 0);
            for (i, pair) in items.windows(2).enumerate().rev() {
                let apart = pair[1].off.wrapping_sub(pair[0].off);
                next[i] = seen.insert((&pair[0].kind, apart), i).unwrap_or(0);
            }
        }
        Self { items, next, effort: EFFORT * items.len() }
    }

    /// The shortest of the long patterns that begin here, and how often it repeats.
    fn pattern(&mut self, at: usize) -> Option<(usize, usize)> {
        let mut place = *self.next.get(at)?;
        for _ in 0..MOST_TRIES {
            if place == 0 || self.effort == 0 {
                break;
            }
            let p = place - at;
            if p > SHORT {
                let same = same(&self.items[at..], p);
                if same >= p {
                    return Some((p, 1 + same / p));
                }
                self.effort = self.effort.saturating_sub(same + 1);
            }
            place = self.next[place];
        }
        None
    }
}
