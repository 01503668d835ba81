//! Longspan: a viewer for trace timelines of a billion spans.
pub mod base;
pub mod formats;
pub mod ingest;
pub mod model;
pub mod query;
pub mod store;
pub mod synth;
