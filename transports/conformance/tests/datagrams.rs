//! The cases of datagram transports, with one that gives every datagram back: whole, or through
//! losses.

use lapis_conformance::{Mode, Source, run};
use lapis_testing::mirror;

#[test]
fn whole() {
    for case in ["attributes_agree_with_the_table", "a_nonsense_address_is_refused", "datagrams_arrive_whole"]
    {
        run(case, Mode::Alone, Source::Linked(mirror), "whole");
    }
}

#[test]
fn through_losses() {
    let faults = "drop=0.3,dup=0.2,corrupt=0.1,reorder=0.2,mtu=1400,seed=9";
    run("datagrams_arrive_whole", Mode::Alone, Source::Chaotic(mirror, faults), "through_losses");
}
