//! Texts for weights of spans and samples, and the tooltip of a bar.

use super::state::{FlamePart, tree_of};
use crate::base::time::{counted, duration_text, grouped_digits};
use crate::model::sample_measure::{NANOSECONDS, SAMPLES};
use crate::query::Snapshot;
use crate::query::flame::{FlamePicture, Measure};
use crate::query::samples::SampleSum;
use crate::query::stacks::CallPaths;
use crate::scene::flame::BarContent;
use crate::scene::labels::shown;
use crate::ui::panels::number::TableNumber;
use crate::ui::widgets::reading_order::on_screen;
use crate::ui::widgets::tip_text::tip_text;

/// The meaning of the sums of a call tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Amounts {
    unit: String,
    things: &'static str,
}

impl Amounts {
    pub(crate) fn new(paths: &CallPaths) -> Self {
        let event = paths.event.and_then(|event| paths.events.get(event));
        match event {
            None => Self { unit: NANOSECONDS.to_owned(), things: "spans" },
            Some(event) => Self { unit: event.unit.to_string(), things: SAMPLES },
        }
    }

    pub(crate) fn is_time(&self) -> bool {
        self.unit == NANOSECONDS
    }

    /// Returns whether weight and count differ.
    pub(super) fn has_weight(&self) -> bool {
        self.unit != self.things
    }

    /// Returns the name of weights for a choice.
    pub(super) fn weight_title(&self) -> String {
        if self.is_time() { "time".to_owned() } else { on_screen(&shown(&self.unit)).into_owned() }
    }

    pub(super) fn weight(&self, weight: u64) -> String {
        if self.is_time() {
            return duration_text(weight);
        }
        format!("{} {}", grouped_digits(weight), on_screen(&shown(&self.unit)))
    }

    /// Formats a sum with its count.
    pub(super) fn text(&self, sum: SampleSum) -> String {
        let things = if sum.samples == 1 { self.things.trim_end_matches('s') } else { self.things };
        let count = format!("{} {things}", grouped_digits(sum.samples));
        if self.has_weight() { format!("{}, {count}", self.weight(sum.weight)) } else { count }
    }

    /// Returns the tooltip of a bar.
    pub(super) fn describe(
        &self,
        snapshot: &Snapshot,
        picture: &FlamePicture,
        measure: Measure,
        (part, content): (FlamePart, BarContent),
    ) -> String {
        let whole = measure.amount(picture.whole);
        let share = |sum: SampleSum| share_text(measure.amount(sum), whole);
        match content {
            BarContent::Others { count, sum, .. } => {
                let others = others_text(count);
                let why = match count {
                    Some(_) => "too narrow to draw",
                    None => "too small to be separate until everything is counted, or too narrow to draw",
                };
                format!("{others}, {why}\n{} ({})\nZoom in to see them", self.text(sum), share(sum))
            }
            BarContent::Node(node) => {
                let Some(tree) = tree_of(picture, part) else { return String::new() };
                let node = tree.node(node);
                let name = tip_text(picture.functions.text(snapshot, node.function));
                let module = tip_text(picture.functions.module(node.function));
                let module = if module.is_empty() { module } else { format!("\n{module}") };
                let (total, own) = (self.text(node.total), self.text(node.own));
                let ends = if part == FlamePart::Callers { "outermost" } else { "by itself" };
                format!("{name}{module}\n{total} ({})\n{ends}: {own} ({})", share(node.total), share(node.own))
            }
        }
    }
}

/// Formats a share in percent.
pub(super) fn share_text(part: u64, whole: u64) -> String {
    TableNumber::Share { part: part.into(), whole: whole.into() }.text()
}

/// Returns the name of the bar for children that are too narrow; `None` if their number is unknown.
pub(super) fn others_text(count: Option<usize>) -> String {
    match count {
        None => "others".to_owned(),
        Some(count) => counted(count as u64, "other"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_one_are_singular() {
        let text = |things: &'static str, samples: u64| {
            let amounts = Amounts { unit: NANOSECONDS.to_owned(), things };
            amounts.text(SampleSum { samples, weight: 2000 })
        };
        let texts = [text("spans", 1), text("spans", 2), text(SAMPLES, 1), text(SAMPLES, 0)];
        assert_eq!(texts, ["2 µs, 1 span", "2 µs, 2 spans", "2 µs, 1 sample", "2 µs, 0 samples"]);
        let stacks = Amounts { unit: SAMPLES.to_owned(), things: SAMPLES };
        assert_eq!(stacks.text(SampleSum { samples: 61, weight: 61 }), "61 samples");
    }
}
