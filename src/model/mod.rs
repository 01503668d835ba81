//! The data model of a trace, independent of its format: events in chunks, names, stacks, tracks, arguments, losses. It
//! does no I/O.

pub(crate) mod args;
pub(crate) mod chunk;
pub(crate) mod counter_unit;
pub(crate) mod event;
pub(crate) mod facts;
pub(crate) mod frame_sources;
mod group_names;
mod group_path;
mod id;
pub(crate) mod key_texts;
pub(crate) mod loss;
pub(crate) mod modules;
pub(crate) mod names;
pub(crate) mod registry;
pub(crate) mod sample_measure;
mod shared_texts;
pub(crate) mod short_name;
pub(crate) mod sources;
pub(crate) mod stacks;
mod texts;
mod track_set;
pub(crate) mod tracks;
pub(crate) mod unwind;

pub(crate) use args::Details;
pub(crate) use chunk::{Batch, Chunk};
pub(crate) use event::{Event, EventFlags, EventKind, Payload};
pub(crate) use group_path::{GROUP_LEVELS_MAX, GroupPath, PATH_SEPARATOR};
pub(crate) use loss::{Loss, LossValue, Losses, Lost, Severity, SourcePos};
pub(crate) use modules::{BuildId, Module, ModuleKind};
pub(crate) use names::{NameIdx, NameRow, Names};
pub(crate) use registry::Registry;
pub(crate) use sample_measure::{SampleEvent, SampleEvents, SampleMeasure, SampleSum, WeightUnit};
pub(crate) use sources::{Input, SourceFile, Sources};
pub(crate) use stacks::{StackIdx, StackRow, Stacks};
pub(crate) use texts::{StrIdx, TextSpill};
pub(crate) use track_set::TrackSet;
pub(crate) use tracks::{
    Id, Metadata, OF_THREAD, Process, ProcessIdx, Track, TrackIdx, TrackKey, TrackKind, TrackTables,
};
