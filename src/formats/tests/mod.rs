//! Tests that compare several formats with one oracle.

mod byte_order_marks;
mod failures;
mod long_beginnings;
mod numbers;
mod samples;
mod shown;
mod spans;
