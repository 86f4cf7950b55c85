//! How `libgm.so` is linked.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    lapis_linking::library("libgm.so", 1);
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux") {
        // A thread and hooks of the process's end stay, whoever unloads the library.
        lapis_linking::argument("-Wl,-z,nodelete");
    }
}
