//! The transport's declaration: its cost, when it is used, its variables.
//!
//! Looking for an adapter takes milliseconds at each start, so it is used only if user space is
//! requested.

use lapis_core::config::{Group, Kind, Variable};
use lapis_core::error::LapiCode;
use lapis_core::transport::{Declaration, Usage};

/// What core and `lapis-info` read.
pub(crate) const DECLARATION: Declaration = Declaration {
    cost_ns: 2_000,
    usage: Usage::UserSpace,
    variables: &[PROVIDER, DOMAIN, ADDRESS, DESCRIPTOR],
};

/// Which provider of libfabric.
pub(crate) const PROVIDER: Variable = Variable {
    name: "LAPIS_RDMA_PROVIDER",
    group: Group::Transport("rdma"),
    kind: Kind::Text,
    default: None,
    help: "libfabric's name of the provider to use, such as verbs or tcp;ofi_rxm",
    more: "Never replaced by another. Without it, the best provider that drives an adapter of this \
           machine is used. The same for all tasks.",
    source: "Lapis",
    code: LapiCode::ERR_SET_VAL,
};

/// Which device.
pub(crate) const DOMAIN: Variable = Variable {
    name: "LAPIS_RDMA_DOMAIN",
    help: "The device to use, as libfabric names it, such as mlx5_0, rxe0 or lo",
    more: "Without it, the nearest device (by the memory node of the processors that the task may use, then by PCI \
           bridges) of the network that libfabric lists first. Several, up to eight and with commas in between, are one \
           rail each.",
    ..PROVIDER
};

/// Which interface.
pub(crate) const ADDRESS: Variable = Variable {
    name: "LAPIS_RDMA_ADDR",
    help: "An address or name of this host, whose interface is to be used",
    more: "Several, up to eight and with commas in between, are one rail each.",
    ..PROVIDER
};

/// Whether there is a descriptor to sleep on.
pub(crate) const DESCRIPTOR: Variable = Variable {
    name: "LAPIS_RDMA_DESCRIPTOR",
    kind: Kind::Words("yes|no"),
    default: Some("yes"),
    help: "Whether waits that sleep do so on libfabric's descriptor, and not for a millisecond at a time",
    more: "Over tcp;ofi_rxm of libfabric before 1.18 the descriptor makes each message and put slower, asleep or \
           not; later ones hardly. Say no where waits are short and cores are not shared.",
    ..PROVIDER
};
