//! Tests that hold several formats to one oracle.

mod samples;
mod shown;
mod spans;
