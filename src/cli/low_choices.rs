//! The values of enumerated options: file formats, and the appearance of pictures. See [`super::low_args`].

use clap::ValueEnum;

use crate::model::{TrackKind, WeightUnit};

/// The file format of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum LowRowFormat {
    /// Comma-separated, quoted as in RFC 4180, with a header line
    Csv,
    /// One JSON object per line
    #[value(alias = "json")]
    Jsonl,
}

/// The kind of a track.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum LowTrackKind {
    /// Spans, instants and samples of threads
    Thread,
    /// Scheduler states of threads
    State,
    /// Threads that run on each CPU
    Cpu,
    /// Async spans
    Async,
    /// Counters
    Counter,
    /// Events of a whole process
    Process,
    /// Events of the whole trace
    Global,
}

impl LowTrackKind {
    pub(super) fn kind(self) -> TrackKind {
        match self {
            Self::Thread => TrackKind::Thread,
            Self::State => TrackKind::State,
            Self::Cpu => TrackKind::Cpu,
            Self::Async => TrackKind::Async,
            Self::Counter => TrackKind::Counter,
            Self::Process => TrackKind::Process,
            Self::Global => TrackKind::Global,
        }
    }
}

/// The file format of a flame graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum LowFlameFormat {
    /// One line per path, for flame graph tools: `outer;inner weight`
    Folded,
    /// An image for browsers
    Svg,
    /// One JSON object with the nodes of the tree
    Json,
    /// A compressed pprof profile
    Pprof,
}

/// A format that files are written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum LowFormat {
    /// Longspan's own: chunked, compressed, indexed
    Native,
    /// Chrome trace JSON; compressed if the file's name ends in .gz
    Chrome,
    /// Perfetto's protobuf
    Perfetto,
    /// Samples only, as a compressed pprof profile
    Pprof,
    /// Spans only, as comma-separated text
    Csv,
    #[value(
        help = "A folder of tables for DuckDB, Spark and the like: spans, instants, counters, samples, stacks, flows, \
            tracks, losses"
    )]
    Parquet,
}

/// The theme, dark or light.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(super) enum LowTheme {
    #[default]
    Dark,
    Light,
    /// The setting of the desktop; dark if there is none
    System,
}

/// The property that gives spans their colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(super) enum LowColorBy {
    #[default]
    Name,
    Category,
    Thread,
    Duration,
}

/// The set of colours of the spans.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(super) enum LowHues {
    #[default]
    Usual,
    Colorblind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum LowUnit {
    Ns,
    Us,
    Ms,
    S,
    Bytes,
    Count,
}

impl LowUnit {
    pub(super) fn weight_unit(self) -> WeightUnit {
        match self {
            Self::Ns => WeightUnit::Nanoseconds,
            Self::Us => WeightUnit::Microseconds,
            Self::Ms => WeightUnit::Milliseconds,
            Self::S => WeightUnit::Seconds,
            Self::Bytes => WeightUnit::Bytes,
            Self::Count => WeightUnit::Count,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copied_commands_name_a_unit_as_the_option_does() {
        for unit in LowUnit::value_variants() {
            assert_eq!(unit.to_possible_value().unwrap().get_name(), unit.weight_unit().option());
        }
    }
}
