//! RDMA keeps the contract over providers that every machine has, linked and loaded.

use lapis_conformance::Options;

/// Sockets of the loopback interface.
const TCP: Options = &[("LAPIS_RDMA_PROVIDER", "tcp;ofi_rxm"), ("LAPIS_RDMA_ADDR", "127.0.0.1")];

mod tcp {
    lapis_conformance::conformance_tests!(
        together: lapis_rdma::table(), "liblapis_rdma.so", options: crate::TCP
    );
}
