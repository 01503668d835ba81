//! Tests that compare several formats with one oracle.

mod numbers;
mod samples;
mod shown;
mod spans;
