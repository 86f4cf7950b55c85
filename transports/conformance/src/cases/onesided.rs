//! Puts and gets.

use crate::rank::{Rank, Shared, lengths, pattern, raw};
use lapis_core::transport::{Caps, MAX_SHORT_PUT, RawSlice, RemoteAddr, Status};

/// A preferred rail, which may exist or not: it only affects which rail is taken.
fn preferred_rail(len: usize) -> Option<u8> {
    [None, Some(0), Some(1), Some(9)][len / 5 % 4]
}

/// What stands around the bytes under test.
const GUARD: u8 = 0xc3;

/// Memory of each kind that peers may reach here: allocated; registered, or plain where any address
/// will do.
fn kinds(r: &mut Rank, len: usize) -> Vec<Shared> {
    let mut all = vec![r.shared(len)];
    if r.common_caps().intersects(Caps::REGISTER | Caps::ANY_ADDRESS) {
        all.push(r.registered(len));
    }
    all
}

fn at(remote: RemoteAddr, offset: usize) -> RemoteAddr {
    RemoteAddr { addr: remote.addr + offset as u64, ..remote }
}

/// Puts of all lengths to unaligned places; the target looks at the bytes and at those around them.
fn puts(r: &mut Rank, lens: &[usize], mut put: impl FnMut(&mut Rank, u32, &[u8], RemoteAddr)) {
    let most = lens.iter().copied().max().unwrap_or(0);
    for memory in kinds(r, most + 128) {
        let regions = r.exchange_regions(&memory);
        let (me, next, previous) = (u64::from(r.task), r.next(), u64::from(r.previous()));
        // Several at once between synchronisations would hide who wrote what: one length per round,
        // many rounds.
        for (i, &len) in lens.iter().enumerate() {
            let offset = 32 + i % 9;
            let window = (len + 64 + 16).min(memory.region.len as usize);
            memory.write(0, &vec![GUARD; window]);
            r.sync("the target is clean");
            let data = pattern(me << 32 | i as u64, len);
            put(r, next, &data, at(regions[&next], offset));
            r.sync("the put is done");
            let found = memory.read(0, window);
            assert_eq!(found[offset..offset + len], pattern(previous << 32 | i as u64, len), "put of {len}");
            let around = found[..offset].iter().chain(&found[offset + len..]);
            assert!(around.copied().all(|b| b == GUARD), "a put of {len} bytes wrote beside its place");
        }
    }
}

/// Lengths of zero-copy transfers: not all the short ones, some long ones.
fn long(r: &Rank) -> Vec<usize> {
    let max = r.link().limits().max_zcopy.min(5 << 20) as usize;
    let mut lens: Vec<usize> = lengths(max.min(9000)).into_iter().filter(|l| l % 5 < 2).collect();
    lens.extend([65_537, 1 << 20, max].into_iter().filter(|l| *l <= max));
    lens
}

pub(crate) fn zero_copy_puts_land_exactly(r: &mut Rank) {
    let lens = long(r);
    puts(r, &lens, |r, peer, data, remote| {
        // SAFETY: the remote place belongs to the case, and `data` outlives the completion.
        let status = r.complete("put_zcopy", |l, token| unsafe {
            l.prefer_rail(preferred_rail(data.len()));
            l.put_zcopy(peer, raw(data), remote, token)
        });
        assert_eq!(status, Status::Done, "completion of a put of {} bytes", data.len());
    });
}

/// One more short put in a row of `count` to the next task; the last one counts.
fn put_row(r: &mut Rank, to: RemoteAddr, count: usize, bytes: impl Fn(usize) -> Vec<u8>) {
    let next = r.next();
    for n in 0..count {
        let data = bytes(n);
        // SAFETY: the remote place belongs to the case.
        let status = r.insist("put_short", |l| unsafe { l.put_short(next, &data, to) });
        assert_eq!(status, Status::Done, "a short put of {} bytes", data.len());
    }
}

/// Each round some short puts and one message; whoever gets the message looks at the bytes before
/// the next poll.
pub(crate) fn messages_do_not_overtake_short_puts(r: &mut Rank) {
    const ROUNDS: usize = 2 * MAX_SHORT_PUT;
    let memory = r.shared(2 * MAX_SHORT_PUT);
    let regions = r.exchange_regions(&memory);
    let (me, next, previous) = (r.task, r.next(), r.previous());
    for round in 0..ROUNDS {
        // Now and then more than may be on their way at a time.
        let count = if round % 32 == 31 { 1000 } else { 1 + round % 3 };
        let (len, offset) = (1 + round % MAX_SHORT_PUT, round % 9);
        let data = |task: u32, n: usize| pattern(u64::from(task) << 32 | (round * 1000 + n) as u64, len);
        put_row(r, at(regions[&next], offset), count, |n| data(me, n));
        assert_eq!(r.insist("am_short", |l| l.am_short(next, &[], &[7])), Status::Done);
        let message = r.receive();
        assert_eq!(message.peer, previous);
        assert_eq!(memory.read(offset, len), data(previous, count - 1), "{len} bytes before a message");
        r.sync("the bytes were looked at");
    }
}

pub(crate) fn a_short_put_over_the_limit_is_refused(r: &mut Rank) {
    let memory = r.shared(2 * MAX_SHORT_PUT);
    let (next, to) = (r.next(), r.exchange_regions(&memory));
    let data = [1; MAX_SHORT_PUT + 1];
    // SAFETY: the remote place belongs to the case.
    let status = unsafe { r.link_mut().put_short(next, &data, to[&next]) };
    assert!(!matches!(status, Status::Done | Status::InProgress | Status::Again), "it answered {status:?}");
    r.sync("after puts over the limit");
}

/// Gets of all lengths from unaligned places; the origin looks at the bytes and at those around
/// them.
fn gets(r: &mut Rank, lens: &[usize], mut get: impl FnMut(&mut Rank, u32, RawSlice, RemoteAddr)) {
    let most = lens.iter().copied().max().unwrap_or(0);
    for memory in kinds(r, most + 128) {
        memory.write(0, &pattern(u64::from(r.task), memory.region.len as usize));
        let regions = r.exchange_regions(&memory);
        r.sync("the sources are written");
        let next = r.next();
        let source = pattern(u64::from(next), memory.region.len as usize);
        for (i, &len) in lens.iter().enumerate() {
            let offset = i % 64;
            let mut found = vec![GUARD; len + 64];
            let into = RawSlice { ptr: found[32..].as_mut_ptr(), len };
            get(r, next, into, at(regions[&next], offset));
            assert_eq!(found[32..32 + len], source[offset..offset + len], "get of {len} bytes from {offset}");
            let around = found[..32].iter().chain(&found[32 + len..]);
            assert!(around.copied().all(|b| b == GUARD), "a get of {len} bytes wrote beside its place");
        }
        r.sync("the gets are done");
    }
}

pub(crate) fn zero_copy_gets_read_exactly(r: &mut Rank) {
    let lens = long(r);
    gets(r, &lens, |r, peer, into, remote| {
        // SAFETY: both places belong to the case, and `into` outlives the completion.
        let status = r.complete("get_zcopy", |l, token| unsafe {
            l.prefer_rail(preferred_rail(into.len));
            l.get_zcopy(peer, into, remote, token)
        });
        assert_eq!(status, Status::Done, "completion of a get of {} bytes", into.len);
    });
}
