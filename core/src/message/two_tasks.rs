//! A context of a job of two tasks whose other one is played by a test, over a wire between packet
//! engines.

use crate::Context;
use crate::bootstrap::{Bootstrap, BootstrapError, JobInfo, Origin};
use crate::datagrams::Datagrams;
use crate::datagrams::tests as wire;
use crate::message::packet::tests::own;
use crate::transport::Link;
use std::time::Duration;

/// Task 0, and task 1's end of the wire.
pub(crate) fn pair() -> (Context, Link, Datagrams) {
    let job =
        JobInfo { id: "j".into(), secret: [7; 32], origin: Origin::Launcher, local_tasks: Some(vec![0, 1]) };
    let context = Context::builder()
        .environment(crate::config::Environment::default())
        .bootstrap(Box::new(Two(job)))
        .transport(own())
        .transport(wire::table())
        .interrupts(false)
        .init()
        .unwrap();
    let (link, far) = wire::end_of(1, 1, None);
    (context, link, far)
}

/// A job of two tasks of which the other one, whose epoch is 1, is played by the test.
struct Two(JobInfo);

impl Bootstrap for Two {
    fn task(&self) -> u32 {
        0
    }

    fn tasks(&self) -> u32 {
        2
    }

    fn job(&self) -> &JobInfo {
        &self.0
    }

    fn context_number(&self) -> u32 {
        0
    }

    fn context(&self, _: u32) -> Result<Box<dyn Bootstrap>, BootstrapError> {
        unreachable!("there is one context")
    }

    fn put(&mut self, _: &str, _: &[u8]) -> Result<(), BootstrapError> {
        Ok(())
    }

    fn get(&mut self, _: &str, _: Duration) -> Result<Vec<u8>, BootstrapError> {
        Ok(Vec::new())
    }

    fn fence(&mut self, _: Duration) -> Result<(), BootstrapError> {
        Ok(())
    }

    fn exchange(&mut self, _: &str, card: &[u8], _: Duration) -> Result<Vec<Vec<u8>>, BootstrapError> {
        let mut other = card.to_vec();
        if let Some(at) = card.windows(5).position(|name| name == b"epoch") {
            // Behind the name and the value's length.
            other[at + 7..at + 11].copy_from_slice(&1u32.to_le_bytes());
        }
        Ok(vec![card.to_vec(), other])
    }

    fn abort(&mut self, _: i32, _: &str) -> Result<(), BootstrapError> {
        Ok(())
    }

    fn finalize(&mut self) -> Result<(), BootstrapError> {
        Ok(())
    }
}
