//! The tuning file: values of a few variables that were measured on this kind of processor.
//!
//! It is a layer below the environment: a variable of the environment wins. Its lines are
//! `NAME=VALUE`; lines that begin with `#` are comments. It may only contain names that choose
//! among ways to the same result, so that a wrong file costs nothing but time. It is used only if
//! nobody but root and the user can have written it.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

/// Names the file; `none`: there is none.
pub const TUNING: &str = "LAPIS_TUNING";

/// More than anybody writes.
const LONGEST: u64 = 64 << 10;

/// Whether a variable may stand in a tuning file.
pub fn is_tunable(name: &str) -> bool {
    name == "LAPIS_COLLECTIVES" || name.starts_with("LAPIS_") && name.ends_with("_COPIES")
}

/// What kind of processor this is, as in `AuthenticAMD-26-2`: its maker, family and model.
pub fn processor() -> String {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::__cpuid;
        let (maker, about) = (__cpuid(0), __cpuid(1).eax);
        let word = |word: u32| word.to_le_bytes();
        let maker = [word(maker.ebx), word(maker.edx), word(maker.ecx)].concat();
        let maker: String =
            maker.iter().map(|b| if b.is_ascii_alphanumeric() { *b as char } else { '_' }).collect();
        let (family, model) = (about >> 8 & 15, about >> 4 & 15);
        let far = family == 15;
        let model = if far || family == 6 { model | (about >> 16 & 15) << 4 } else { model };
        let family = if far { family + (about >> 20 & 255) } else { family };
        format!("{maker}-{family}-{model}")
    }
    #[cfg(not(target_arch = "x86_64"))]
    std::env::consts::ARCH.to_owned()
}

/// Why a tuning file does not count.
#[derive(Debug)]
pub(crate) struct NotCounted {
    /// One line that names it.
    pub(crate) why: String,
    /// It belongs to another user: in a home that is not the user's, perhaps.
    pub(crate) foreign: bool,
}

/// The values of a tuning file; `None`: it is not there.
///
/// # Errors
/// Why it does not count.
pub(crate) fn read(path: &Path) -> Result<Option<BTreeMap<String, String>>, NotCounted> {
    let options = libc::O_NONBLOCK | libc::O_CLOEXEC;
    let said = |why: String, foreign| NotCounted {
        why: format!("tuning file {}: {why}; nothing in it counts", path.display()),
        foreign,
    };
    let wrong = |why| said(why, false);
    let file = match OpenOptions::new().read(true).custom_flags(options).open(path) {
        Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        other => other.map_err(|e| said(e.to_string(), e.kind() == io::ErrorKind::PermissionDenied))?,
    };
    check(&file).map_err(|(why, foreign)| said(why, foreign))?;
    let mut text = String::new();
    file.take(LONGEST).read_to_string(&mut text).map_err(|e| wrong(e.to_string()))?;
    parse(&text).map(Some).map_err(wrong)
}

/// The error says whether the file belongs to another user.
fn check(file: &File) -> Result<(), (String, bool)> {
    let m = file.metadata().map_err(|e| (e.to_string(), false))?;
    // SAFETY: a call without pointers.
    let user = unsafe { libc::geteuid() };
    if !m.is_file() || m.len() >= LONGEST {
        return Err((format!("it is not a file of less than {LONGEST} bytes"), false));
    }
    if m.uid() != user && m.uid() != 0 {
        return Err((format!("it belongs to user {}, neither to root nor to user {user}", m.uid()), true));
    }
    if m.mode() & 0o022 != 0 {
        return Err((format!("it has mode {:04o}, so that others can change it", m.mode() & 0o7777), false));
    }
    Ok(())
}

fn parse(text: &str) -> Result<BTreeMap<String, String>, String> {
    let mut values = BTreeMap::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (name, value) = line
            .split_once('=')
            .ok_or_else(|| format!("line {}, `{line}`, is not NAME=VALUE", number + 1))?;
        let name = name.trim();
        if !is_tunable(name) {
            return Err(format!("line {}: {name} is not for tuning files", number + 1));
        }
        values.insert(name.to_owned(), value.trim().to_owned());
    }
    Ok(values)
}

/// Sets values in a tuning file; see [`update_tuning`].
///
/// # Errors
/// As for [`update_tuning`].
pub fn write_tuning(path: &Path, about: &str, values: &[(&str, &str)]) -> io::Result<()> {
    let values = values.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    update_tuning(path, about, |all| all.extend(values))
}

/// Has `change` change the values of a tuning file, which is made with its folder if it is not
/// there. What people had written in it goes; `about` is written in front, for people. The file
/// changes whole or not at all, and no other process changes it meanwhile.
///
/// # Errors
/// The file there does not count, or can't be written.
pub fn update_tuning(
    path: &Path,
    about: &str,
    change: impl FnOnce(&mut BTreeMap<String, String>),
) -> io::Result<()> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let _lock = lock(&path.with_file_name(format!(".{name}.lock")))?;
    let mut all = read(path).map_err(|no| io::Error::other(no.why))?.unwrap_or_default();
    change(&mut all);
    let draft = path.with_file_name(format!(".{name}.{}", std::process::id()));
    let mut text: String = about.lines().map(|line| format!("# {line}\n")).collect();
    all.iter().for_each(|(name, value)| text.push_str(&format!("{name}={value}\n")));
    let options = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft);
    let written = options.and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        std::fs::rename(&draft, path)
    });
    if written.is_err() {
        let _ = std::fs::remove_file(&draft);
    }
    written
}

/// Waits until nobody else has this file locked, and locks it until the answer is dropped. The file
/// stays: if it were removed, one process might lock it and another one its successor. The tuning
/// file can't take its place, because it is replaced by a new one each time.
fn lock(path: &Path) -> io::Result<File> {
    let flags = libc::O_NOFOLLOW | libc::O_CLOEXEC;
    // For writing: a file system of another machine gives no lock otherwise.
    let options = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(flags)
        .open(path);
    let file = options?;
    loop {
        match file.lock() {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            // Where there are no locks, only one that writes at the same time is in danger.
            Err(e) if matches!(e.raw_os_error(), Some(libc::ENOLCK | libc::EOPNOTSUPP | libc::ENOSYS)) => {
                return Ok(file);
            }
            locked => return locked.map(|()| file),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;

    struct Dir(PathBuf);

    impl Dir {
        fn new(test: &str) -> Self {
            let dir = std::env::temp_dir().join(format!("lapis-tuning-{test}-{}", std::process::id()));
            std::fs::create_dir_all(&dir).unwrap();
            Self(dir)
        }

        fn file(&self) -> PathBuf {
            self.0.join("of-test/tuning")
        }
    }

    impl Drop for Dir {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn what_is_written_is_read_and_other_values_stay() {
        let dir = Dir::new("round");
        assert!(matches!(read(&dir.file()), Ok(None)));
        write_tuning(&dir.file(), "made\nby a test", &[("LAPIS_SHM_COPIES", "far=7")]).unwrap();
        write_tuning(&dir.file(), "again", &[("LAPIS_COLLECTIVES", "allreduce=ring")]).unwrap();
        let values = read(&dir.file()).unwrap().unwrap();
        let pairs: Vec<_> = values.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(pairs, [("LAPIS_COLLECTIVES", "allreduce=ring"), ("LAPIS_SHM_COPIES", "far=7")]);
        let folder = dir.file().parent().unwrap().to_owned();
        let mut left: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|e| e.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, [".tuning.lock", "tuning"], "a draft is left");
        let mode = |path: &Path| path.metadata().unwrap().mode() & 0o777;
        assert_eq!((mode(&dir.file()), mode(&folder)), (0o600, 0o700));
    }

    #[test]
    fn none_of_several_changes_at_once_is_lost() {
        const EACH: usize = 20;
        let dir = Dir::new("several");
        let file = dir.file();
        let change = || {
            update_tuning(&file, "", |all| {
                let known = all.entry("LAPIS_COLLECTIVES".to_owned()).or_default();
                known.push('x');
            })
            .unwrap();
        };
        std::thread::scope(|scope| {
            let threads: [_; 4] = std::array::from_fn(|_| scope.spawn(|| (0..EACH).for_each(|_| change())));
            // ThreadSanitizer sees these ends of the threads, and not the scope's.
            threads.into_iter().for_each(|thread| thread.join().unwrap());
        });
        assert_eq!(read(&file).unwrap().unwrap()["LAPIS_COLLECTIVES"], "x".repeat(4 * EACH));
    }

    #[test]
    fn what_others_can_change_or_nobody_understands_does_not_count() {
        let dir = Dir::new("bad");
        let file = dir.file();
        write_tuning(&file, "", &[("LAPIS_SHM_COPIES", "far=7")]).unwrap();
        let set = |mode| std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        for mode in [0o620, 0o602] {
            set(mode);
            let why = read(&file).unwrap_err().why;
            assert!(why.contains(&format!("has mode {mode:04o}")) && why.lines().count() == 1, "{why}");
            assert!(write_tuning(&file, "", &[]).is_err());
        }
        set(0o600);
        for (text, problem) in [
            ("# fine\nfar", "line 2, `far`, is not NAME=VALUE"),
            ("LAPIS_TRANSPORT_PATH=/x", "line 1: LAPIS_TRANSPORT_PATH is not for tuning files"),
        ] {
            std::fs::write(&file, text).unwrap();
            let why = read(&file).unwrap_err().why;
            assert!(why.contains(problem) && why.contains("nothing in it counts"), "{why}");
        }
        std::fs::write(&file, vec![b'#'; LONGEST as usize]).unwrap();
        assert!(read(&file).unwrap_err().why.contains("not a file of less than"));
        assert!(read(&dir.0).unwrap_err().why.contains("not a file"), "a folder");
    }
}
