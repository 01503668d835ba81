//! The derived tracks of a timeline: their definition and progress. They are computed in the background once the trace
//! is sorted, and saved with its state. The tracks of a followed trace are computed again while it grows.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::named_scopes::NamedScope;
use crate::base::progress::Progress;
use crate::base::time::{counted, duration_text};
use crate::query::Snapshot;
use crate::query::derived::{DerivedKind, DerivedSeries, DerivedTrack};
use crate::query::track_map::TrackMap;
use crate::scene::derived::kind_title;
use crate::ui::command::DerivedId;
use crate::ui::selected_scope::SelectedScope;

/// Limit for the derived tracks of one trace: as many as fit on a screen.
pub(crate) const DERIVED_MAX: usize = 16;

/// A derived track in the saved state of its trace.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct SavedDerived {
    /// The word of its kind, such as `rate`.
    kind: String,
    /// Its rows, and its name.
    rows: NamedScope,
    /// Whether its scale is logarithmic.
    is_log: bool,
}

impl SavedDerived {
    /// Returns the track for another import of the trace; `None` if none of the tracks of its rows is left.
    pub(super) fn mapped(self, map: &TrackMap) -> Option<Self> {
        Some(Self { rows: self.rows.mapped(map)?, ..self })
    }

    /// Returns whether the two differ at most in their names.
    pub(super) fn has_same_rows(&self, other: &Self) -> bool {
        self.kind == other.kind && self.rows.has_same_rows(&other.rows)
    }
}

#[derive(Debug, Clone)]
pub(crate) struct DerivedRow {
    pub(crate) id: DerivedId,
    /// The user's name for it; if empty, its title describes it.
    pub(crate) name: String,
    pub(crate) kind: DerivedKind,
    pub(crate) scope: SelectedScope,
    /// Whether its scale is logarithmic, if it has durations.
    pub(crate) is_log: bool,
    pub(crate) state: DerivedState,
}

/// The definition from which a derived track is computed.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct DerivedDefinition {
    id: DerivedId,
    name: String,
    kind: DerivedKind,
    scope: SelectedScope,
    is_log: bool,
}

/// The state of a derived track.
#[derive(Debug, Clone)]
pub(crate) enum DerivedState {
    /// The track is computed when the trace is sorted or followed, and no other computation runs.
    Waiting,
    Computing(Progress),
    Computed(Arc<DerivedSeries>),
    /// The series of an earlier part of a followed trace, until a later series is computed.
    Outdated(Arc<DerivedSeries>),
    Stopped,
    /// The computation failed, with this error sentence.
    Failed(String),
}

/// The reason why a derived track is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum RefusedDerived {
    #[error("At most {} derived tracks: remove one to add another.", DERIVED_MAX)]
    TooMany,
    #[error("This derived track exists already.")]
    Repeated,
}

/// The derived tracks, top to bottom.
#[derive(Debug, Default)]
pub(super) struct DerivedRows {
    rows: Vec<DerivedRow>,
    last: u64,
    /// Whether exports leave them out.
    is_left_out: bool,
}

impl DerivedRow {
    /// Returns its name, or else its kind and rows.
    #[must_use]
    pub(crate) fn title(&self) -> String {
        if self.name.is_empty() { self.described() } else { self.name.clone() }
    }

    /// Returns its kind and rows.
    #[must_use]
    pub(crate) fn described(&self) -> String {
        let SelectedScope { range, tracks, filter } = &self.scope;
        let filter = (!filter.is_empty()).then(|| filter.to_string());
        let time = range.map(|(from_ns, to_ns)| format!("range of {}", duration_text(to_ns.abs_diff(from_ns))));
        let tracks = (!tracks.is_all()).then(|| counted(tracks.count(), "track"));
        let parts: Vec<_> = filter.into_iter().chain(time).chain(tracks).collect();
        let rows = if parts.is_empty() { "all".to_owned() } else { parts.join(" \u{b7} ") };
        format!("{}: {rows}", kind_title(&self.kind))
    }

    /// Returns the definition that computes the same in `longspan export`; `None` for chosen tracks or a range, which a
    /// definition does not have.
    #[must_use]
    pub(crate) fn export_definition(&self) -> Option<DerivedTrack> {
        let SelectedScope { range, tracks, filter } = &self.scope;
        (range.is_none() && tracks.is_all()).then(|| DerivedTrack::new(self.kind.clone(), filter))
    }

    /// Returns the name of its counter in an export.
    #[must_use]
    pub(crate) fn exported_name(&self) -> String {
        match self.export_definition() {
            Some(definition) if self.name.is_empty() => definition.to_string(),
            _ => self.title(),
        }
    }

    /// Returns its series, once it is computed, maybe of an earlier part of the trace.
    #[must_use]
    pub(crate) fn series(&self) -> Option<&Arc<DerivedSeries>> {
        match &self.state {
            DerivedState::Computed(series) | DerivedState::Outdated(series) => Some(series),
            DerivedState::Waiting | DerivedState::Computing(_) | DerivedState::Stopped | DerivedState::Failed(_) => {
                None
            }
        }
    }
}

impl DerivedRows {
    pub(super) fn all(&self) -> &[DerivedRow] {
        &self.rows
    }

    /// Returns whether exports write them as counters, if the format has counters.
    pub(super) fn is_exported(&self) -> bool {
        !self.is_left_out
    }

    pub(super) fn export(&mut self, is_wanted: bool) {
        self.is_left_out = !is_wanted;
    }

    /// Adds a track to compute, unless it exists or there are too many.
    pub(super) fn add(&mut self, kind: DerivedKind, scope: SelectedScope, name: &str) -> Result<(), RefusedDerived> {
        if self.rows.iter().any(|row| row.kind == kind && row.scope == scope) {
            return Err(RefusedDerived::Repeated);
        }
        if self.rows.len() >= DERIVED_MAX {
            return Err(RefusedDerived::TooMany);
        }
        self.last += 1;
        let (id, state) = (DerivedId(self.last), DerivedState::Waiting);
        self.rows.push(DerivedRow { id, name: name.to_owned(), kind, scope, is_log: false, state });
        Ok(())
    }

    pub(super) fn row_mut(&mut self, id: DerivedId) -> Option<&mut DerivedRow> {
        self.rows.iter_mut().find(|row| row.id == id)
    }

    pub(super) fn remove(&mut self, id: DerivedId) {
        self.rows.retain(|row| row.id != id);
    }

    /// Returns the definitions of the tracks.
    #[must_use]
    pub(super) fn definitions(&self) -> Vec<DerivedDefinition> {
        let definition = |row: &DerivedRow| DerivedDefinition {
            id: row.id,
            name: row.name.clone(),
            kind: row.kind.clone(),
            scope: row.scope.clone(),
            is_log: row.is_log,
        };
        self.rows.iter().map(definition).collect()
    }

    /// Replaces the tracks by earlier ones. Present tracks keep their series, others are computed.
    pub(super) fn set_definitions(&mut self, definitions: Vec<DerivedDefinition>) {
        let mut before = std::mem::take(&mut self.rows);
        for DerivedDefinition { id, name, kind, scope, is_log } in definitions {
            let known = before.iter_mut().find(|row| row.id == id);
            let state =
                known.map_or(DerivedState::Waiting, |row| std::mem::replace(&mut row.state, DerivedState::Stopped));
            self.rows.push(DerivedRow { id, name, kind, scope, is_log, state });
        }
    }

    /// Returns the tracks for saving.
    pub(super) fn to_saved(&self) -> Vec<SavedDerived> {
        let saved = |row: &DerivedRow| SavedDerived {
            kind: row.kind.to_string(),
            rows: NamedScope::new(&row.name, &row.scope),
            is_log: row.is_log,
        };
        self.rows.iter().map(saved).collect()
    }

    /// Restores saved tracks, which are computed again. The file may have been edited by hand.
    pub(super) fn restore(&mut self, saved: &[SavedDerived], snapshot: &Snapshot) {
        for SavedDerived { kind, rows, is_log } in saved.iter().take(DERIVED_MAX) {
            if let Ok(DerivedTrack { kind, filter, .. }) = DerivedTrack::parse(kind)
                && filter.is_empty()
            {
                let scope = rows.to_scope(snapshot.tracks().tracks.len());
                // It may exist already.
                if self.add(kind, scope, &rows.name).is_ok()
                    && let Some(row) = self.rows.last_mut()
                {
                    row.is_log = *is_log;
                }
            }
        }
    }

    /// Records that a followed trace has grown. A computation goes on, for the part that it reads.
    pub(super) fn note_growth(&mut self) {
        for row in &mut self.rows {
            if let DerivedState::Computed(series) = &row.state {
                row.state = DerivedState::Outdated(Arc::clone(series));
            }
        }
    }

    /// Drops all series, because rows or names have changed. Tracks that the user has stopped stay stopped.
    pub(super) fn forget_curves(&mut self) {
        let unstopped = self.rows.iter_mut().filter(|row| !matches!(row.state, DerivedState::Stopped));
        unstopped.for_each(|row| row.state = DerivedState::Waiting);
    }

    /// Returns the tracks with the same series, for a picture.
    pub(super) fn still(&self) -> Self {
        Self { rows: self.rows.clone(), ..*self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::argument_path::ArgumentPath;

    #[test]
    fn invalid_saved_tracks_are_ignored() {
        let snapshot = crate::scene::tests::snapshot(r#"[{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":1}]"#);
        let mut rows = DerivedRows::default();
        let text =
            r#"[{"kind":"median"},{"kind":"rate x"},{"kind":"rate","rows":{"filter":"dur>soon"}},{},{"kind":7}]"#;
        assert!(serde_json::from_str::<Vec<SavedDerived>>(text).is_err());
        let text = text.replace(r#",{"kind":7}"#, "");
        rows.restore(&serde_json::from_str::<Vec<SavedDerived>>(&text).unwrap(), &snapshot);
        assert_eq!(rows.all().iter().map(DerivedRow::title).collect::<Vec<_>>(), ["Rate: all"]);
    }

    #[test]
    fn a_track_is_exported_by_its_name_and_only_one_of_all_tracks_has_a_definition() {
        let mut rows = DerivedRows::default();
        let all = SelectedScope { filter: "cat:io".into(), ..SelectedScope::default() };
        let of_one = SelectedScope { tracks: [crate::model::TrackIdx(0)].into_iter().collect(), ..all.clone() };
        let ranged = SelectedScope { range: Some((0, 1_000_000)), ..all.clone() };
        let names = [(&all, ""), (&of_one, ""), (&ranged, "")];
        names.iter().for_each(|&(scope, name)| rows.add(DerivedKind::Busy, scope.clone(), name).unwrap());
        rows.add(DerivedKind::Rate, of_one.clone(), "main: io").unwrap();
        let exported: Vec<_> = rows.all().iter().map(DerivedRow::exported_name).collect();
        let title = |number: usize| rows.all()[number].title();
        assert_eq!(exported, ["busy cat:io".to_owned(), title(1), title(2), "main: io".to_owned()]);
        assert!(title(1).ends_with("cat:io \u{b7} 1 track"), "{}", title(1));
        let defined: Vec<_> = rows.all().iter().map(|row| row.export_definition().is_some()).collect();
        assert_eq!(defined, [true, false, false, false]);
    }

    #[test]
    fn a_stopped_track_stays_stopped_when_names_are_found() {
        let mut rows = DerivedRows::default();
        for kind in [DerivedKind::Busy, DerivedKind::Rate] {
            rows.add(kind, SelectedScope::default(), "").unwrap();
        }
        let [stopped, failed] = [0, 1].map(|index| rows.all()[index].id);
        rows.row_mut(stopped).expect("a row").state = DerivedState::Stopped;
        rows.row_mut(failed).expect("a row").state = DerivedState::Failed("no memory".to_owned());
        rows.forget_curves();
        assert!(matches!(rows.all()[0].state, DerivedState::Stopped));
        assert!(matches!(rows.all()[1].state, DerivedState::Waiting));
    }

    #[test]
    fn a_track_that_exists_is_refused_with_the_reason() {
        let snapshot = crate::scene::tests::snapshot(r#"[{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":1}]"#);
        let mut rows = DerivedRows::default();
        assert_eq!(rows.add(DerivedKind::Rate, SelectedScope::default(), ""), Ok(()));
        let again = rows.add(DerivedKind::Rate, SelectedScope::default(), "again");
        assert_eq!(again, Err(RefusedDerived::Repeated));
        rows.restore(&rows.to_saved(), &snapshot);
        assert_eq!(rows.all().len(), 1);
    }

    #[test]
    fn saved_tracks_are_restored_unchanged_and_none_twice() {
        let snapshot = crate::scene::tests::snapshot(r#"[{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":1}]"#);
        let mut rows = DerivedRows::default();
        let scope = SelectedScope { range: Some((5, 1_000_005)), filter: "name:a".into(), ..SelectedScope::default() };
        for is_new in [true, false] {
            let sum = DerivedKind::Sum(ArgumentPath::from_parts(["bytes"]));
            assert_eq!(rows.add(DerivedKind::Concurrency, scope.clone(), "mine").is_ok(), is_new);
            assert_eq!(rows.add(sum, scope.clone(), "").is_ok(), is_new);
        }
        rows.rows[1].is_log = true;
        let text = serde_json::to_string(&rows.to_saved()).unwrap();
        let mut back = DerivedRows::default();
        back.restore(&serde_json::from_str::<Vec<SavedDerived>>(&text).unwrap(), &snapshot);
        assert_eq!(back.to_saved(), rows.to_saved());
        assert_eq!(back.all().iter().map(|row| row.is_log).collect::<Vec<_>>(), [false, true]);
        let titles: Vec<_> = back.all().iter().map(DerivedRow::title).collect();
        assert_eq!(titles, ["mine", "Sum of bytes: name:a \u{b7} range of 1 ms"]);
        let mut add =
            |number| back.add(DerivedKind::Rate, SelectedScope { range: Some((0, number + 1)), ..scope.clone() }, "");
        assert!((2..DERIVED_MAX as i64).all(|number| add(number).is_ok()));
        assert_eq!(add(100), Err(RefusedDerived::TooMany));
        assert_eq!(back.all().len(), DERIVED_MAX);
    }
}
