//! From what stands in the way of initialisation to errors with the guide's codes.

use crate::bootstrap;
use crate::error::Error;
use crate::transport::{Caps, Refusal, TransportError};

/// What is wrong when the tasks of a job can't find each other.
pub(super) fn boot_error(e: bootstrap::BootstrapError) -> Error {
    if let bootstrap::BootstrapError::MissingVariable { missing, remedy, .. } = e {
        return Error::MissingVariable { name: missing, remedy };
    }
    Error::Bootstrap {
        what: e.to_string(),
        source: std::error::Error::source(&e).map(|s| s.to_string().into()),
    }
}

/// What it means for the job that a transport which must be there doesn't open.
pub(super) fn not_opened(name: &str, caps: Caps, why: &Refusal) -> Error {
    let Refusal::Open(cause) = why else {
        return Error::TransportRefused { name: name.into(), reasons: vec![why.to_string()] };
    };
    if caps.contains(Caps::LOCAL_ONLY) {
        return Error::SharedMemory { what: format!("transport `{name}`: {cause}"), source: None };
    }
    match cause {
        TransportError::Unreachable(what) => Error::AdaptersDown { what: what.clone() },
        TransportError::Io(what) if caps.contains(Caps::DATAGRAM) => {
            Error::UdpSocket { what: what.clone(), source: None }
        }
        _ => Error::TransportRefused { name: name.into(), reasons: vec![why.to_string()] },
    }
}

/// What a transport that is open says.
pub(super) fn link_error(name: &str, e: &TransportError) -> Error {
    Error::Transport { transport: name.into(), what: e.to_string(), source: None }
}
