//! Writes a flame graph in one of its formats, to any output or to a file whose extension determines the format.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::folded::write_folded;
use super::json::write_json;
use super::pprof::write_pprof;
use super::svg::write_svg;
use super::{FlameGraph, FlameLimits};
use crate::export::error::{ExportError, check};
use crate::export::format::with_ending;
use crate::export::output::OutputFile;
use crate::model::Sources;
use crate::query::Snapshot;
use crate::query::flame::{FlamePicture, Measure};
use crate::query::samples::SampleSum;

/// The file format of a flame graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FlameFormat {
    /// A line per path, as `flamegraph.pl` and speedscope read it.
    Folded,
    Svg,
    Json,
    /// A compressed profile, which cannot be inverted.
    Pprof,
}

/// File extensions without the dot, each with its format. The first of a format is its default.
const ENDINGS: [(&str, FlameFormat); 5] = [
    ("folded", FlameFormat::Folded),
    ("svg", FlameFormat::Svg),
    ("json", FlameFormat::Json),
    ("pb.gz", FlameFormat::Pprof),
    ("pprof", FlameFormat::Pprof),
];

/// Error of a file name without an extension of a flame graph.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: flame graphs are written as .folded, .svg, .json, .pb.gz or .pprof: give a name with one of these extensions",
    path.display())]
pub(crate) struct NoFlameName {
    pub(crate) path: PathBuf,
}

impl FlameFormat {
    /// Returns the file and format for a name; a name without an extension gets the extension of folded stacks. Returns
    /// [`NoFlameName`] for any other extension.
    pub(crate) fn for_name(path: PathBuf) -> Result<(PathBuf, Self), NoFlameName> {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        let has_ending = |ending: &str| name.strip_suffix(ending).is_some_and(|stem| stem.ends_with('.'));
        match ENDINGS.iter().find(|(ending, _)| has_ending(ending)) {
            Some((_, format)) => Ok((path, *format)),
            None if path.extension().is_none() => Ok((with_ending(path, ENDINGS[0].0), ENDINGS[0].1)),
            None => Err(NoFlameName { path }),
        }
    }
}

/// A flame graph that can be written in the background. Clones are cheap.
#[derive(Debug, Clone)]
pub(crate) struct FlameSource {
    pub(crate) snapshot: Snapshot,
    pub(crate) picture: Arc<FlamePicture>,
    /// The sampled event; empty for spans, or if the trace does not name it.
    pub(crate) event: Box<str>,
    /// The unit of the weights.
    pub(crate) unit: Box<str>,
    /// Noun for the counted rows: spans or samples.
    pub(crate) things: &'static str,
    /// Maximum that a path may lack.
    pub(crate) missing: SampleSum,
    /// Whether each path starts with the innermost frame.
    pub(crate) is_inverted: bool,
}

impl FlameSource {
    /// Returns the graph with the measure of its picture.
    #[must_use]
    pub(crate) fn graph(&self) -> FlameGraph<'_> {
        let measure = self.picture.measure;
        FlameGraph {
            snapshot: &self.snapshot,
            picture: &self.picture,
            measure,
            event: &self.event,
            unit: if measure == Measure::Count { self.things } else { &self.unit },
            things: self.things,
            missing: self.missing,
            is_inverted: self.is_inverted,
        }
    }
}

/// Writes a graph. Returns the limits of the format that were reached, or the I/O error of `out`.
pub(crate) fn write_graph(graph: &FlameGraph<'_>, format: FlameFormat, out: &mut dyn Write) -> io::Result<FlameLimits> {
    let whole = FlameLimits::default();
    Ok(match format {
        FlameFormat::Folded => FlameLimits { paths_cut: write_folded(graph, out)?, ..whole },
        FlameFormat::Svg => {
            write_svg(graph, out)?;
            whole
        }
        FlameFormat::Json => {
            write_json(graph, out)?;
            whole
        }
        FlameFormat::Pprof => write_pprof(graph, out)?,
    })
}

/// Writes a graph to `output`, and replaces an existing file, but none of `sources`. Returns the limits of the format
/// that were reached. After an error, an existing file is unchanged.
pub(crate) fn export_flame(
    source: &FlameSource,
    sources: &Sources,
    (output, format): (&Path, FlameFormat),
) -> Result<FlameLimits, ExportError> {
    let mut file = OutputFile::create(output, sources)?;
    file.guard(&source.snapshot);
    let written = write_graph(&source.graph(), format, file.writer());
    if let Err(damaged) = check(source.snapshot.store()) {
        return Err(damaged.streamed(file.discard()));
    }
    let limits = written.map_err(|source| ExportError::Io { path: output.to_owned(), source })?;
    file.publish()?;
    Ok(limits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_extension_of_a_flame_graph_determines_its_format() {
        for (ending, format) in ENDINGS {
            let path = PathBuf::from(format!("a.{ending}"));
            assert_eq!(FlameFormat::for_name(path.clone()), Ok((path.clone(), format)));
            let error = NoFlameName { path }.to_string();
            assert!(error.contains(&format!(".{ending}")), "{error}");
        }
        assert_eq!(FlameFormat::for_name("a".into()), Ok(("a.folded".into(), FlameFormat::Folded)));
        assert_eq!(FlameFormat::for_name("A.SVG".into()), Ok(("A.SVG".into(), FlameFormat::Svg)));
        for name in ["a.csv", "a.gz", "a.jsn"] {
            assert_eq!(FlameFormat::for_name(name.into()), Err(NoFlameName { path: name.into() }));
        }
    }
}
