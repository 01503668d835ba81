//! Tests that hold several formats to one oracle.

mod numbers;
mod samples;
mod shown;
mod spans;
