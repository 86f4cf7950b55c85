//! Data gather/scatter programs.
