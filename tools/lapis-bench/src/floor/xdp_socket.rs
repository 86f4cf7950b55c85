//! Two interfaces with an AF_XDP socket each: no more than the floors need.

#![allow(clippy::disallowed_types, reason = "a floor must not depend on the library that is held against it")]

use anyhow::{Context, Result, bail};
use std::io::{self, Write as _};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// Bytes of a frame's place.
pub(super) const FRAME: usize = 2048;
/// Frames to receive into, and as many to send from.
const FRAMES: u32 = 1024;
/// What marks our frames: a type for local experiments.
const KIND: [u8; 2] = [0x88, 0xb5];

/// Where the program at an interface runs.
#[derive(Clone, Copy)]
pub(super) enum Mode {
    /// In the kernel's generic mode: with virtual interfaces the quicker one.
    Generic,
    /// In the driver.
    Native,
}

/// Frames under way at most: what the receiver's ring holds.
pub(super) fn in_flight() -> u64 {
    u64::from(FRAMES / 2)
}

/// Two joined interfaces in a network namespace of this process's own.
pub(super) fn joined(mode: Mode) -> Result<[End; 2]> {
    // SAFETY: a call without pointers.
    if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
        return Err(io::Error::last_os_error()).context("no network namespace: this needs root");
    }
    let mut ip = Command::new("ip");
    ip.args(["-batch", "-"]).stdin(Stdio::piped());
    let mut ip = ip.spawn().context("no ip program")?;
    let lines = "link add x0 type veth peer name x1\nlink set x0 up\nlink set x1 up\n";
    ip.stdin.take().context("ip does not listen")?.write_all(lines.as_bytes())?;
    if !ip.wait()?.success() {
        bail!("ip makes no pair of interfaces");
    }
    Ok([End::open(c"x0", mode)?, End::open(c"x1", mode)?])
}

/// A ring of the kernel's.
struct Ring {
    producer: *const AtomicU32,
    consumer: *const AtomicU32,
    entries: *mut u8,
    /// Where this end stands.
    next: u32,
}

impl Ring {
    fn map<T>(socket: &OwnedFd, which: i64, at: libc::xdp_ring_offset) -> io::Result<Self> {
        let len = at.desc as usize + FRAMES as usize * size_of::<T>();
        let base = map(len, libc::MAP_SHARED | libc::MAP_POPULATE, socket.as_raw_fd(), which)?;
        let part = |at: u64| base.wrapping_add(at as usize);
        Ok(Self {
            producer: part(at.producer).cast(),
            consumer: part(at.consumer).cast(),
            entries: part(at.desc),
            next: 0,
        })
    }

    fn place<T>(&self, position: u32) -> *mut T {
        self.entries.cast::<T>().wrapping_add((position % FRAMES) as usize)
    }

    fn produced(&self) -> u32 {
        // SAFETY: the word lies in the mapping, which is never taken away.
        // SYNC: pairs with the kernel's release of the entries that it wrote.
        unsafe { &*self.producer }.load(Ordering::Acquire)
    }

    fn consumed(&self) -> u32 {
        // SAFETY: the word lies in the mapping, which is never taken away.
        // SYNC: pairs with the kernel's release after it has read entries.
        unsafe { &*self.consumer }.load(Ordering::Acquire)
    }

    fn put<T>(&mut self, entry: T) {
        // SAFETY: the place is one of the ring's, and the kernel reads it after `publish`.
        unsafe { self.place::<T>(self.next).write_volatile(entry) };
        self.next = self.next.wrapping_add(1);
    }

    fn publish(&self) {
        // SAFETY: the word lies in the mapping, which is never taken away.
        // SYNC: the kernel reads the producer with acquire, then the entries.
        unsafe { &*self.producer }.store(self.next, Ordering::Release);
    }

    fn take<T: Copy>(&mut self) -> T {
        // SAFETY: the place is one of the ring's, written by the kernel before it was announced.
        let entry = unsafe { self.place::<T>(self.next).read_volatile() };
        self.next = self.next.wrapping_add(1);
        entry
    }

    fn release(&self) {
        // SAFETY: the word lies in the mapping, which is never taken away.
        // SYNC: the kernel reads the consumer with acquire before it writes entries again.
        unsafe { &*self.consumer }.store(self.next, Ordering::Release);
    }
}

/// One interface with its socket.
pub(super) struct End {
    socket: OwnedFd,
    _program: [OwnedFd; 3],
    frames: *mut u8,
    fill: Ring,
    done: Ring,
    arrivals: Ring,
    departures: Ring,
    /// The next frame to send from; they are used by turns.
    turn: u32,
}

fn map(len: usize, flags: libc::c_int, fd: libc::c_int, offset: i64) -> io::Result<*mut u8> {
    // SAFETY: a fresh mapping replaces nothing.
    let base = unsafe {
        libc::mmap(std::ptr::null_mut(), len, libc::PROT_READ | libc::PROT_WRITE, flags, fd, offset)
    };
    if base == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(base.cast()) }
}

fn option<T>(socket: &OwnedFd, name: libc::c_int, value: &T) -> io::Result<()> {
    let (value, len) = (std::ptr::from_ref(value).cast(), size_of::<T>() as libc::socklen_t);
    // SAFETY: the value lives through the call, and has this length.
    check(unsafe { libc::setsockopt(socket.as_raw_fd(), libc::SOL_XDP, name, value, len) }.into()).map(drop)
}

fn check(result: i64) -> io::Result<i64> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

fn bpf<const N: usize>(command: i32, attributes: &mut [u32; N]) -> io::Result<i64> {
    // SAFETY: the attributes have this length; what they name lives through the call.
    check(unsafe { libc::syscall(libc::SYS_bpf, command, attributes.as_mut_ptr(), 4 * N) })
}

fn owned(fd: i64) -> OwnedFd {
    // SAFETY: the kernel has just made it for us.
    unsafe { OwnedFd::from_raw_fd(fd as i32) }
}

fn halves(address: u64) -> [u32; 2] {
    [address as u32, (address >> 32) as u32]
}

/// Puts a program at the interface that hands everything to the socket.
fn steer(interface: u32, mode: Mode, socket: &OwnedFd) -> Result<[OwnedFd; 3]> {
    // A table of one socket.
    let table = owned(bpf(0, &mut [17, 4, 4, 1, 0]).context("bpf(2): a table of sockets")?);
    let (key, value) = (0u32, socket.as_raw_fd());
    let [k, v] = [(&raw const key).addr(), (&raw const value).addr()].map(|at| halves(at as u64));
    bpf(2, &mut [table.as_raw_fd() as u32, 0, k[0], k[1], v[0], v[1], 0, 0]).context("bpf(2): the socket")?;
    // r1 = the table; r2 = 0; r3 = pass what has no socket; hand over; end.
    let map = (table.as_raw_fd() as u64) << 32;
    let code: [u64; 6] = [0x1118 | map, 0, 0x02b7, 2 << 32 | 0x03b7, 51 << 32 | 0x85, 0x95];
    let license = c"Dual MIT/GPL";
    let [c, l] = [code.as_ptr().addr(), license.as_ptr().addr()].map(|at| halves(at as u64));
    let mut load = [6, code.len() as u32, c[0], c[1], l[0], l[1], 0, 0, 0, 0, 0, 0];
    let program = owned(bpf(5, &mut load).context("bpf(2): the program")?);
    let flags = match mode {
        Mode::Generic => 2,
        Mode::Native => 4,
    };
    let link = bpf(28, &mut [program.as_raw_fd() as u32, interface, 37, flags]);
    let link = owned(link.context("the program at the interface")?);
    Ok([table, program, link])
}

impl End {
    fn open(name: &std::ffi::CStr, mode: Mode) -> Result<Self> {
        // SAFETY: the name ends with a zero.
        let interface = unsafe { libc::if_nametoindex(name.as_ptr()) };
        // SAFETY: a call without pointers.
        let socket =
            check(unsafe { libc::socket(libc::AF_XDP, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) }.into());
        let socket = owned(socket.context("no AF_XDP socket")?);
        let len = 2 * FRAMES as usize * FRAME;
        // Shared, because two processes use it after the fork.
        let frames = map(len, libc::MAP_SHARED | libc::MAP_ANONYMOUS | libc::MAP_POPULATE, -1, 0)?;
        // SAFETY: plain data, valid as zeros.
        let mut region: libc::xdp_umem_reg = unsafe { std::mem::zeroed() };
        (region.addr, region.len, region.chunk_size) = (frames.addr() as u64, len as u64, FRAME as u32);
        option(&socket, libc::XDP_UMEM_REG, &region).context("AF_XDP: memory of frames (ulimit -l)")?;
        for ring in
            [libc::XDP_UMEM_FILL_RING, libc::XDP_UMEM_COMPLETION_RING, libc::XDP_RX_RING, libc::XDP_TX_RING]
        {
            option(&socket, ring, &FRAMES)?;
        }
        // SAFETY: plain data, valid as zeros.
        let mut at: libc::xdp_mmap_offsets = unsafe { std::mem::zeroed() };
        let mut len = size_of_val(&at) as libc::socklen_t;
        let to = (&raw mut at).cast();
        // SAFETY: the kernel writes no more than the length says.
        let got = unsafe {
            libc::getsockopt(socket.as_raw_fd(), libc::SOL_XDP, libc::XDP_MMAP_OFFSETS, to, &raw mut len)
        };
        check(got.into())?;
        let fill = Ring::map::<u64>(&socket, libc::XDP_UMEM_PGOFF_FILL_RING as i64, at.fr)?;
        let done = Ring::map::<u64>(&socket, libc::XDP_UMEM_PGOFF_COMPLETION_RING as i64, at.cr)?;
        let arrivals = Ring::map::<libc::xdp_desc>(&socket, libc::XDP_PGOFF_RX_RING, at.rx)?;
        let departures = Ring::map::<libc::xdp_desc>(&socket, libc::XDP_PGOFF_TX_RING, at.tx)?;
        // SAFETY: plain data, valid as zeros.
        let mut address: libc::sockaddr_xdp = unsafe { std::mem::zeroed() };
        address.sxdp_family = libc::AF_XDP as u16;
        address.sxdp_flags = libc::XDP_COPY;
        address.sxdp_ifindex = interface;
        let len = size_of_val(&address) as libc::socklen_t;
        // SAFETY: the address lives through the call.
        let bound = unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), len) };
        check(bound.into()).context("AF_XDP: bind")?;
        let program = steer(interface, mode, &socket)?;
        let mut end = Self { socket, _program: program, frames, fill, done, arrivals, departures, turn: 0 };
        for number in 0..FRAMES {
            end.fill.put(u64::from(number) * FRAME as u64);
        }
        end.fill.publish();
        Ok(end)
    }

    /// Sends a frame of so many bytes.
    pub(super) fn send(&mut self, len: usize) {
        self.send_many(len, 1);
    }

    /// Sends up to so many frames; answers how many.
    pub(super) fn send_many(&mut self, len: usize, count: u32) -> u64 {
        while self.done.next != self.done.produced() {
            let _: u64 = self.done.take();
        }
        self.done.release();
        let under_way = self.departures.next.wrapping_sub(self.done.next);
        let count = count.min(FRAMES - under_way);
        for _ in 0..count {
            let addr = u64::from(FRAMES + self.turn) * FRAME as u64;
            self.turn = (self.turn + 1) % FRAMES;
            // SAFETY: the frame is one of ours, and not under way.
            unsafe {
                let frame = self.frames.add(addr as usize);
                frame.write_bytes(0xff, 6);
                frame.add(6).write_bytes(2, 6);
                frame.add(12).copy_from_nonoverlapping(KIND.as_ptr(), 2);
                // The data are written as whoever sends data writes them.
                frame.add(14).write_bytes(self.turn as u8, len - 14);
            }
            self.departures.put(libc::xdp_desc { addr, len: len as u32, options: 0 });
        }
        self.departures.publish();
        while self.departures.consumed() != self.departures.next {
            // SAFETY: a call without data.
            let sent = unsafe {
                libc::sendto(
                    self.socket.as_raw_fd(),
                    std::ptr::null(),
                    0,
                    libc::MSG_DONTWAIT,
                    std::ptr::null(),
                    0,
                )
            };
            let again = [libc::EAGAIN, libc::EBUSY].map(Some);
            if sent < 0 && !again.contains(&io::Error::last_os_error().raw_os_error()) {
                break;
            }
        }
        u64::from(count)
    }

    /// Takes what has arrived; answers how many frames of ours.
    pub(super) fn receive(&mut self) -> usize {
        self.receive_into(&mut [])
    }

    /// The same, and copies as much of each frame as there is room for.
    pub(super) fn receive_into(&mut self, into: &mut [u8]) -> usize {
        let mut ours = 0;
        let produced = self.arrivals.produced();
        while self.arrivals.next != produced {
            let frame: libc::xdp_desc = self.arrivals.take();
            // SAFETY: the kernel has put the frame there.
            let kind = unsafe { self.frames.add(frame.addr as usize + 12).cast::<[u8; 2]>().read_volatile() };
            ours += usize::from(kind == KIND);
            let len = into.len().min(frame.len as usize);
            // SAFETY: the frame has so many bytes, and the place has room for them.
            unsafe { self.frames.add(frame.addr as usize).copy_to_nonoverlapping(into.as_mut_ptr(), len) };
            std::hint::black_box(&mut *into);
            self.fill.put(frame.addr & !(FRAME as u64 - 1));
        }
        self.arrivals.release();
        self.fill.publish();
        ours
    }
}
