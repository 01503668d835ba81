//! Texts for groups of spans: the column title, the noun, and the label of each group.

use super::elided::LABEL_SEPARATOR;
use crate::base::time::grouped_digits;
use crate::model::TrackIdx;
use crate::model::names::NO_NAME;
use crate::query::Snapshot;
use crate::query::groups::{GroupBy, NameKey, OwnerKey, SpanGroup};
use crate::query::totals::{GroupValue, Totals};
use crate::scene::titles::{distinct_title, process_title, track_title};

/// The nouns for the groups of some keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct GroupWord {
    /// The title of the column, which is also the menu entry.
    pub(super) title: &'static str,
    singular: &'static str,
    plural: &'static str,
}

impl GroupWord {
    #[must_use]
    pub(super) fn counted(self, count: u64) -> String {
        format!("{} {}", grouped_digits(count), if count == 1 { self.singular } else { self.plural })
    }

    #[must_use]
    pub(super) fn singular(self) -> &'static str {
        self.singular
    }
}

/// Returns the nouns for the groups of these keys.
#[must_use]
pub(super) fn group_word(by: &GroupBy) -> GroupWord {
    let (title, singular, plural) = match by {
        GroupBy::Argument(_) => ("Value", "value", "values"),
        GroupBy::Keys { name, track } => match (name, track) {
            (Some(NameKey::Name) | None, None) => ("Name", "name", "names"),
            (Some(NameKey::Category), None) => ("Category", "category", "categories"),
            (None, Some(OwnerKey::Thread)) => ("Thread", "thread", "threads"),
            (None, Some(OwnerKey::Process)) => ("Process", "process", "processes"),
            (Some(NameKey::Name), Some(OwnerKey::Thread)) => ("Name and thread", "pair", "pairs"),
            (Some(NameKey::Name), Some(OwnerKey::Process)) => ("Name and process", "pair", "pairs"),
            (Some(NameKey::Category), Some(OwnerKey::Thread)) => ("Category and thread", "pair", "pairs"),
            (Some(NameKey::Category), Some(OwnerKey::Process)) => ("Category and process", "pair", "pairs"),
        },
    };
    GroupWord { title, singular, plural }
}

/// Returns the label of a category.
#[must_use]
pub(super) fn category_label(category: Option<&str>) -> &str {
    category.filter(|category| !category.is_empty()).unwrap_or("(no category)")
}

/// Returns the label of a group, and a tooltip, which may be empty.
#[must_use]
pub(super) fn group_label(totals: &Totals, group: SpanGroup, snapshot: &Snapshot) -> (String, String) {
    let (name, track) = match totals.by() {
        GroupBy::Argument(_) => {
            let label = match totals.value(group) {
                GroupValue::Text(text) => text.to_owned(),
                GroupValue::Missing => "(not set)".to_owned(),
                GroupValue::Others => "(other values)".to_owned(),
            };
            return (label, String::new());
        }
        GroupBy::Keys { .. } if group == SpanGroup::OTHERS => return ("(other pairs)".to_owned(), String::new()),
        GroupBy::Keys { name, track } => (name, track),
    };
    let row = snapshot.names().get(group.name);
    let name = name.map(|name| match name {
        NameKey::Name if row.text.trim().is_empty() => {
            (NO_NAME.to_owned(), row.category.unwrap_or_default().to_owned())
        }
        NameKey::Name => (row.text.to_owned(), row.category.unwrap_or_default().to_owned()),
        NameKey::Category => (category_label(row.category).to_owned(), String::new()),
    });
    let processes = &snapshot.tracks().processes;
    let track = track.map(|track| match track {
        OwnerKey::Thread => {
            let index = TrackIdx(group.owner);
            let track = snapshot.track(index);
            let (title, id) = track_title(track);
            // A line shows only the titles of a label of two parts, so the title must be distinct.
            let title = if name.is_some() { distinct_title(snapshot, index) } else { title };
            let process = process_title(&processes[track.process.index()]);
            (title, [id, process].into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("  ·  "))
        }
        OwnerKey::Process => (process_title(&processes[group.owner as usize]), String::new()),
    });
    let joined = |texts: [&str; 2], between: &str| match texts {
        ["", text] | [text, ""] => text.to_owned(),
        [one, other] => format!("{one}{between}{other}"),
    };
    match (name, track) {
        (Some((label, more)), Some((owner, about))) => {
            (format!("{label}{LABEL_SEPARATOR}{owner}"), joined([&more, &about], "\n"))
        }
        (Some(text), None) | (None, Some(text)) => text,
        (None, None) => (String::new(), String::new()),
    }
}
