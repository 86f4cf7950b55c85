//! How `libacp.so` is linked.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    lapis_linking::library("libacp.so", 1);
}
