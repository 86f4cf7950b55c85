//! A context of a job of two tasks whose other one is played by a test, over a wire between packet
//! engines.

use crate::Context;
use crate::HandlerId;
use crate::bootstrap::{Bootstrap, BootstrapError, JobInfo, Origin};
use crate::context::{ContextBuilder, RemoteMemory};
use crate::datagrams::Datagrams;
use crate::datagrams::tests as wire;
use crate::error::Error;
use crate::handlers::Delivery;
use crate::message::packet::tests::own;
use crate::stats::Path;
use crate::transport::abi::TransportOps;
use crate::transport::{Link, PeerId};
use crate::wire::{Encoded, Header, Kind};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

/// The other task.
pub(crate) const PEER: PeerId = 1;

/// Task 0, and task 1's end of the wire.
pub(crate) fn pair() -> (Context, Link, Datagrams) {
    let context = context_over(wire::table());
    let (link, far) = wire::end_of(1, 1, None);
    (context, link, far)
}

/// The same where the program tells the addresses.
pub(crate) fn pair_of_told_addresses() -> (Context, Link, Datagrams) {
    let at = SocketAddr::from((Ipv4Addr::LOCALHOST, 9));
    let context = builder_over(wire::table()).addresses(vec![vec![at]; 2]).init().unwrap();
    let (link, far) = wire::end_of(1, 1, None);
    (context, link, far)
}

/// Task 0, whose way to task 1 is this transport.
pub(crate) fn context_over(transport: &'static TransportOps) -> Context {
    builder_over(transport).init().unwrap()
}

fn builder_over(transport: &'static TransportOps) -> ContextBuilder {
    let job =
        JobInfo { id: "j".into(), secret: [7; 32], origin: Origin::Launcher, local_tasks: Some(vec![0, 1]) };
    Context::builder()
        .environment(crate::config::Environment::default())
        .bootstrap(Box::new(Two(job)))
        .transport(own())
        .transport(transport)
        .interrupts(false)
}

/// Handles a packet as one that has come from the other task.
pub(crate) fn bring(context: &Context, header: Header) {
    let mut packet = Encoded::new();
    let len = header.encode(&mut packet);
    let mut locked = context.locked();
    locked.dispatching += 1;
    locked.packet_of_present(Path::Network, PEER, packet.bytes(len));
    locked.dispatching -= 1;
}

#[test]
fn a_handler_in_line_gets_an_error_where_a_call_would_wait_and_sends_a_copy_of_data() {
    let (context, _link, _far) = pair();
    let (tell, told) = std::sync::mpsc::channel();
    context
        .set_handler(HandlerId(1), move |context, _| {
            let far = RemoteMemory { task: PEER, addr: 64, len: 8 };
            tell.send(context.get_bytes(far, &mut [0; 8])).unwrap();
            tell.send(context.fetch_add(far, 1).map(|_| ())).unwrap();
            let data = vec![7; 8 << 20];
            assert!(context.send(PEER, HandlerId(2), &[], &data).is_ok());
            let far = RemoteMemory { len: data.len() as u64, ..far };
            assert!(context.put_bytes(far, &data[..8]).is_ok() && context.put_bytes(far, &data).is_ok());
            Delivery::bury()
        })
        .unwrap();
    bring(&context, Header::new(Kind::Am, 0, 1));
    let outcomes: Vec<_> = told.try_iter().collect();
    assert_eq!(outcomes.len(), 2, "the handler has run");
    for outcome in outcomes {
        assert!(matches!(outcome, Err(Error::NotAllowed { .. })), "{outcome:?}");
    }
    assert_eq!(context.locked().sending.copies, 2, "the long ones go out later");
    // Nobody takes it.
    context.purge(PEER).unwrap();
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
