//! UDP keeps the contract as far as it concerns datagram transports, linked and loaded.

lapis_conformance::conformance_tests!(together: lapis_udp::table(), "liblapis_udp.so");
