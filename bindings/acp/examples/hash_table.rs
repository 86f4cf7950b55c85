//! A hash table over all processes: each counts the words of its part of a text in one map, and
//! reads what all have counted together.
//!
//! Values are places of counters: who finds a word's counter adds to it by one atomic operation.

use acp::{After, Global, GlobalMap, Job};

const TEXT: &str = "the sea is the sea and the shore is where the sea ends";

/// A word of up to 15 bytes, and its length.
type Key = [u8; 16];

fn key(word: &str) -> Key {
    let mut key = [0; 16];
    key[..word.len()].copy_from_slice(word.as_bytes());
    key[15] = word.len() as u8;
    key
}

/// Counts a word. Two processes may meet it first at a time: one of their counters stays.
fn count(job: &Job, table: GlobalMap<Key, Global<u64>>, word: &str) -> acp::Result<()> {
    let counter = match job.get(table, key(word))? {
        Some(counter) => counter,
        None => {
            let fresh = job.alloc::<u64>(1, job.rank())?;
            if job.insert(table, key(word), fresh.first())? {
                fresh.first()
            } else {
                job.free(fresh)?;
                job.get(table, key(word))?.ok_or(acp::Error::Structure)?
            }
        }
    };
    job.fetch_add(counter, 1).map(drop)
}

fn main() -> acp::Result<()> {
    let job = acp::init()?;
    // The first process makes the table and tells the others.
    let made = if job.rank() == 0 { Some(job.create_map::<Key, Global<u64>>(16)?) } else { None };
    let table = job.share(0, made)?;
    let words = TEXT.split(' ').enumerate();
    for (_, word) in words.filter(|(at, _)| at % job.procs() as usize == job.rank() as usize) {
        count(&job, table, word)?;
    }
    job.sync()?;
    if job.rank() == 0 {
        for word in ["the", "sea", "shore", "is"] {
            let counter = job.get(table, key(word))?.ok_or(acp::Error::Structure)?;
            println!("{word}: {}", job.read(counter)?);
        }
        println!("{} words differ", job.map_len(table)?);
    }
    // Each process's share of the keys, together all of them.
    let shares = job.exchange(job.own_entries(table)?.len() as u64)?;
    assert_eq!(shares.iter().sum::<u64>(), job.map_len(table)?);
    // The total, by copies that wait for each other: sum = 0, then everybody adds.
    let sum = job.starter(0)?.cast::<u64>()?.at(0)?;
    let own: u64 =
        job.own_entries(table)?.into_iter().map(|(_, counter)| job.read(counter)).sum::<acp::Result<_>>()?;
    job.begin_add(sum, own, After::All)?.wait()?;
    job.sync()?;
    if job.rank() == 0 {
        println!("{} words in all", job.read(sum)?);
    }
    job.finalize()
}
