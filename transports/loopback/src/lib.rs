//! The self transport of Lapis, and the template for others.
