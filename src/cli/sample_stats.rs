//! `longspan stats` of samples: by function, each event in its own unit.

use std::io::Write;

use regex::Regex;

use super::error::CliError;
use super::stdout::to_stdout;
use crate::export::table::{RowFormat, json_text};
use crate::query::Snapshot;
use crate::query::samples::SampleHistogram;

/// The columns after `event`, `unit` and `function`: a contract with scripts.
const NUMBER_COLUMNS: [&str; 4] = ["self", "total", "self_samples", "total_samples"];

/// Prints a row for each matching function of each event. Events are in order of first appearance; functions with the
/// largest self weight come first.
pub(super) fn print(
    snapshot: &Snapshot,
    histogram: &SampleHistogram,
    name: Option<&Regex>,
    format: RowFormat,
) -> Result<(), CliError> {
    to_stdout(|out| {
        if matches!(format, RowFormat::Csv(_)) {
            writeln!(out, "event,unit,function,{}", NUMBER_COLUMNS.join(","))?;
        }
        for (row, event) in histogram.events().iter().enumerate() {
            for function in histogram.functions(snapshot, row) {
                if name.is_some_and(|name| !name.is_match(function.name)) {
                    continue;
                }
                let texts = [&*event.name, &*event.unit, function.name];
                let (own_sum, total) = (function.own, function.total);
                write_row(out, format, texts, [own_sum.weight, total.weight, own_sum.samples, total.samples])?;
            }
        }
        Ok(())
    })
}

fn write_row(out: &mut dyn Write, format: RowFormat, texts: [&str; 3], numbers: [u64; 4]) -> Result<(), CliError> {
    if let RowFormat::Csv(cells) = format {
        for (place, text) in texts.into_iter().enumerate() {
            if place > 0 {
                out.write_all(b",")?;
            }
            cells.write(out, text)?;
        }
        let numbers = numbers.map(|number| number.to_string()).join(",");
        return Ok(writeln!(out, ",{numbers}")?);
    }
    for (key, text) in ["{\"event\":", ",\"unit\":", ",\"function\":"].into_iter().zip(texts) {
        out.write_all(key.as_bytes())?;
        json_text(out, text)?;
    }
    for (column, number) in NUMBER_COLUMNS.into_iter().zip(numbers) {
        write!(out, ",\"{column}\":{number}")?;
    }
    Ok(out.write_all(b"}\n")?)
}
