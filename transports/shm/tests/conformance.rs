//! Shared memory keeps the contract, linked and loaded, among threads and among processes.

lapis_conformance::conformance_tests!(together: lapis_shm::table(), "liblapis_shm.so");
