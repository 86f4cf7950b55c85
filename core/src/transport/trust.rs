//! Whose code may run here: a plugin is loaded only if nobody but root and this user can have put
//! it where it is.
//!
//! The file and every folder on its way, symbolic links followed, must belong to root or to the
//! user whose rights the process has, and be writable by nobody else. One exception: a folder
//! *above* the plugin's own may be writable by everybody if it is sticky, as /tmp is. There
//! strangers can add entries, but can neither rename nor remove the entry that leads to the plugin,
//! which belongs to root or to the user. The plugin's own folder has no such exception: a stranger
//! could add a plugin to it, as a hard link to a file that is not his.

use std::ffi::CStr;
use std::fmt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Why a file is not trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Distrust {
    /// The file or folder that others can change.
    pub path: PathBuf,
    /// How they can.
    pub why: Why,
}

/// What others can do to a file or folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// It belongs to another user.
    Owner {
        /// Who owns it.
        owner: u32,
        /// Whose rights the process has.
        user: u32,
    },
    /// Its mode lets others write.
    Writable {
        /// Its permission bits.
        mode: u32,
    },
}

impl fmt::Display for Distrust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match self.why {
            Why::Owner { owner, user } => write!(
                f,
                "{path} belongs to user {owner}, neither to root nor to user {user}, who runs this program: keep the \
                 plugin in folders of your own"
            ),
            Why::Writable { mode } => write!(
                f,
                "{path} has mode {mode:04o} and so can be changed by others: `chmod go-w {path}`, or keep the plugin \
                 in folders of your own"
            ),
        }
    }
}

/// What is looked at of a file or folder.
#[derive(Clone, Copy, Debug)]
struct Rights {
    owner: u32,
    group: u32,
    mode: u32,
}

/// Whom to trust, and how one finds out.
struct Judge<'a> {
    user: u32,
    /// The owner of `/`: root, under whatever number this user namespace shows it.
    root: u32,
    /// Whether a group has no member but the user.
    private: &'a dyn Fn(u32) -> bool,
}

const STICKY: u32 = libc::S_ISVTX;
const GROUP_WRITES: u32 = libc::S_IWGRP;
const OTHERS_WRITE: u32 = libc::S_IWOTH;

impl Judge<'_> {
    /// `chain` is the file, its folder, that one's folder and so on.
    fn judge<'p>(&self, chain: impl Iterator<Item = (&'p Path, Rights)>) -> Result<(), Distrust> {
        // Whom the entry below belongs to: a sticky folder protects it only if strangers don't own
        // it.
        let mut below = None;
        for (depth, (path, rights)) in chain.enumerate() {
            let Rights { owner, group, mode } = rights;
            let distrust = |why| Err(Distrust { path: path.to_owned(), why });
            if ![0, self.user, self.root].contains(&owner) {
                return distrust(Why::Owner { owner, user: self.user });
            }
            let others = mode & OTHERS_WRITE != 0;
            let writable = others || mode & GROUP_WRITES != 0 && !(self.private)(group);
            // Where root has no number of its own, strangers have the same one.
            let sticky = mode & STICKY != 0 && below.is_some_and(|owner| owner == 0 || owner == self.user);
            if writable && !(depth > 1 && sticky) {
                return distrust(Why::Writable { mode: mode & 0o7777 });
            }
            below = Some(owner);
        }
        Ok(())
    }
}

/// The file's path without symbolic links, if nobody but root and this user can change what is
/// there.
pub(super) fn trusted(path: &Path) -> std::io::Result<Result<PathBuf, Distrust>> {
    let real = path.canonicalize()?;
    let rights = |path: &Path| {
        let m = path.symlink_metadata()?;
        std::io::Result::Ok(Rights { owner: m.uid(), group: m.gid(), mode: m.mode() })
    };
    let mut chain = Vec::new();
    for place in real.ancestors() {
        chain.push((place, rights(place)?));
    }
    // SAFETY: reads a number of the process.
    let user = unsafe { libc::geteuid() };
    let root = chain.last().map_or(0, |(_, rights)| rights.owner);
    let judge = Judge { user, root, private: &|group| is_private(user, group) };
    Ok(match judge.judge(chain.into_iter()) {
        Ok(()) => Ok(real),
        Err(why) => Err(why),
    })
}

/// Whether a group is the user's own: their first group, of their name, and without other members.
/// Many systems give every user such a group, and then let new files be writable by it.
fn is_private(user: u32, group: u32) -> bool {
    let mut space = vec![0u8; 1 << 14];
    // SAFETY: all zero bytes are a valid record.
    let mut record: libc::passwd = unsafe { std::mem::zeroed() };
    let mut found = std::ptr::null_mut();
    // SAFETY: the record, the space of that length and the place for the answer are valid for the
    // call.
    let failed = unsafe {
        libc::getpwuid_r(user, &mut record, space.as_mut_ptr().cast(), space.len(), &mut found) != 0
    };
    if failed || found.is_null() || record.pw_gid != group || user == 0 {
        return false;
    }
    // SAFETY: the call has put a NUL-terminated name into the space.
    let name = unsafe { CStr::from_ptr(record.pw_name) }.to_owned();
    // SAFETY: all zero bytes are a valid record.
    let mut record: libc::group = unsafe { std::mem::zeroed() };
    let mut found = std::ptr::null_mut();
    // SAFETY: the record, the space of that length and the place for the answer are valid for the
    // call.
    let failed = unsafe {
        libc::getgrgid_r(group, &mut record, space.as_mut_ptr().cast(), space.len(), &mut found) != 0
    };
    // SAFETY: the call has put a NUL-terminated name into the space.
    if failed || found.is_null() || unsafe { CStr::from_ptr(record.gr_name) } != name.as_c_str() {
        return false;
    }
    let mut member = record.gr_mem;
    loop {
        // SAFETY: the list of members ends with a null pointer, before which the loop ends.
        let text = unsafe { *member };
        if text.is_null() {
            return true;
        }
        // SAFETY: entries before the end are NUL-terminated names.
        if unsafe { CStr::from_ptr(text) } != name.as_c_str() {
            return false;
        }
        // SAFETY: this entry was not the end.
        member = unsafe { member.add(1) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ME: u32 = 1000;

    /// Judges a file and its folders, each given as owner and mode; the mode of what is wrong.
    fn judged(root: u32, private: bool, chain: &[(u32, u32)]) -> Result<(), (usize, Why)> {
        let names: Vec<PathBuf> = (0..chain.len()).map(|i| i.to_string().into()).collect();
        let rights = chain.iter().map(|&(owner, mode)| Rights { owner, group: 7, mode });
        let judge = Judge { user: ME, root, private: &|_| private };
        judge
            .judge(names.iter().map(PathBuf::as_path).zip(rights))
            .map_err(|d| (names.iter().position(|n| *n == d.path).expect("one of them"), d.why))
    }

    #[test]
    fn files_of_root_and_of_the_user_are_trusted() {
        assert_eq!(judged(0, false, &[(0, 0o755), (0, 0o755), (0, 0o755)]), Ok(()));
        assert_eq!(judged(0, false, &[(ME, 0o600), (ME, 0o700), (0, 0o755)]), Ok(()));
    }

    #[test]
    fn another_users_file_or_folder_is_not() {
        let stranger = Why::Owner { owner: 1001, user: ME };
        assert_eq!(judged(0, false, &[(1001, 0o755), (ME, 0o755)]), Err((0, stranger)));
        assert_eq!(judged(0, false, &[(ME, 0o755), (1001, 0o755)]), Err((1, stranger)));
        assert_eq!(judged(0, false, &[(ME, 0o755), (0, 0o755), (1001, 0o755)]), Err((2, stranger)));
    }

    #[test]
    fn what_others_can_write_is_not() {
        for mode in [0o757, 0o775, 0o777] {
            let why = Why::Writable { mode };
            assert_eq!(judged(0, false, &[(ME, mode), (ME, 0o755)]), Err((0, why)));
            assert_eq!(judged(0, false, &[(ME, 0o755), (ME, mode)]), Err((1, why)));
            assert_eq!(judged(0, false, &[(ME, 0o755), (ME, 0o755), (0, mode)]), Err((2, why)));
        }
        assert_eq!(judged(0, true, &[(ME, 0o775), (ME, 0o775)]), Ok(()), "a group of the user alone");
        assert!(judged(0, true, &[(ME, 0o777), (ME, 0o775)]).is_err());
    }

    #[test]
    fn a_sticky_folder_is_allowed_above_the_plugins_own_only() {
        assert_eq!(judged(0, false, &[(ME, 0o755), (ME, 0o755), (0, 0o1777), (0, 0o755)]), Ok(()));
        let why = Why::Writable { mode: 0o1777 };
        assert_eq!(judged(0, false, &[(ME, 0o755), (0, 0o1777), (0, 0o755)]), Err((1, why)));
    }

    #[test]
    fn root_without_a_number_is_known_by_the_folder_of_all() {
        const NOBODY: u32 = 65534;
        assert_eq!(judged(NOBODY, false, &[(ME, 0o755), (ME, 0o755), (NOBODY, 0o755)]), Ok(()));
        // In /tmp, an owner without a number can be anybody.
        let chain = [(NOBODY, 0o755), (NOBODY, 0o755), (NOBODY, 0o1777), (NOBODY, 0o755)];
        assert_eq!(judged(NOBODY, false, &chain), Err((2, Why::Writable { mode: 0o1777 })));
    }

    #[test]
    fn the_sentences_say_what_to_do() {
        let path = PathBuf::from("/x");
        let text = Distrust { path: path.clone(), why: Why::Writable { mode: 0o777 } }.to_string();
        assert!(text.contains("/x has mode 0777") && text.contains("chmod go-w /x"), "{text}");
        let text = Distrust { path, why: Why::Owner { owner: 5, user: 6 } }.to_string();
        assert!(text.contains("/x belongs to user 5") && text.contains("user 6"), "{text}");
    }
}
