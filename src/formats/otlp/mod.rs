//! OpenTelemetry's traces: requests to export them as JSON, one a line or one for the whole file, or as protobuf.
//!
//! These spans have no threads, and they come in the order of their ends. A service is a process here, and
//! `layout` puts its spans on rows by their parents. A span goes below its parent wherever it fits there, else on
//! the first free row with an arrow from its parent. `json` and `proto` read the two encodings, `console` what
//! exporters print for people, `attributes` writes the attributes of spans, and `received` makes streams of requests
//! that come over HTTP.

mod attributes;
mod console;
pub(crate) mod fields;
mod ids;
pub(crate) mod json;
pub(crate) mod layout;
pub(crate) mod proto;
pub(crate) mod received;

#[cfg(test)]
mod tests;
