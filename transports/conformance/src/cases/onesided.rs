//! Puts, gets and atomics.

use crate::rank::{Rank, Shared, lengths, pattern, raw};
use lapis_core::transport::{Caps, Link, RawSlice, RemoteAddr, RmwOp, RmwRequest, Status};

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

pub(crate) fn short_puts_land_exactly(r: &mut Rank) {
    let lens: Vec<usize> = lengths((r.link().limits().max_short as usize).min(1 << 16));
    puts(r, &lens, |r, peer, data, remote| {
        // SAFETY: the remote place belongs to the case.
        let status = r.insist("put_short", |l| unsafe { l.put_short(peer, data, remote) });
        assert_eq!(status, Status::Done, "put_short finishes on return");
    });
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
        let status =
            r.complete("put_zcopy", |l, token| unsafe { l.put_zcopy(peer, raw(data), remote, token) });
        assert_eq!(status, Status::Done, "completion of a put of {} bytes", data.len());
    });
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

pub(crate) fn short_gets_read_exactly(r: &mut Rank) {
    let lens = lengths((r.link().limits().max_short as usize).min(1 << 16));
    gets(r, &lens, |r, peer, into, remote| {
        // SAFETY: both places belong to the case.
        let status = r.insist("get_short", |l| unsafe { l.get_short(peer, into, remote) });
        assert_eq!(status, Status::Done, "get_short finishes on return");
    });
}

pub(crate) fn zero_copy_gets_read_exactly(r: &mut Rank) {
    let lens = long(r);
    gets(r, &lens, |r, peer, into, remote| {
        // SAFETY: both places belong to the case, and `into` outlives the completion.
        let status = r.complete("get_zcopy", |l, token| unsafe { l.get_zcopy(peer, into, remote, token) });
        assert_eq!(status, Status::Done, "completion of a get of {} bytes", into.len);
    });
}

pub(crate) fn short_transfers_over_the_limit_are_invalid(r: &mut Rank) {
    let caps = r.common_caps();
    if !caps.intersects(Caps::PUT_SHORT | Caps::GET_SHORT) {
        return;
    }
    let len = r.link().limits().max_short as usize + 1;
    let memory = r.shared(len);
    let regions = r.exchange_regions(&memory);
    let next = r.next();
    memory.write(0, &vec![GUARD; len]);
    r.sync("the target is clean");
    let mut data = vec![1u8; len];
    if caps.contains(Caps::PUT_SHORT) {
        // SAFETY: all memory is as long as said.
        let status = unsafe { r.link_mut().put_short(next, &data, regions[&next]) };
        assert_eq!(status, Status::Invalid, "put_short of {len} bytes");
    }
    if caps.contains(Caps::GET_SHORT) {
        let into = RawSlice { ptr: data.as_mut_ptr(), len };
        // SAFETY: the memory is as long as said.
        let status = unsafe { r.link_mut().get_short(next, into, regions[&next]) };
        assert_eq!(status, Status::Invalid, "get_short of {len} bytes");
        assert!(data.iter().all(|b| *b == 1), "a refused get wrote");
        // A length whose low 32 bits are small.
        let into = RawSlice { ptr: data.as_mut_ptr(), len: (1 << 32) + 8 };
        // SAFETY: refused, so the length needn't be true.
        let status = unsafe { r.link_mut().get_short(next, into, regions[&next]) };
        assert_eq!(status, Status::Invalid, "get_short of 2^32 + 8 bytes");
    }
    r.sync("the refused puts are over");
    assert!(memory.read(0, len).iter().all(|b| *b == GUARD), "a refused put wrote");
}

fn rmw(r: &mut Rank, peer: u32, request: &RmwRequest) -> u64 {
    let mut previous = u64::MAX;
    let place = &raw mut previous;
    // SAFETY: the remote variable belongs to the case; `previous` outlives the completion.
    let status = r.complete("rmw", |l: &mut Link, token| unsafe { l.rmw(peer, request, place, token) });
    assert_eq!(status, Status::Done, "{request:?}");
    // SAFETY: a local variable, written by then.
    unsafe { place.read_volatile() }
}

pub(crate) fn atomics_of_every_kind_and_width_give_the_old_value(r: &mut Rank) {
    let memory = r.shared(64);
    let regions = r.exchange_regions(&memory);
    let next = r.next();
    let ops = [RmwOp::FetchAndAdd, RmwOp::FetchAndOr, RmwOp::Swap, RmwOp::CompareAndSwap];
    let edge = [0, 1, 0x7fff_ffff, 0xffff_ffff, 0x1_0000_0000, 0x8000_0000_0000_0000, u64::MAX];
    // Bytes 24..40 hold the variable, 32-bit ones at both halves; everything around must stay.
    for width in [4u32, 8] {
        let mask = if width == 4 { 0xffff_ffff } else { u64::MAX };
        for (round, &start) in edge.iter().enumerate() {
            for &operand in &edge {
                for op in ops {
                    let offset = if width == 4 && round % 2 == 1 { 28 } else { 24 };
                    let compare = if operand % 2 == 0 { start } else { start ^ 1 };
                    memory.write(0, &[GUARD; 64]);
                    memory.write(offset, &start.to_le_bytes()[..width as usize]);
                    r.sync("the variable is set");
                    let remote = at(regions[&next], offset);
                    let request = RmwRequest { remote, operand, compare, op: op as u32, width };
                    let old = rmw(r, next, &request);
                    assert_eq!(
                        old,
                        start & mask,
                        "old value of {op:?} {operand:#x} on {start:#x}, width {width}"
                    );
                    r.sync("the variable is changed");
                    let new = match op {
                        RmwOp::FetchAndAdd => start.wrapping_add(operand),
                        RmwOp::FetchAndOr => start | operand,
                        RmwOp::Swap => operand,
                        RmwOp::CompareAndSwap if start & mask == compare & mask => operand,
                        RmwOp::CompareAndSwap => start,
                    } & mask;
                    let mut expected = [GUARD; 64];
                    expected[offset..offset + width as usize]
                        .copy_from_slice(&new.to_le_bytes()[..width as usize]);
                    assert_eq!(
                        memory.read(0, 64),
                        expected,
                        "{op:?} {operand:#x} on {start:#x}, width {width}"
                    );
                }
            }
        }
    }
}

pub(crate) fn a_malformed_atomic_is_invalid(r: &mut Rank) {
    let memory = r.shared(64);
    let regions = r.exchange_regions(&memory);
    let next = r.next();
    memory.write(0, &[GUARD; 64]);
    r.sync("the memory is set");
    let remote = regions[&next];
    let good = RmwRequest { remote, operand: 1, compare: 0, op: 0, width: 8 };
    let bad = [
        RmwRequest { width: 0, ..good },
        RmwRequest { width: 1, ..good },
        RmwRequest { width: 16, ..good },
        RmwRequest { width: u32::MAX, ..good },
        RmwRequest { op: 4, ..good },
        RmwRequest { op: u32::MAX, ..good },
        RmwRequest { remote: at(remote, 4), ..good },
        RmwRequest { remote: at(remote, 2), width: 4, ..good },
    ];
    for request in bad {
        let mut previous = 0;
        // SAFETY: all memory named belongs to the case.
        let status = unsafe { r.link_mut().rmw(next, &request, &mut previous, 1) };
        assert_eq!(status, Status::Invalid, "{request:?}");
    }
    r.sync("the malformed ones are over");
    assert!(memory.read(0, 64).iter().all(|b| *b == GUARD), "a refused atomic wrote");
    assert!(r.completed.is_empty(), "a refused atomic completed");
}

pub(crate) fn concurrent_additions_all_count(r: &mut Rank) {
    const EACH: u64 = 2000;
    let memory = r.shared(64);
    memory.write(0, &[0; 64]);
    let regions = r.exchange_regions(&memory);
    r.sync("the counter is zero");
    // Everybody adds to task 0's, task 0 to the next one's: a task is its own peer only when it is
    // alone.
    let target = if r.task == 0 { r.next() } else { 0 };
    let mut last = None;
    for _ in 0..EACH {
        let request = RmwRequest { remote: regions[&target], operand: 3, compare: 0, op: 0, width: 8 };
        let old = rmw(r, target, &request);
        assert!(last.is_none_or(|l| old > l), "the counter went back from {last:?} to {old}");
        last = Some(old);
    }
    r.sync("all have added");
    let value = u64::from_le_bytes(memory.read(0, 8).try_into().expect("8 bytes"));
    let adders = match (r.tasks, r.task) {
        (1, _) => 1,
        (n, 0) => u64::from(n) - 1,
        (_, 1) => 1,
        _ => 0,
    };
    assert_eq!(value, adders * EACH * 3, "sum at task {}", r.task);
}
