//! Selects the event whose samples a command is about: the event of `--event`, or the default. Different events are
//! never summed, since their units differ.

use super::error::CliError;
use super::messages::say;
use crate::base::cancel::Cancel;
use crate::base::progress::Progress;
use crate::query::Snapshot;
use crate::query::samples::{SampleEvent, SampleHistogram};
use crate::query::scope::Scope;

/// Returns the index of the requested or the default event; `None` without samples of it in the scope. Returns an error
/// if no event of the trace has the requested name, or if several have it.
pub(super) fn chosen_event(
    event: Option<&str>,
    snapshot: &Snapshot,
    histogram: &SampleHistogram,
) -> Result<Option<usize>, CliError> {
    let titles = |histogram: &SampleHistogram| {
        let titles = histogram.events().iter().map(|event| format!("`{}`", event.title()));
        titles.collect::<Vec<_>>().join(", ")
    };
    let rows = 0..histogram.events().len();
    if let Some(wanted) = event {
        let is_titled =
            |event: &SampleEvent| event.title() == wanted || wanted == format!("{} ({})", event.name, event.unit);
        let is_meant = |event: &SampleEvent| *event.name == *wanted || is_titled(event);
        // A title without a unit may be the name of another event with a unit.
        if let Some(row) = rows.clone().find(|&row| is_titled(&histogram.events()[row])) {
            return Ok(Some(row));
        }
        return match rows.filter(|&row| is_meant(&histogram.events()[row])).collect::<Vec<_>>()[..] {
            [row] => Ok(Some(row)),
            [] => {
                let all = SampleHistogram::count(snapshot, &Scope::default(), &Cancel::default(), &Progress::default());
                let all = all.unwrap_or_default(); // never cancelled
                if all.events().is_empty() || all.events().iter().any(is_meant) {
                    return Ok(None);
                }
                Err(CliError::Usage(format!("--event {wanted}: the samples are of {}", titles(&all))))
            }
            _ => Err(CliError::Usage(format!("--event {wanted}: give its unit too, one of {}", titles(histogram)))),
        };
    }
    let Some(row) = histogram.default_event(snapshot) else { return Ok(None) };
    if rows.len() > 1 {
        let title = histogram.events()[row].title();
        say(format_args!("these are the samples of `{title}`; --event takes one of {}", titles(histogram)));
    }
    Ok(Some(row))
}
