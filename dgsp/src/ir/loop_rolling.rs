//! Loop rolling: finding loops in lists, repeated patterns at a constant stride.
//!
//! Greedy, from the front, the shortest pattern first, and again until nothing changes. What comes
//! out depends on the list alone.

use std::collections::HashMap;

use super::{Body, CANONICAL, Item, Kind, WORTH_LOOPING, merge, repeat};
use crate::error::Error;

/// Patterns up to this long are tried everywhere. Longer ones are tried where their first two items
/// come again, in lists that are not too long.
const SHORT: usize = WORTH_LOOPING as usize;
/// Places where a pattern may come again that are tried.
const MOST_TRIES: usize = 64;
/// Comparisons for long patterns, for each item of the list. Only lists made to be difficult need
/// as many.
const EFFORT: usize = 64;

/// Turns runs of a repeated pattern into loops, until nothing changes.
pub(crate) fn roll_loops(mut items: Vec<Item>) -> Result<Vec<Item>, Error> {
    while let Some(rolled) = once(&mut items)? {
        items = merge(rolled)?;
    }
    Ok(items)
}

fn once(items: &mut [Item]) -> Result<Option<Vec<Item>>, Error> {
    if (items.len() as u64) < WORTH_LOOPING {
        return Ok(None);
    }
    let mut again = Again::new(items);
    let mut out = Vec::with_capacity(items.len());
    let (mut at, mut changed) = (0, false);
    while at < items.len() {
        let short = (1..=SHORT).find_map(|p| Run::of(&items[at..], p));
        let Some(Run { pattern, count, half }) = short.or_else(|| again.pattern(items, at)) else {
            out.push(items[at].clone());
            at += 1;
            continue;
        };
        let stride = items[at + pattern].off.wrapping_sub(items[at].off);
        // A long pattern may have loops of its own.
        let body = Body::new(items[at..at + pattern].to_vec())?;
        out.extend(repeat(0, count as u64, stride, &body)?);
        at += count * pattern;
        if let Some(half) = half {
            at -= 1;
            items[at] = half;
        }
        changed = true;
    }
    Ok(changed.then_some(out))
}

/// A pattern that comes several times.
struct Run {
    /// Items of the pattern.
    pattern: usize,
    count: usize,
    /// What is left of the last item, whose first part belongs to the run.
    half: Option<Item>,
}

impl Run {
    /// The run that the first items are, if a loop pays.
    fn of(items: &[Item], pattern: usize) -> Option<Self> {
        let same = same(items, pattern);
        let half = half(items, pattern, same);
        let count = 1 + (same + usize::from(half.is_some())) / pattern;
        let pays = count >= 2 && (count * pattern) as u64 >= WORTH_LOOPING;
        pays.then_some(Self { pattern, count, half })
    }
}

/// Where all but the last block of a repetition are there, and that one is the first part of a
/// block that goes on with what the pattern begins with: this second part. Repeated vectors are
/// like this, for each ends where the next begins.
fn half(items: &[Item], pattern: usize, same: usize) -> Option<Item> {
    if same % pattern != pattern - 1 || same + pattern >= items.len() {
        return None;
    }
    let (like, last) = (&items[same], &items[same + pattern]);
    let (Kind::Bytes(first), Kind::Bytes(len), Kind::Bytes(both)) = (&items[0].kind, &like.kind, &last.kind)
    else {
        return None;
    };
    let step = items[pattern].off.checked_sub(items[0].off)?;
    let fits = like.off.checked_add(step) == Some(last.off) && len.checked_add(*first) == Some(*both);
    fits.then_some(Item { off: last.off.checked_add_unsigned(*len)?, kind: Kind::Bytes(*first) })
}

/// How many items are the ones `p` before them, moved on by one stride.
fn same(items: &[Item], p: usize) -> usize {
    let Some(step) = items.get(p).and_then(|i| i.off.checked_sub(items[0].off)) else { return 0 };
    (p..items.len()).take_while(|&i| items[i - p].same_at(&items[i], step)).count()
}

/// Where two items come again, as far apart as before.
struct Again {
    /// For each item the next place like it; 0 for none.
    next: Vec<usize>,
    effort: usize,
}

impl Again {
    fn new(items: &[Item]) -> Self {
        let mut next = Vec::new();
        if (2 * SHORT..=CANONICAL as usize).contains(&items.len()) {
            let mut seen: HashMap<(&Kind, i64), usize> = HashMap::with_capacity(items.len());
            next.resize(items.len(), 0);
            for (i, pair) in items.windows(2).enumerate().rev() {
                let apart = pair[1].off.wrapping_sub(pair[0].off);
                next[i] = seen.insert((&pair[0].kind, apart), i).unwrap_or(0);
            }
        }
        Self { next, effort: EFFORT * items.len() }
    }

    /// The run of the shortest long pattern that begins here.
    fn pattern(&mut self, items: &[Item], at: usize) -> Option<Run> {
        let mut place = *self.next.get(at)?;
        for _ in 0..MOST_TRIES {
            if place == 0 || self.effort == 0 {
                break;
            }
            let p = place - at;
            if p > SHORT {
                let run = Run::of(&items[at..], p);
                if run.is_some() {
                    return run;
                }
                self.effort = self.effort.saturating_sub(1 + same(&items[at..], p));
            }
            place = self.next[place];
        }
        None
    }
}
