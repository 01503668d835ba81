//! The parts of the crate that its tests, benches and fuzz targets drive: every other item is private to the crate.
//!
//! The modules mirror those of the crate. Nothing here is an interface for other programs.

#![expect(missing_docs, reason = "items are documented where they are defined")]

#[cfg(feature = "window")]
pub mod app {
    pub use crate::app::AppOptions;
    pub mod picture {
        pub use crate::app::picture::{PictureOptions, render};
    }
    pub mod preferences {
        pub use crate::app::preferences::{Folders, Preferences};
    }
    pub mod state {
        pub use crate::app::state::App;
    }
    pub mod event {
        pub use crate::app::event::TaskEvent;
    }
}
pub mod base {
    pub mod budget {
        pub use crate::base::budget::{Budget, Memory};
    }
    pub mod cancel {
        pub use crate::base::cancel::Cancel;
    }
    pub mod disk {
        pub use crate::base::disk::{Disk, SystemDisk};
    }
    pub mod escape {
        pub use crate::base::escape::is_control;
    }
    pub mod progress {
        pub use crate::base::progress::Progress;
    }
}
pub mod cli {
    pub use crate::cli::problem_of;
}
pub mod export {
    pub use crate::export::format::ExportFormat;
    pub use crate::export::{ExportError, ExportOptions, ExportReport, export};
}
pub mod formats {
    pub use crate::formats::error::ReadError;
    pub use crate::formats::reader::{
        BatchSink, ChunkHead, ChunkLimits, ChunkSource, ChunkedTrace, ReadContext, Reader,
    };
    pub mod sniff {
        pub use crate::formats::format::Format;
        pub use crate::formats::sniff::{FORMATS, format_of, open, open_as};
    }
    pub mod native {
        pub mod read {
            pub use crate::formats::native::read::open;
        }
        pub mod columns {
            pub use crate::formats::native::columns::{decode, encode};
        }
        pub mod stacks {
            pub use crate::formats::native::stacks::StacksPatch;
        }
        pub mod tables {
            pub use crate::formats::native::tables::{TablesPatch, TablesRead};
        }
        pub mod wire {
            pub use crate::formats::native::wire::{ChunkHeader, ChunkKind, DirectoryEntry, FileHeader};
        }
        pub mod write {
            pub use crate::formats::native::write::NativeWriter;
        }
    }
    pub mod source {
        pub use crate::formats::input::source::{HEAD_BYTES, Source};
    }
}
pub mod frame {
    pub use crate::frame::{FrameOptions, RectBudget, build, lanes_in_view};
}
pub mod ingest {
    pub use crate::ingest::load::{CachePolicy, Ledgers, LoadError, LoadOptions, Loaded};
    pub use crate::ingest::pipeline::{open, open_with_previews};
    pub mod heads {
        pub use crate::ingest::heads::{HeadTable, SortedRun};
        pub use crate::ingest::open_run::{OpenRun, Origin};
    }
    pub mod merge {
        pub use crate::ingest::merge::{MergeContext, merge};
    }
    pub mod nest {
        pub use crate::ingest::nest::Nester;
    }
    pub mod spill {
        pub use crate::ingest::spill::{BLOCK_EVENTS, SpillFile};
        pub use crate::ingest::spill_pool::SpilledRun;
    }
}
pub mod model {
    pub use crate::model::chunk::{Batch, Chunk};
    pub use crate::model::event::{Event, EventFlags, EventKind};
    pub use crate::model::loss::{Loss, Losses, Lost};
    pub use crate::model::modules::{BuildId, Module, ModuleKind};
    pub use crate::model::names::{NameIdx, NameRow, Names};
    pub use crate::model::registry::Registry;
    pub use crate::model::sources::Sources;
    pub use crate::model::stacks::{StackIdx, Stacks};
    pub use crate::model::tracks::{Id, Metadata, ProcessIdx, TrackIdx, TrackKey, TrackKind};
    pub mod args {
        pub use crate::model::args::Detail;
    }
}
pub mod query {
    pub use crate::query::buckets::{Buckets, Cell};
    pub use crate::query::snapshot::Snapshot;
    pub mod cursor {
        pub use crate::query::cursor::LaneCursor;
    }
    pub mod describe {
        pub use crate::query::describe::describe;
    }
    pub mod filter {
        pub use crate::query::filter::{Filter, Term, Test};
    }
    pub mod filtered {
        pub use crate::query::filtered::longest;
    }
    pub mod groups {
        pub use crate::query::groups::{GroupBy, NameKey, OwnerKey, UnknownKey};
    }
    pub mod hit_count {
        pub use crate::query::hit_count::{HitCount, count};
    }
    pub mod longest {
        pub use crate::query::longest::{LongestSpans, LongestWork, longest};
    }
    pub mod matcher {
        pub use crate::query::matcher::Matcher;
    }
    pub mod pick {
        pub use crate::query::pick::row_at;
    }
    pub mod pixels {
        pub use crate::query::pixels::{counter, longest, longest_from_forest, longest_in_order};
    }
    pub mod rows {
        pub use crate::query::rows::{SortedRow, SortedRows};
    }
    pub mod sample_table {
        pub use crate::query::sample_table::{SampleBy, SampleTable};
    }
    pub mod scope {
        pub use crate::query::scope::{Scope, TrackChoice};
    }
    pub mod search {
        pub use crate::query::search::search;
    }
    pub mod stacks {
        pub use crate::query::stacks::{CallPaths, from_samples, from_spans, sweep_spans};
    }
    pub mod totals {
        pub use crate::query::totals::{GrowingTotals, Totals, TotalsWork, add_up, sum_up};
    }
}
#[cfg(feature = "window")]
pub mod render {
    pub mod readback {
        pub use crate::render::readback::Pixels;
    }
}
pub mod scene {
    pub mod color {
        pub use crate::scene::color::Shade;
    }
    pub mod palette {
        pub use crate::scene::palette::{ColorBy, Colors, Hues, Palette};
    }
    pub mod rows {
        pub use crate::query::track_groups::{GroupId, TrackGroup};
        pub use crate::scene::rows::{Folded, RowHeights, RowLayout, TrackRows};
    }
    pub mod viewport {
        pub use crate::scene::viewport::Viewport;
    }
}
pub mod symbols {
    pub use crate::symbols::below::{instructions_below, names_below, unwound_below};
}
pub mod store {
    pub use crate::store::block::Row;
    pub use crate::store::format::{LoadStats, Meta, Summary};
    pub use crate::store::lane::{DetailRef, LaneIdx, LaneKind, RowIdx};
    pub use crate::store::read::Store;
    pub use crate::store::writer::StoreWriter;
    pub mod block {
        pub use crate::store::block::{BLOCK_ROWS, Block, Row, encode};
    }
    pub mod cache {
        pub use crate::store::cache::Cache;
    }
    pub mod carried {
        pub use crate::store::carried::CarriedStore;
    }
    pub mod details {
        pub use crate::store::details::DetailReader;
    }
    pub mod flow {
        pub use crate::store::flow::{FlowPoint, FlowRole};
    }
    pub mod iforest {
        pub use crate::store::iforest::{LongestNs, push, range};
    }
}
pub mod synth {
    pub use crate::synth::{Synth, SynthOptions};
    pub mod write {
        pub use crate::synth::write::{write_chrome_json, write_native, write_perfetto};
    }
}
pub mod tiles {
    pub use crate::tiles::Tiles;
}
#[cfg(feature = "window")]
pub mod ui {
    pub mod settings {
        pub use crate::ui::settings::Navigation;
    }
    pub mod theme {
        pub use crate::ui::theme::Theme;
    }
    pub mod timeline {
        pub use crate::ui::timeline::state::Timeline;
        pub mod saved {
            pub use crate::ui::timeline::saved::SavedTimeline;
        }
    }
}
