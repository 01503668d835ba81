//! The label columns of totals tables. They are a contract with scripts.

use super::table::Totals;
use super::values::GroupValue;
use crate::model::{Id, NameRow, ProcessIdx, TrackIdx, TrackKind};
use crate::query::groups::{GroupBy, NameKey, OwnerKey, SpanGroup};
use crate::query::snapshot::Snapshot;

/// The label of a group, in one column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LabelCell<'a> {
    /// Null in JSON, empty elsewhere.
    Nothing,
    Text(&'a str),
    Id(&'a Id),
}

/// Returns the columns that identify the group of a row.
#[must_use]
pub(crate) fn label_columns(by: &GroupBy) -> Vec<&'static str> {
    let (name, track) = match by {
        GroupBy::Argument(_) => return vec!["value", "kind"],
        GroupBy::Keys { name, track } => (name, track),
    };
    let name: &[_] = match name {
        Some(NameKey::Name) => &["name", "category"],
        Some(NameKey::Category) => &["category"],
        None => &[],
    };
    let track: &[_] = match track {
        Some(OwnerKey::Thread) => &["pid", "tid", "process", "thread", "track"],
        Some(OwnerKey::Process) => &["pid", "process"],
        None => &[],
    };
    [name, track].concat()
}

/// Returns the cells of these columns for one group. Allocates nothing, since a sort compares them.
pub(crate) fn label_cells<'a>(
    totals: &'a Totals,
    group: SpanGroup,
    snapshot: &'a Snapshot,
) -> impl Iterator<Item = LabelCell<'a>> {
    let (mut names, mut owner) = ([None; 2], [None; 5]);
    match totals.by() {
        GroupBy::Argument(_) => {
            names = match totals.value(group) {
                GroupValue::Text(text) => [LabelCell::Text(text), LabelCell::Text("value")],
                GroupValue::Missing => [LabelCell::Nothing, LabelCell::Text("missing")],
                GroupValue::Others => [LabelCell::Nothing, LabelCell::Text("others")],
            }
            .map(Some);
        }
        // It has pairs of any name and track.
        GroupBy::Keys { .. } if group == SpanGroup::OTHERS => {}
        GroupBy::Keys { name, track } => {
            let NameRow { text, category, .. } = snapshot.names().get(group.name);
            let category = category.map_or(LabelCell::Nothing, LabelCell::Text);
            match name {
                Some(NameKey::Name) => names = [LabelCell::Text(text), category].map(Some),
                Some(NameKey::Category) => names[0] = Some(category),
                None => {}
            }
            let tables = snapshot.tracks();
            match track {
                Some(OwnerKey::Thread) => {
                    let track = snapshot.track(TrackIdx(group.owner));
                    let process = &tables.processes[track.process.index()].name;
                    let is_thread = track.key.kind == TrackKind::Thread;
                    let [thread, other] = if is_thread { [&*track.name, ""] } else { ["", &*track.name] };
                    let ids = [LabelCell::Id(&track.key.pid), LabelCell::Id(&track.key.tid)];
                    let texts = [process, thread, other].map(LabelCell::Text);
                    owner = [ids[0], ids[1], texts[0], texts[1], texts[2]].map(Some);
                }
                Some(OwnerKey::Process) => {
                    let process = &tables.processes[ProcessIdx(group.owner).index()];
                    owner[..2]
                        .copy_from_slice(&[LabelCell::Id(&process.pid), LabelCell::Text(&process.name)].map(Some));
                }
                None => {}
            }
        }
    }
    names.into_iter().chain(owner).flatten()
}
