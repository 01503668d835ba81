//! Tests that compare several formats with one oracle.

mod long_beginnings;
mod numbers;
mod samples;
mod shown;
mod spans;
