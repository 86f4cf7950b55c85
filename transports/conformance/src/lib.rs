//! The conformance suite every Lapis transport passes: what the contract in
//! [`lapis_core::transport`] promises, as tests.
//!
//! A transport enrols with one line in `tests/conformance.rs`:
//!
//! ```ignore
//! // Reaches only itself:
//! lapis_conformance::conformance_tests!(alone: lapis_loopback::table(), "liblapis_loopback.so");
//! // Reaches others: the suite runs with tasks as threads of one process and as processes.
//! lapis_conformance::conformance_tests!(together: lapis_shm::table(), "liblapis_shm.so");
//! // Configured by variables, here over one of several devices:
//! lapis_conformance::conformance_tests!(together: lapis_rdma::table(), "liblapis_rdma.so",
//!     options: &[("LAPIS_RDMA_PROVIDER", "tcp;ofi_rxm")]);
//! // Over a library that can't serve several tasks of one process: processes only.
//! lapis_conformance::conformance_tests!(processes: lapis_rdma::table(),
//!     options: &[("LAPIS_RDMA_PROVIDER", "shm")]);
//! ```
//!
//! Each case runs with the transport linked and with its plugin file loaded. A case whose
//! capability the transport lacks on this machine prints a line that begins with `SKIP`. A line
//! that the transport logs at WARN or ERROR fails the case, unless the case expects it. A watchdog
//! ends a case in which nothing happens for a minute (`LAPIS_TEST_PATIENCE`, in seconds) and prints
//! what each task was doing.

mod cases;
mod control;
mod harness;
mod log;
mod rank;
mod subject;
mod system_calls;

pub use harness::{run, run_configured, run_every_case};
pub use rank::Rank;
pub use subject::{Mode, NO_OPTIONS, Options, Source};

/// The names of all cases, in their order.
pub fn case_names() -> impl Iterator<Item = &'static str> {
    cases::ALL.iter().map(|case| case.name)
}

/// The list of all cases: module, name, needed capabilities, and `dies` where task 1 kills itself.
#[doc(hidden)]
#[macro_export]
macro_rules! __for_each_case {
    ($then:path, $args:tt) => {
        $then! { $args
            contract::attributes_agree_with_the_table [];
            contract::operations_without_their_bit_are_unsupported [];
            contract::a_nonsense_address_is_refused [];
            contract::an_unknown_peer_is_invalid [];
            contract::a_disconnected_peer_is_invalid [];
            contract::polls_that_find_nothing_ask_the_system_nothing [QUIET_POLLS];
            messages::short_messages_of_every_length_arrive_whole [AM_SHORT];
            messages::a_short_message_over_the_limit_is_invalid [AM_SHORT];
            messages::packed_messages_of_every_length_arrive_whole [AM_PACKED];
            messages::a_packed_message_over_the_limit_is_invalid_and_not_packed [AM_PACKED];
            messages::messages_to_one_peer_keep_their_order [AM_SHORT ORDERED];
            messages::random_traffic_arrives_exactly_once [AM_SHORT RELIABLE];
            flow::a_full_queue_answers_again_and_loses_nothing [AM_SHORT RELIABLE];
            flow::poll_keeps_to_its_capacity [AM_SHORT];
            flow::bytes_of_an_event_stay_until_the_next_poll [AM_SHORT];
            flow::datagrams_arrive_whole [DATAGRAM];
            onesided::zero_copy_puts_land_exactly [PUT_ZCOPY];
            onesided::zero_copy_gets_read_exactly [GET_ZCOPY];
            onesided::messages_do_not_overtake_short_puts [PUT_SHORT AM_SHORT];
            onesided::a_short_put_over_the_limit_is_refused [PUT_SHORT];
            memory::allocated_memory_is_zeroed_and_aligned [ALLOCATE];
            memory::an_absurd_allocation_is_an_error [ALLOCATE];
            memory::registered_memory_is_reached_and_released [REGISTER];
            memory::a_window_shows_the_peers_memory [WINDOW ALLOCATE];
            sleeping::arming_with_something_there_says_again [WAIT AM_SHORT];
            sleeping::no_wake_up_is_lost [WAIT AM_SHORT];
            sleeping::interrupt_mode_wakes_without_arming [WAIT AM_SHORT RELIABLE];
            sleeping::a_wake_from_another_thread_ends_the_wait [WAIT];
            sleeping::the_descriptor_becomes_readable [WAIT AM_SHORT];
            ends::closing_with_work_in_flight_is_orderly [AM_SHORT];
            ends::an_instance_opens_again_after_closing [];
            ends::the_death_of_a_peer_is_reported_once [PEER_FAILURE AM_SHORT] dies;
            ends::death_amid_traffic_leaves_the_others_working [PEER_FAILURE AM_SHORT] dies;
        }
    };
}

/// Instantiates the cases of traffic with faults:
/// `chaos_tests!(Alone, lapis_loopback::table(), "again=0.2,seed=1")`.
#[macro_export]
macro_rules! chaos_tests {
    ($mode:ident, $table:expr, $faults:literal) => {
        mod chaotic {
            $crate::__tests! { ($mode, $crate::Source::Chaotic(|| $table, $faults), $crate::NO_OPTIONS)
                messages::short_messages_of_every_length_arrive_whole [];
                messages::packed_messages_of_every_length_arrive_whole [];
                messages::messages_to_one_peer_keep_their_order [];
                messages::random_traffic_arrives_exactly_once [];
                onesided::zero_copy_puts_land_exactly [];
                onesided::zero_copy_gets_read_exactly [];
                sleeping::no_wake_up_is_lost [];
                sleeping::interrupt_mode_wakes_without_arming [];
                ends::closing_with_work_in_flight_is_orderly [];
                ends::an_instance_opens_again_after_closing [];
            }
        }
    };
}

/// Instantiates the suite for a transport. See the [crate](self) documentation.
#[macro_export]
macro_rules! conformance_tests {
    (alone: $table:expr, $file:literal) => {
        mod linked {
            mod alone {
                $crate::__for_each_case!($crate::__tests, (Alone, $crate::Source::Linked(|| $table), $crate::NO_OPTIONS));
            }
        }
        mod loaded {
            mod alone {
                $crate::__for_each_case!($crate::__tests, (Alone, $crate::Source::File($file), $crate::NO_OPTIONS));
            }
        }
    };
    (together: $table:expr) => {
        $crate::conformance_tests!(together: $table, options: $crate::NO_OPTIONS);
    };
    (together: $table:expr, options: $options:expr) => {
        mod linked {
            mod threads {
                $crate::__for_each_case!(
                    $crate::__tests, (Threads, $crate::Source::Linked(|| $table), $options)
                );
            }
            mod processes {
                $crate::__for_each_case!(
                    $crate::__tests, (Processes, $crate::Source::Linked(|| $table), $options)
                );
            }
        }
    };
    (processes: $table:expr, options: $options:expr) => {
        mod linked {
            mod processes {
                $crate::__for_each_case!(
                    $crate::__tests, (Processes, $crate::Source::Linked(|| $table), $options)
                );
            }
        }
    };
    (together: $table:expr, $file:literal) => {
        $crate::conformance_tests!(together: $table, $file, options: $crate::NO_OPTIONS);
    };
    (together: $table:expr, $file:literal, options: $options:expr) => {
        $crate::conformance_tests!(together: $table, options: $options);
        mod loaded {
            mod threads {
                $crate::__for_each_case!($crate::__tests, (Threads, $crate::Source::File($file), $options));
            }
            mod processes {
                $crate::__for_each_case!($crate::__tests, (Processes, $crate::Source::File($file), $options));
            }
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __tests {
    (($mode:ident, $source:expr, $options:expr) $($module:ident :: $name:ident [$($cap:ident)*] $($dies:ident)?;)*) => {
        $(
            #[test]
            fn $name() {
                $crate::run_configured(
                    stringify!($name),
                    $crate::Mode::$mode,
                    $source,
                    $options,
                    concat!(module_path!(), "::", stringify!($name)),
                );
            }
        )*
    };
}
