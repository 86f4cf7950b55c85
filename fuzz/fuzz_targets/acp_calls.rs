//! ACP's calls as C programs make them, in a job of one process, with any arguments: every call
//! comes back, nothing panics, and nothing is written beside the memory that is registered.
#![no_main]

use acp as _;
use std::ffi::{c_int, c_void};
use std::ptr::{null, null_mut, without_provenance_mut};
use std::sync::Once;

#[derive(Clone, Copy)]
#[repr(C)]
struct Element {
    ga: u64,
    size: usize,
}

#[derive(Clone, Copy)]
#[repr(C)]
struct Pair {
    first: Element,
    second: Element,
}

#[derive(Clone, Copy)]
#[repr(C)]
struct Hashed {
    ga: u64,
    ranks: u64,
    slots: u64,
}

/// An iterator of a list, too: the list and an element.
#[derive(Clone, Copy)]
#[repr(C)]
struct ListIt {
    list: u64,
    elem: u64,
}

#[derive(Clone, Copy)]
#[repr(C)]
struct HashedIt {
    of: Hashed,
    rank: c_int,
    slot: c_int,
    elem: u64,
}

#[derive(Clone, Copy)]
#[repr(C)]
struct SequenceIt {
    sequence: u64,
    index: c_int,
}

unsafe extern "C" {
    fn acp_init(argc: *mut c_int, argv: *mut c_void) -> c_int;
    safe fn acp_register_memory(addr: *mut c_void, size: usize, color: c_int) -> u64;
    safe fn acp_unregister_memory(key: u64) -> c_int;
    safe fn acp_query_ga(key: u64, addr: *mut c_void) -> u64;
    safe fn acp_query_rank(ga: u64) -> c_int;
    safe fn acp_query_color(ga: u64) -> c_int;
    safe fn acp_query_address(ga: u64) -> *mut c_void;
    safe fn acp_query_starter_ga(rank: c_int) -> u64;
    safe fn acp_copy(dst: u64, src: u64, size: usize, order: u64) -> u64;
    safe fn acp_add4(dst: u64, src: u64, value: u32, order: u64) -> u64;
    safe fn acp_xor8(dst: u64, src: u64, value: u64, order: u64) -> u64;
    safe fn acp_swap4(dst: u64, src: u64, value: u32, order: u64) -> u64;
    safe fn acp_cas8(dst: u64, src: u64, old: u64, new: u64, order: u64) -> u64;
    safe fn acp_complete(handle: u64);
    safe fn acp_inquire(handle: u64) -> c_int;
    safe fn acp_malloc(size: usize, rank: c_int) -> u64;
    safe fn acp_free(ga: u64);
    safe fn acp_create_ch(sender: c_int, receiver: c_int) -> *mut c_void;
    safe fn acp_nbfree_ch(ch: *mut c_void) -> *mut c_void;
    safe fn acp_nbsend_ch(ch: *mut c_void, buf: *mut c_void, size: usize) -> *mut c_void;
    safe fn acp_nbrecv_ch(ch: *mut c_void, buf: *mut c_void, size: usize) -> *mut c_void;
    safe fn acp_wait_ch(request: *mut c_void) -> usize;
    safe fn acp_create_vector(count: usize, size: usize, rank: c_int) -> u64;
    safe fn acp_destroy_vector(vector: u64);
    safe fn acp_push_back_vector(vector: u64, ga: u64, size: usize);
    safe fn acp_erase_vector(it: SequenceIt, size: usize) -> SequenceIt;
    safe fn acp_swap_vector(one: u64, other: u64);
    safe fn acp_size_vector(vector: u64) -> usize;
    safe fn acp_clear_list(list: u64);
    safe fn acp_create_list_3(rank: c_int) -> u64;
    safe fn acp_destroy_list(list: u64);
    safe fn acp_insert_list_3(it: ListIt, elem: Element, rank: c_int) -> ListIt;
    safe fn acp_erase_list_3(it: ListIt) -> ListIt;
    safe fn acp_splice_list(one: ListIt, other: ListIt);
    safe fn acp_advance_list_it(it: ListIt, n: c_int) -> ListIt;
    safe fn acp_dereference_list_it(it: ListIt) -> Element;
    safe fn acp_begin_list_3(list: u64) -> ListIt;
    safe fn acp_insert_deque(it: SequenceIt, ga: u64, size: usize) -> SequenceIt;
    safe fn acp_dereference_deque_it(it: SequenceIt, size: usize) -> Pair;
    safe fn acp_create_deque(size: usize, rank: c_int) -> u64;
    safe fn acp_pop_front_deque(deque: u64, size: usize);
    safe fn acp_destroy_deque(deque: u64);
    fn acp_create_multiset(ranks: c_int, list: *const c_int, slots: c_int, rank: c_int) -> Hashed;
    safe fn acp_insert_multiset(set: Hashed, key: Element) -> c_int;
    safe fn acp_collapse_multiset(set: Hashed) -> Hashed;
    safe fn acp_collapse_set(set: Hashed) -> u64;
    safe fn acp_destroy_multiset(set: Hashed);
    safe fn acp_increment_map_it(it: HashedIt) -> HashedIt;
    safe fn acp_dereference_map_it(it: HashedIt) -> Pair;
    safe fn acp_begin_map(map: Hashed) -> HashedIt;
    safe fn acp_query_segbuf_tail(segbuf: *mut c_void) -> i64;
    safe fn acp_free_segbuf(segbuf: *mut c_void) -> c_int;
    safe fn acp_destroy_ws(wsd: *mut c_void);
    safe fn acp_read_ws(wsd: *mut c_void, ga: u64, size: usize, offset: usize) -> c_int;
    fn acp_create_map(ranks: c_int, list: *const c_int, slots: c_int, rank: c_int) -> Hashed;
    safe fn acp_destroy_map(map: Hashed);
    safe fn acp_insert_map(map: Hashed, pair: Pair) -> c_int;
    safe fn acp_retrieve_map(map: Hashed, pair: Pair) -> usize;
    safe fn acp_size_map(map: Hashed) -> usize;
    safe fn acp_isready_segbuf(segbuf: *mut c_void) -> c_int;
    safe fn acp_ack_segbuf(segbuf: *mut c_void) -> c_int;
}

/// Words before, in and behind the registered memory.
const WORDS: usize = 64;
const GUARD: u64 = 0x5a5a_a5a5_5a5a_a5a5;

struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn word(&mut self) -> u64 {
        let (taken, rest) = self.0.split_at(self.0.len().min(8));
        self.0 = rest;
        taken.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
    }

    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    fn rank(&mut self) -> c_int {
        [0, 0, 0, 1, -1, c_int::MAX, c_int::MIN][usize::from(self.byte()) % 7]
    }

    /// Small, or any.
    fn size(&mut self) -> usize {
        match self.byte() {
            byte @ 0..192 => usize::from(byte % 40),
            _ => self.word() as usize,
        }
    }

    /// Registered memory, what lies beside it, and what is nobody's.
    fn place(&mut self, here: u64, gone: u64) -> u64 {
        match self.byte() % 8 {
            0 => 0,
            1 => u64::MAX - u64::from(self.byte()),
            2 => gone + u64::from(self.byte()),
            3 => here - u64::from(self.byte()),
            4 => self.word() | 1 << 63,
            _ => here + u64::from(self.byte()) * 4,
        }
    }
}

/// Joins a job of one process, once.
fn join() {
    static JOINED: Once = Once::new();
    JOINED.call_once(|| {
        // SAFETY: no other thread reads the environment yet; null pointers are no arguments.
        unsafe {
            std::env::set_var("LAPIS_LOG", "off");
            assert_eq!(acp_init(null_mut(), null_mut()), 0);
        }
    });
}

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    join();
    let mut memory = vec![GUARD; 3 * WORDS];
    let at = memory[WORDS..].as_mut_ptr();
    let old = acp_register_memory(at.cast(), WORDS * 8, 0);
    let gone = acp_query_ga(old, at.cast());
    assert_eq!(acp_unregister_memory(old), 0);
    let key = acp_register_memory(at.cast(), WORDS * 8, 0);
    let here = acp_query_ga(key, at.cast());
    assert!(![0, gone].contains(&here));
    let vector = acp_create_vector(4, 8, 0);
    let ranks = [0];
    // SAFETY: a list of one rank.
    let map = unsafe { acp_create_map(1, ranks.as_ptr(), 3, 0) };
    let (list, deque) = (acp_create_list_3(0), acp_create_deque(16, 0));
    let structures = Structures { vector, map, list, deque };
    let mut input = Input(data);
    while !input.0.is_empty() {
        if input.byte().is_multiple_of(2) {
            call(&mut input, (here, gone, key), vector, map);
        } else {
            call_structure(&mut input, (here, gone), structures);
        }
    }
    acp_complete(u64::MAX);
    acp_destroy_vector(vector);
    acp_destroy_map(map);
    acp_destroy_list(list);
    acp_destroy_deque(deque);
    assert_eq!(acp_unregister_memory(key), 0);
    assert!(memory[..WORDS].iter().chain(&memory[2 * WORDS..]).all(|word| *word == GUARD));
});

fn call(input: &mut Input<'_>, (here, gone, key): (u64, u64, u64), vector: u64, map: Hashed) {
    let which = input.byte();
    let (one, other) = (input.place(here, gone), input.place(here, gone));
    let order = [0, u64::MAX, u64::MAX - 1, input.word()][usize::from(input.byte()) % 4];
    let handle = without_provenance_mut::<c_void>(input.byte() as usize);
    let element = Element { ga: one, size: input.size() };
    let pair = Pair { first: element, second: Element { ga: other, size: input.size() } };
    let wild = Hashed { ga: one, ranks: input.word(), slots: input.word() };
    match which % 24 {
        0..4 => drop(acp_copy(one, other, input.size(), order)),
        4 => drop(acp_add4(one, other, 7, order)),
        5 => drop(acp_xor8(one, other, input.word(), order)),
        6 => drop(acp_swap4(one, other, 9, order)),
        7 => drop(acp_cas8(one, other, GUARD, input.word(), order)),
        8 => drop((acp_query_rank(one), acp_query_color(one), acp_query_address(one))),
        9 => drop((acp_query_starter_ga(input.rank()), acp_query_ga(one, null::<c_void>().cast_mut()))),
        10 => {
            let other = [one, key | 1][usize::from(one == key)];
            assert_eq!(acp_unregister_memory(other), -1);
        }
        11 => drop(acp_inquire(input.word())),
        12 => acp_free(acp_malloc(input.size(), input.rank())),
        13 => acp_free(one),
        14 => drop(acp_create_ch(input.rank(), input.rank())),
        15 => drop((acp_nbfree_ch(handle), acp_nbsend_ch(handle, null_mut(), input.size()))),
        16 => drop((acp_nbrecv_ch(handle, null_mut(), input.size()), acp_wait_ch(handle))),
        17 => acp_push_back_vector(vector, one, input.size() % 4096),
        18 => drop(acp_erase_vector(
            SequenceIt {
                sequence: [vector, one][usize::from(input.byte() % 2)],
                index: input.word() as c_int,
            },
            input.size(),
        )),
        19 => acp_swap_vector(vector, one),
        20 => drop((acp_size_vector(one), acp_size_map(wild), acp_clear_list(one))),
        21 => drop(acp_insert_map(map, pair)),
        22 => drop((acp_retrieve_map(map, pair), acp_retrieve_map(wild, pair), acp_insert_map(wild, pair))),
        _ => {
            _ = (acp_isready_segbuf(handle), acp_ack_segbuf(handle), acp_register_memory(null_mut(), 8, 0));
        }
    }
}

#[derive(Clone, Copy)]
struct Structures {
    vector: u64,
    map: Hashed,
    list: u64,
    deque: u64,
}

fn call_structure(input: &mut Input<'_>, (here, gone): (u64, u64), of: Structures) {
    let which = input.byte();
    let (one, other) = (input.place(here, gone), input.place(here, gone));
    let element = Element { ga: one, size: input.size() };
    let wild = Hashed { ga: one, ranks: input.word() % 4, slots: input.word() % 4 };
    let handle = without_provenance_mut::<c_void>(input.byte() as usize);
    // An element that there is, or none.
    let begin = acp_begin_list_3(of.list);
    let list = [of.list, other, of.vector][usize::from(input.byte() % 3)];
    let it =
        [begin, ListIt { list, elem: one }, ListIt { list, elem: of.list }][usize::from(input.byte() % 3)];
    let place = SequenceIt {
        sequence: [of.deque, one][usize::from(input.byte() % 2)],
        index: input.word() as c_int % 70,
    };
    let mut met = acp_begin_map(of.map);
    match which % 16 {
        0..3 => drop(acp_insert_list_3(it, element, input.rank())),
        3 => drop(acp_erase_list_3(it)),
        4 => acp_splice_list(it, begin),
        5 => drop(acp_advance_list_it(it, input.word() as c_int % 1000)),
        6 => drop(acp_dereference_list_it(it)),
        7 => drop(acp_insert_deque(place, one, input.size() % 4096)),
        8 => drop(acp_dereference_deque_it(place, input.size())),
        9 => acp_pop_front_deque(of.deque, input.size()),
        10 => {
            (met.rank, met.slot) = (input.byte().into(), input.word() as c_int);
            _ = (acp_increment_map_it(met), acp_dereference_map_it(met));
        }
        11 => {
            met.elem = one;
            _ = (acp_increment_map_it(met), acp_dereference_map_it(met));
        }
        12 => collapse(element),
        13 => drop((acp_collapse_set(wild), acp_collapse_multiset(wild), acp_collapse_set(of.map))),
        14 => drop((acp_query_segbuf_tail(handle), acp_free_segbuf(handle))),
        _ => drop((acp_destroy_ws(handle), acp_read_ws(handle, one, input.size(), input.size()))),
    }
}

/// A multiset with at most one key becomes a set, and that a list, which holds it.
fn collapse(key: Element) {
    let ranks = [0];
    // SAFETY: a list of one rank.
    let counts = unsafe { acp_create_multiset(1, ranks.as_ptr(), 2, 0) };
    let inserted = acp_insert_multiset(counts, key);
    let set = acp_collapse_multiset(counts);
    acp_destroy_multiset(counts);
    let list = acp_collapse_set(set);
    assert_ne!(list, 0);
    let first = acp_dereference_list_it(acp_begin_list_3(list));
    assert_eq!(first.size, if inserted == 1 { key.size + 8 } else { 0 });
    acp_destroy_list(list);
}
