//! Lists of release 3.0.

use super::{call, process, rank_of};
use crate::data::Element;
use crate::data::list::From;
use crate::data::list_order::Comparison;
use crate::data::numbered::{ListIt, one_list};
use crate::diagnostics::Blame as _;
use crate::error::Error;
use std::ffi::c_int;

/// What failed calls give in place of an iterator.
const NOWHERE: ListIt = ListIt { list: 0, elem: 0 };

fn global(element: Element) -> (From, u64) {
    (From::Global(element), element.size as u64)
}

/// Makes an empty list; gives it, or 0.
//= ACP 3.0, acp_create_list
#[unsafe(no_mangle)]
pub extern "C" fn acp_create_list_3(rank: c_int) -> u64 {
    call("acp_create_list", 0, || process()?.create_list(0, rank_of(rank)?))
}

/// Frees a list and its elements.
//= ACP 1.0, acp_destroy_list
#[unsafe(no_mangle)]
pub extern "C" fn acp_destroy_list(list: u64) {
    call("acp_destroy_list", (), || {
        let process = process()?;
        process.destroy_list(list)?;
        process.iterators().forget_list(list);
        Ok(())
    });
}

macro_rules! calls {
    ($($name:ident($($arg:ident: $kind:ty),*) $(-> $gives:ty, $failed:expr)? => $doc:literal $process:ident $do:expr;)*) => {
        $(
            #[doc = $doc]
            #[unsafe(no_mangle)]
            pub extern "C" fn $name($($arg: $kind),*) $(-> $gives)? {
                call(stringify!($name).trim_end_matches("_3"), ($($failed)?), || {
                    let $process = process()?;
                    $do
                })
            }
        )*
    };
}

//= ACP 3.0, list
calls! {
    acp_assign_list(list1: u64, list2: u64) =>
        "Makes a list equal to another one." p p.assign_list(list1, list2, None);
    acp_assign_range_list(list: u64, start: ListIt, end: ListIt) =>
        "Makes a list equal to a part of another one." p {
            one_list(start, end)?;
            p.assign_list(list, start.list, Some((start.elem, end.elem)))
        };
    acp_begin_list_3(list: u64) -> ListIt, NOWHERE =>
        "The first element, or the end." p p.end_of_list(list, false);
    acp_clear_list(list: u64) =>
        "Frees all elements." p p.clear_list(list);
    acp_empty_list(list: u64) -> c_int, 1 =>
        "1 if there are no elements, else 0." p Ok(c_int::from(p.count_list(list)? == 0));
    acp_end_list_3(list: u64) -> ListIt, NOWHERE =>
        "What is behind the last element." p p.end_of_list(list, true);
    acp_erase_list_3(it: ListIt) -> ListIt, NOWHERE =>
        "Frees an element; gives the next one." p p.erase_list(it);
    acp_erase_range_list(start: ListIt, end: ListIt) -> ListIt, NOWHERE =>
        "Frees the elements before `end`; gives that." p p.erase_range_list(start, end);
    acp_insert_list_3(it: ListIt, elem: Element, rank: c_int) -> ListIt, NOWHERE =>
        "Inserts a copy of memory before an element." p p.insert_list(it, global(elem), rank_of(rank)?);
    acp_insert_range_list(it: ListIt, start: ListIt, end: ListIt) -> ListIt, NOWHERE =>
        "Inserts copies of a list's elements before an element." p p.insert_range_list(it, start, end);
    acp_pop_back_list(list: u64) =>
        "Frees the last element." p p.pop_list(list, false);
    acp_pop_front_list(list: u64) =>
        "Frees the first element." p p.pop_list(list, true);
    acp_push_back_list_3(list: u64, elem: Element, rank: c_int) =>
        "Appends a copy of memory." p p.push_list(list, global(elem), rank_of(rank)?, false).map(drop);
    acp_push_front_list(list: u64, elem: Element, rank: c_int) =>
        "Inserts a copy of memory before the first element."
        p p.push_list(list, global(elem), rank_of(rank)?, true).map(drop);
    acp_remove_list(list: u64, elem: Element) =>
        "Frees all elements that equal a piece of memory." p p.remove_list(list, elem);
    acp_reverse_list(list: u64) =>
        "Turns the order of elements round." p p.reverse_list(list);
    acp_size_list(list: u64) -> usize, 0 =>
        "How many elements there are." p Ok(p.count_list(list)? as usize);
    acp_splice_list(it1: ListIt, it2: ListIt) =>
        "Moves an element to before another one." p p.splice_list(it1, it2);
    acp_splice_range_list(it: ListIt, start: ListIt, end: ListIt) =>
        "Moves elements to before another one." p p.splice_lists(it, start, end);
    acp_swap_list(list1: u64, list2: u64) =>
        "Exchanges what two lists have." p p.swap_lists(list1, list2);
    acp_unique_list(list: u64) =>
        "Frees all elements that equal the one before." p p.unique_list(list);
    acp_advance_list_it(it: ListIt, n: c_int) -> ListIt, NOWHERE =>
        "Goes on by so many elements, or back, until an end." p Ok(p.advance_list(it, n.into())?.0);
    acp_decrement_list_it(it: ListIt) -> ListIt, NOWHERE =>
        "The element before." p p.step_list(it, -1);
    acp_dereference_list_it(it: ListIt) -> Element, Element::default() =>
        "Where an element's bytes are." p p.dereference_list(it);
    acp_distance_list_it(first: ListIt, last: ListIt) -> c_int, 0 =>
        "How many elements are between two places." p p.distance_list(first, last);
    acp_increment_list_it(it: ListIt) -> ListIt, NOWHERE =>
        "The next element, or the end." p p.step_list(it, 1);
}

/// Moves a sorted list's elements into another one, which stays sorted.
//= ACP 3.0, acp_merge_list
#[unsafe(no_mangle)]
pub extern "C" fn acp_merge_list(list1: u64, list2: u64, comp: Option<Comparison>) {
    call("acp_merge_list", (), || {
        process()?.merge_lists(list1, list2, comp.ok_or(Error::Null).at("comp", 0)?)
    });
}

/// Sorts a list; equal elements keep their order.
//= ACP 3.0, acp_sort_list
#[unsafe(no_mangle)]
pub extern "C" fn acp_sort_list(list: u64, comp: Option<Comparison>) {
    call("acp_sort_list", (), || process()?.sort_list(list, comp.ok_or(Error::Null).at("comp", 0)?));
}
