//! Scopes in their saved form: the current one, and named ones that the user has saved. Both are stored with the state
//! of the trace.

use serde::{Deserialize, Serialize};

use crate::model::TrackSet;
use crate::query::track_map::TrackMap;
use crate::ui::selected_scope::SelectedScope;

/// Limit for the scopes of one trace: a longer list is no help.
pub(crate) const NAMED_SCOPES_MAX: usize = 50;

/// Limit for the letters of a name.
const NAME_LETTERS_MAX: usize = 200;

/// A scope in its saved form.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct SavedScope {
    range: Option<(i64, i64)>,
    /// Ranges of neighbouring tracks, both ends included; `None` for all tracks.
    tracks: Option<Vec<(u32, u32)>>,
    filter: String,
}

impl SavedScope {
    pub(super) fn new(scope: &SelectedScope) -> Self {
        let tracks = (!scope.tracks.is_all()).then(|| scope.tracks.runs());
        Self { range: scope.range, tracks, filter: scope.filter.to_string() }
    }

    /// Returns whether nothing was selected.
    #[must_use]
    pub(crate) fn is_whole(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the scope in another import of the trace; `None` if none of its tracks is left.
    fn mapped(self, map: &TrackMap) -> Option<Self> {
        let tracks = match &self.tracks {
            None => None,
            Some(runs) => Some(map.runs(runs)?),
        };
        Some(Self { tracks, ..self })
    }

    /// Returns the scope in another import of the trace, of all tracks if none of its tracks is left.
    pub(super) fn mapped_or_of_all(self, map: &TrackMap) -> Self {
        let tracks = self.tracks.as_ref().and_then(|runs| map.runs(runs));
        Self { tracks, ..self }
    }

    /// Converts to the scope of a trace with this many tracks. The file may have been edited by hand.
    pub(super) fn to_scope(&self, tracks: usize) -> SelectedScope {
        let tracks = match &self.tracks {
            None => TrackSet::ALL,
            Some(runs) => TrackSet::from_runs(tracks, runs),
        };
        let is_valid = crate::query::filter::Filter::parse(&self.filter).is_ok();
        SelectedScope {
            range: self.range.filter(|(from_ns, to_ns)| from_ns < to_ns),
            tracks: if tracks.is_empty() { TrackSet::ALL } else { tracks },
            filter: if is_valid { self.filter.as_str().into() } else { "".into() },
        }
    }
}

/// A scope with its name, in its saved form.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct NamedScope {
    pub(crate) name: String,
    #[serde(flatten)]
    scope: SavedScope,
}

impl NamedScope {
    /// Returns whether a scope that is saved under this name replaces this one.
    pub(crate) fn is_named(&self, name: &str) -> bool {
        name.trim().chars().take(NAME_LETTERS_MAX).eq(self.name.chars())
    }

    /// Returns whether the two differ at most in their names.
    pub(super) fn has_same_rows(&self, other: &Self) -> bool {
        self.scope == other.scope
    }

    /// Returns the scope in another import of the trace; `None` if none of its tracks is left.
    pub(super) fn mapped(self, map: &TrackMap) -> Option<Self> {
        Some(Self { scope: self.scope.mapped(map)?, ..self })
    }

    pub(super) fn new(name: &str, scope: &SelectedScope) -> Self {
        let name = name.chars().take(NAME_LETTERS_MAX).collect();
        Self { name, scope: SavedScope::new(scope) }
    }

    /// Converts to the scope of a trace with this many tracks. The file may have been edited by hand.
    pub(super) fn to_scope(&self, tracks: usize) -> SelectedScope {
        self.scope.to_scope(tracks)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::TrackIdx;

    proptest! {
        #[test]
        fn a_saved_scope_is_restored_unchanged(
            tracks in prop::option::of(prop::collection::btree_set(0u32..200, 1..40)),
            range in prop::option::of((-50i64..50, 51i64..100)),
        ) {
            let tracks = match &tracks {
                None => TrackSet::ALL,
                Some(tracks) => tracks.iter().copied().map(TrackIdx).collect(),
            };
            let scope = SelectedScope { range, tracks, filter: "dur>1ms".into() };
            let text = serde_json::to_string(&NamedScope::new("name", &scope)).unwrap();
            let named: NamedScope = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(named.to_scope(200), scope);
        }
    }

    #[test]
    fn an_invalid_saved_scope_selects_everything() {
        let text = r#"{"name":"x","range":[5,5],"tracks":[[9,2],[900,4000000000]],"filter":"dur>soon"}"#;
        let named: NamedScope = serde_json::from_str(text).unwrap();
        assert!(named.to_scope(20).is_whole());
    }
}
