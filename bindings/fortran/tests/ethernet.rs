//! Fortran programs in user-space mode over windows of Ethernet interfaces: tasks are by turns on
//! two hosts.

mod support;

use support::jobs::hosts::Hosts;
use support::{Job, compile, source, styles};

#[test]
fn every_program_works_across_hosts() {
    let Some(hosts) = Hosts::make("every_program_works_across_hosts") else { return };
    // One form of each is enough: what differs is done with when the program is compiled.
    let style = styles().next().expect("a style");
    for (name, says) in
        [("calls", "every call works"), ("layouts", "every layout works"), ("error_handler", "went on")]
    {
        let program = compile(&source(&format!("programs/{name}.inc")), style);
        let output = hosts.run(Job::of(2), &program).stdout();
        assert_eq!(output.matches(says).count(), 2, "{name}: {output}");
    }
}
