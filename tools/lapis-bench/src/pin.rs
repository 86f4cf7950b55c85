//! Pinning to cores.

use std::io;
use std::sync::OnceLock;

/// The cores this process may use, in ascending order.
pub fn allowed() -> Vec<usize> {
    // SAFETY: cpu_set_t is a plain bit array; all zeroes is the empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: set is valid for writes of its own size.
    let result = unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set) };
    if result != 0 {
        return vec![0];
    }
    // SAFETY: CPU_ISSET reads one bit of a set that we own; the index is below its size.
    (0..libc::CPU_SETSIZE as usize).filter(|&core| unsafe { libc::CPU_ISSET(core, &set) }).collect()
}

/// Pins the calling thread to one core.
pub fn to(core: usize) -> io::Result<()> {
    set(&[core])
}

/// Pins the calling thread to one core until the guard is dropped, so that programs started later
/// are not pinned.
pub fn while_held(core: usize) -> io::Result<Guard> {
    let before = allowed();
    to(core)?;
    Ok(Guard { before })
}

/// Gives back the cores that were allowed before.
#[must_use = "dropping it ends the pinning"]
pub struct Guard {
    before: Vec<usize>,
}

impl Drop for Guard {
    fn drop(&mut self) {
        // These were the kernel's own answer; should it refuse them now, we stay where we are.
        let _ = set(&self.before);
    }
}

fn set(cores: &[usize]) -> io::Result<()> {
    // SAFETY: a set of bits is valid with any.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    for &core in cores {
        if core >= libc::CPU_SETSIZE as usize {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("core {core} is beyond the kernel's set"),
            ));
        }
        // SAFETY: the index was checked against the size of the set.
        unsafe { libc::CPU_SET(core, &mut set) };
    }
    // SAFETY: set is valid for reads of its own size.
    match unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The two cores that a pair of measured processes uses: the first two allowed; the same one twice
/// on one core.
///
/// The answer is that of the first call, since pinning narrows what is allowed.
pub fn pair() -> (usize, usize) {
    static PAIR: OnceLock<(usize, usize)> = OnceLock::new();
    *PAIR.get_or_init(|| {
        let cores = allowed();
        let first = cores.first().copied().unwrap_or(0);
        (first, cores.get(1).copied().unwrap_or(first))
    })
}

/// Ends a real-time priority that this process was started with, for itself and what it starts from
/// now on.
pub fn leave_real_time() -> io::Result<()> {
    // SAFETY: the parameters are valid for the call.
    match unsafe { libc::sched_setscheduler(0, libc::SCHED_OTHER, &libc::sched_param { sched_priority: 0 }) }
    {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pinned_thread_may_use_its_core_only() {
        let (first, _) = pair();
        std::thread::spawn(move || {
            to(first).unwrap();
            assert_eq!(allowed(), vec![first]);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_dropped_guard_gives_the_cores_back() {
        std::thread::spawn(|| {
            let before = allowed();
            drop(while_held(before[0]).unwrap());
            assert_eq!(allowed(), before);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn an_impossible_core_is_refused() {
        assert!(to(1 << 20).is_err());
    }
}
