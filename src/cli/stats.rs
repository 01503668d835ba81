//! `longspan stats`: the spans of a capture added up by name, those with the most time first.

use super::args::{Load, Stats};
use super::error::CliError;
use super::load::{load, starting_over};
use super::progress_line::ProgressLine;
use super::stdout::to_stdout;
use crate::base::cancel::Cancel;
use crate::base::progress::Progress;
use crate::export::check;
use crate::export::table::{RowFormat, json_text};
use crate::query::Snapshot;
use crate::query::totals::{GrowingTotals, NUMBER_COLUMNS, add_up};

/// Prints the totals by name.
pub(super) fn print(stats: &Stats, how: &Load) -> Result<(), CliError> {
    starting_over(&stats.sources, how, |how| print_once(stats, how))
}

fn print_once(stats: &Stats, how: &Load) -> Result<(), CliError> {
    let snapshot = Snapshot::new(load(&stats.sources, how)?.store);
    let scope = stats.scope.on(&snapshot)?;
    let (growing, progress) = (GrowingTotals::default(), Progress::default());
    let line = ProgressLine::start(&progress, how.progress);
    add_up(&snapshot, &scope, &growing, &Cancel::default(), &progress).ok(); // nobody stops it
    drop(line);
    check(snapshot.store())?;
    let totals = growing.into_totals();
    let mut rows = totals.by_name();
    // By name where times are the same, since the order of names is that of the capture.
    rows.sort_by_key(|(name, totals)| (u128::MAX - totals.total_ns, snapshot.names().get(*name)));
    to_stdout(|out| {
        if matches!(stats.format, RowFormat::Csv(_)) {
            writeln!(out, "name,category,{}", NUMBER_COLUMNS.join(","))?;
        }
        for (name, totals) in rows {
            let name = snapshot.names().get(name);
            let numbers = totals.numbers();
            if let RowFormat::Csv(cells) = stats.format {
                cells.write(out, name.text)?;
                out.write_all(b",")?;
                cells.write(out, name.category.unwrap_or(""))?;
                for number in numbers {
                    out.write_all(b",")?;
                    number.map_or(Ok(()), |number| write!(out, "{number}"))?;
                }
            } else {
                out.write_all(b"{\"name\":")?;
                json_text(out, name.text)?;
                out.write_all(b",\"category\":")?;
                match name.category {
                    Some(category) => json_text(out, category)?,
                    None => out.write_all(b"null")?,
                }
                for (column, number) in NUMBER_COLUMNS.into_iter().zip(numbers) {
                    match number {
                        Some(number) => write!(out, ",\"{column}\":{number}")?,
                        None => write!(out, ",\"{column}\":null")?,
                    }
                }
                out.write_all(b"}")?;
            }
            out.write_all(b"\n")?;
        }
        Ok(())
    })
}
