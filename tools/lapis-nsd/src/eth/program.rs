//! The program that steers frames to windows.
//!
//! It takes a frame if it is UDP over IPv4 to the interface's own address, whole and without
//! options, to a port of a window, and marked as ours (`lapis_adapters::eth::frame`). A window's
//! socket gets it; where there is none, the frame is dropped, for nobody else can want it.
//! Everything else passes to the kernel untouched, other programs' traffic to the same ports
//! included.

use crate::eth::bpf::{Instruction, Program, Sockets};
use lapis_adapters::eth::frame::{MAGIC, MAGIC_AT, OVERHEAD};
use std::io;
use std::net::Ipv4Addr;
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
const ADD_VALUE: u8 = 0x07;
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
    pub(crate) address: Ipv4Addr,
    /// Port of window 0.
    pub(crate) port: u16,
    pub(crate) windows: u32,
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
    let Steering { address, port, windows } = steering;
    let mut code = Code(Vec::new());
    // Where the frame begins, and whether it has a whole head.
    code.add(LOAD_32, 2, 1, 0, 0);
    code.add(LOAD_32, 3, 1, 4, 0);
    code.add(MOVE, 4, 2, 0, 0);
    code.add(ADD_VALUE, 4, 0, 0, OVERHEAD as i32);
    code.add(IF_GREATER, 4, 3, 0, 0);
    code.expect(12, [8, 0]);
    code.expect(14, [0x45]);
    code.expect(23, [17]);
    // Not a part of a packet that was cut: all but the bit that forbids it must be zero.
    code.add(LOAD_16, 5, 2, 20, 0);
    code.add(AND_VALUE, 5, 0, 0, i32::from(u16::from_ne_bytes([0xbf, 0xff])));
    code.pass_unless(0);
    code.expect(30, address.octets());
    code.expect(MAGIC_AT, MAGIC);
    code.add(LOAD_16, 5, 2, 36, 0);
    code.add(FROM_NETWORK, 5, 0, 0, 16);
    code.add(ADD_VALUE, 5, 0, 0, -i32::from(port));
    // As a number without sign: a port before the first one is a very large number.
    code.add(IF_NOT_BELOW_VALUE, 5, 0, 0, windows as i32);
    code.add(LOAD_MAP, 1, 1, 0, sockets.as_fd().as_raw_fd());
    code.add(0, 0, 0, 0, 0);
    code.add(MOVE, 2, 5, 0, 0);
    code.add(MOVE_VALUE, 3, 0, 0, DROP);
    code.add(CALL, 0, 0, 0, REDIRECT);
    code.add(EXIT, 0, 0, 0, 0);
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

/// Has the kernel check the program.
pub(crate) fn load(steering: Steering, sockets: &Sockets) -> io::Result<Program> {
    Program::load(&code(steering, sockets))
}

#[cfg(test)]
mod tests {
    use super::*;
    use lapis_adapters::eth::frame::{End, Template};

    fn frame(address: [u8; 4], port: u16) -> Vec<u8> {
        let from = End { mac: [2; 6], address: Ipv4Addr::new(10, 9, 0, 2), port: 1 };
        let to = End { mac: [4; 6], address: address.into(), port };
        let mut bytes = Template::new(from, to, [7; 8]).head(10).to_vec();
        bytes.extend([0; 10]);
        bytes
    }

    #[test]
    fn the_kernel_takes_the_program_which_takes_nothing_that_is_not_ours() {
        let here = [10, 9, 0, 1];
        let steering = Steering { address: here.into(), port: 28_672, windows: 8 };
        let program = Sockets::new(8).and_then(|sockets| load(steering, &sockets));
        let program = match program {
            Ok(program) => program,
            Err(e) => {
                eprintln!("SKIPPED: bpf(2) is not for this process: {e}");
                return;
            }
        };
        let says = |frame: &[u8]| program.verdict(frame).expect("runs") as i32;
        // No window has a socket: what is ours is dropped.
        for port in [28_672, 28_679] {
            assert_eq!(says(&frame(here, port)), DROP, "{port}");
        }
        for port in [0, 28_671, 28_680, 65_535] {
            assert_eq!(says(&frame(here, port)), PASS, "{port}");
        }
        assert_eq!(says(&frame([10, 9, 0, 3], 28_672)), PASS, "on its way to another host");
        // Other kind of packet, options, a part of a packet, TCP, another program's bytes.
        for (at, byte) in [(12, 0x86), (14, 0x46), (20, 0x20), (21, 1), (23, 6), (MAGIC_AT + 3, 9)] {
            let mut other = frame(here, 28_672);
            other[at] = byte;
            assert_eq!(says(&other), PASS, "byte {at}");
        }
        for len in 14..OVERHEAD {
            assert_eq!(says(&frame(here, 28_672)[..len]), PASS, "{len} bytes");
        }
    }
}
