//! `longspan stats` of samples: by function, module, thread or event, each event in its own unit.

use std::cmp::Reverse;

use regex::Regex;

use super::error::CliError;
use super::low_stats::LowSampleBy;
use super::messages::say;
use super::stdout::to_stdout;
use crate::export::scheduling_table::thread_values;
use crate::export::table::RowFormat;
use crate::export::values::{TableValue, TableValueWriter};
use crate::model::TrackIdx;
use crate::model::names::{NO_FRAMES, NO_NAME};
use crate::query::Snapshot;
use crate::query::flame::FunctionIdx;
use crate::query::sample_table::{by_function, by_module, module_label};
use crate::query::samples::{GroupSums, SampleHistogram, SampleSum};

/// The columns before and after the columns of the group: a contract with scripts.
const EVENT_COLUMNS: [&str; 2] = ["event", "unit"];
const NUMBER_COLUMNS: [&str; 4] = ["self", "total", "self_samples", "total_samples"];

/// Prints the matching rows of each event, and returns whether there are any. Events are in order of first appearance;
/// the largest self weight comes first.
pub(super) fn print(
    snapshot: &Snapshot,
    histogram: &SampleHistogram,
    (by, name): (LowSampleBy, Option<&Regex>),
    format: RowFormat,
) -> Result<bool, CliError> {
    let mut has_rows = false;
    let columns = [&EVENT_COLUMNS[..], group_columns(by), &NUMBER_COLUMNS].concat();
    to_stdout(|out| {
        let mut table = TableValueWriter::begin(out, format.into(), &columns)?;
        for (event, described) in histogram.events().iter().enumerate() {
            let text = |text: &str| TableValue::Text(text.to_owned().into());
            let mut write = |matched: &str, group: &[TableValue<'_>], own: SampleSum, total: SampleSum| {
                if name.is_some_and(|name| !name.is_match(matched)) {
                    return Ok(());
                }
                has_rows = true;
                let mut row = vec![text(&described.name), text(&described.unit)];
                row.extend_from_slice(group);
                let numbers = [own.weight, total.weight, own.samples, total.samples];
                row.extend(numbers.map(|number| TableValue::Whole(number.into())));
                table.row(&row)
            };
            match by {
                LowSampleBy::Function => {
                    for GroupSums { key, own, total } in histogram.by_text(snapshot, event) {
                        let function = key.map_or(NO_FRAMES, function_label);
                        write(function, &[text(function)], own, total)?;
                    }
                }
                LowSampleBy::FunctionModule => {
                    for ([function, module], own, total) in functions(snapshot, histogram, event) {
                        write(&function, &[text(&function), text(&module)], own, total)?;
                    }
                }
                LowSampleBy::Module => {
                    for (module, own, total) in modules(snapshot, histogram, event) {
                        write(&module, &[text(&module)], own, total)?;
                    }
                }
                LowSampleBy::Thread => {
                    for (track, sum) in threads(histogram, event) {
                        write(&snapshot.track(track).name, &thread_values(snapshot, track), sum, sum)?;
                    }
                }
                LowSampleBy::Event => {
                    let sum = histogram.total(event);
                    write(&described.name, &[], sum, sum)?;
                }
            }
        }
        table.end()?;
        Ok(())
    })?;
    for (event, described) in histogram.events().iter().enumerate() {
        if histogram.total(event).weight == u64::MAX {
            say_capped_total(&described.unit);
        }
    }
    Ok(has_rows)
}

/// Reports a sum that is above the maximum of 64 bits.
pub(super) fn say_capped_total(unit: &str) {
    say(format_args!("the total ({unit}) is written as 2^64 - 1, the maximum"));
}

fn group_columns(by: LowSampleBy) -> &'static [&'static str] {
    match by {
        LowSampleBy::Function => &["function"],
        LowSampleBy::FunctionModule => &["function", "module"],
        LowSampleBy::Module => &["module"],
        LowSampleBy::Thread => &["thread", "tid", "process", "pid"],
        LowSampleBy::Event => &[],
    }
}

fn function_label(text: &str) -> &str {
    if text.is_empty() { NO_NAME } else { text }
}

/// Returns the functions of an event's samples with their modules, and self and total sums.
fn functions(
    snapshot: &Snapshot,
    histogram: &SampleHistogram,
    event: usize,
) -> Vec<([String; 2], SampleSum, SampleSum)> {
    let (functions, sums) = by_function(snapshot, &histogram.sorted_stacks(event));
    let label = |function| match function {
        FunctionIdx::ROOT => NO_FRAMES,
        function => function_label(functions.text(snapshot, function)),
    };
    let row = |GroupSums { key, own, total }: GroupSums<FunctionIdx>| {
        ([label(key).to_owned(), functions.module(key).to_owned()], own, total)
    };
    sorted(sums.into_iter().map(row).collect())
}

/// Sorts rows by self weight, then by total weight, largest first, then by name.
fn sorted<N: Ord>(mut rows: Vec<(N, SampleSum, SampleSum)>) -> Vec<(N, SampleSum, SampleSum)> {
    rows.sort_unstable_by(|(name, own, total), (others, others_own, others_total)| {
        let largest = (Reverse(own.weight), Reverse(total.weight));
        largest.cmp(&(Reverse(others_own.weight), Reverse(others_total.weight))).then_with(|| name.cmp(others))
    });
    rows
}

/// Returns the modules of an event's samples with their self and total sums.
fn modules(snapshot: &Snapshot, histogram: &SampleHistogram, event: usize) -> Vec<(String, SampleSum, SampleSum)> {
    let (functions, sums) = by_module(snapshot, &histogram.sorted_stacks(event));
    let row = |GroupSums { key, own, total }| (module_label(&functions, key).to_owned(), own, total);
    sorted(sums.into_iter().map(row).collect())
}

/// Returns the threads of an event's samples with their sums.
fn threads(histogram: &SampleHistogram, event: usize) -> Vec<(TrackIdx, SampleSum)> {
    let mut threads = histogram.tracks(event);
    threads.sort_by_key(|(_, sum)| Reverse(sum.weight));
    threads
}
