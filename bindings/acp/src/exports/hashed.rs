//! Sets, multisets and maps.

use super::{call, process, rank_of};
use crate::data::hashed::{Hashed, HashedIt};
use crate::data::table_words::Kind;
use crate::data::{Element, Pair};
use crate::diagnostics::Blame as _;
use crate::error::{Error, Result};
use std::ffi::c_int;

/// What failed calls give in place of an iterator.
const NOWHERE: HashedIt = HashedIt { of: Hashed { ga: 0, ranks: 0, slots: 0 }, rank: 0, slot: 0, elem: 0 };

/// Makes a structure of a C vector of ranks.
///
/// # Safety
/// `ranks` is null or has `count` elements.
unsafe fn create(
    kind: Kind,
    (ranks, count): (*const c_int, c_int),
    slots: c_int,
    rank: c_int,
) -> Result<Hashed> {
    let process = process()?;
    let known = usize::try_from(count).ok().filter(|count| *count > 0);
    let count = known.ok_or(Error::Size).of("num_ranks", count)?;
    if ranks.is_null() {
        return Err(Error::Null).at("ranks", 0);
    }
    // SAFETY: `ranks` is not null, so the program's array of `count` ranks begins there.
    let ranks = unsafe { std::slice::from_raw_parts(ranks, count) };
    process.create_hashed(kind, ranks, slots, rank_of(rank)?)
}

macro_rules! calls {
    ($kind:ident: $create:ident $destroy:ident $clear:ident $find:ident $remove:ident $swap:ident
     $increment:ident;
     $(($local:literal $assign:ident $begin:ident $empty:ident $end:ident $merge:ident $move:ident
     $size:ident))*) => {
        /// Makes an empty one, whose keys are spread over the processes named.
        ///
        /// # Safety
        /// `ranks` has `num_ranks` elements.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $create(
            num_ranks: c_int,
            ranks: *const c_int,
            num_slots: c_int,
            rank: c_int,
        ) -> Hashed {
            call(stringify!($create), Hashed::default(), || {
                // SAFETY: the program's `ranks` has `num_ranks` elements; null is looked for.
                unsafe { create(Kind::$kind, (ranks, num_ranks), num_slots, rank) }
            })
        }

        /// Frees one with its elements.
        #[unsafe(no_mangle)]
        pub extern "C" fn $destroy(of: Hashed) {
            call(stringify!($destroy), (), || process()?.destroy_hashed(Kind::$kind, of));
        }

        /// Frees all elements.
        #[unsafe(no_mangle)]
        pub extern "C" fn $clear(of: Hashed) {
            call(stringify!($clear), (), || process()?.clear_hashed(Kind::$kind, of, false));
        }

        /// The iterator of a key, or the end.
        #[unsafe(no_mangle)]
        pub extern "C" fn $find(of: Hashed, key: Element) -> HashedIt {
            call(stringify!($find), NOWHERE, || process()?.find_hashed(Kind::$kind, of, key))
        }

        /// Removes a key; of several equal ones, one.
        #[unsafe(no_mangle)]
        pub extern "C" fn $remove(of: Hashed, key: Element) {
            call(stringify!($remove), (), || process()?.remove_hashed(Kind::$kind, of, key, false));
        }

        /// Exchanges what two of them have.
        #[unsafe(no_mangle)]
        pub extern "C" fn $swap(one: Hashed, other: Hashed) {
            call(stringify!($swap), (), || process()?.swap_hashed(Kind::$kind, one, other));
        }

        /// The next element's iterator, or the end.
        #[unsafe(no_mangle)]
        pub extern "C" fn $increment(it: HashedIt) -> HashedIt {
            call(stringify!($increment), NOWHERE, || process()?.next_hashed(Kind::$kind, it))
        }

        $(
            /// Makes one equal to another, or to what this process has of it.
            #[unsafe(no_mangle)]
            pub extern "C" fn $assign(to: Hashed, from: Hashed) {
                call(stringify!($assign), (), || {
                    process()?.assign_hashed(Kind::$kind, to, from, $local)
                });
            }

            /// The first element, or the end.
            #[unsafe(no_mangle)]
            pub extern "C" fn $begin(of: Hashed) -> HashedIt {
                call(stringify!($begin), NOWHERE, || process()?.begin_hashed(Kind::$kind, of, $local))
            }

            /// 1 if there are no elements, else 0.
            #[unsafe(no_mangle)]
            pub extern "C" fn $empty(of: Hashed) -> c_int {
                call(stringify!($empty), 1, || {
                    Ok(c_int::from(process()?.count_of(Kind::$kind, of, $local)? == 0))
                })
            }

            /// What is behind the last element.
            #[unsafe(no_mangle)]
            pub extern "C" fn $end(of: Hashed) -> HashedIt {
                call(stringify!($end), NOWHERE, || process()?.end_hashed(Kind::$kind, of, $local))
            }

            /// Inserts copies of another's elements.
            #[unsafe(no_mangle)]
            pub extern "C" fn $merge(to: Hashed, from: Hashed) {
                call(stringify!($merge), (), || {
                    process()?.merge_hashed(Kind::$kind, to, from, $local)
                });
            }

            /// Moves another's elements.
            #[unsafe(no_mangle)]
            pub extern "C" fn $move(to: Hashed, from: Hashed) {
                call(stringify!($move), (), || process()?.move_hashed(Kind::$kind, to, from, $local));
            }

            /// How many elements there are.
            #[unsafe(no_mangle)]
            pub extern "C" fn $size(of: Hashed) -> usize {
                call(stringify!($size), 0, || {
                    Ok(process()?.count_of(Kind::$kind, of, $local)? as usize)
                })
            }
        )*
    };
}

//= ACP 3.0, set
calls! {
    Set: acp_create_set acp_destroy_set acp_clear_set acp_find_set acp_remove_set acp_swap_set
    acp_increment_set_it;
    (false acp_assign_set acp_begin_set acp_empty_set acp_end_set acp_merge_set acp_move_set acp_size_set)
    (true acp_assign_local_set acp_begin_local_set acp_empty_local_set acp_end_local_set
    acp_merge_local_set acp_move_local_set acp_size_local_set)
}

//= ACP 3.0, multiset
calls! {
    Multiset: acp_create_multiset acp_destroy_multiset acp_clear_multiset acp_find_multiset
    acp_remove_multiset acp_swap_multiset acp_increment_multiset_it;
    (false acp_assign_multiset acp_begin_multiset acp_empty_multiset acp_end_multiset acp_merge_multiset
    acp_move_multiset acp_size_multiset)
    (true acp_assign_local_multiset acp_begin_local_multiset acp_empty_local_multiset
    acp_end_local_multiset acp_merge_local_multiset acp_move_local_multiset acp_size_local_multiset)
}

//= ACP 3.0, map
calls! {
    Map: acp_create_map acp_destroy_map acp_clear_map acp_find_map acp_remove_map acp_swap_map
    acp_increment_map_it;
    (false acp_assign_map acp_begin_map acp_empty_map acp_end_map acp_merge_map acp_move_map acp_size_map)
    (true acp_assign_local_map acp_begin_local_map acp_empty_local_map acp_end_local_map
    acp_merge_local_map acp_move_local_map acp_size_local_map)
}

fn key_alone(first: Element) -> Pair {
    Pair { first, second: Element::default() }
}

/// Inserts a key; 1, though it is there already.
//= ACP 3.0, acp_insert_set
#[unsafe(no_mangle)]
pub extern "C" fn acp_insert_set(set: Hashed, key: Element) -> c_int {
    call("acp_insert_set", 0, || process()?.insert_hashed(Kind::Set, set, key_alone(key)).map(|_| 1))
}

/// Makes a list of a set's keys, and ends the set; gives the list, or 0.
//= ACP 3.0, acp_collapse_set
#[unsafe(no_mangle)]
pub extern "C" fn acp_collapse_set(set: Hashed) -> u64 {
    call("acp_collapse_set", 0, || process()?.collapse_set(set))
}

/// Makes a set of a multiset's keys, with the number of each in front of it, and ends the multiset.
//= ACP 3.0, acp_collapse_multiset
#[unsafe(no_mangle)]
pub extern "C" fn acp_collapse_multiset(set: Hashed) -> Hashed {
    call("acp_collapse_multiset", Hashed::default(), || process()?.collapse_multiset(set))
}

/// Inserts a key once more; 1.
//= ACP 3.0, acp_insert_multiset
#[unsafe(no_mangle)]
pub extern "C" fn acp_insert_multiset(set: Hashed, key: Element) -> c_int {
    call("acp_insert_multiset", 0, || {
        Ok(process()?.insert_hashed(Kind::Multiset, set, key_alone(key))?.into())
    })
}

/// Inserts a key with a value; 1, or 0 if the key is there already.
//= ACP 3.0, acp_insert_map
#[unsafe(no_mangle)]
pub extern "C" fn acp_insert_map(map: Hashed, pair: Pair) -> c_int {
    call("acp_insert_map", 0, || Ok(process()?.insert_hashed(Kind::Map, map, pair)?.into()))
}

/// Removes a key however often it is there.
//= ACP 3.0, acp_remove_all_multiset
#[unsafe(no_mangle)]
pub extern "C" fn acp_remove_all_multiset(set: Hashed, key: Element) {
    call("acp_remove_all_multiset", (), || process()?.remove_hashed(Kind::Multiset, set, key, true));
}

/// How often a key is there.
//= ACP 3.0, acp_retrieve_multiset
#[unsafe(no_mangle)]
pub extern "C" fn acp_retrieve_multiset(set: Hashed, key: Element) -> u64 {
    call("acp_retrieve_multiset", 0, || process()?.count_hashed(set, key))
}

/// Copies a key's value; gives the bytes copied, 0 if there is no such key.
//= ACP 3.0, acp_retrieve_map
#[unsafe(no_mangle)]
pub extern "C" fn acp_retrieve_map(map: Hashed, pair: Pair) -> usize {
    call("acp_retrieve_map", 0, || Ok(process()?.retrieve(map, pair)? as usize))
}

/// Frees this process's own elements.
//= ACP 3.0, acp_clear_local_map
#[unsafe(no_mangle)]
pub extern "C" fn acp_clear_local_map(map: Hashed) {
    call("acp_clear_local_map", (), || process()?.clear_hashed(Kind::Map, map, true));
}

/// Where an element's key is.
//= ACP 3.0, acp_dereference_set_it
#[unsafe(no_mangle)]
pub extern "C" fn acp_dereference_set_it(it: HashedIt) -> Element {
    call("acp_dereference_set_it", Element::default(), || {
        Ok(process()?.dereference_hashed(Kind::Set, it)?.first)
    })
}

/// Where an element's key is.
//= ACP 3.0, acp_dereference_multiset_it
#[unsafe(no_mangle)]
pub extern "C" fn acp_dereference_multiset_it(it: HashedIt) -> Element {
    call("acp_dereference_multiset_it", Element::default(), || {
        Ok(process()?.dereference_hashed(Kind::Multiset, it)?.first)
    })
}

/// Where an element's key and value are.
//= ACP 3.0, acp_dereference_map_it
#[unsafe(no_mangle)]
pub extern "C" fn acp_dereference_map_it(it: HashedIt) -> Pair {
    call("acp_dereference_map_it", Pair::default(), || process()?.dereference_hashed(Kind::Map, it))
}
