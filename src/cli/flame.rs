//! `longspan flame`: the call paths of a part of a trace with their weights, from its spans or from the samples of one
//! event.

use super::args::{Flame, ImportArgs, PathSource};
use super::empty_answers::{say_no_samples, say_no_spans};
use super::error::CliError;
use super::event_choice::chosen_event;
use super::load::retry_if_damaged;
use super::messages::say;
use super::progress_line::ProgressLine;
use super::sample_stats::say_capped_total;
use super::stdout::to_stdout;
use super::symbols::load_with_names;
use crate::base::cancel::Cancel;
use crate::base::progress::Progress;
use crate::export::check;
use crate::export::flame::{FlameFormat, FlameGraph, FlameLimits, write_graph};
use crate::model::sample_measure::NANOSECONDS;
use crate::query::Snapshot;
use crate::query::flame::{FlamePicture, FlameShape, Measure};
use crate::query::samples::{SampleHistogram, SampleSum};
use crate::query::scope::Scope;
use crate::query::stacks::{CallPaths, CallTree, exact_spans, from_histogram, from_spans, own_sums_of_spans};

pub(super) fn print(flame: &Flame, import: &ImportArgs) -> Result<(), CliError> {
    retry_if_damaged(&flame.sources, import, |import| print_once(flame, import))
}

fn print_once(flame: &Flame, import: &ImportArgs) -> Result<(), CliError> {
    let snapshot = load_with_names(&flame.sources, import)?;
    let scope = flame.scope.on(&snapshot)?;
    let progress = Progress::default();
    let line = ProgressLine::start(&progress, import.progress);
    let is_of_samples = match flame.source {
        Some(source) => source == PathSource::Samples,
        None => snapshot.summary().spans == 0 || snapshot.shows_samples_first(),
    };
    let paths = if is_of_samples {
        paths_of_samples(flame, &snapshot, &scope, &progress)
    } else {
        Ok(paths_of_spans(flame, &snapshot, &scope, &progress))
    };
    drop(line);
    check(snapshot.store())?;
    let Paths { tree, event, unit, things, missing, is_final } = paths?;
    let mut view = flame.view.clone();
    let mismatches = view.complete_names(&snapshot, &tree);
    for (name, mismatch) in mismatches.iter().filter(|_| !import.is_retry && !tree.whole().is_empty()) {
        say(format_args!("{name}: {mismatch}"));
    }
    let Ok(picture) = FlamePicture::new(&snapshot, &tree, &view, &Cancel::default()) else {
        return Ok(()); // never cancelled
    };
    let measure = flame.view.measure;
    if !tree.whole().is_empty() {
        say_empty_view(&picture, measure, !mismatches.is_empty());
    } else if !is_of_samples {
        say_no_spans(&snapshot, &flame.scope);
    }
    drop(tree);
    if !missing.is_empty() {
        let hint = if is_final { "" } else { "; --exact reads all spans" };
        say(format_args!("{}{hint}", missing_text(&picture, measure, missing)));
    }
    let is_inverted = flame.view.shape == FlameShape::Inverted;
    let unit = if measure == Measure::Count { things } else { &*unit };
    let graph = FlameGraph {
        snapshot: &snapshot,
        picture: &picture,
        measure,
        event: &event,
        unit,
        things,
        missing,
        is_inverted,
    };
    if let Some(text) = graph.folded_text() {
        say(text);
    }
    if measure.amount(picture.whole) == u64::MAX {
        say_capped_total(unit);
    }
    print_graph(&graph, flame.format)
}

/// Prints a graph, and reports the paths and values that its format does not hold.
fn print_graph(graph: &FlameGraph<'_>, format: FlameFormat) -> Result<(), CliError> {
    let mut limits = FlameLimits::default();
    to_stdout(|out| {
        limits = write_graph(graph, format, out)?;
        Ok(())
    })?;
    limits.texts().for_each(say);
    Ok(())
}

/// Reports a picture without time. A mismatch of a name is already reported.
fn say_empty_view(picture: &FlamePicture, measure: Measure, has_mismatch: bool) {
    let total = picture.tree.nodes()[0].total;
    if measure.amount(total) > 0 {
        return;
    }
    if !total.is_empty() {
        say("the paths of this part take no time; --count counts them");
    } else if !has_mismatch {
        say("no path passes all of --focus, --hide and the other options of the view");
    }
}

/// Call paths with the meaning of their weights.
struct Paths {
    tree: CallTree,
    event: Box<str>,
    unit: Box<str>,
    things: &'static str,
    /// Maximum that a path may lack, because small paths were merged.
    missing: SampleSum,
    /// Whether further counting finds no more paths.
    is_final: bool,
}

/// Describes the small paths of a picture that were merged.
fn missing_text(picture: &FlamePicture, measure: Measure, missing: SampleSum) -> String {
    let percent = |part: SampleSum| measure.amount(part) as f64 * 100.0 / measure.amount(picture.whole).max(1) as f64;
    if picture.is_path_by_path {
        let most = percent(missing);
        format!("small paths are [others], with their exact sum: no path lacks more than {most:.4} % of the total")
    } else {
        format!("{:.2} % of the total is in small paths, which are [others]", percent(picture.others))
    }
}

fn paths_of_spans(flame: &Flame, snapshot: &Snapshot, scope: &Scope, progress: &Progress) -> Paths {
    let count = if flame.is_exact { exact_spans } else { from_spans };
    let counted = count(snapshot, scope, &Cancel::default(), progress).unwrap_or_default(); // never cancelled
    let is_final = counted.is_final();
    let own_sums = match flame.view.shape {
        FlameShape::Inverted => own_sums_of_spans(snapshot, scope, &counted, &Cancel::default()).unwrap_or_default(),
        FlameShape::TopDown | FlameShape::Sandwich(_) => Vec::new(),
    };
    let CallPaths { mut tree, missing, .. } = counted;
    tree.own_sums = own_sums;
    Paths { tree, event: Box::default(), unit: NANOSECONDS.into(), things: "spans", missing, is_final }
}

/// Returns the paths of the requested or the default event. Different events are never summed, since their units
/// differ.
fn paths_of_samples(flame: &Flame, snapshot: &Snapshot, scope: &Scope, progress: &Progress) -> Result<Paths, CliError> {
    let counted = SampleHistogram::count(snapshot, scope, &Cancel::default(), progress);
    let histogram = counted.unwrap_or_default(); // never cancelled
    let Some(row) = chosen_event(flame.event.as_deref(), snapshot, &histogram)? else {
        if flame.source.is_some() || snapshot.summary().samples > 0 {
            say_no_samples(snapshot, &flame.scope);
            if flame.source.is_none() && snapshot.summary().spans > 0 {
                say("--spans takes the spans of the scope instead");
            }
        } else {
            say(format_args!("{}: contains neither spans nor samples", flame.sources));
        }
        return Ok(no_samples());
    };
    let event = &histogram.events()[row];
    let tree = from_histogram(snapshot, &histogram, row, flame.view.selects_name(snapshot));
    let (name, unit, missing) = (event.name.clone(), event.unit.clone(), SampleSum::default());
    Ok(Paths { tree, event: name, unit, things: "samples", missing, is_final: true })
}

fn no_samples() -> Paths {
    let (tree, missing) = (CallTree::default(), SampleSum::default());
    Paths { tree, event: Box::default(), unit: "samples".into(), things: "samples", missing, is_final: true }
}
