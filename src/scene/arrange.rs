//! Sorts and filters tracks. Visits every track, so a window does it in the background for many tracks; [`super::rows`]
//! lays out the result.

pub(crate) mod moves;
mod sort;

use std::borrow::Cow;
use std::hash::Hash;

use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

use super::counter_form::CounterForm;
use super::counter_overlay::CounterOverlay;
use super::custom_groups::CustomGroups;
use super::rows::{Folded, GroupKind, RowHeights, RowLayout, RowSection, TrackRows};
use super::titles::{command_line, path_title, process_title, track_title};
use crate::base::merged::{merged_list, merged_value};
use crate::model::{Process, ProcessIdx, TrackIdx, TrackKind, TrackSet};
use crate::query::Snapshot;
use crate::query::counters::is_flat_zero;
use crate::query::longest::longest_of_lane;
use crate::query::track_groups::TrackGroup;
use crate::query::track_map::TrackMap;
use crate::store::lane::LaneIdx;
use moves::RowMoves;
use sort::{Candidate, CustomSection, CustomSections, sort};

/// The order of processes, and of the tracks within each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub(crate) enum TrackOrder {
    #[default]
    #[serde(rename = "Captured")]
    Trace,
    /// By name, with numbers compared by value.
    Name,
    FirstEvent,
    /// Most events first.
    Activity,
    Longest,
    /// Most time in outermost spans first.
    Busy,
    /// Most hits of the search first.
    Hits,
}

impl TrackOrder {
    pub(crate) const ALL: [Self; 7] =
        [Self::Trace, Self::Name, Self::FirstEvent, Self::Activity, Self::Longest, Self::Busy, Self::Hits];

    /// Returns whether the order needs a count of each track, which takes longer than a frame.
    #[must_use]
    pub(crate) fn is_ranked(self) -> bool {
        matches!(self, Self::Busy | Self::Hits)
    }
}

/// The arrangement of rows: order, filter, folded and pinned tracks.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Arrangement {
    pub(crate) order: TrackOrder,
    /// Words that must all occur in the name of the track or its process, in any case.
    pub(crate) filter: String,
    pub(crate) folded: Folded,
    /// Processes and groups that were folded since the filter changed. A filter unfolds all others, so that each match
    /// is visible.
    #[serde(skip)]
    pub(crate) folded_in_filter: FxHashSet<GroupKind>,
    /// Pinned tracks, which stay at the top, in the order in which they were pinned or moved.
    pub(crate) pinned: Vec<TrackIdx>,
    /// Rows that the user has moved, which has an effect in trace order.
    pub(crate) moves: RowMoves,
    /// Counters that are not drawn as values above zero, by track.
    pub(crate) counters: Vec<(TrackIdx, CounterForm)>,
    /// Counters that share a row.
    pub(crate) overlays: Vec<CounterOverlay>,
    /// The groups that the user has made. Their saved form needs the number of tracks, so they are saved separately.
    #[serde(skip)]
    pub(crate) custom_groups: CustomGroups,
}

/// Maximum number of rows of several counters, since a frame checks each.
pub(crate) const OVERLAYS_MAX: usize = 64;

impl Arrangement {
    /// Returns `saved` with what one window has changed between `before` and `now`.
    #[must_use]
    pub(crate) fn merged(saved: Self, before: &Self, now: &Self) -> Self {
        Self {
            order: merged_value(saved.order, &before.order, &now.order),
            filter: merged_value(saved.filter, &before.filter, &now.filter),
            folded: Folded::merged(saved.folded, &before.folded, &now.folded),
            folded_in_filter: now.folded_in_filter.clone(),
            pinned: merged_list(saved.pinned, &before.pinned, &now.pinned, |a, b| a == b),
            moves: merged_value(saved.moves, &before.moves, &now.moves),
            counters: merged_list(saved.counters, &before.counters, &now.counters, |a, b| a.0 == b.0),
            overlays: merged_list(saved.overlays, &before.overlays, &now.overlays, |a, b| a.lead() == b.lead()),
            custom_groups: now.custom_groups.clone(),
        }
    }

    /// Returns the arrangement for another import of the trace, without tracks that are not there. Groups of the user
    /// are mapped in their saved form.
    #[must_use]
    pub(crate) fn mapped(&self, map: &TrackMap) -> Self {
        let counters = self.counters.iter();
        Self {
            order: self.order,
            filter: self.filter.clone(),
            folded: self.folded.mapped(map),
            folded_in_filter: FxHashSet::default(),
            pinned: self.pinned.iter().filter_map(|&track| map.track(track)).collect(),
            moves: self.moves.mapped(map),
            counters: counters.filter_map(|&(track, form)| Some((map.track(track)?, form))).collect(),
            overlays: self.overlays.iter().filter_map(|overlay| overlay.mapped(map)).collect(),
            custom_groups: CustomGroups::default(),
        }
    }

    /// Returns the header of the outermost level above a track.
    #[must_use]
    pub(crate) fn header_above(&self, snapshot: &Snapshot, track: TrackIdx) -> GroupKind {
        let section = self.custom_groups.group_of(track).map(|group| RowSection::Custom(group.id));
        section.unwrap_or_else(|| RowSection::Process(snapshot.track(track).process)).header()
    }

    /// Returns the headers of the groups of the trace that contain a track, innermost first, unless it is in a group of
    /// the user.
    pub(crate) fn groups_above<'s>(
        &self,
        snapshot: &'s Snapshot,
        track: TrackIdx,
    ) -> impl Iterator<Item = GroupKind> + use<'s> {
        let is_in_custom_group = self.custom_groups.group_of(track).is_some();
        let groups = snapshot.groups_of(track).filter(move |_| !is_in_custom_group);
        groups.map(|group| GroupKind::Tracks(group.id))
    }

    /// Returns whether only the header of a process, the header of a group, or the outermost spans of a track are
    /// shown.
    #[must_use]
    pub(crate) fn is_folded(&self, snapshot: &Snapshot, kind: GroupKind) -> bool {
        match kind {
            GroupKind::Custom(_) | GroupKind::Process(_) | GroupKind::Tracks(_) if self.is_filtered() => {
                self.folded_in_filter.contains(&kind)
            }
            GroupKind::Custom(group) => self.folded.custom_groups.contains(&group),
            GroupKind::Process(process) => self.folded.processes.contains(&process),
            GroupKind::Tracks(group) => snapshot.group(group).is_some_and(|group| self.folded.has_group(&group)),
            GroupKind::Track(track) => {
                let is_lead = self.overlay_of(track).is_some();
                self.folded.tracks.contains(&track) != (!is_lead && is_flat_zero(snapshot, track))
            }
        }
    }

    /// Returns whether the filter has words.
    #[must_use]
    pub(crate) fn is_filtered(&self) -> bool {
        !self.filter.trim().is_empty()
    }

    /// Returns the folded rows of a layout.
    fn folded_rows(&self, snapshot: &Snapshot) -> Cow<'_, Folded> {
        if !self.is_filtered() {
            return Cow::Borrowed(&self.folded);
        }
        let folded = || self.folded_in_filter.iter();
        let process_of = |kind: &GroupKind| if let GroupKind::Process(process) = kind { Some(*process) } else { None };
        let custom_of = |kind: &GroupKind| if let GroupKind::Custom(group) = kind { Some(*group) } else { None };
        let (processes, custom_groups) =
            (folded().filter_map(process_of).collect(), folded().filter_map(custom_of).collect());
        let is_toggled =
            |group: &&TrackGroup| group.starts_folded() != self.folded_in_filter.contains(&GroupKind::Tracks(group.id));
        let toggled_groups = snapshot.groups().iter().filter(is_toggled).map(|group| group.id).collect();
        Cow::Owned(Folded { processes, toggled_groups, custom_groups, ..self.folded.clone() })
    }

    /// Unfolds the groups of the chosen tracks, so that each track is visible. This applies to processes that were
    /// chosen in part, and to all processes if only counters were chosen. In other processes, groups stay folded.
    pub(crate) fn unfold_groups_of(&mut self, snapshot: &Snapshot, chosen: &TrackSet) {
        let (mut divided_processes, mut has_only_counters) = (FxHashSet::default(), true);
        for &index in snapshot.display_order() {
            let track = snapshot.track(index);
            if chosen.contains(index) {
                has_only_counters &= track.key.kind == TrackKind::Counter;
            } else {
                divided_processes.insert(track.process);
            }
        }
        for group in snapshot.groups() {
            let is_divided = divided_processes.contains(&snapshot.track(group.id.lead).process);
            if (is_divided || has_only_counters) && self.folded.has_group(group) {
                toggle(&mut self.folded.toggled_groups, group.id);
            }
        }
    }

    /// Returns the overlay that contains a counter.
    #[must_use]
    pub(crate) fn overlay_of(&self, track: TrackIdx) -> Option<&CounterOverlay> {
        self.overlays.iter().find(|overlay| overlay.has(track))
    }

    /// Draws counters in one row, and no longer in others. Returns false and changes nothing if there are too many rows
    /// of several counters.
    #[must_use]
    pub(crate) fn overlay(&mut self, overlay: CounterOverlay) -> bool {
        let mut overlays = self.overlays_without(&overlay.counters().collect::<Vec<_>>());
        let has_room = overlays.len() < OVERLAYS_MAX;
        if has_room {
            overlays.push(overlay);
            self.overlays = overlays;
        }
        has_room
    }

    /// Draws counters in separate rows.
    pub(crate) fn separate(&mut self, counters: &[TrackIdx]) {
        self.overlays = self.overlays_without(counters);
    }

    /// Drops counters from shared rows if a trace with this number of tracks lacks them.
    pub(crate) fn drop_missing_counters(&mut self, track_count: usize) {
        let retained = |overlay: &CounterOverlay| overlay.retained(|counter| counter.index() < track_count);
        self.overlays = self.overlays.iter().filter_map(retained).collect();
    }

    fn overlays_without(&self, counters: &[TrackIdx]) -> Vec<CounterOverlay> {
        self.overlays.iter().filter_map(|overlay| overlay.without(counters)).collect()
    }

    /// Returns tracks, and all counters that share a row with one of them.
    #[must_use]
    pub(crate) fn with_counters(&self, tracks: Vec<TrackIdx>) -> Vec<TrackIdx> {
        if self.overlays.is_empty() {
            return tracks;
        }
        let leads = self.overlays.iter().map(|overlay| (overlay.lead(), overlay));
        let leads: FxHashMap<TrackIdx, &CounterOverlay> = leads.collect();
        let mut all = tracks;
        for at in 0..all.len() {
            all.extend(leads.get(&all[at]).into_iter().flat_map(|overlay| overlay.counters().skip(1)));
        }
        all
    }

    /// Returns the rows of tracks, with each overlay in the row of its first counter. If a filter excludes the first
    /// counter, the overlay is in the row of another of its counters.
    fn with_overlays(&self, snapshot: &Snapshot, tracks: Vec<TrackRows>) -> Vec<TrackRows> {
        if self.overlays.is_empty() {
            return tracks;
        }
        let counters = (0..).zip(&self.overlays).flat_map(|(at, overlay)| overlay.counters().map(move |it| (it, at)));
        let overlay_of: FxHashMap<TrackIdx, usize> = counters.collect();
        let overlay_at = |rows: &TrackRows| overlay_of.get(&rows.track).copied();
        // By overlay: the track whose row shows it.
        let mut owners: Vec<Option<TrackIdx>> = vec![None; self.overlays.len()];
        for rows in &tracks {
            if let Some(at) = overlay_at(rows)
                && (owners[at].is_none() || rows.track == self.overlays[at].lead())
            {
                owners[at] = Some(rows.track);
            }
        }
        let with_curves = |rows: TrackRows| match overlay_at(&rows) {
            Some(at) if owners[at] == Some(rows.track) => {
                let overlay = &self.overlays[at];
                let curves = overlay.counters().count() as u32;
                // The row of the overlay stays between the tracks of its owner, which may be in another process.
                let (process, group, custom_group) = (rows.process, rows.group, rows.custom_group);
                let lead = rows_of(snapshot, overlay.lead());
                Some(TrackRows { curves, process, group, custom_group, starts_folded: false, ..lead })
            }
            Some(_) => None,
            None => Some(rows),
        };
        tracks.into_iter().filter_map(with_curves).collect()
    }
}

/// Adds an item to a set, or removes it.
pub(crate) fn toggle<T: Eq + Hash>(set: &mut FxHashSet<T>, item: T) {
    if let Some(item) = set.replace(item) {
        set.remove(&item);
    }
}

/// Lays out the tracks of a trace by an arrangement. `ranks` are the counts that its order needs, by track index.
#[must_use]
pub(crate) fn layout(
    snapshot: &Snapshot,
    arrangement: &Arrangement,
    ranks: Option<&[u64]>,
    heights: &RowHeights,
) -> RowLayout {
    let tracks = tracks(snapshot, arrangement, ranks);
    let tracks = arrangement.with_overlays(snapshot, tracks);
    let kind_of = |lane| snapshot.lane(lane).kind;
    let outer_of = |group| snapshot.groups_around(group).next();
    RowLayout::new(tracks, kind_of, outer_of, &arrangement.folded_rows(snapshot), heights)
}

/// Lays out the pinned tracks of a trace; missing ones are left out.
#[must_use]
pub(crate) fn pinned_layout(snapshot: &Snapshot, arrangement: &Arrangement, heights: &RowHeights) -> RowLayout {
    let pinned = arrangement.pinned.iter().filter(|track| track.index() < snapshot.tracks().tracks.len());
    let with_curves = |rows: TrackRows| match arrangement.overlay_of(rows.track) {
        Some(overlay) if overlay.lead() == rows.track => {
            TrackRows { curves: overlay.counters().count() as u32, starts_folded: false, ..rows }
        }
        _ => rows,
    };
    let tracks = pinned.map(|&track| with_curves(rows_of(snapshot, track)));
    // A pinned track is shown at the top even if it is hidden below.
    let folded = Folded { tracks: arrangement.folded.tracks.clone(), ..Folded::default() };
    RowLayout::without_headers(tracks, |lane| snapshot.lane(lane).kind, &folded, heights)
}

/// Returns the tracks that match the filter, in order; the tracks of a section are adjacent. Without the counts that
/// the order needs, they are in trace order.
#[must_use]
pub(crate) fn tracks(snapshot: &Snapshot, arrangement: &Arrangement, ranks: Option<&[u64]>) -> Vec<TrackRows> {
    let Arrangement { order, filter, custom_groups, moves, .. } = arrangement;
    let order = if order.is_ranked() && ranks.is_none() { TrackOrder::Trace } else { *order };
    let words: Vec<String> = filter.split_whitespace().map(str::to_lowercase).collect();
    if order == TrackOrder::Trace && words.is_empty() && custom_groups.is_empty() {
        let tracks = snapshot.display_order().iter().map(|&track| rows_of(snapshot, track));
        return moves.apply(snapshot, tracks.collect());
    }
    let tables = snapshot.tracks();
    let (custom_group_of, custom_sections) = (custom_groups.by_track(), sections_of(custom_groups));
    let mut process_texts: FxHashMap<ProcessIdx, String> = FxHashMap::default();
    let mut candidates = Vec::new();
    for &index in snapshot.display_order() {
        let track = snapshot.track(index);
        let (title, secondary) = track_title(track);
        let thread = snapshot.thread_of(index);
        let thread_title = (thread != index).then(|| track_title(snapshot.track(thread)).0);
        let custom_group = custom_group_of.get(&index).copied();
        if !words.is_empty() {
            let process = process_texts
                .entry(track.process)
                .or_insert_with(|| searched_text(&tables.processes[track.process.index()]));
            let texts = [Some(&title), Some(&secondary), thread_title.as_ref()];
            let texts = texts.map(|text| text.map(|text| text.to_lowercase()).unwrap_or_default());
            let custom =
                custom_group.and_then(|group| custom_sections.get(&group)).map(|section| section.title.to_lowercase());
            let named = tables.group(index).map(|group| path_title(group.names()).to_lowercase());
            let holds = |word: &String| {
                let is_in_group = [&custom, &named].into_iter().flatten().any(|group| group.contains(word));
                process.contains(word) || is_in_group || texts.iter().any(|text| text.contains(word))
            };
            if !words.iter().all(holds) {
                continue;
            }
        }
        let rank = ranks.and_then(|ranks| ranks.get(index.index())).copied().unwrap_or(0);
        let candidate =
            Candidate { rank, ..candidate(snapshot, (index, thread), thread_title.unwrap_or(title), order) };
        candidates.push(match custom_group {
            // A group of the user has no groups of the trace.
            Some(_) => Candidate { rows: TrackRows { custom_group, group: None, ..candidate.rows }, ..candidate },
            None => candidate,
        });
    }
    sort(snapshot, order, &custom_sections, &mut candidates);
    let tracks = candidates.into_iter().map(|candidate| candidate.rows).collect();
    if order == TrackOrder::Trace { moves.apply(snapshot, tracks) } else { tracks }
}

fn sections_of(groups: &CustomGroups) -> CustomSections {
    let sections = groups.all().iter().enumerate();
    sections.map(|(position, group)| (group.id, CustomSection { position, title: group.title() })).collect()
}

fn rows_of(snapshot: &Snapshot, track: TrackIdx) -> TrackRows {
    TrackRows {
        track,
        process: snapshot.track(track).process,
        custom_group: None,
        lanes: snapshot.lanes_of(track),
        group: snapshot.group_of(track),
        starts_folded: is_flat_zero(snapshot, track),
        curves: 0,
    }
}

fn candidate(
    snapshot: &Snapshot,
    (track, thread): (TrackIdx, TrackIdx),
    title: String,
    order: TrackOrder,
) -> Candidate {
    let rows = rows_of(snapshot, track);
    let (mut first_ns, mut events, mut longest_ns) = (i64::MAX, 0, 0);
    if matches!(order, TrackOrder::FirstEvent | TrackOrder::Activity) {
        for lane in rows.lanes.clone().map(|lane| snapshot.lane(LaneIdx(lane))).filter(|lane| lane.rows > 0) {
            first_ns = first_ns.min(lane.start_ns);
            events += lane.rows;
        }
    }
    // A state such as sleeping is not a span.
    if order == TrackOrder::Longest && snapshot.track(track).key.kind != TrackKind::State {
        let longest = rows.lanes.clone().map(|lane| longest_of_lane(snapshot, LaneIdx(lane)));
        longest_ns = longest.max().unwrap_or(0);
    }
    Candidate { rows, thread, title, first_ns, events, longest_ns, rank: 0 }
}

/// Returns the title of a process and its whole command line, in lower case.
fn searched_text(process: &Process) -> String {
    format!("{} {}", process_title(process), command_line(process).unwrap_or_default()).to_lowercase()
}
