//! The program that steers frames to windows.
//!
//! It takes a frame if it is UDP over IPv4 or IPv6, whichever the interface's own address is of, to
//! that address, whole and without options or extensions, to a port of a window, and marked as ours
//! (`lapis_adapters::eth::frame`). The window's socket at the queue gets it; where there is none,
//! the frame is dropped, for nobody else can want it. Everything else passes to the kernel
//! untouched, other programs' traffic to the same ports included.

use crate::eth::bpf::{Instruction, Program, Sockets};
use lapis_adapters::eth::frame::{MAGIC, Version};
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd};

/// What programs at an interface answer.
const DROP: i32 = 1;
const PASS: i32 = 2;

/// The kernel's function that hands a frame to a socket of a table.
const REDIRECT: i32 = 51;

/// Codes of instructions, as the kernel numbers them.
const LOAD_32: u8 = 0x61;
const LOAD_16: u8 = 0x69;
const LOAD_8: u8 = 0x71;
const LOAD_MAP: u8 = 0x18;
const MOVE: u8 = 0xbf;
const MOVE_VALUE: u8 = 0xb7;
const ADD: u8 = 0x0f;
const ADD_VALUE: u8 = 0x07;
const MULTIPLY_VALUE: u8 = 0x27;
const AND_VALUE: u8 = 0x57;
const FROM_NETWORK: u8 = 0xdc;
const IF_GREATER: u8 = 0x2d;
const IF_NOT_BELOW_VALUE: u8 = 0x35;
const IF_NOT_VALUE_32: u8 = 0x56;
const CALL: u8 = 0x85;
const EXIT: u8 = 0x95;

/// What frames are taken.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Steering {
    /// The interface's address.
    pub(crate) address: IpAddr,
    /// Port of window 0.
    pub(crate) port: u16,
    pub(crate) windows: u32,
    /// Receive queues: each has a socket of each window, which the kernel hands no other queue's
    /// frames.
    pub(crate) queues: u32,
}

/// Instructions, with jumps to the end that get their distances at the end.
struct Code(Vec<Instruction>);

impl Code {
    fn add(&mut self, code: u8, to: u8, from: u8, offset: usize, value: i32) {
        let registers = from << 4 | to;
        self.0.push(Instruction { code, registers, offset: offset as i16, value });
    }

    /// Loads a part of the frame, which register 2 points to, to register 5, and passes the frame
    /// on unless it is this value, as it lies on the wire.
    fn expect<const N: usize>(&mut self, at: usize, value: [u8; N]) {
        let (code, value) = match N {
            1 => (LOAD_8, i32::from(value[0])),
            2 => (LOAD_16, i32::from(u16::from_ne_bytes([value[0], value[1]]))),
            _ => (LOAD_32, i32::from_ne_bytes([value[0], value[1], value[2], value[3]])),
        };
        self.add(code, 5, 2, at, 0);
        self.pass_unless(value);
    }

    fn pass_unless(&mut self, value: i32) {
        self.add(IF_NOT_VALUE_32, 5, 0, 0, value);
    }
}

fn code(steering: Steering, sockets: &Sockets) -> Vec<Instruction> {
    let address = steering.address;
    let version = Version::of(address);
    let mut code = Code(Vec::new());
    // Where the frame begins, and whether it has a whole head.
    code.add(LOAD_32, 2, 1, 0, 0);
    code.add(LOAD_32, 3, 1, 4, 0);
    code.add(MOVE, 4, 2, 0, 0);
    code.add(ADD_VALUE, 4, 0, 0, version.overhead() as i32);
    code.add(IF_GREATER, 4, 3, 0, 0);
    match address {
        IpAddr::V4(address) => {
            code.expect(12, [8, 0]);
            code.expect(14, [0x45]);
            code.expect(23, [17]);
            // Not a part of a packet that was cut: all but the bit that forbids it must be zero.
            code.add(LOAD_16, 5, 2, 20, 0);
            code.add(AND_VALUE, 5, 0, 0, i32::from(u16::from_ne_bytes([0xbf, 0xff])));
            code.pass_unless(0);
            code.expect(30, address.octets());
        }
        IpAddr::V6(address) => {
            code.expect(12, [0x86, 0xdd]);
            code.add(LOAD_8, 5, 2, 14, 0);
            code.add(AND_VALUE, 5, 0, 0, 0xf0);
            code.pass_unless(0x60);
            // What was cut, or has options, names an extension here.
            code.expect(20, [17]);
            for (at, part) in address.octets().as_chunks::<4>().0.iter().enumerate() {
                code.expect(38 + 4 * at, *part);
            }
        }
    }
    code.expect(version.magic_at(), MAGIC);
    redirect(&mut code, version, steering, sockets);
    let pass = code.0.len();
    code.add(MOVE_VALUE, 0, 0, 0, PASS);
    code.add(EXIT, 0, 0, 0, 0);
    for (at, instruction) in code.0.iter_mut().enumerate() {
        if [IF_GREATER, IF_NOT_BELOW_VALUE, IF_NOT_VALUE_32].contains(&instruction.code) {
            instruction.offset = (pass - at - 1) as i16;
        }
    }
    code.0
}

/// Hands the frame to the socket of its window and queue.
fn redirect(code: &mut Code, version: Version, steering: Steering, sockets: &Sockets) {
    let Steering { port, windows, queues, .. } = steering;
    code.add(LOAD_16, 5, 2, version.udp_at() + 2, 0);
    code.add(FROM_NETWORK, 5, 0, 0, 16);
    code.add(ADD_VALUE, 5, 0, 0, -i32::from(port));
    // As a number without sign: a port before the first one is a very large number.
    code.add(IF_NOT_BELOW_VALUE, 5, 0, 0, windows as i32);
    // The queue's socket of the window. A queue that was not there when the interface was taken has
    // none.
    code.add(LOAD_32, 3, 1, 16, 0);
    code.add(IF_NOT_BELOW_VALUE, 3, 0, 0, queues as i32);
    code.add(MULTIPLY_VALUE, 5, 0, 0, queues as i32);
    code.add(ADD, 5, 3, 0, 0);
    code.add(LOAD_MAP, 1, 1, 0, sockets.as_fd().as_raw_fd());
    code.add(0, 0, 0, 0, 0);
    code.add(MOVE, 2, 5, 0, 0);
    code.add(MOVE_VALUE, 3, 0, 0, DROP);
    code.add(CALL, 0, 0, 0, REDIRECT);
    code.add(EXIT, 0, 0, 0, 0);
}

/// Has the kernel check the program. `parts`: it takes datagrams of several frames, too, where the
/// kernel has such.
pub(crate) fn load(steering: Steering, sockets: &Sockets, parts: bool) -> io::Result<Program> {
    Program::load(&code(steering, sockets), parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lapis_adapters::eth::frame::{End, Template};

    const FOUR: [IpAddr; 3] = [v4(1), v4(2), v4(3)];
    const SIX: [IpAddr; 3] = [v6(1), v6(2), v6(3)];

    const fn v4(n: u8) -> IpAddr {
        IpAddr::V4(std::net::Ipv4Addr::new(10, 9, 0, n))
    }

    const fn v6(n: u16) -> IpAddr {
        IpAddr::V6(std::net::Ipv6Addr::new(0xfd00, 9, 8, 7, 6, 5, 4, n))
    }

    fn frame(from: IpAddr, to: IpAddr, port: u16) -> Vec<u8> {
        let from = End { mac: [2; 6], address: from, port: 1 };
        let to = End { mac: [4; 6], address: to, port };
        let template = Template::new(from, to, [7; 8]);
        let mut bytes = template.head(10)[..template.overhead()].to_vec();
        bytes.extend([0; 10]);
        bytes
    }

    /// `None`, said aloud, where bpf(2) is not to be had.
    fn program(address: IpAddr) -> Option<Program> {
        let steering = Steering { address, port: 28_672, windows: 8, queues: 4 };
        let program = Sockets::new(8 * 4).and_then(|sockets| load(steering, &sockets, true));
        program.inspect_err(|e| eprintln!("SKIPPED: bpf(2) is not for this process: {e}")).ok()
    }

    #[test]
    fn the_kernel_takes_the_program_which_takes_nothing_that_is_not_ours() {
        // Other kind of packet, options, a part of a packet, TCP, another program's bytes.
        let in_four = [(12, 0x86), (14, 0x46), (20, 0x20), (21, 1), (23, 6), (45, 9)];
        // Other kind of packet, other version, an extension, TCP, another program's bytes.
        let in_six = [(12, 8), (14, 0x50), (20, 44), (20, 6), (65, 9)];
        for ([here, peer, other], wrong) in [(FOUR, &in_four[..]), (SIX, &in_six[..])] {
            let Some(program) = program(here) else { return };
            let says = |frame: &[u8]| program.verdict(frame).expect("runs") as i32;
            // No window has a socket: what is ours is dropped.
            for port in [28_672, 28_679] {
                assert_eq!(says(&frame(peer, here, port)), DROP, "{port}");
            }
            for port in [0, 28_671, 28_680, 65_535] {
                assert_eq!(says(&frame(peer, here, port)), PASS, "{port}");
            }
            assert_eq!(says(&frame(peer, other, 28_672)), PASS, "on its way to another host");
            for (at, byte) in wrong {
                let mut other = frame(peer, here, 28_672);
                other[*at] = *byte;
                assert_eq!(says(&other), PASS, "byte {at}");
            }
            for len in 14..Version::of(here).overhead() {
                assert_eq!(says(&frame(peer, here, 28_672)[..len]), PASS, "{len} bytes");
            }
        }
    }

    #[test]
    fn a_program_for_one_version_leaves_the_other_alone() {
        let (Some(four), Some(six)) = (program(FOUR[0]), program(SIX[0])) else { return };
        let say = |program: &Program, frame: &[u8]| program.verdict(frame).expect("runs") as i32;
        assert_eq!(say(&four, &frame(SIX[1], SIX[0], 28_672)), PASS);
        assert_eq!(say(&six, &frame(FOUR[1], FOUR[0], 28_672)), PASS);
        // Traffic class and flow label are anybody's.
        let mut labelled = frame(SIX[1], SIX[0], 28_672);
        (labelled[14], labelled[15]) = (0x6f, 0xab);
        assert_eq!(say(&six, &labelled), DROP);
    }
}
