//! The C interface of LAPI: liblapi_r.so.

pub mod abi;
