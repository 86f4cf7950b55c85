//! What a forked child does with values of its parent's: it may drop them, and nothing of the
//! parent's is freed, closed or waited for.

use lapis_core::config::Environment;
use lapis_core::sync::{AtomicU32, Ordering};
use lapis_core::transport::*;
use lapis_core::{Context, Memory, RegisteredMemory};
use std::ptr::NonNull;
use std::sync::{Barrier, OnceLock};

/// Memory that processes share across a fork.
fn shared_across_forks(len: usize) -> NonNull<u8> {
    let (rights, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
    // SAFETY: a fresh anonymous mapping touches nobody's memory.
    let at = unsafe { libc::mmap(std::ptr::null_mut(), len, rights, kind, -1, 0) };
    assert_ne!(at, libc::MAP_FAILED);
    NonNull::new(at.cast()).expect("mappings are not at 0")
}

/// How often blocks were given back and instances were closed, by this process or a child.
struct Counts {
    released: AtomicU32,
    closed: AtomicU32,
}

fn counts() -> &'static Counts {
    static COUNTS: OnceLock<usize> = OnceLock::new();
    let at = COUNTS.get_or_init(|| shared_across_forks(4096).expose_provenance().get());
    // SAFETY: mapped for good, and zeroes are counts.
    unsafe { &*std::ptr::with_exposed_provenance(*at) }
}

/// A transport whose memory is shared between processes, as that of shm is: what is given back is
/// zeroed.
struct Pool(Vec<(NonNull<u8>, usize)>);

// SAFETY: the blocks belong to the instance.
unsafe impl Send for Pool {}

impl Transport for Pool {
    const NAME: &'static str = "pool";
    const VERSION: &'static str = "0";
    const CAPS: Caps = Caps::AM_SHORT.union(Caps::RELIABLE).union(Caps::ALLOCATE).union(Caps::WINDOW);
    const DECLARATION: Declaration = Declaration { cost_ns: 1, usage: Usage::Always, variables: &[] };
    type Waiter = NoWaiter;

    fn open(_: Host, _: &OpenParams<'_>) -> Result<(Self, NoWaiter), TransportError> {
        Ok((Self(Vec::new()), NoWaiter))
    }
    fn attributes(&self) -> Attributes {
        Attributes { caps: Self::CAPS, limits: Limits::default(), note: String::new() }
    }
    fn address(&self) -> Vec<u8> {
        Vec::new()
    }
    fn connect(&mut self, _: PeerId, _: &[u8]) -> Result<(), TransportError> {
        Ok(())
    }
    fn poll(&mut self, _: &mut [Event]) -> usize {
        0
    }
    fn mem_alloc(&mut self, len: usize) -> Result<RegionInfo, TransportError> {
        let at = shared_across_forks(len);
        self.0.push((at, len));
        Ok(RegionInfo { addr: at.addr().get() as u64, len: len as u64, id: self.0.len() as u64, key: 0 })
    }
    fn mem_release(&mut self, id: u64) {
        let (at, len) = self.0[id as usize - 1];
        // SAFETY: a block of this instance, which nobody uses any more.
        unsafe { at.as_ptr().write_bytes(0, len) };
        counts().released.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        counts().closed.fetch_add(1, Ordering::Relaxed);
    }
}

lapis_core::export_transport!(Pool, "pool", "0");

/// A context in polling mode, memory of it that holds "hello", and registered memory.
fn parent() -> (Context, Memory, RegisteredMemory) {
    let context = Context::builder()
        .environment(Environment::default())
        .bootstrap(lapis_core::bootstrap::singleton(0).unwrap())
        .transport(lapis_loopback::table())
        .transport(table())
        // A job of one task opens no others but those that are named.
        .set("LAPIS_TRANSPORT", "pool")
        .interrupts(false)
        .init()
        .unwrap();
    let memory = context.alloc(4096).unwrap();
    memory.write(0, b"hello");
    let own = Box::leak(Box::new([0u8; 64]));
    // SAFETY: the memory stays for good, and nobody else uses it.
    let registered = unsafe { context.register(NonNull::from(own).cast(), 64).unwrap() };
    (context, memory, registered)
}

/// Forks. `None` in the child, which drops what the parent keeps, and [ends](end).
fn fork() -> Option<libc::pid_t> {
    // SAFETY: the child frees memory, whose locks the system's fork takes, and ends.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: ends the child if it hangs.
        unsafe { libc::alarm(10) };
    }
    (child != 0).then_some(child)
}

fn end() -> ! {
    // SAFETY: ends the child without running anything of the parent's.
    unsafe { libc::_exit(0) }
}

fn status(child: libc::pid_t) -> i32 {
    let mut status = 0;
    // SAFETY: waits for a child of this process; the status is a local variable.
    unsafe { libc::waitpid(child, &mut status, 0) };
    status
}

#[test]
fn what_a_child_drops_is_neither_freed_nor_closed() {
    let counted = || [&counts().released, &counts().closed].map(|count| count.load(Ordering::Relaxed));
    let (context, memory, registered) = parent();
    let clone = context.clone();
    let Some(child) = fork() else {
        drop((memory, registered, clone, context));
        end()
    };
    assert_eq!(status(child), 0);
    let mut bytes = [0; 5];
    memory.read(0, &mut bytes);
    assert_eq!((&bytes, counted()), (b"hello", [0, 0]));
    // The parent's own end does all of it.
    drop((memory, registered, clone, context));
    assert_eq!(counted(), [1, 1]);
}

#[test]
fn a_child_drops_everything_although_another_thread_of_its_parent_had_the_lock() {
    let (context, memory, registered) = parent();
    let (held, steps) = (context.clone(), Barrier::new(2));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            held.lock();
            steps.wait();
            steps.wait();
            held.unlock();
        });
        steps.wait();
        let Some(child) = fork() else {
            drop((memory, registered, context));
            end()
        };
        let status = status(child);
        steps.wait();
        assert_eq!(status, 0);
    });
}
