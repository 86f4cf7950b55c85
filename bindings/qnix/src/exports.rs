//! The C calls.

use crate::abi::{PACKET_SIZE, SHORT_MAX};
use crate::contexts::Assignment;
use crate::environment;
use crate::error::{Error, Result};
use crate::locking::{HasMemory, Locked, Turn};
use crate::memory::Memory;
use crate::names::Name;
use crate::node::Node;
use crate::place::{Place, length, registers};
use crate::post::Form;
use crate::segments::Segment;
use lapis_core::sync::{AtomicPtr, Ordering};
use std::cell::Cell;
use std::ffi::{c_char, c_int, c_long, c_ulong, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null_mut;
use std::sync::{Arc, Mutex, Once};

/// This process, from qx_init to qx_end.
static NODE: AtomicPtr<Node> = AtomicPtr::new(null_mut());

/// One at a time begins or ends. What ended last is kept until the next one has ended: a thread
/// that is still in one of its calls finds memory there and an error.
static CHANGING: Mutex<Option<Box<Node>>> = Mutex::new(None);

/// What this process has locked, in whatever job.
static LOCKED: Locked = Locked::new();

thread_local! {
    static LAST: Cell<c_int> = const { Cell::new(0) };
}

fn node() -> Result<&'static Node> {
    // SYNC: Acquire pairs with qx_init's Release.
    let node = NODE.load(Ordering::Acquire);
    // SAFETY: qx_init stored it, and it is kept for long after qx_end has taken it out.
    unsafe { node.as_ref() }.ok_or(Error::NotInitialized)
}

/// A forked child is none of the cluster's: it would write over what its parent has in shared
/// memory.
extern "C" fn forked() {
    // The child has this thread alone.
    NODE.store(null_mut(), Ordering::Relaxed);
}

fn watch_forks() {
    static WATCHED: Once = Once::new();
    WATCHED.call_once(|| {
        // SAFETY: the function lives as long as the library, which is never unloaded while the
        // program is in a cluster.
        unsafe { libc::pthread_atfork(None, None, Some(forked)) };
    });
}

fn call(f: impl FnOnce() -> Result<usize>) -> c_int {
    // The number is what leaves the closure: it fits a register.
    let outcome = catch_unwind(AssertUnwindSafe(|| f().map_or_else(failed, |value| value as c_int)));
    outcome.unwrap_or_else(|_| failed(Error::Internal))
}

/// Notes that the thread's last error was this one; gives its number.
#[cold]
fn failed(error: Error) -> c_int {
    LAST.set(error.number());
    error.number()
}

fn command(f: impl FnOnce(&'static Node) -> Result) -> c_int {
    call(|| f(node()?).map(|()| 0))
}

/// A command that changes what is locked, in its turn.
fn change(f: impl FnOnce(&mut Turn<'_>, &'static Node) -> Result) -> c_int {
    call(|| {
        // Before the process is looked up: another thread may be about to end it.
        let mut turn = LOCKED.turn();
        f(&mut turn, node()?).map(|()| 0)
    })
}

/// An index that the program gives; one that is negative is no context's.
fn index(context_index: c_int) -> usize {
    usize::try_from(context_index).unwrap_or(usize::MAX)
}

/// # Safety
/// NULL or two integers.
unsafe fn name(proc_name: *const c_int) -> Result<Name> {
    // SAFETY: the caller's promise.
    let pair = unsafe { proc_name.cast::<[c_int; 2]>().as_ref() }.ok_or(Error::Null)?;
    Ok(Name { application: pair[0], process: pair[1] })
}

fn buffer(address: *const c_char, size: c_long) -> Result<Segment> {
    if address.is_null() {
        return Err(Error::Null);
    }
    let len = usize::try_from(size).ok().filter(|len| *len > 0).ok_or(Error::Length)?;
    Ok(Segment { address: address.expose_provenance(), len })
}

/// Registers the process under its name; gives the Host Parameter Structure.
///
/// # Safety
/// `proc_name` is NULL or two integers.
//= QNIX API, qx_init
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qx_init(
    proc_name: *const c_int,
    group_name: c_int,
    group_size: c_int,
) -> *mut c_void {
    let mut hps = null_mut();
    let init = || {
        let _changing = CHANGING.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if node().is_ok() {
            return Err(Error::Initialized);
        }
        // SAFETY: the caller's promise.
        let name = unsafe { name(proc_name) }?;
        let sound = name.application == group_name
            && name.application >= 0
            && (0..group_size).contains(&name.process);
        if !sound {
            return Err(Error::Name);
        }
        watch_forks();
        let node = Box::new(Node::join(name, group_size)?);
        if let Some(memory) = LOCKED.turn().take() {
            node.with_memory(|of_node| *of_node = memory);
            node.show_pool();
        }
        hps = Arc::as_ptr(&node.shared.hps).cast_mut().cast();
        // SYNC: Release pairs with `node`.
        NODE.store(Box::into_raw(node), Ordering::Release);
        Ok(0)
    };
    call(init);
    hps
}

/// Locks memory.
///
/// # Safety
/// None: the kernel judges the range.
//= QNIX API, qx_buffer_lock
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qx_buffer_lock(address: *mut c_char, buffer_size: c_long) -> c_int {
    change(|turn, node| turn.lock(node, buffer(address, buffer_size)?))
}

/// Unlocks memory.
///
/// # Safety
/// None.
//= QNIX API, qx_buffer_unlock
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qx_buffer_unlock(address: *mut c_char, buffer_size: c_long) -> c_int {
    change(|turn, node| turn.unlock(node, buffer(address, buffer_size)?))
}

/// Makes the buffer pool.
///
/// # Safety
/// None.
//= QNIX API, qx_buffer_pool
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qx_buffer_pool(pool_size: c_int) -> c_int {
    change(|turn, node| {
        let pages = usize::try_from(pool_size).map_err(|_| Error::Length)?;
        turn.make_pool(node, pages)?;
        node.show_pool();
        Ok(())
    })
}

/// Writes the physical addresses of a locked buffer's pages, and its numbers of bytes in the first
/// and the last one.
///
/// # Safety
/// `phys_addr` is NULL or has room for one element more than the buffer has pages.
//= QNIX API, qx_buffer_translate
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qx_buffer_translate(
    address: *mut c_char,
    buffer_size: c_long,
    phys_addr: *mut c_ulong,
) -> c_int {
    command(|_| {
        let buffer = buffer(address, buffer_size)?;
        if phys_addr.is_null() {
            return Err(Error::Null);
        }
        let (tokens, ends) = LOCKED.translate(buffer)?;
        for (at, token) in tokens.iter().chain([&ends]).enumerate() {
            // SAFETY: not null; the caller's promise.
            unsafe { phys_addr.add(at).write(*token as c_ulong) };
        }
        Ok(())
    })
}

/// Assigns a Send Context.
///
/// # Safety
/// `receiver_proc_name` is NULL or two integers; `context_reg` is NULL, a table that
/// qx_buffer_translate wrote, or, with a size of 0, `len` bytes.
//= QNIX API, qx_send_context
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qx_send_context(
    receiver_proc_name: *const c_int,
    context_tag: c_int,
    doorbell_flag: c_int,
    size: c_int,
    len: c_long,
    buffer_pool_index: c_int,
    context_reg: *const c_ulong,
) -> c_int {
    call(|| {
        let node = node()?;
        let len = length(len)?;
        // Commands that name their processes themselves need no receiver.
        let (peer, task) = if receiver_proc_name.is_null() {
            (Name::default(), None)
        } else {
            // SAFETY: the caller's promise.
            let peer = unsafe { name(receiver_proc_name) }?;
            (peer, node.names.find(peer))
        };
        // Made twice: what one of the ways takes by address, the other one has in registers.
        let wanted = || Assignment {
            peer,
            task,
            tag: context_tag,
            doorbell: doorbell_flag != 0,
            len,
            size,
            pool_index: buffer_pool_index,
        };
        if size == 0 && buffer_pool_index == -1 {
            // SAFETY: the caller's promise.
            let data = unsafe { registers(context_reg.cast(), len) }?;
            return node.set_send(wanted(), |_, slot| {
                slot.hold(data);
                Ok(())
            });
        }
        // SAFETY: the caller's promise.
        unsafe { send_context_of_pages(node, wanted(), context_reg.cast()) }
    })
}

/// Assigns a Send Context whose data is in the program's memory.
///
/// # Safety
/// `table` is NULL or a table that qx_buffer_translate wrote.
#[inline(never)]
unsafe fn send_context_of_pages(node: &Node, wanted: Assignment, table: *const u64) -> Result<usize> {
    let Assignment { len, size, pool_index, .. } = wanted;
    // As QX_PACKETS counts them.
    //= QNIX API, qx_send_context, size counts packets
    if size != len.div_ceil(PACKET_SIZE) as c_int && !(size == 0 && len <= SHORT_MAX) {
        return Err(Error::Size);
    }
    let place = Place { len, pool_index, table };
    // SAFETY: the caller's promise.
    node.set_send(wanted, |memory, slot| unsafe { place.lend(memory, slot) }.map(|_| ()))
}

/// Assigns a Receive Context.
///
/// # Safety
/// `sender_proc_name` is NULL or two integers; `context_reg` is NULL or a table that
/// qx_buffer_translate wrote.
//= QNIX API, qx_recv_context
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qx_recv_context(
    sender_proc_name: *const c_int,
    context_tag: c_int,
    doorbell_flag: c_int,
    size: c_int,
    len: c_long,
    buffer_pool_index: c_int,
    context_reg: *const c_ulong,
) -> c_int {
    call(|| {
        let node = node()?;
        // SAFETY: the caller's promise.
        let sender = unsafe { name(sender_proc_name) }?;
        let place = Place { len: length(len)?, pool_index: buffer_pool_index, table: context_reg.cast() };
        let wanted = Assignment {
            tag: context_tag,
            doorbell: doorbell_flag != 0,
            len: place.len,
            size,
            pool_index: buffer_pool_index,
            ..Assignment::default()
        };
        node.set_receive(sender, wanted, |memory, slot| {
            // SAFETY: the caller's promise.
            let pages = unsafe { place.lend(memory, slot) }?;
            //= QNIX API, qx_recv_context, size counts pages
            if usize::try_from(size).is_ok_and(|size| size >= pages) { Ok(()) } else { Err(Error::Size) }
        })
    })
}

/// Sends pages.
//= QNIX API, qx_send
#[unsafe(no_mangle)]
pub extern "C" fn qx_send(context_index: c_int) -> c_int {
    command(|node| node.send(index(context_index), Form::Pages))
}

/// Sends what the context's registers hold.
//= QNIX API, qx_send_short
#[unsafe(no_mangle)]
pub extern "C" fn qx_send_short(context_index: c_int) -> c_int {
    command(|node| node.send(index(context_index), Form::Short))
}

/// Sends pages to a group.
//= QNIX API, qx_broadcast
#[unsafe(no_mangle)]
pub extern "C" fn qx_broadcast(context_index: c_int, group_name: c_int) -> c_int {
    command(|node| node.broadcast(index(context_index), group_name, Form::Pages))
}

/// Sends what the context's registers hold to a group.
//= QNIX API, qx_broadcast_short
#[unsafe(no_mangle)]
pub extern "C" fn qx_broadcast_short(context_index: c_int, group_name: c_int) -> c_int {
    command(|node| node.broadcast(index(context_index), group_name, Form::Short))
}

/// # Safety
/// `list` is NULL or has `size` elements, each NULL or two integers.
unsafe fn multicast(context_index: c_int, size: c_int, list: *const *const c_int, form: Form) -> c_int {
    command(|node| {
        let count = usize::try_from(size).map_err(|_| Error::Count)?;
        if count > node.context.tasks() as usize {
            return Err(Error::Count);
        }
        if list.is_null() && count > 0 {
            return Err(Error::Null);
        }
        // SAFETY: not null; the caller's promise.
        let names = (0..count).map(|at| unsafe { name(*list.add(at)) }).collect::<Result<Vec<_>>>()?;
        node.multicast(index(context_index), &names, form)
    })
}

/// Sends pages to a list of processes.
///
/// # Safety
/// `recv_proc_name_list` is NULL or has `size` elements, each NULL or two integers.
//= QNIX API, qx_multicast
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qx_multicast(
    context_index: c_int,
    size: c_int,
    recv_proc_name_list: *const *const c_int,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { multicast(context_index, size, recv_proc_name_list, Form::Pages) }
}

/// Sends what the context's registers hold to a list of processes.
///
/// # Safety
/// As for [`qx_multicast`].
//= QNIX API, qx_multicast_short
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qx_multicast_short(
    context_index: c_int,
    size: c_int,
    recv_proc_name_list: *const *const c_int,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { multicast(context_index, size, recv_proc_name_list, Form::Short) }
}

/// Receives a message.
//= QNIX API, qx_receive
#[unsafe(no_mangle)]
pub extern "C" fn qx_receive(context_index: c_int) -> c_int {
    command(|node| node.receive(index(context_index)))
}

/// Joins a group.
//= QNIX API, qx_join_group
#[unsafe(no_mangle)]
pub extern "C" fn qx_join_group(context_index: c_int, group_name: c_int, group_size: c_int) -> c_int {
    command(|node| node.join_group(index(context_index), group_name, group_size))
}

/// Synchronises with a group.
//= QNIX API, qx_barrier
#[unsafe(no_mangle)]
pub extern "C" fn qx_barrier(context_index: c_int, group_name: c_int, group_size: c_int) -> c_int {
    command(|node| node.barrier(index(context_index), group_name, group_size))
}

/// Waits for a Send Context's doorbell.
//= QNIX API, qx_poll_for_send
#[unsafe(no_mangle)]
pub extern "C" fn qx_poll_for_send(context_index: c_int) -> c_int {
    call(|| node()?.poll::<true>(index(context_index)))
}

/// Waits for a Receive Context's doorbell; gives the bytes received.
//= QNIX API, qx_poll_for_receive
#[unsafe(no_mangle)]
pub extern "C" fn qx_poll_for_receive(context_index: c_int) -> c_int {
    call(|| node()?.poll::<false>(index(context_index)))
}

/// Leaves.
///
/// # Safety
/// `proc_name` is NULL or two integers.
//= QNIX API, qx_end
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qx_end(proc_name: *const c_int) -> c_int {
    call(|| {
        // Before the process is looked up: another thread may be about to end it.
        let mut kept = CHANGING.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let node = node()?;
        // SAFETY: the caller's promise.
        if unsafe { name(proc_name) }? != node.name {
            return Err(Error::Name);
        }
        node.end()?;
        // Kept until the process is no longer to be found: nobody locks what it would not leave.
        let mut turn = LOCKED.turn();
        turn.keep(node.with_memory(|of_node| std::mem::replace(of_node, Memory::new())));
        // The program may look at the structure as long as it likes.
        std::mem::forget(Arc::clone(&node.shared.hps));
        // SYNC: Release as in qx_init; nothing follows.
        let ended = NODE.swap(null_mut(), Ordering::Release);
        // SAFETY: qx_init made it of a box. Nobody finds it any more, and of those who did only
        // threads that are about to leave a call are left.
        *kept = Some(unsafe { Box::from_raw(ended) });
        Ok(0)
    })
}

/// What an error number means.
//= QNIX API, beside it
#[unsafe(no_mangle)]
pub extern "C" fn qx_strerror(error: c_int) -> *const c_char {
    let text = match Error::of_number(error) {
        Some(error) => error.c_text(),
        None if error >= 0 => c"no error",
        None => c"no error number of QNIX",
    };
    text.as_ptr()
}

/// The last error of a call of this thread.
//= QNIX API, beside it
#[unsafe(no_mangle)]
pub extern "C" fn qx_last_error() -> c_int {
    LAST.get()
}

/// The name that the environment gives this process.
///
/// # Safety
/// `proc_name` is NULL or room for two integers, `group_size` NULL or room for one.
//= QNIX API, beside it
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qx_whoami(proc_name: *mut c_int, group_size: *mut c_int) -> c_int {
    call(|| {
        lapis_log::install();
        if proc_name.is_null() || group_size.is_null() {
            return Err(Error::Null);
        }
        let (name, size) = environment::name()?;
        // SAFETY: not null; the caller's promise.
        unsafe {
            proc_name.cast::<[c_int; 2]>().write([name.application, name.process]);
            group_size.write(size);
        }
        Ok(0)
    })
}
