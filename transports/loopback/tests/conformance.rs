//! Loopback keeps the contract, linked and loaded.

lapis_conformance::conformance_tests!(alone: lapis_loopback::table(), "liblapis_loopback.so");
