//! OpenTelemetry traces: export requests as JSON, per line or as one document, or as protobuf.
//!
//! These spans have no threads, and arrive in order of their ends. Each service becomes a process, and `layout`
//! arranges its spans in rows. A span goes below its parent if it fits there, else on the first free row with a flow
//! from its parent. `json` and `proto` decode the two encodings, `console` the output of console exporters.
//! `attributes` writes span attributes, and `received` concatenates requests received over HTTP.

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
