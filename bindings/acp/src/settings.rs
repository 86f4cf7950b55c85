//! What the command line says: acprun adds arguments to the program's, and acp_init takes them out.

use crate::error::{Error, Result};
use lapis_core::bootstrap::MOST_MEMORY;

/// Sizes that a program can't set by a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    /// Bytes of the starter memory.
    pub(crate) starter: u64,
    /// Bytes of the memory that acp_malloc gives from each process.
    pub(crate) heap: u64,
    /// Bytes of the memory in which channels within a host have their lanes, at each receiver.
    pub(crate) lanes: u64,
}

impl Default for Settings {
    fn default() -> Self {
        let [heap, lanes] = if usize::BITS >= 64 { [256 << 20, 8 << 20] } else { [16 << 20, 1 << 20] };
        Self { starter: 4096, heap, lanes }
    }
}

/// Arguments that begin so are ACP's.
pub(crate) const OURS: &str = "--acp-";

impl Settings {
    /// What the process's own command line says, for programs that keep it to themselves: Fortran
    /// ones, and those that give acp_init NULL. Nothing can be taken out of it.
    pub(crate) fn of_command_line() -> Result<Self> {
        let mut settings = Self::default();
        for word in std::env::args_os().skip(1) {
            let text = word.to_string_lossy();
            if text.starts_with(OURS) {
                settings.take(&text)?;
            }
        }
        Ok(settings)
    }

    /// Takes one argument that begins with [`OURS`].
    pub(crate) fn take(&mut self, argument: &str) -> Result {
        let (name, value) = argument.split_once('=').unwrap_or((argument, ""));
        let size = match name {
            "--acp-startermemsize" | "--acp-smemsize" | "--acp-size-smem" => &mut self.starter,
            "--acp-startermemsize-dl" | "--acp-smemsize-dl" | "--acp-size-smem-dl" => &mut self.heap,
            "--acp-startermemsize-cl" | "--acp-smemsize-cl" | "--acp-size-smem-cl" => &mut self.lanes,
            _ => {
                tracing::error!(target: "lapis::acp", "acp_init: {argument}: no argument of ACP; --acp-startermemsize=BYTES, \
                     --acp-startermemsize-dl=BYTES (memory for acp_malloc) and --acp-startermemsize-cl=BYTES \
                     (memory for channels within a host) are");
                return Err(Error::Option);
            }
        };
        let bytes = value.parse().ok().filter(|bytes| (1..=MOST_MEMORY).contains(bytes));
        *size = bytes.ok_or_else(|| {
            tracing::error!(target: "lapis::acp", "acp_init: {argument}: it takes a number of bytes from 1 to {MOST_MEMORY}");
            Error::Option
        })?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_taken_and_everything_else_is_refused() {
        let mut settings = Settings::default();
        settings.take("--acp-startermemsize=12345").unwrap();
        settings.take("--acp-smemsize-dl=99").unwrap();
        settings.take("--acp-size-smem-cl=777").unwrap();
        assert_eq!(settings, Settings { starter: 12345, heap: 99, lanes: 777 });
        let much = format!("--acp-startermemsize={}", MOST_MEMORY + 1);
        for bad in
            ["--acp-startermemsize", "--acp-startermemsize=0", &much, "--acp-smemsize=x", "--acp-other=1"]
        {
            assert_eq!(settings.take(bad), Err(Error::Option), "{bad}");
        }
    }
}
