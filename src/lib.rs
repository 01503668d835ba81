//! Longspan: a viewer for traces of up to a billion spans.
#![doc = include_str!("../docs/architecture.md")]
#![cfg_attr(
    not(feature = "window"),
    expect(dead_code, unreachable_pub, unused_imports, reason = "only the window uses the rest")
)]

#[cfg(feature = "window")]
mod app;
mod base;
mod cli;
mod export;
pub mod facade;
mod formats;
mod frame;
mod ingest;
mod live;
mod model;
mod query;
#[cfg(feature = "window")]
mod render;
mod scene;
mod store;
mod symbols;
mod synth;
mod tiles;
#[cfg(feature = "window")]
mod ui;

pub use cli::run;
