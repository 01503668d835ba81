//! What a capture is made of, whatever its format: events in chunks, names, stacks, tracks, arguments, losses. No input, no output.

pub mod args;
pub mod chunk;
pub mod event;
pub mod loss;
pub mod names;
pub mod sources;
pub mod stacks;
mod texts;
pub mod tracks;

pub use args::Details;
pub use chunk::{Batch, Chunk};
pub use event::{Event, EventFlags, EventKind};
pub use loss::{Loss, LossEntry, Losses, Lost, Place};
pub use names::{Category, NameIdx, NameRow, Names, StrIdx};
pub use sources::{SourceFile, Sources};
pub use stacks::{StackIdx, StackRow, Stacks};
pub use tracks::{Id, Metadata, Process, ProcessIdx, Registry, Track, TrackIdx, TrackKey, TrackKind, TrackTables};
