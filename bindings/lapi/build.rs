//! How `liblapi_r.so` is linked.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let linux = std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux");
    if linux {
        // Programs record this name: a library whose interface changes incompatibly gets another one, and both can be
        // installed.
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,liblapi_r.so.1");
        // What the crates below export for their own cdylibs is none of this library's interface.
        println!("cargo::rustc-cdylib-link-arg=-Wl,--exclude-libs,ALL");
        // Calls into the library find their symbols at load time, so the first call of each costs no more than the others.
        println!("cargo::rustc-cdylib-link-arg=-Wl,-z,now");
        version_symbols();
    }
    link_by_soname();
    let profile = std::env::var("PROFILE").unwrap_or_default();
    let target = std::env::var("TARGET").unwrap_or_default();
    println!("cargo::rustc-env=BUILD_OF_LAPIS={profile}, {target}");
}

/// Gives every symbol the soname as its version, so that a program which finds a library of another major says so when it
/// starts. The version script that the compiler passes is anonymous, and linkers refuse one with names beside it; GNU ld has
/// an option that needs no script. Without that linker the symbols have no versions, and everything else is the same.
fn version_symbols() {
    let path = std::env::var_os("PATH").unwrap_or_default();
    if std::env::split_paths(&path).any(|dir| dir.join("ld.bfd").is_file()) {
        println!("cargo::rustc-cdylib-link-arg=-fuse-ld=bfd");
        println!("cargo::rustc-cdylib-link-arg=-Wl,--default-symver");
    } else {
        println!("cargo::warning=no ld.bfd: the symbols of liblapi_r.so get no versions");
    }
}

/// Programs that are linked against Cargo's output directory look for the soname there when they start; Cargo makes no such
/// link.
fn link_by_soname() {
    let Ok(out) = std::env::var("OUT_DIR") else { return };
    // <target>/<profile>/build/<package>/out
    let Some(profile) = std::path::Path::new(&out).ancestors().nth(3) else { return };
    for dir in [profile.to_owned(), profile.join("deps")] {
        // A failure shows when a program is started, with the linker's own words.
        let _ = std::os::unix::fs::symlink("liblapi_r.so", dir.join("liblapi_r.so.1"));
    }
}
