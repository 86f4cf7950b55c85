//! The conformance suite every Lapis transport passes.
