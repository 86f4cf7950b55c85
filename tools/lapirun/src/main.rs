//! Starts the tasks of a Lapis job.
fn main() {}
