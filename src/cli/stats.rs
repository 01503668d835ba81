//! `longspan stats`: the spans of a trace by name or another key, those with the most time first; for a trace without
//! spans, the samples by function.

use std::io::{self, Write};

use super::args::{Load, Stats};
use super::counter_stats;
use super::empty_answers::{say_no_samples, say_no_spans};
use super::error::CliError;
use super::heat_map_stats;
use super::load::starting_over;
use super::progress_line::ProgressLine;
use super::sample_stats;
use super::scheduling_stats;
use super::stdout::to_stdout;
use super::symbols::load_with_names;
use crate::base::cancel::Cancel;
use crate::base::csv::Cells;
use crate::base::progress::Progress;
use crate::export::check;
use crate::export::table::{RowFormat, json_id, json_text};
use crate::model::Id;
use crate::query::groups::GroupBy;
use crate::query::sample_table::SampleBy;
use crate::query::samples::SampleHistogram;
use crate::query::totals::{
    GrowingTotals, LabelCell, NUMBER_COLUMNS, NameTotals, Totals, add_up, label_cells, label_columns,
};

/// The column after the numbers: the maximum relative error of a quantile.
const QUANTILE_ERROR: &str = "quantile_error";

pub(super) fn print(stats: &Stats, how: &Load) -> Result<(), CliError> {
    starting_over(&stats.sources, how, |how| print_once(stats, how))
}

fn print_once(stats: &Stats, how: &Load) -> Result<(), CliError> {
    let snapshot = load_with_names(&stats.sources, how)?;
    if stats.counters {
        return counter_stats::print(&snapshot, &stats.scope.on(&snapshot)?, stats.format, how);
    }
    if let Some(kind) = stats.scheduling {
        return scheduling_stats::print(&snapshot, &stats.scope.on(&snapshot)?, kind, stats.format, how);
    }
    if let Some(grid) = stats.heat_map {
        let scope = stats.scope.named(stats.name.as_ref()).on(&snapshot)?;
        return heat_map_stats::print(&snapshot, &scope, grid, stats.format, how);
    }
    let summary = snapshot.summary();
    let has_samples_alone = summary.spans == 0 && summary.samples > 0 && stats.by == GroupBy::default();
    if let Some(by) = stats.samples.or_else(|| has_samples_alone.then(SampleBy::default)) {
        let (scope, progress) = (stats.scope.on(&snapshot)?, Progress::default());
        let line = ProgressLine::start(&progress, how.progress);
        let counted = SampleHistogram::count(&snapshot, &scope, &Cancel::default(), &progress);
        drop(line);
        check(snapshot.store())?;
        let Ok(histogram) = counted else { return Ok(()) }; // never cancelled
        if histogram.events().is_empty() {
            say_no_samples(&snapshot);
        }
        return sample_stats::print(&snapshot, &histogram, (by, stats.name.as_ref()), stats.format);
    }
    let scope = stats.scope.named(stats.name.as_ref()).on(&snapshot)?;
    let (growing, progress) = (GrowingTotals::grouped(stats.by.clone()), Progress::default());
    let line = ProgressLine::start(&progress, how.progress);
    add_up(&snapshot, &scope, &growing, &Cancel::default(), &progress).ok(); // never cancelled
    drop(line);
    check(snapshot.store())?;
    let totals = growing.into_totals();
    if totals.by().is_pair() && totals.has_others() {
        return Err(CliError::TooManyGroups { most: Totals::PAIRS_MAX });
    }
    // A trace may have millions of names, so rows are sorted by their indices.
    let mut rows: Vec<u32> = totals.numbered().map(|(row, ..)| row).collect();
    if rows.is_empty() {
        say_no_spans(&snapshot);
    }
    // Sorted by name among equal times, because the order of names is that of the trace.
    rows.sort_unstable_by(|&one, &other| {
        let label = |row| label_cells(&totals, totals.group_at(row), &snapshot).into_iter().map(|(_, cell)| cell);
        let by_label = || label(one).cmp(label(other)).then(totals.group_at(one).cmp(&totals.group_at(other)));
        totals.at(other).total_ns.cmp(&totals.at(one).total_ns).then_with(by_label)
    });
    to_stdout(|out| {
        if let RowFormat::Csv(_) = stats.format {
            for column in label_columns(totals.by()) {
                write!(out, "{column},")?;
            }
            writeln!(out, "{},{QUANTILE_ERROR}", NUMBER_COLUMNS.join(","))?;
        }
        for row in rows {
            let (cells, numbers) = (label_cells(&totals, totals.group_at(row), &snapshot), totals.at(row));
            match stats.format {
                RowFormat::Csv(how) => csv_row(out, &cells, numbers, how)?,
                RowFormat::JsonLines => json_row(out, &cells, numbers)?,
            }
        }
        Ok(())
    })
}

fn csv_row(out: &mut dyn Write, cells: &[(&str, LabelCell<'_>)], numbers: &NameTotals, how: Cells) -> io::Result<()> {
    for (_, cell) in cells {
        match cell {
            LabelCell::Text(text) => how.write(out, text)?,
            LabelCell::Id(Id::Text(text)) => how.write(out, text)?,
            LabelCell::Id(id) => write!(out, "{id}")?,
            LabelCell::Nothing => {}
        }
        out.write_all(b",")?;
    }
    for number in numbers.numbers() {
        number.map_or(Ok(()), |number| write!(out, "{number}"))?;
        out.write_all(b",")?;
    }
    writeln!(out, "{}", numbers.quantile_error())
}

fn json_row(out: &mut dyn Write, cells: &[(&str, LabelCell<'_>)], numbers: &NameTotals) -> io::Result<()> {
    for (index, (column, cell)) in cells.iter().enumerate() {
        write!(out, "{}\"{column}\":", if index == 0 { '{' } else { ',' })?;
        match cell {
            LabelCell::Text(text) => json_text(out, text)?,
            LabelCell::Id(id) => json_id(out, id)?,
            LabelCell::Nothing => out.write_all(b"null")?,
        }
    }
    for (column, number) in NUMBER_COLUMNS.into_iter().zip(numbers.numbers()) {
        match number {
            Some(number) => write!(out, ",\"{column}\":{number}")?,
            None => write!(out, ",\"{column}\":null")?,
        }
    }
    writeln!(out, ",\"{QUANTILE_ERROR}\":{}}}", numbers.quantile_error())
}
