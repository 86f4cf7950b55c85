//! How `libgm.so` is linked.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux") {
        // Programs record this name: a library whose interface changes incompatibly gets another
        // one.
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libgm.so.1");
        println!("cargo::rustc-cdylib-link-arg=-Wl,--exclude-libs,ALL");
        println!("cargo::rustc-cdylib-link-arg=-Wl,-z,now");
        // A thread and hooks of the process's end stay, whoever unloads the library.
        println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
    link_by_soname();
}

/// Programs that are linked against Cargo's output directory look for the soname there when they
/// start.
fn link_by_soname() {
    let Ok(out) = std::env::var("OUT_DIR") else { return };
    // <target>/<profile>/build/<package>/out
    let Some(profile) = std::path::Path::new(&out).ancestors().nth(3) else { return };
    for dir in [profile.to_owned(), profile.join("deps")] {
        // A failure shows when a program is started, with the linker's own words.
        let _ = std::os::unix::fs::symlink("libgm.so", dir.join("libgm.so.1"));
    }
}
