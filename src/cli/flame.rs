//! `longspan flame`: the call paths of a part of a trace with their weights, of its spans or of
//! the samples of one event.

use super::args::{Flame, FlameFormat, Load};
use super::error::CliError;
use super::event_choice::chosen_event;
use super::load::starting_over;
use super::messages::say;
use super::progress_line::ProgressLine;
use super::stdout::to_stdout;
use super::symbols::load_with_names;
use crate::base::cancel::Cancel;
use crate::base::progress::Progress;
use crate::export::check;
use crate::export::flame::{FlameGraph, write_folded, write_json, write_pprof, write_svg};
use crate::model::sample_measure::NANOSECONDS;
use crate::query::Snapshot;
use crate::query::flame::{FlamePicture, FlameShape, Measure};
use crate::query::samples::SampleHistogram;
use crate::query::scope::Scope;
use crate::query::stacks::{CallTree, from_histogram, from_spans};

pub(super) fn print(flame: &Flame, how: &Load) -> Result<(), CliError> {
    starting_over(&flame.sources, how, |how| print_once(flame, how))
}

fn print_once(flame: &Flame, how: &Load) -> Result<(), CliError> {
    let snapshot = load_with_names(&flame.sources, how)?;
    let scope = flame.scope.on(&snapshot)?;
    let summary = snapshot.summary();
    if summary.spans == 0 && summary.samples == 0 {
        say(format_args!("{}: holds neither spans nor samples", flame.sources));
    }
    let progress = Progress::default();
    let line = ProgressLine::start(&progress, how.progress);
    let is_of_samples = flame.of_samples || flame.event.is_some() || summary.spans == 0;
    let paths = if is_of_samples {
        paths_of_samples(flame, &snapshot, &scope, &progress)
    } else {
        Ok(paths_of_spans(&snapshot, &scope, &progress))
    };
    drop(line);
    check(snapshot.store())?;
    let Paths { tree, event, unit, things } = paths?;
    let Ok(picture) = FlamePicture::new(&snapshot, &tree, &flame.view, &Cancel::default()) else {
        return Ok(()); // nobody stops it
    };
    drop(tree);
    if picture.folded > 0 {
        say(format_args!("{} paths count for their callers: there are too many", picture.folded));
    }
    let is_inverted = flame.view.shape == FlameShape::Inverted;
    let measure = flame.view.measure;
    let unit = if measure == Measure::Count { things } else { &*unit };
    let graph =
        FlameGraph { snapshot: &snapshot, picture: &picture, measure, event: &event, unit, things, is_inverted };
    to_stdout(|out| {
        Ok(match flame.format {
            FlameFormat::Folded => write_folded(&graph, out),
            FlameFormat::Svg => write_svg(&graph, out),
            FlameFormat::Json => write_json(&graph, out),
            FlameFormat::Pprof => write_pprof(&graph, out),
        }?)
    })
}

/// Call paths with the meaning of their weights.
struct Paths {
    tree: CallTree,
    event: Box<str>,
    unit: Box<str>,
    things: &'static str,
}

fn paths_of_spans(snapshot: &Snapshot, scope: &Scope, progress: &Progress) -> Paths {
    let paths = from_spans(snapshot, scope, &Cancel::default(), progress).unwrap_or_default(); // nobody stops it
    Paths { tree: paths.tree, event: Box::default(), unit: NANOSECONDS.into(), things: "spans" }
}

/// The paths of the event that is asked for, else of the default one. Two events are never added up.
fn paths_of_samples(flame: &Flame, snapshot: &Snapshot, scope: &Scope, progress: &Progress) -> Result<Paths, CliError> {
    let counted = SampleHistogram::count(snapshot, scope, &Cancel::default(), progress);
    let histogram = counted.unwrap_or_default(); // nobody stops it
    let Some(row) = chosen_event(flame.event.as_deref(), snapshot, &histogram)? else { return Ok(no_samples()) };
    let event = &histogram.events()[row];
    let tree = from_histogram(snapshot, &histogram, row);
    Ok(Paths { tree, event: event.name.clone(), unit: event.unit.clone(), things: "samples" })
}

fn no_samples() -> Paths {
    Paths { tree: CallTree::default(), event: Box::default(), unit: "samples".into(), things: "samples" }
}
