//! Finds the counter that a sum of counters means if none has its name. The sum would be a curve at 0.

use std::collections::BTreeSet;

use super::counter_changes::has_counter;
use super::definition::{DerivedKind, DerivedTrack};
use crate::base::similar::nearest;
use crate::model::TrackKind;
use crate::query::snapshot::Snapshot;

/// The name of a counter that the trace does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UnknownCounter {
    name: String,
    /// The sum that is probably meant.
    meant: Option<DerivedKind>,
    /// Whether the rest of the name was taken as a filter, because of its space.
    is_cut: bool,
}

impl UnknownCounter {
    /// Returns the unknown counter of a track, if it is the sum of one.
    pub(crate) fn of(track: &DerivedTrack, snapshot: &Snapshot) -> Option<Self> {
        let DerivedKind::CounterSum(name) = &track.kind else { return None };
        if has_counter(snapshot, name) {
            return None;
        }
        let tracks = snapshot.tracks().tracks.iter().filter(|track| track.key.kind == TrackKind::Counter);
        let names: BTreeSet<&str> = tracks.map(|track| &*track.name).collect();
        let next_word = track.filter.split_whitespace().next();
        let spaced =
            next_word.and_then(|word| names.iter().copied().find(|known| known.starts_with(&format!("{name} {word}"))));
        // Counters of Chrome JSON are called by their name and the key of a value.
        let is_of_key = |known: &&str| known.strip_prefix(&**name).is_some_and(|rest| rest.starts_with(' '));
        let of_key = || names.iter().copied().find(is_of_key);
        let meant = spaced.or_else(of_key).or_else(|| nearest(name, names.iter().copied()));
        let meant = meant.map(|known| DerivedKind::CounterSum(known.to_owned()));
        Some(Self { name: name.clone(), meant, is_cut: spaced.is_some() })
    }

    /// Returns a sentence that names the sum that is meant, as `quoted` writes it, or else `where_listed`.
    pub(crate) fn sentence(&self, quoted: impl Fn(&str) -> String, where_listed: &str) -> String {
        let advice = match &self.meant {
            Some(meant) => format!(": did you mean {}?", quoted(&meant.to_string())),
            None => format!("; {where_listed}"),
        };
        let quotes = if self.is_cut { "; quote names with spaces" } else { "" };
        format!("no counter is named `{}`{quotes}{advice}", self.name)
    }
}
