//! UDP keeps the contract as far as it concerns datagram transports, linked and loaded.

lapis_conformance::conformance_tests!(together: lapis_udp::table(), "liblapis_udp.so");

use lapis_conformance::{Mode, Source, run};

#[test]
fn datagrams_arrive_whole_through_faults() {
    let faults = "drop=0.2,dup=0.2,reorder=0.2,corrupt=0.1,cut=5ms,delay=200us,mtu=1400,seed=3";
    let source = Source::Chaotic(lapis_udp::table, faults);
    run("datagrams_arrive_whole", Mode::Threads, source, "datagrams_arrive_whole_through_faults");
}
