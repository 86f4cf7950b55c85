//! How `libqnix.so` is linked.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    lapis_linking::library("libqnix.so", 1);
}
