//! The C interface of LAPI: liblapi_r.so.
