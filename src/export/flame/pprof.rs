//! Writes the paths with their counts and weights as a pprof profile of a single event.

use std::io::{self, Write};

use super::{FlameGraph, FlameLimits, PATH_FRAMES_MAX, bounded_sums};
use crate::export::pprof::{pprof_unit, write_packed};
use crate::formats::profiles::pprof::write::{PprofFrame, PprofWriter};
use crate::model::sample_measure::SAMPLES;
use crate::query::flame::FlameNodeIdx;

/// Writes a tree that is not inverted. Returns the I/O error of `out`.
pub(crate) fn write_pprof(graph: &FlameGraph<'_>, out: &mut dyn Write) -> io::Result<FlameLimits> {
    let FlameGraph { event, unit, things, .. } = *graph;
    let kind = if event.is_empty() { "time" } else { event };
    let types = [(things, pprof_unit(things)), (kind, pprof_unit(unit))];
    // Weights that are counts are written once.
    let has_count = unit != things && types[0] != types[1];
    // The category of a span is not a module.
    let (snapshot, is_of_samples) = (graph.snapshot, things == SAMPLES);
    let modules = &snapshot.tracks().modules;
    let mut writer = PprofWriter::new(types.into_iter().take(if has_count { 2 } else { 1 }), modules);
    let (sums, paths_cut) = bounded_sums(graph.nodes(), PATH_FRAMES_MAX);
    for (row, sum) in (0..).zip(sums).filter(|(_, sum)| !sum.is_empty()) {
        let values = [sum.samples, graph.measure.amount(sum)];
        let frames = graph.nodes_of_path(FlameNodeIdx(row)).map(|node| PprofFrame {
            text: graph.text(node),
            module: graph.picture.functions.category(snapshot, node.function).filter(|_| is_of_samples),
            is_name: !is_of_samples,
            ..PprofFrame::default()
        });
        writer.add(frames, if has_count { &values } else { &values[1..] }, &[]);
    }
    let values_capped = writer.values_capped();
    write_packed(&writer.finish(0, 0), out)?;
    Ok(FlameLimits { paths_cut, values_capped })
}
