//! Ports that the time-out closes.

mod common;

use common::{Daemon, compile};

/// A program that was written for GM 1 and provides no buffer loses its port; one written for GM 2
/// keeps it, as `failures.c` checks.
#[test]
fn a_port_of_gm_1_ends_when_no_buffer_comes() {
    let daemon = Daemon::start("ended");
    let mut command = daemon.command("left", &compile("ended"), &[]);
    command.env("LAPIS_GM_TIMEOUT", "0.5").env("LAPIS_GM_OPEN_WAIT", "0.5");
    let done = lapis_testing::run(command).expect(0);
    assert_eq!(done.out, "done\n");
    assert!(done.err.contains("port 2 of board 0 is closed"), "{}", done.err);
}
