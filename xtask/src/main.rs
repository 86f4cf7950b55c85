//! Developer commands of Lapis: `cargo xtask <command>`.
fn main() {}
