//! A secret that only the processes of one user on this machine can read: a file of mode 0600.
//!
//! Unlike everything else that Lapis creates, it remains after a job, for the user's next job.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::address::own_uid;
use super::auth::random_secret;

/// The user's secret, made if it is not there yet: for processes of one user that meet without a
/// launcher.
///
/// # Errors
/// The file can't be made or read, or others could read it.
pub fn of_user() -> io::Result<[u8; 32]> {
    let user = own_uid();
    secret_in(&folder(user), user)
}

/// The same for all processes of the user, whatever their environment: the folder that the system
/// makes for the user's session, or else /tmp.
fn folder(user: u32) -> PathBuf {
    let session = PathBuf::from(format!("/run/user/{user}"));
    match session.symlink_metadata() {
        Ok(m) if m.is_dir() && m.uid() == user && m.mode() & 0o022 == 0 => session,
        _ => "/tmp".into(),
    }
}

fn secret_in(folder: &Path, user: u32) -> io::Result<[u8; 32]> {
    let file = folder.join(format!("lapis-secret-{user}"));
    match read(&file, user) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => {}
        known => return known,
    }
    make(&file)?;
    // Whoever was first: all read the same.
    read(&file, user)
}

/// Puts a new secret in place, whole or not at all, unless another process has been faster.
fn make(file: &Path) -> io::Result<()> {
    let secret = random_secret().map_err(io::Error::other)?;
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let draft =
        file.with_file_name(format!("{name}.{}-{:02x}{:02x}", std::process::id(), secret[0], secret[1]));
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft).and_then(|mut to| {
        to.write_all(&secret)?;
        std::fs::hard_link(&draft, file)
    });
    let _ = std::fs::remove_file(&draft);
    match made {
        Err(e) if e.kind() != io::ErrorKind::AlreadyExists => Err(e),
        _ => Ok(()),
    }
}

fn read(file: &Path, user: u32) -> io::Result<[u8; 32]> {
    let options = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let mut from = OpenOptions::new().read(true).custom_flags(options).open(file)?;
    check(&from, user).map_err(|why| {
        io::Error::new(io::ErrorKind::PermissionDenied, format!("{} {why}: remove it", file.display()))
    })?;
    let mut secret = [0; 32];
    from.read_exact(&mut secret)?;
    Ok(secret)
}

fn check(file: &File, user: u32) -> Result<(), String> {
    let m = file.metadata().map_err(|e| format!("can't be looked at ({e})"))?;
    if !m.is_file() || m.len() != 32 {
        return Err("is not a file of 32 bytes".into());
    }
    if m.uid() != user {
        return Err(format!("belongs to user {}, not to user {user}", m.uid()));
    }
    if m.mode() & 0o077 != 0 {
        return Err(format!("has mode {:04o}, so that others can use it", m.mode() & 0o7777));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    struct Dir(PathBuf);

    impl Dir {
        fn new(test: &str) -> Self {
            let dir = std::env::temp_dir().join(format!("lapis-secret-{test}-{}", std::process::id()));
            std::fs::create_dir_all(&dir).unwrap();
            Self(dir)
        }
    }

    impl Drop for Dir {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn all_who_ask_at_once_get_the_same_and_nothing_else_is_left() {
        let dir = Dir::new("same");
        let all: Vec<_> = std::thread::scope(|scope| {
            let asked: Vec<_> =
                (0..8).map(|_| scope.spawn(|| secret_in(&dir.0, own_uid()).unwrap())).collect();
            asked.into_iter().map(|one| one.join().unwrap()).collect()
        });
        assert!(all.iter().all(|secret| *secret == all[0] && *secret != [0; 32]));
        let files: Vec<_> = std::fs::read_dir(&dir.0).unwrap().flatten().collect();
        assert_eq!(files.len(), 1);
        assert_eq!(files[0].metadata().unwrap().mode() & 0o7777, 0o600);
    }

    #[test]
    fn a_file_that_others_made_or_can_read_is_refused() {
        let dir = Dir::new("bad");
        let user = own_uid();
        secret_in(&dir.0, user).unwrap();
        let file = dir.0.join(format!("lapis-secret-{user}"));
        let why = || secret_in(&dir.0, user).unwrap_err().to_string();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
        assert!(why().contains("has mode 0640"), "{}", why());
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
        let other = dir.0.join(format!("lapis-secret-{}", user + 1));
        std::fs::rename(&file, &other).unwrap();
        let text = secret_in(&dir.0, user + 1).unwrap_err().to_string();
        assert!(text.contains(&format!("belongs to user {user}, not to user {}", user + 1)), "{text}");
        // A link is followed to nothing, good or bad.
        std::os::unix::fs::symlink(&other, &file).unwrap();
        assert!(secret_in(&dir.0, user).is_err());
        std::fs::remove_file(&file).unwrap();
        std::fs::write(&file, "short").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
        assert!(why().contains("not a file of 32 bytes"), "{}", why());
    }
}
