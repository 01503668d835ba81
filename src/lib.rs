//! Longspan: a viewer for trace timelines of a billion spans, and the engine under it.
//!
//! # The way of the data
//!
//! ```text
//! bytes -> formats -> chunks -> ingest -----> store -> query -> scene ---> tiles -> frame ---> render + ui -> app
//!          parse      min ts    merge, nest,  one      pixels,  pure      cache,   instances  wgpu, egui     window,
//!          in         in each   spill past    mapped   picks,   geometry  loader   to draw                   dialogs
//!          parallel   header    the budget    file     rows
//!                                                        `-> export (sorted native, Chrome JSON, Perfetto, CSV, Parquet)
//! ```
//!
//! One direction, no way back: a module imports only what stands to its left, and `tests/tidy` holds that with one
//! table of allowed imports, for modules and for packages.
//!
//! # The modules, in reading order
//!
//! | module | what it does |
//! |---|---|
//! | [`base`] | time, cancellation, progress, the memory budget, mapped files |
//! | [`model`] | what a capture is made of: events in chunks, names, tracks, arguments, losses |
//! | [`formats`] | recognises captures by their content, unpacks and reads them: a file or folder for each format |
//! | [`ingest`] | sorts without a sort pass, pairs, nests, and writes the store |
//! | [`store`] | the sorted result: one file of per-lane blocks and their indexes, mapped read-only |
//! | [`query`] | the longest span under each pixel, what is under a point, rows in time order, searches, totals, call paths |
//! | [`export`] | writes a store back as a sorted capture, or as tables |
//! | [`synth`] | generates captures like those of real programs, as large as wanted |
//! | [`scene`] | viewport, ruler, rows, rectangles, labels: numbers in, instances out |
//! | [`tiles`] | the cache of answers for a view, the threads that load them, summaries of processes and of the capture |
//! | [`frame`] | builds one picture of the canvas from a layout, a viewport and tiles |
//! | `render` | draws instances with the GPU, into the window or into a picture |
//! | `ui` | the panels: timeline, details, search, statistics, flame graph, settings; each returns commands |
//! | `app` | the window: tabs, background tasks, dialogs, preferences, and what the desktop asks |
//! | [`cli`] | the command line, over all of it |
//!
//! # What is deliberately absent
//!
//! - **No sort pass.** Captures are nearly sorted. Chunks are merged by the smallest time in each, which is known
//!   without reading the chunk; a chunk is loaded when its time has come and dropped when it is drained. When far strays
//!   keep too many open, their remainders are spilled, so memory is bounded by the budget whatever the input does.
//! - **No float holds a time.** Times are `i64` nanoseconds from the text of the capture to the pixel; only what is
//!   relative to the viewport becomes a float.
//! - **No overlap in a lane.** Spans that overlap without nesting take the next free lane: none is dropped, cut or
//!   hidden. Since the spans of a lane are disjoint, their ends are sorted too.
//! - **No silent loss.** What cannot be taken as it stands is an entry of [`model::Losses`], counted and located. An
//!   error ends a load only when the capture is unreadable as a whole, and names the file, the byte, what was expected
//!   and what was found.
//! - **No write through a map, and no map of a capture.** A published store is never changed; a capture may shrink while
//!   it is read, so it is read with `pread`.
//! - **No order that depends on the number of workers.** Readers number names and tracks within a batch; the ingest maps
//!   them in capture order.
//! - **No recording.** Captures are opened as others wrote them; a file that still grows is read as far as it reaches.
//! - **No panel that changes the store.** Panels return commands.
//! - **No geometry in the renderer or the panels.** It is in [`scene`] and [`frame`], tested without a window.
//! - **No `unsafe`** outside of [`base::mapped`].

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
mod model;
mod query;
#[cfg(feature = "window")]
mod render;
mod scene;
mod store;
mod synth;
mod tiles;
#[cfg(feature = "window")]
mod ui;

pub use cli::run;
