//! Any bytes as calls of a program with two ports, and as units of a peer that keeps no rules.
//!
//! What C programs promise is kept: pointers are valid for what their call may do with them.
//! Everything else is whatever the bytes say.

use crate::abi::max_length;
use crate::exports::{helpers, memory, ports, receive, send};
use crate::handle::Handle;
use crate::port::Port;
use crate::settings::Settings;
use lapis_adapters::channel::Address;
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::time::Duration;

/// Room of each buffer: the largest size class whose buffers are provided.
const ROOM: usize = 1 << 16;
const LARGEST: u32 = 16;

/// Bytes that are used up; then there are zeros.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    /// Mostly small, sometimes anything.
    fn number(&mut self) -> u64 {
        match self.byte() {
            255 => u64::MAX - u64::from(self.byte()),
            254 => (0..8).fold(0, |sum, _| sum << 8 | u64::from(self.byte())),
            253 => u64::from(self.byte()) << 8 | u64::from(self.byte()),
            small => small.into(),
        }
    }

    fn take(&mut self, len: usize) -> &[u8] {
        let (first, rest) = self.0.split_at(len.min(self.0.len()));
        self.0 = rest;
        first
    }
}

unsafe extern "C" fn ended(_: *mut c_void, context: *mut c_void, status: c_int) {
    // SAFETY: the context of every call here is a counter that outlives the ports.
    unsafe { *context.cast::<u64>() += 1 + (status as u64 >> 32) };
}

struct Program {
    ports: [*mut Handle; 2],
    node: u32,
    /// What is sent, and where gets go to; what others may reach; buffers.
    own: Vec<u8>,
    shared: Vec<u8>,
    buffers: Vec<u8>,
    ends: Box<u64>,
}

impl Program {
    fn start(daemon: &str) -> Self {
        let settings = || Settings {
            daemon: Address::new(daemon),
            node: "fuzz".to_owned(),
            timeout: Duration::from_millis(1),
            open_wait: Duration::ZERO,
            ..Settings::of_process()
        };
        let open = |number| Port::open(settings(), 0, number, "fuzz").expect("a daemon, and nobody else");
        let opened = [open(2), open(4)];
        let node = opened[0].node;
        let ports = opened.map(Handle::of);
        let memory = || vec![7; ROOM];
        Self { ports, node, own: memory(), shared: memory(), buffers: memory(), ends: Box::new(0) }
    }

    /// A target: mostly one of the two ports.
    fn target(&self, bytes: &mut Bytes<'_>) -> (u32, u32) {
        let node = if bytes.byte() < 240 { self.node } else { bytes.number() as u32 };
        let port = match bytes.byte() {
            choice @ 0..240 => 2 + 2 * u32::from(choice % 2),
            _ => bytes.number() as u32,
        };
        (node, port)
    }

    /// A length that the program's memory has, or one that no message of its size class can have.
    fn length(bytes: &mut Bytes<'_>, size: u32) -> u64 {
        if bytes.byte() == 255 {
            return max_length(size).saturating_add(bytes.number().saturating_add(1));
        }
        bytes.number() % ROOM as u64
    }

    fn send(&mut self, p: *mut Handle, bytes: &mut Bytes<'_>) {
        let (size, priority) = (bytes.number() as u32, bytes.number() as u32 % 4);
        let (len, (node, port)) = (Self::length(bytes, size), self.target(bytes));
        let message = self.own.as_mut_ptr().cast();
        let context = (&raw mut *self.ends).cast();
        // SAFETY: memory and context outlive the ports; longer messages can't be of their size.
        unsafe {
            match bytes.byte() % 4 {
                0 => send::gm_send(p, message, size, len, priority, node, port),
                1 => send::gm_send_to_peer_with_callback(
                    p,
                    message,
                    size,
                    len,
                    priority,
                    node,
                    Some(ended),
                    context,
                ),
                2 => {
                    send::gm_datagram_send(p, message, size, len, priority, node, port, Some(ended), context)
                }
                _ => send::gm_send_with_callback(
                    p,
                    message,
                    size,
                    len,
                    priority,
                    node,
                    port,
                    Some(ended),
                    context,
                ),
            }
        }
    }

    fn put_or_get(&mut self, p: *mut Handle, bytes: &mut Bytes<'_>) {
        let (len, priority) = (bytes.number() % ROOM as u64, bytes.number() as u32 % 4);
        let (node, port) = self.target(bytes);
        let shared = self.shared.as_ptr().expose_provenance() as u64;
        let there = if bytes.byte() < 200 { shared.wrapping_add(bytes.number()) } else { bytes.number() };
        let own = self.own.as_mut_ptr().cast();
        let context = (&raw mut *self.ends).cast();
        let is_get = bytes.byte().is_multiple_of(2);
        // SAFETY: memory and context outlive the ports.
        unsafe {
            if is_get {
                send::gm_get(p, there, own, len, priority, node, port, Some(ended), context);
            } else {
                send::gm_put(p, own, there, len, priority, node, port, Some(ended), context);
            }
        }
    }

    /// Memory that others may reach, or may not any more.
    fn memory(&mut self, p: *mut Handle, bytes: &mut Bytes<'_>) {
        let (at, len) = (bytes.number() % ROOM as u64, bytes.number());
        let len = len.min(ROOM as u64 - at);
        let place: *mut c_void = self.shared[at as usize..].as_mut_ptr().cast();
        let elsewhere = std::ptr::without_provenance_mut(bytes.number() as usize);
        // SAFETY: the memory is there until the ports have gone.
        unsafe {
            match bytes.byte() % 4 {
                0 => memory::gm_allow_remote_memory_access(p),
                1 => memory::gm_register_memory(p, place, len),
                2 => memory::gm_register_memory_ex(p, place, len, elsewhere),
                _ => memory::gm_deregister_memory(p, place, len),
            };
        }
    }

    fn provide(&mut self, p: *mut Handle, bytes: &mut Bytes<'_>) {
        // Buffers have room for this size; those that are larger than there can be are refused.
        let size = match bytes.number() as u32 {
            size @ 17..32 => size % LARGEST,
            size => size,
        };
        let (priority, tag) = (bytes.number() as u32 % 4, bytes.number() as u32);
        let buffer = self.buffers.as_mut_ptr().cast();
        // SAFETY: the buffer has room for the size class; nobody reads what is received.
        unsafe { receive::gm_provide_receive_buffer_with_tag(p, buffer, size, priority, tag) };
    }

    fn receive(&mut self, p: *mut Handle) {
        for _ in 0..4 {
            // SAFETY: an open port, and the event that it has just shown.
            unsafe {
                let event = receive::gm_receive(p);
                if (*event).received().is_none() {
                    receive::gm_unknown(p, event);
                }
            }
        }
    }

    fn go_on(&mut self, p: *mut Handle, bytes: &mut Bytes<'_>) {
        let (priority, (node, port)) = (bytes.number() as u32 % 4, self.target(bytes));
        let context = (&raw mut *self.ends).cast();
        let drops = bytes.byte().is_multiple_of(2);
        // SAFETY: the context outlives the ports.
        unsafe {
            if drops {
                send::gm_drop_sends(p, priority, node, port, Some(ended), context);
            } else {
                send::gm_resume_sending(p, priority, node, port, Some(ended), context);
            }
        }
    }

    /// A unit as no honest peer may send it.
    fn unit(&mut self, p: *mut Handle, bytes: &mut Bytes<'_>) {
        let from = 2 + 2 * u32::from(bytes.byte() % 2);
        let len = usize::from(bytes.byte()) % 80;
        let unit = bytes.take(len).to_vec();
        let node = self.node;
        // SAFETY: an open port.
        if let Some(mut inner) = unsafe { &*p }.enter() {
            let peer = inner.port.peer(node, from);
            inner.port.unit(peer, &unit);
            inner.port.stir(peer);
        }
    }

    fn step(&mut self, bytes: &mut Bytes<'_>) {
        let what = bytes.byte();
        let p = self.ports[usize::from(what & 1)];
        match what >> 1 & 15 {
            0..=3 => self.send(p, bytes),
            4 | 5 => self.put_or_get(p, bytes),
            6 => self.memory(p, bytes),
            7 | 8 => self.provide(p, bytes),
            9 => self.go_on(p, bytes),
            10 | 11 => self.unit(p, bytes),
            12 => {
                let (priority, mask) = (bytes.number() as u32, bytes.number());
                // SAFETY: an open port.
                unsafe { ports::gm_set_acceptable_sizes(p, priority, mask) };
                helpers::gm_isprint(mask as c_int);
            }
            13 => {
                // SAFETY: no port at all.
                unsafe { receive::gm_unknown(null_mut(), receive::gm_receive(null_mut())) };
            }
            _ => self.receive(p),
        }
    }
}

/// See the module. `daemon`: where a services daemon listens that nobody else uses.
///
/// # Panics
/// There is no daemon, or a port claims more tokens than there are.
pub fn calls(daemon: &str, data: &[u8]) {
    let mut program = Program::start(daemon);
    let mut bytes = Bytes(data);
    while !bytes.0.is_empty() {
        program.step(&mut bytes);
    }
    for p in program.ports {
        program.receive(p);
        // SAFETY: it came from `Handle::of`, and nobody uses it any more.
        unsafe { Handle::abandon(p) };
    }
}

#[cfg(test)]
mod tests {
    use super::calls;
    use crate::rubbish_tests::{Random, daemon};

    #[test]
    fn programs_that_call_anything_anyhow_do_no_harm() {
        let (address, _daemon) = daemon("calls");
        let mut random = Random(12345);
        for _ in 0..300 {
            let len = random.next() % 400;
            let data: Vec<u8> = (0..len).map(|_| random.next() as u8).collect();
            calls(address.as_str(), &data);
        }
    }
}
