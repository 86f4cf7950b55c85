//! The few calls of bpf(2) that a steering program takes.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// An instruction, as the kernel reads it.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Instruction {
    pub(crate) code: u8,
    /// Destination in the low half, source in the high one.
    pub(crate) registers: u8,
    pub(crate) offset: i16,
    pub(crate) value: i32,
}

const MAP_CREATE: i32 = 0;
const MAP_UPDATE: i32 = 2;
const MAP_DELETE: i32 = 3;
const PROG_LOAD: i32 = 5;
#[cfg(test)]
const PROG_TEST_RUN: i32 = 10;
const LINK_CREATE: i32 = 28;
const ONLY_NEW: u64 = 1;
const MAP_OF_SOCKETS: u32 = 17;
const PROGRAM_AT_INTERFACE: u32 = 6;
const ATTACH_AT_INTERFACE: u32 = 37;
const GENERIC: u32 = 1 << 1;
const NATIVE: u32 = 1 << 2;
const FOR_PARTS: u32 = 1 << 5;

/// One call. `attributes` is what the kernel's `bpf_attr` has in it for the command.
///
/// # Safety
/// Addresses in the attributes are valid for what the command does with them.
unsafe fn call<T>(command: i32, attributes: &mut T) -> io::Result<i64> {
    // SAFETY: the attributes are as long as is said, and the caller vouches for what they name.
    let result = unsafe {
        libc::syscall(libc::SYS_bpf, command, std::ptr::from_mut(attributes), size_of::<T>() as libc::c_uint)
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// The same with a command that makes a descriptor.
///
/// # Safety
/// As for [`call`].
unsafe fn make<T>(command: i32, attributes: &mut T) -> io::Result<OwnedFd> {
    // SAFETY: the caller vouches for the attributes.
    let fd = unsafe { call(command, attributes) }?;
    // SAFETY: the kernel has just made the descriptor for us; it closes on exec.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

/// A table of sockets, by window.
#[derive(Debug)]
pub(crate) struct Sockets(OwnedFd);

impl Sockets {
    pub(crate) fn new(windows: u32) -> io::Result<Self> {
        let mut attributes: [u32; 5] = [MAP_OF_SOCKETS, 4, 4, windows, 0];
        // SAFETY: there are no addresses.
        unsafe { make(MAP_CREATE, &mut attributes) }.map(Self)
    }

    /// Steers a window's frames to a socket, or to nobody.
    pub(crate) fn set(&self, window: u32, socket: Option<BorrowedFd<'_>>) -> io::Result<()> {
        self.change(window, socket, 0)
    }

    /// Whether a socket is there. `other` is any socket of an interface, to try with.
    pub(crate) fn has(&self, window: u32, other: BorrowedFd<'_>) -> bool {
        let is_there = self.change(window, Some(other), ONLY_NEW).is_err();
        if !is_there {
            let _ = self.set(window, None);
        }
        is_there
    }

    fn change(&self, window: u32, socket: Option<BorrowedFd<'_>>, flags: u64) -> io::Result<()> {
        #[repr(C)]
        struct Element {
            map: u32,
            pad: u32,
            key: u64,
            value: u64,
            flags: u64,
        }
        let value = socket.map_or(0, |socket| socket.as_raw_fd());
        let address = |number: *const u8| number.expose_provenance() as u64;
        let mut attributes = Element {
            map: self.0.as_raw_fd().cast_unsigned(),
            pad: 0,
            key: address((&raw const window).cast()),
            value: address((&raw const value).cast()),
            flags,
        };
        let command = if socket.is_some() { MAP_UPDATE } else { MAP_DELETE };
        // SAFETY: key and value are there for the call.
        unsafe { call(command, &mut attributes) }.map(drop)
    }
}

impl AsFd for Sockets {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// A program that the kernel has checked.
#[derive(Debug)]
pub(crate) struct Program(OwnedFd);

#[repr(C)]
struct Load {
    kind: u32,
    count: u32,
    instructions: u64,
    license: u64,
    log_level: u32,
    log_size: u32,
    log: u64,
    kernel: u32,
    flags: u32,
    name: [u8; 16],
}

impl Program {
    /// `parts`: frames of several parts are for it where the kernel (5.18) knows such programs.
    pub(crate) fn load(instructions: &[Instruction], parts: bool) -> io::Result<Self> {
        let for_parts = if parts { Self::load_with(instructions, FOR_PARTS).ok() } else { None };
        for_parts.map_or_else(|| Self::load_with(instructions, 0), Ok)
    }

    fn load_with(instructions: &[Instruction], flags: u32) -> io::Result<Self> {
        let license = c"Dual MIT/GPL";
        let mut name = [0; 16];
        name[..11].copy_from_slice(b"lapis_steer");
        let mut attributes = Load {
            kind: PROGRAM_AT_INTERFACE,
            count: instructions.len() as u32,
            instructions: instructions.as_ptr().expose_provenance() as u64,
            license: license.as_ptr().expose_provenance() as u64,
            log_level: 0,
            log_size: 0,
            log: 0,
            kernel: 0,
            flags,
            name,
        };
        // SAFETY: instructions and license are there for the call.
        unsafe { make(PROG_LOAD, &mut attributes) }.map(Self)
    }

    /// Puts the program at an interface, where it stays as long as somebody has the descriptor.
    pub(crate) fn attach(&self, interface: u32, native: bool) -> io::Result<OwnedFd> {
        let mode = if native { NATIVE } else { GENERIC };
        let mut attributes: [u32; 4] =
            [self.0.as_raw_fd().cast_unsigned(), interface, ATTACH_AT_INTERFACE, mode];
        // SAFETY: there are no addresses.
        unsafe { make(LINK_CREATE, &mut attributes) }
    }

    /// What the program says to a frame.
    #[cfg(test)]
    pub(crate) fn verdict(&self, frame: &[u8]) -> io::Result<u32> {
        #[repr(C)]
        struct Run {
            program: u32,
            verdict: u32,
            len_in: u32,
            len_out: u32,
            data_in: u64,
            data_out: u64,
            repeat: u32,
            duration: u32,
        }
        let mut attributes = Run {
            program: self.0.as_raw_fd().cast_unsigned(),
            verdict: 0,
            len_in: frame.len() as u32,
            len_out: 0,
            data_in: frame.as_ptr().expose_provenance() as u64,
            data_out: 0,
            repeat: 1,
            duration: 0,
        };
        // SAFETY: the frame is there for the call; nothing is written out.
        unsafe { call(PROG_TEST_RUN, &mut attributes) }?;
        Ok(attributes.verdict)
    }
}
