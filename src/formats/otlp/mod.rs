//! OpenTelemetry traces: export requests as JSON, per line or as one document, or as protobuf.
//!
//! These spans have no threads, and arrive in order of their ends. Each service becomes a process, and `layout`
//! arranges its spans in rows. A span goes below its parent if it fits there, else on the first free row, with a flow
//! from its parent. `json` and `proto` read files of requests, `sized` requests with their sizes, and `logged` requests
//! in the log of a program; `json_request`, with its `json_messages`, and `proto_request` decode them, and
//! `cut_line` closes a request that was cut. `console` reads the output of console exporters. `attributes` writes
//! attributes, `span_order` sorts spans, `services` names processes, `traces` names traces, and `received`
//! concatenates requests received over HTTP.

mod attributes;
mod console;
mod cut_line;
pub(crate) mod fields;
mod ids;
pub(crate) mod json;
mod json_lines;
mod json_messages;
mod json_request;
pub(crate) mod layout;
mod links;
mod logged;
pub(crate) mod proto;
mod proto_request;
pub(crate) mod received;
pub(crate) mod services;
mod sized;
mod span_order;
mod traces;

#[cfg(test)]
mod tests;
