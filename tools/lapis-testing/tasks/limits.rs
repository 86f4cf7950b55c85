//! Systems that give little or refuse.

use lapis::core::sync::{AtomicU64, Ordering};
use lapis::{Delivery, HandlerId, Result};
use std::sync::Arc;

/// What the program sets through the builder goes over the environment, for the plugins as well.
pub(crate) fn heap_of_the_builder() -> Result<()> {
    let context = lapis::builder().set("LAPIS_SHM_HEAP", "1M").init()?;
    drop(context.alloc(1 << 16)?);
    let refused = context.alloc(8 << 20).expect_err("eight times as much as the heap");
    println!("heap: {}", refused.with_causes());
    context.gfence()?;
    context.terminate()
}

/// Messages with completion handlers between two tasks that hold no memory of their own to speak
/// of.
pub(crate) fn frugal() -> Result<()> {
    const COUNT: u64 = 50;
    let context = lapis::init()?;
    let ran = Arc::new(AtomicU64::new(0));
    let here = Arc::clone(&ran);
    context.set_handler(HandlerId(1), move |_, _| {
        let here = Arc::clone(&here);
        Delivery::bury().then(move |_| {
            here.fetch_add(1, Ordering::Relaxed);
        })
    })?;
    context.gfence()?;
    for _ in 0..COUNT {
        context.send((context.task() + 1) % context.tasks(), HandlerId(1), &[], b"sixteen or so bytes")?;
    }
    context.wait_until(|| ran.load(Ordering::Relaxed) == COUNT)?;
    println!("frugal: {COUNT} handlers ran");
    context.gfence()?;
    context.terminate()
}

/// No more open files than this.
pub(crate) fn descriptors(limit: u64) -> Result<()> {
    set(libc::RLIMIT_NOFILE, limit);
    Ok(())
}

/// No more address space than so many MiB.
pub(crate) fn address_space(megabytes: u64) -> Result<()> {
    set(libc::RLIMIT_AS, megabytes << 20);
    Ok(())
}

fn set(what: libc::__rlimit_resource_t, value: u64) {
    let limit = libc::rlimit { rlim_cur: value, rlim_max: value };
    // SAFETY: the limit is a plain struct that lives during the call.
    assert_eq!(unsafe { libc::setrlimit(what, &limit) }, 0, "setrlimit: {}", std::io::Error::last_os_error());
}

/// A seccomp filter that refuses cross-memory attach, as container runtimes do.
pub(crate) fn refuse_attach() -> Result<()> {
    const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    const EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
    let step = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    let refuse = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
    // The first word of the data is the system call's number.
    let mut filter = [
        step(LOAD, 0, 0, 0),
        step(EQUAL, 1, 0, libc::SYS_process_vm_readv as u32),
        step(EQUAL, 0, 1, libc::SYS_process_vm_writev as u32),
        step(RETURN, 0, 0, refuse),
        step(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: the filter lives during the calls, and the kernel checks it.
    let (privileges, installed) = unsafe {
        (
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
            libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &program),
        )
    };
    assert_eq!((privileges, installed), (0, 0), "seccomp: {}", std::io::Error::last_os_error());
    Ok(())
}
