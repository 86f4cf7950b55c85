//! How the C libraries are linked, for their build scripts, by which Cargo is told.

use std::path::Path;

/// The library is linked as `name` with its major version, as in `libacp.so.1`. Programs record
/// this name: a library whose interface changes incompatibly gets another one, and both can be
/// installed.
///
/// Only Linux's linkers are told.
pub fn library(name: &str, major: u32) {
    let soname = format!("{name}.{major}");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux") {
        argument(&format!("-Wl,-soname,{soname}"));
        // What the crates below export for their own cdylibs is none of this library's interface.
        argument("-Wl,--exclude-libs,ALL");
        // Calls into the library find their symbols at load time, so the first call of each costs
        // no more than the others.
        argument("-Wl,-z,now");
    }
    link_by_soname(name, &soname);
}

/// One more argument of the library's linker.
pub fn argument(text: &str) {
    println!("cargo::rustc-cdylib-link-arg={text}");
}

/// Programs that are linked against Cargo's output directory look for the soname there when they
/// start; Cargo makes no such link.
fn link_by_soname(name: &str, soname: &str) {
    let Ok(out) = std::env::var("OUT_DIR") else { return };
    // <target>/<profile>/build/<package>/out
    let Some(profile) = Path::new(&out).ancestors().nth(3) else { return };
    for dir in [profile.to_owned(), profile.join("deps")] {
        // A failure shows when a program is started, with the linker's own words.
        let _ = std::os::unix::fs::symlink(name, dir.join(soname));
    }
}
