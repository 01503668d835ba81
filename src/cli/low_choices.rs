//! The values of enumerated options: file formats, and the appearance of pictures. See [`super::low_args`].

use clap::ValueEnum;

use crate::model::WeightUnit;

/// The file format of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum LowRowFormat {
    /// Comma-separated, quoted as in RFC 4180, with a header line
    Csv,
    /// One JSON object a line
    #[value(alias = "json")]
    Jsonl,
}

/// The file format of a flame graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum LowFlameFormat {
    /// A line for each path, for the tools of flame graphs: `outer;inner weight`
    Folded,
    /// A picture for browsers
    Svg,
    /// One JSON object with the nodes of the tree
    Json,
    /// A compressed profile of pprof
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
    /// The samples alone, as a compressed profile of pprof
    Pprof,
    /// The spans alone, as comma-separated text
    Csv,
    /// A folder of tables for `DuckDB`, Spark and the like: spans, instants, counters, flows, tracks, losses
    Parquet,
}

/// The theme, dark or light.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(super) enum LowTheme {
    #[default]
    Dark,
    Light,
    /// As the desktop is set; dark where there is none
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

/// The unit of weights.
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
