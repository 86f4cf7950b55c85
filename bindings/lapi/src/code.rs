//! Header handlers that are named by the address that they have here.
//!
//! The guide wants the address that a handler has at the target. If all tasks of a program lie at
//! the same addresses, that is also its address at the origin, and some runtimes rely on this: they
//! never exchange addresses. Address-space randomisation breaks it. So the address of a function of
//! this process travels as *object and offset* ([`RELATIVE`]), and the target finds its own copy of
//! the object. Other addresses travel unchanged.
//!
//! An address of another task may by chance lie where this process has code. That happens once in
//! about a million pairs of tasks. [`Code::note`] remembers the addresses that came by
//! `LAPI_Address_init`; these travel unchanged, too.
//!
//! Objects may be loaded, unloaded and loaded again at any time (`objects.rs`).

use crate::objects::{NAME_BITS, Objects};
use crate::sync::lock;
use lapis_core::handlers::HANDLER_TABLE_SIZE;
use lapis_core::sync::blocking::Mutex;
use lapis_core::sync::{AtomicBool, AtomicU64, Ordering};

/// A header handler as object and offset: below the marks of internal handlers, above all
/// addresses.
pub(crate) const RELATIVE: u64 = 1 << 60;
const OFFSET_BITS: u32 = 40;

/// No function lies below: the first page stays empty, so that NULL leads nowhere.
pub(crate) const FIRST_ADDRESS: u64 = 4096;

/// Whether a number can name a header handler: it is an index of the table, or can be an address.
#[inline(always)]
pub(crate) fn names_handler(number: u64) -> bool {
    number.wrapping_sub(1) < HANDLER_TABLE_SIZE as u64 - 1 || number >= FIRST_ADDRESS
}

/// Addresses that are remembered to be in no object here.
const ELSEWHERE: usize = 64;

/// Where this process's code lies.
pub(crate) struct Code {
    /// The lowest address of code.
    low: u64,
    objects: Objects,
    /// Addresses that were looked for in vain: those of other tasks, which come with every message
    /// to them.
    elsewhere: [AtomicU64; ELSEWHERE],
    /// Addresses in other tasks that lie in code here.
    foreign: Mutex<Vec<(u32, u64)>>,
    any_foreign: AtomicBool,
}

impl Code {
    /// Looks at the objects that are loaded now.
    pub(crate) fn of_process() -> Self {
        Self::of(Objects::of_process())
    }

    fn of(objects: Objects) -> Self {
        Self {
            low: objects.lowest(),
            objects,
            elsewhere: std::array::from_fn(|_| AtomicU64::new(u64::MAX)),
            foreign: Mutex::default(),
            any_foreign: AtomicBool::new(false),
        }
    }

    /// A header handler's address or index as `target` understands it.
    #[inline(always)]
    pub(crate) fn portable(&self, target: u32, handler: u64) -> u64 {
        if handler < self.low { handler } else { self.relative(target, handler) }
    }

    /// The same for one that stands for itself at every target, as far as is known at once. What
    /// names no handler never does.
    #[inline(always)]
    pub(crate) fn same_everywhere(&self, handler: u64) -> bool {
        handler.wrapping_sub(1) < HANDLER_TABLE_SIZE as u64 - 1
            || self.elsewhere(handler).load(Ordering::Relaxed) == handler
    }

    /// Where is remembered that a handler is in no object of this process.
    #[inline(always)]
    fn elsewhere(&self, handler: u64) -> &AtomicU64 {
        // Functions are aligned, and those of one library differ in the middle of their addresses.
        &self.elsewhere[(handler >> 4) as usize % ELSEWHERE]
    }

    fn relative(&self, target: u32, handler: u64) -> u64 {
        let elsewhere = self.elsewhere(handler);
        if elsewhere.load(Ordering::Relaxed) == handler {
            return handler;
        }
        let segment = self.objects.at(handler);
        let Some((name, bias)) = segment.and_then(|segment| Some((segment.name?, segment.bias))) else {
            elsewhere.store(handler, Ordering::Relaxed);
            return handler;
        };
        // SYNC: Acquire pairs with `note`: whoever was given an address has been told of it.
        let foreign =
            self.any_foreign.load(Ordering::Acquire) && lock(&self.foreign).contains(&(target, handler));
        let offset = handler - bias;
        if foreign || offset >> OFFSET_BITS != 0 {
            return handler;
        }
        RELATIVE | name << OFFSET_BITS | offset
    }

    /// The address in this process of what another one made [`portable`](Self::portable).
    pub(crate) fn absolute(&self, handler: u64) -> Option<u64> {
        if handler & RELATIVE == 0 {
            return Some(handler);
        }
        let name = handler >> OFFSET_BITS & ((1 << NAME_BITS) - 1);
        let offset = handler & ((1 << OFFSET_BITS) - 1);
        self.objects.address(name, offset)
    }

    /// Takes note of the address that another task gave out.
    pub(crate) fn note(&self, task: u32, address: u64) {
        if self.objects.at(address).is_some() {
            let mut foreign = lock(&self.foreign);
            if !foreign.contains(&(task, address)) {
                foreign.push((task, address));
            }
            // SYNC: Release pairs with `relative`.
            self.any_foreign.store(true, Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objects::tests::{made_up, segment};

    /// A program and a library, loaded at different addresses in two tasks.
    fn tasks() -> [Code; 2] {
        [0, 0x7000_0000].map(|moved| {
            Code::of(made_up(vec![
                segment(0x5000_1000 + moved, 0x5000_0000 + moved, 0),
                segment(0x9_1000 + moved, 0x9_0000 + moved, 7),
            ]))
        })
    }

    #[test]
    fn a_function_of_the_origin_is_found_where_the_target_has_it() {
        let [origin, target] = tasks();
        for (here, there) in [(0x5000_1234, 0xc000_1234), (0x9_1008, 0x7009_1008)] {
            let portable = origin.portable(1, here);
            assert_ne!(portable & RELATIVE, 0);
            assert_eq!(target.absolute(portable), Some(there));
        }
    }

    #[test]
    fn indexes_and_addresses_from_elsewhere_pass_as_they_are() {
        let [origin, target] = tasks();
        for handler in [0, 5, 255, 0x9_0fff, 0x9_2000, 0xc000_1234] {
            assert_eq!(origin.portable(1, handler), handler);
            assert_eq!(target.absolute(handler), Some(handler));
        }
    }

    #[test]
    fn an_address_that_another_task_gave_out_stays_one_although_code_lies_there() {
        let [origin, _] = tasks();
        origin.note(1, 0x5000_1234);
        origin.note(2, 0xc000_0000);
        assert_eq!(origin.portable(1, 0x5000_1234), 0x5000_1234);
        assert_ne!(origin.portable(2, 0x5000_1234), 0x5000_1234);
    }

    #[test]
    fn what_is_in_no_object_here_is_nothing() {
        let [_, target] = tasks();
        assert_eq!(target.absolute(RELATIVE | 9 << OFFSET_BITS | 0x1234), None);
        assert_eq!(target.absolute(RELATIVE | 7 << OFFSET_BITS | 0x5000), None);
    }

    #[test]
    fn an_address_in_no_object_is_remembered() {
        let code = Code { low: 0x1000, ..Code::of_process() };
        let (nowhere, at) = (0x1230, 0x1230 >> 4 & (ELSEWHERE - 1));
        assert_eq!(code.portable(1, nowhere), nowhere);
        assert_eq!(code.elsewhere[at].load(Ordering::Relaxed), nowhere);
    }

    #[test]
    fn an_object_that_shares_its_name_is_not_named() {
        let code = Code::of(made_up(vec![segment(0x1000, 0, 7), segment(0x9000, 0x8000, 7)]));
        assert_eq!(code.portable(1, 0x1010), 0x1010);
    }

    #[test]
    fn numbers_between_indexes_and_addresses_name_no_handler() {
        let named = [1, 255, 4096, RELATIVE, u64::MAX].map(names_handler);
        assert_eq!(named, [true; 5]);
        let code = Code::of_process();
        for number in [0, 256, 257, 4095] {
            assert!(!names_handler(number) && !code.same_everywhere(number), "{number}");
            // Nor once it was looked for.
            assert_eq!(code.portable(0, number), number);
            assert!(!code.same_everywhere(number), "{number}");
        }
        assert!(code.same_everywhere(1) && code.same_everywhere(255));
    }

    #[test]
    fn this_process_has_code_and_finds_it_again() {
        let code = Code::of_process();
        let function = names_handler as *const () as u64;
        assert_eq!(code.absolute(code.portable(0, function)), Some(function));
    }
}
