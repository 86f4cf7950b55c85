//! The launcher of Lapis jobs: starts the tasks, serves their key-value store, and ends them all
//! together.
//!
//! Three commands share it: `lapirun`, `poe` for scripts written for IBM's Parallel Operating
//! Environment, and `acprun` for programs that use Advanced Communication Primitives.
//!
//! # Processes
//!
//! Every task is the leader of a process group of its own. So one `kill` reaches a task with all it
//! has started, and ^C at the terminal reaches the launcher alone, which passes it on exactly once.
//! (A task in the launcher's own group would get ^C twice, and could not be told apart from its
//! neighbours.) A guard process waits for the launcher's death and then kills the groups; tasks
//! also ask the kernel for SIGKILL at the launcher's death. Exited tasks are left unreaped until
//! the end, so that their group numbers cannot be given to others meanwhile.
//!
//! On other machines one agent each (`lapirun --agent`, through ssh or any command that takes a
//! host) starts the tasks in the same way and ends them when its input ends. The launcher starts
//! the agents of up to 32 machines itself; with more, agents start the others, in a tree, and hand
//! on what is said between them and the launcher.

pub mod acprun;
pub mod cli;
pub mod poe;

mod agent;
mod allocation;
mod bind;
mod causes;
mod fault;
mod guard;
mod hosts;
mod input;
mod job;
mod launch;
mod output;
mod remote;
mod rollcall;
mod running;
mod signals;
mod spawn;
mod tree;
mod windows;
mod wire;

pub use fault::Fault;
pub use hosts::Host;
pub use job::{Binding, Input, JobSpec, Output, Part};
pub use launch::run;
