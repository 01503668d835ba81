//! One group of totals, to narrow a scope to its spans.

use std::sync::Arc;

use super::filter::{TextTest, exactly, name_word};
use super::groups::{GroupBy, NameKey, OwnerKey, SpanGroup, first_names, first_tracks};
use super::matcher::Matcher;
use super::scope::Scope;
use super::snapshot::Snapshot;
use super::totals::{GroupValue, Totals};
use crate::model::{Id, NameIdx, TrackIdx, TrackSet};

/// A group that a scope can be narrowed to. It outlives the totals that it was chosen from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GroupChoice {
    by: GroupBy,
    group: SpanGroup,
    /// Value of the grouping argument; `None` for spans without it.
    value: Option<Arc<str>>,
}

impl GroupChoice {
    /// Returns the group of a name, for spans grouped by name.
    #[must_use]
    pub(crate) fn from_name(name: NameIdx) -> Self {
        Self { by: GroupBy::default(), group: SpanGroup::from_name(name), value: None }
    }

    /// Returns a group of totals; `None` for the merged rest.
    #[must_use]
    pub(crate) fn from_totals(totals: &Totals, group: SpanGroup) -> Option<Self> {
        let value = match totals.by() {
            GroupBy::Keys { .. } if group == SpanGroup::OTHERS => return None,
            GroupBy::Keys { .. } => None,
            GroupBy::Argument(_) => match totals.value(group) {
                GroupValue::Text(text) => Some(text.into()),
                GroupValue::Missing => None,
                GroupValue::Others => return None,
            },
        };
        Some(Self { by: totals.by().clone(), group, value })
    }

    /// Narrows the scope to the spans of this group. Work grows with names and tracks, not with rows.
    #[must_use]
    pub(crate) fn narrow(&self, snapshot: &Snapshot, scope: Scope) -> Scope {
        let matcher = Matcher::clone(&scope.matcher);
        let (name, track) = match &self.by {
            GroupBy::Argument(path) => {
                let matcher = match &self.value {
                    Some(value) => matcher.and_argument(path, TextTest::OfGroup(value.to_string())),
                    None => matcher.and_no_argument(path),
                };
                return scope.matching(matcher);
            }
            GroupBy::Keys { name, track } => (name, track),
        };
        let matcher = match name {
            Some(NameKey::Name) => matcher.and_name(self.group.name, snapshot.names()),
            Some(NameKey::Category) => {
                let first_names = first_names(snapshot);
                matcher.and_names(first_names.len(), |name| first_names[name.index()] == self.group.name)
            }
            None => matcher,
        };
        let owner = self.group.owner;
        let tracks = match track {
            Some(OwnerKey::Thread) => {
                let first_tracks = first_tracks(snapshot);
                TrackSet::from_fn(first_tracks.len(), |track| first_tracks[track.index()].0 == owner)
            }
            Some(OwnerKey::Process) => TrackSet::from_fn(snapshot.tracks().tracks.len(), |track| {
                snapshot.track(track).process.index() == owner as usize
            }),
            None => TrackSet::ALL,
        };
        Scope { tracks: scope.tracks.intersection(&tracks), ..scope }.matching(matcher)
    }

    /// Returns the filter that a person would type for its spans; `None` if there is none.
    #[must_use]
    pub(crate) fn filter(&self, snapshot: &Snapshot) -> Option<String> {
        let (name, track) = match &self.by {
            GroupBy::Argument(path) => {
                let value = self.value.as_ref()?;
                return Some(path.filter(value));
            }
            GroupBy::Keys { name, track } => (name, track),
        };
        let row = snapshot.names().get(self.group.name);
        let name = match name {
            Some(NameKey::Name) => Some(name_word(row.text)),
            Some(NameKey::Category) => Some(format!("cat:{}", exactly(row.category.filter(|text| !text.is_empty())?))),
            None => None,
        };
        let track = match track {
            Some(OwnerKey::Thread) => {
                let track = snapshot.track(TrackIdx(self.group.owner));
                Some(format!("thread:{}", id_or_name(&track.key.tid, &track.name)?))
            }
            Some(OwnerKey::Process) => {
                let process = &snapshot.tracks().processes[self.group.owner as usize];
                Some(format!("process:{}", id_or_name(&process.pid, &process.name)?))
            }
            None => None,
        };
        Some([name, track].into_iter().flatten().collect::<Vec<_>>().join(" "))
    }
}

/// Returns the value of a word that matches only an id, or else the name; `None` without either.
fn id_or_name(id: &Id, name: &str) -> Option<String> {
    let text = id.to_string();
    let text = if text.is_empty() { name } else { &text };
    (!text.is_empty()).then(|| exactly(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::cancel::Cancel;
    use crate::base::progress::Progress;
    use crate::query::filter::Filter;
    use crate::query::ledger_traces::{RandomSequence, SMALL, ranges, spans, store};
    use crate::query::totals::{GrowingTotals, add_up};

    fn added_up(snapshot: &Snapshot, scope: &Scope, by: GroupBy) -> Totals {
        let growing = GrowingTotals::grouped(by);
        add_up(snapshot, scope, &growing, &Cancel::default(), &Progress::default()).unwrap();
        growing.into_totals()
    }

    fn count(totals: &Totals) -> (u64, u128) {
        let rows = totals.by_group();
        rows.iter().fold((0, 0), |(count, ns), (_, row)| (count + row.count, ns + row.total_ns))
    }

    #[test]
    fn a_narrowed_scope_has_the_spans_of_its_group_and_no_others() {
        let (_, snapshot) = store(&spans(5, 2, 60, 60, -500), Some(SMALL), 1 << 20);
        let keys = ["name", "category", "thread", "process", "name,thread", "category,process", "arg:of.five"];
        for (from_ns, to_ns) in ranges(&snapshot, &mut RandomSequence(9), 4) {
            for filter in ["", "-thread:1 dur>20"] {
                let matcher = Matcher::new(&snapshot, &Filter::parse(filter).unwrap());
                let scope = Scope::from_range(from_ns, to_ns).matching(matcher);
                for by in keys {
                    let totals = added_up(&snapshot, &scope, by.parse().unwrap());
                    for (group, row) in totals.by_group() {
                        let choice = GroupChoice::from_totals(&totals, group).unwrap();
                        let narrowed =
                            added_up(&snapshot, &choice.narrow(&snapshot, scope.clone()), GroupBy::default());
                        assert_eq!(count(&narrowed), (row.count, row.total_ns), "{group:?} by {by} of {filter:?}");
                        let Some(found) = choice.filter(&snapshot) else { continue };
                        let words = Matcher::new(&snapshot, &Filter::parse(&format!("{filter} {found}")).unwrap());
                        let found = added_up(&snapshot, &scope.clone().matching(words), GroupBy::default());
                        assert_eq!(count(&found), (row.count, row.total_ns), "{group:?} by {by}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_group_of_numbers_has_them_in_every_notation_and_no_equal_text() {
        let values = ["1.0", "1", "1e0", "\"1\"", "\"1.0\"", "0.50", "0.5", "\"0.50\"", "null", "[1.0]"];
        let event = |(at, value): (usize, &&str)| {
            format!(r#"{{"ph":"X","name":"s","pid":1,"tid":1,"ts":{at}0,"dur":{at},"args":{{"k":{value}}}}}"#)
        };
        let events: Vec<_> = values.iter().enumerate().map(event).collect();
        let snapshot = crate::scene::tests::snapshot(&format!("[{}]", events.join(",")));
        let totals = added_up(&snapshot, &Scope::default(), "arg:k".parse().unwrap());
        let mut groups = Vec::new();
        for (group, row) in totals.by_group() {
            let choice = GroupChoice::from_totals(&totals, group).unwrap();
            let narrowed = added_up(&snapshot, &choice.narrow(&snapshot, Scope::default()), GroupBy::default());
            assert_eq!(count(&narrowed), (row.count, row.total_ns), "{choice:?}");
            groups.push((choice.value.unwrap().to_string(), row.count));
        }
        groups.sort();
        let groups: Vec<_> = groups.iter().map(|(text, count)| (text.as_str(), *count)).collect();
        assert_eq!(groups, [("0.5", 2), ("0.50", 1), ("1", 4), ("1.0", 1), ("[1.0]", 1), ("null", 1)]);
    }

    #[test]
    fn the_group_of_all_others_cannot_be_chosen() {
        let totals = GrowingTotals::grouped("name,thread".parse().unwrap()).into_totals();
        assert_eq!(GroupChoice::from_totals(&totals, SpanGroup::OTHERS), None);
    }

    #[test]
    fn ids_with_marks_are_words_of_a_filter() {
        for id in ["a/b", "x y", "1.5", "(", "\\"] {
            let word = id_or_name(&Id::Text(id.into()), "").unwrap();
            let filter = Filter::parse(&format!("thread:{word}")).unwrap_or_else(|error| panic!("{word}: {error}"));
            assert_eq!(filter.terms.len(), 1, "{word}");
        }
    }
}
