//! `longspan stats` of samples: by function, module, thread or event, each event in its own unit.

use std::cmp::Reverse;
use std::sync::Arc;

use regex::Regex;

use super::error::CliError;
use super::stdout::to_stdout;
use crate::base::cancel::Cancel;
use crate::export::scheduling_table::thread_values;
use crate::export::table::RowFormat;
use crate::export::values::{TableValue, TableValueWriter};
use crate::model::TrackIdx;
use crate::query::Snapshot;
use crate::query::sample_table::{SampleBy, SampleGroup, SampleTable};
use crate::query::samples::{SampleHistogram, SampleSum};
use crate::query::stacks::paths_of_event;

/// The columns before and after those of the group: a contract with scripts.
const EVENT_COLUMNS: [&str; 2] = ["event", "unit"];
const NUMBER_COLUMNS: [&str; 4] = ["self", "total", "self_samples", "total_samples"];

/// Prints the matching rows of each event. Events are in order of first appearance; the largest self weight comes
/// first.
pub(super) fn print(
    snapshot: &Snapshot,
    histogram: &SampleHistogram,
    (by, name): (SampleBy, Option<&Regex>),
    format: RowFormat,
) -> Result<(), CliError> {
    let columns = [&EVENT_COLUMNS[..], group_columns(by), &NUMBER_COLUMNS].concat();
    to_stdout(|out| {
        let mut table = TableValueWriter::begin(out, format.into(), &columns)?;
        for (event, described) in histogram.events().iter().enumerate() {
            let text = |text: &str| TableValue::Text(text.to_owned().into());
            let mut write = |matched: &str, group: &[TableValue<'_>], own: SampleSum, total: SampleSum| {
                if name.is_some_and(|name| !name.is_match(matched)) {
                    return Ok(());
                }
                let mut row = vec![text(&described.name), text(&described.unit)];
                row.extend_from_slice(group);
                let numbers = [own.weight, total.weight, own.samples, total.samples];
                row.extend(numbers.map(|number| TableValue::Whole(number.into())));
                table.row(&row)
            };
            match by {
                SampleBy::Function => {
                    for function in histogram.functions(snapshot, event) {
                        write(function.name, &[text(function.name)], function.own, function.total)?;
                    }
                }
                SampleBy::Module => {
                    for (module, own, total) in modules(snapshot, histogram, event) {
                        write(&module, &[text(&module)], own, total)?;
                    }
                }
                SampleBy::Thread => {
                    for (track, sum) in threads(histogram, event) {
                        write(&snapshot.track(track).name, &thread_values(snapshot, track), sum, sum)?;
                    }
                }
                SampleBy::Event => {
                    let sum = histogram.total(event);
                    write(&described.name, &[], sum, sum)?;
                }
            }
        }
        table.end()?;
        Ok(())
    })
}

fn group_columns(by: SampleBy) -> &'static [&'static str] {
    match by {
        SampleBy::Function => &["function"],
        SampleBy::Module => &["module"],
        SampleBy::Thread => &["thread", "tid", "process", "pid"],
        SampleBy::Event => &[],
    }
}

/// Returns the modules of an event's samples with their self and total sums.
fn modules(snapshot: &Snapshot, histogram: &SampleHistogram, event: usize) -> Vec<(String, SampleSum, SampleSum)> {
    let paths = Arc::new(paths_of_event(snapshot, histogram, Some(event)));
    let Ok(table) = SampleTable::new(snapshot, paths, SampleBy::Module, &Cancel::default()) else {
        return Vec::new(); // never cancelled
    };
    let rows = table.rows.iter().filter_map(|row| match row.key {
        SampleGroup::Module(module) => Some((table.module_label(module).to_owned(), row.sums.own, row.sums.total)),
        SampleGroup::Function(_) | SampleGroup::Thread(_) | SampleGroup::Event(_) => None,
    });
    let mut rows: Vec<_> = rows.collect();
    rows.sort_unstable_by(|(name, own, total), (others, others_own, others_total)| {
        let largest = (Reverse(own.weight), Reverse(total.weight));
        largest.cmp(&(Reverse(others_own.weight), Reverse(others_total.weight))).then_with(|| name.cmp(others))
    });
    rows
}

/// Returns the threads of an event's samples with their sums.
fn threads(histogram: &SampleHistogram, event: usize) -> Vec<(TrackIdx, SampleSum)> {
    let mut threads = histogram.tracks(event);
    threads.sort_by_key(|(_, sum)| Reverse(sum.weight));
    threads
}
