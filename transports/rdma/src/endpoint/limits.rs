//! What to do where the kernel refuses memory to an adapter.

use rustix::process::{Resource, getrlimit};

/// A remedy behind an error, if the limit of locked memory may be its cause.
pub(super) fn hint(code: i32) -> String {
    hint_for(code, getrlimit(Resource::Memlock).current)
}

/// Some kernels say "try again" where the limit is meant.
fn hint_for(code: i32, limit: Option<u64>) -> String {
    match limit {
        Some(bytes) if [libc::ENOMEM, libc::EAGAIN, libc::EPERM].contains(&code) => format!(
            " (if the adapter's memory may not be locked: the limit is {} KiB; `ulimit -l unlimited` where tasks start)",
            bytes >> 10
        ),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_named_where_it_may_be_the_cause() {
        let hint = hint_for(libc::ENOMEM, Some(64 << 10));
        assert!(hint.contains("the limit is 64 KiB") && hint.contains("ulimit -l unlimited"), "{hint}");
        assert_eq!(hint_for(libc::ENOMEM, None), "", "there is no limit");
        assert_eq!(hint_for(libc::EINVAL, Some(64 << 10)), "", "another cause");
    }
}
