//! Sorts tracks by names or values. Tracks of a section, of a group on any level and of a thread stay together.

use std::cmp::Reverse;
use std::rc::Rc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::TrackOrder;
use crate::model::TrackIdx;
use crate::query::Snapshot;
use crate::query::track_groups::GroupId;
use crate::scene::custom_groups::CustomGroupId;
use crate::scene::natural_order::{NamePiece, natural_key};
use crate::scene::rows::{RowSection, TrackRows};
use crate::scene::titles::{group_title, is_of_parent, process_title, title_below};

/// A track with its sort keys.
pub(super) struct Candidate {
    pub(super) rows: TrackRows,
    /// The thread with its states and samples, which stay together; any other track itself.
    pub(super) thread: TrackIdx,
    /// Title of the thread, or of the track itself.
    pub(super) title: String,
    pub(super) first_ns: i64,
    pub(super) events: u64,
    pub(super) longest_ns: u64,
    pub(super) rank: u64,
}

/// A group, or a track with the other tracks of its thread: the units that are ordered among each other below one
/// header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum OrderedUnit {
    Group(GroupId),
    Thread(TrackIdx),
}

/// A group of the user among the others.
#[derive(Debug)]
pub(super) struct CustomSection {
    pub(super) position: usize,
    pub(super) title: String,
}

pub(super) type CustomSections = FxHashMap<CustomGroupId, CustomSection>;

/// The units that a track is in, outermost first.
type Units = SmallVec<[OrderedUnit; 3]>;

/// Sorts tracks stably, so that equal tracks stay in trace order.
pub(super) fn sort(snapshot: &Snapshot, order: TrackOrder, custom_sections: &CustomSections, tracks: &mut [Candidate]) {
    match order {
        // Groups of the user come first, in their own order. Processes stay as they are.
        TrackOrder::Trace => tracks.sort_by_key(|track| custom_place(custom_sections, track)),
        TrackOrder::Name => sort_by_name(snapshot, custom_sections, tracks),
        TrackOrder::FirstEvent => {
            sort_by(snapshot, (custom_sections, tracks), |track| track.first_ns, i64::min, |first_ns| first_ns);
        }
        TrackOrder::Activity => {
            sort_by(snapshot, (custom_sections, tracks), |track| track.events, |a, b| a + b, Reverse);
        }
        TrackOrder::Longest => {
            sort_by(snapshot, (custom_sections, tracks), |track| track.longest_ns, u64::max, Reverse);
        }
        TrackOrder::Busy | TrackOrder::Hits => {
            sort_by(snapshot, (custom_sections, tracks), |track| track.rank, u64::saturating_add, Reverse);
        }
    }
}

fn sort_by_name(snapshot: &Snapshot, custom_sections: &CustomSections, tracks: &mut [Candidate]) {
    let processes = &snapshot.tracks().processes;
    let title_of = |section: RowSection| match section {
        RowSection::Custom(group) => {
            custom_sections.get(&group).map(|section| section.title.clone()).unwrap_or_default()
        }
        RowSection::Process(process) => process_title(&processes[process.index()]),
    };
    let keys: FxHashMap<RowSection, Vec<NamePiece>> =
        tracks.iter().map(|track| (track.rows.section(), natural_key(&title_of(track.rows.section())))).collect();
    let groups = snapshot.groups().iter();
    let group_keys: FxHashMap<GroupId, Rc<[NamePiece]>> =
        groups.map(|group| (group.id, natural_key(&group_title(snapshot, group)).into())).collect();
    tracks.sort_by_cached_key(|track| {
        let section = track.rows.section();
        let units = units_of(snapshot, track).into_iter().map(|unit| match unit {
            OrderedUnit::Group(group) => (true, group_keys.get(&group).cloned(), unit),
            OrderedUnit::Thread(_) => {
                let (is_of_parent, title) = title_among_siblings(snapshot, track);
                (!is_of_parent, Some(natural_key(&title).into()), unit)
            }
        });
        // The parent's own events are above the rest of a group.
        (keys.get(&section).cloned(), section, units.collect::<SmallVec<[_; 3]>>())
    });
}

/// Returns the title of a track below the header of its group, and whether it has the parent's own events.
fn title_among_siblings(snapshot: &Snapshot, track: &Candidate) -> (bool, String) {
    let index = track.rows.track;
    let Some(levels) = track.rows.group.map(|group| group.named_levels()).filter(|&levels| levels > 0) else {
        return (false, track.title.clone());
    };
    let title = title_below(snapshot, index, levels).unwrap_or_else(|| track.title.clone());
    (is_of_parent(snapshot, index, levels), title)
}

/// Sorts by a value per track: sections by the combined value of their tracks, then groups and threads likewise.
fn sort_by<T: Copy, K: Ord>(
    snapshot: &Snapshot,
    (custom_sections, tracks): (&CustomSections, &mut [Candidate]),
    of: impl Fn(&Candidate) -> T,
    combine: impl Fn(T, T) -> T,
    key: impl Fn(T) -> K,
) {
    // By section or unit: the combined value, and the position of its first track.
    let (mut sections, mut units) = (FxHashMap::default(), FxHashMap::default());
    for (position, track) in tracks.iter().enumerate() {
        let value = of(track);
        let add = |(sum, _): &mut (T, usize)| *sum = combine(*sum, value);
        let section = track.rows.section();
        sections.entry(section).and_modify(add).or_insert((value, position));
        for unit in units_of(snapshot, track) {
            // The states of a thread may be in a group of the user that lacks the thread.
            units.entry((section, unit)).and_modify(add).or_insert((value, position));
        }
    }
    tracks.sort_by_cached_key(|track| {
        let own = (of(track), 0);
        let section = track.rows.section();
        let (section_sum, section_position) = sections.get(&section).copied().unwrap_or(own);
        let place_of = |unit| {
            let (sum, position) = units.get(&(section, unit)).copied().unwrap_or(own);
            (key(sum), position)
        };
        let places: SmallVec<[_; 3]> = units_of(snapshot, track).into_iter().map(place_of).collect();
        // As in trace order, groups of the user come before processes.
        (key(section_sum), custom_place(custom_sections, track), section_position, places)
    });
}

/// Returns a key that orders groups of the user among each other, before all other tracks.
fn custom_place(sections: &CustomSections, track: &Candidate) -> (bool, usize) {
    let section = track.rows.custom_group.and_then(|group| sections.get(&group));
    (section.is_none(), section.map_or(0, |section| section.position))
}

/// Returns the groups of a track, outermost first, and then its thread.
fn units_of(snapshot: &Snapshot, track: &Candidate) -> Units {
    let groups = snapshot.groups_of(track.rows.track).filter(|_| track.rows.group.is_some());
    let mut units: Units = std::iter::once(OrderedUnit::Thread(track.thread)).collect();
    units.extend(groups.map(|group| OrderedUnit::Group(group.id)));
    units.reverse();
    units
}
