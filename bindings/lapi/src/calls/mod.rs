//! The subroutines, one function each: `LAPI_Put` is [`put`].
//!
//! They check, translate and call core. What the guide wants checked on every call is cheap and
//! always checked where a violation would otherwise crash; scans and checks that cost something
//! wait for ERROR_CHK.

mod addresses;
mod amsend;
pub(crate) mod attention;
mod attributes;
mod condition;
mod counters;
mod dgsp;
mod init;
mod lock;
mod misc;
mod recovery;
mod rmw;
mod statistics;
mod transfer;
mod udp;
mod util;
mod vectors;
pub(crate) mod watches;
mod xfer;

pub(crate) use addresses::{addr_get, addr_set, address, address_init, address_init64};
pub(crate) use amsend::amsend;
pub(crate) use attributes::{qenv, senv};
pub(crate) use counters::{getcntr, setcntr, waitcntr};
pub(crate) use init::{init, term};
pub(crate) use misc::{fence, gfence, msg_string, msgpoll, probe};
pub(crate) use recovery::{nopoll_wait, purge_totask, resume_totask, setcntr_wstatus};
pub(crate) use rmw::{rmw, rmw64};
pub(crate) use transfer::{get, put};
pub(crate) use util::util;
pub(crate) use vectors::{amsendv, getv, putv};
pub(crate) use xfer::xfer;
