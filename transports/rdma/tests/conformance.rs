//! RDMA keeps the contract over providers that every machine has, linked and loaded.

use lapis_conformance::Options;

/// Sockets of the loopback interface.
const TCP: Options = &[("LAPIS_RDMA_PROVIDER", "tcp;ofi_rxm"), ("LAPIS_RDMA_ADDR", "127.0.0.1")];

mod tcp {
    lapis_conformance::conformance_tests!(
        together: lapis_rdma::table(), "liblapis_rdma.so", options: crate::TCP
    );
}

/// The same without a descriptor to sleep on.
const NAPS: Options = &[
    ("LAPIS_RDMA_PROVIDER", "tcp;ofi_rxm"),
    ("LAPIS_RDMA_ADDR", "127.0.0.1"),
    ("LAPIS_RDMA_DESCRIPTOR", "no"),
];

mod naps {
    lapis_conformance::conformance_tests!(together: lapis_rdma::table(), options: crate::NAPS);
}

/// Two rails of the loopback interface.
const RAILS: Options = &[("LAPIS_RDMA_PROVIDER", "tcp;ofi_rxm"), ("LAPIS_RDMA_ADDR", "127.0.0.1,127.0.0.2")];

mod rails {
    lapis_conformance::conformance_tests!(together: lapis_rdma::table(), options: crate::RAILS);
}

/// Memory that processes of one machine share. Not with several tasks in one process: libfabric
/// 1.17 keeps what it maps by process, and crashes when one of them closes while another sends.
const SHM: Options = &[("LAPIS_RDMA_PROVIDER", "shm")];

mod shm {
    lapis_conformance::conformance_tests!(processes: lapis_rdma::table(), options: crate::SHM);
}

/// Datagrams, made reliable by libfabric.
const RXD: Options = &[("LAPIS_RDMA_PROVIDER", "udp;ofi_rxd"), ("LAPIS_RDMA_ADDR", "127.0.0.1")];

mod rxd {
    lapis_conformance::conformance_tests!(together: lapis_rdma::table(), options: crate::RXD);
}

/// libfabric's first provider for machines without adapters, which has a thread of its own.
const SOCKETS: Options = &[("LAPIS_RDMA_PROVIDER", "sockets"), ("LAPIS_RDMA_ADDR", "127.0.0.1")];

mod sockets {
    lapis_conformance::conformance_tests!(processes: lapis_rdma::table(), options: crate::SOCKETS);
}
