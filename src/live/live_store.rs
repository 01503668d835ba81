//! The store of a live trace: rows in as they arrive, snapshots out. A snapshot has the type of a sorted trace. Rows
//! that may still move are limited in number; the others are on disk.
//!
//! A snapshot is a preview: nested async spans have no tracks of their own, and rows that come later than the window
//! are shown below the others. Late values of counters are left out. The final sort puts everything in its place.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::arc_cache::ArcCache;
use super::density::LiveDensity;
use super::feed::LiveName;
use super::live_source::LiveTableRow;
use super::pairs::{LiveFlow, LiveRow, RowValue};
use super::placing::{OpenRow, WindowRow, WindowValue};
use super::session::{LiveSession, SourceRow};
use super::source_names::SourceNames;
use super::tracks::{LiveChart, LiveTrack, OpenRows, RowPlacement};
use crate::ingest::flame::TimedStack;
use crate::model::args::Detail;
use crate::model::facts::Subject;
use crate::model::sample_measure::{OFF_CPU, sample_event};
use crate::model::{
    Id, Loss, Losses, Metadata, NameIdx, Names, Registry, SourcePos, Stacks, TrackIdx, TrackKey, TrackKind,
};
use crate::query::Snapshot;
use crate::store::growing::GrowingStore;
use crate::store::{LaneKind, Meta, Row, Summary};

/// Limit for the charts of samples: threads by event.
const CHARTS_MAX: usize = 4096;

#[derive(Debug, Clone, Copy)]
pub(crate) struct LiveStoreLimits {
    /// Rows that may still move, in all tracks; each snapshot places them.
    pub(crate) window_rows: usize,
    /// Rows in memory that no longer move; more are written to the file.
    pub(crate) settled_rows: usize,
}

impl LiveStoreLimits {
    /// Returns limits that keep a live store within about a quarter of the given memory.
    pub(crate) fn within(memory_bytes: u64) -> Self {
        /// Bytes of a row: in its window, and twice each in its lane and packed, for the new snapshot and for the shown
        /// one.
        const ROW_BYTES: u64 = 192;
        /// More would take longer than the interval of snapshots.
        const WINDOW_ROWS_MAX: u64 = 1 << 18;
        let rows = memory_bytes / 8 / ROW_BYTES;
        let clamped = |most: u64| usize::try_from(rows.clamp(1 << 12, most)).unwrap_or(usize::MAX);
        Self { window_rows: clamped(WINDOW_ROWS_MAX), settled_rows: clamped(1 << 22) }
    }
}

/// Rows that arrived too late to be inserted among the others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct LateRows {
    /// Rows shown below the others until the final sort.
    pub(crate) apart: u64,
    /// Shown only by the final sort.
    pub(crate) left_out: u64,
    /// The time of the first of these.
    pub(crate) first_left_out_ns: Option<i64>,
}

/// The retained part of a live trace: its last nanoseconds, or its last bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Retention {
    Time(u64),
    Bytes(u64),
}

/// The oldest rows are dropped whenever this fraction of the retained part has arrived.
const TRIM_STEPS: u64 = 32;

/// Cuts per trim: rows and their details are not cut in the same proportion.
const CUTS_MAX: usize = 3;

/// The store of a live trace.
pub(crate) struct LiveStore {
    limits: LiveStoreLimits,
    store: GrowingStore,
    names: Names,
    /// A copy for snapshots, renewed when names arrive.
    shared_names: Arc<Names>,
    stacks: Stacks,
    shared_stacks: Arc<Stacks>,
    registry: Registry,
    /// The tracks of each source.
    tracks_by_key: Vec<FxHashMap<Arc<TrackKey>, TrackIdx>>,
    /// Caches of recently used tracks and names, over all sources.
    track_cache: ArcCache<TrackKey, TrackIdx>,
    name_cache: ArcCache<LiveName, NameIdx>,
    sources: SourceNames,
    tracks: Vec<LiveTrack>,
    charts: BTreeMap<(TrackIdx, Box<str>), (TrackIdx, LiveChart)>,
    window_rows: usize,
    summary: Summary,
    density: LiveDensity,
    late: LateRows,
    /// Rows of more tracks than a trace can have.
    untracked: u64,
    kept_part: Option<Retention>,
    /// Time and bytes of the last trim.
    trimmed: (i64, u64),
    /// The ends of the last rows.
    last_ends_ns: [i64; 3],
    /// Rows that the ring has dropped.
    dropped: u64,
    blob: Vec<u8>,
    has_changed: bool,
}

impl LiveStore {
    /// Creates an empty store, whose rows go to an empty file. Returns the I/O error of a failed write.
    pub(crate) fn new(file: File, names: Names, limits: LiveStoreLimits) -> io::Result<Self> {
        let store = GrowingStore::new(file, limits.settled_rows)?;
        let shared_names = Arc::new(names.clone());
        Ok(Self {
            limits,
            store,
            names,
            shared_names,
            stacks: Stacks::default(),
            shared_stacks: Arc::default(),
            registry: Registry::default(),
            tracks_by_key: Vec::new(),
            track_cache: ArcCache::new(),
            name_cache: ArcCache::new(),
            sources: SourceNames::default(),
            tracks: Vec::new(),
            charts: BTreeMap::new(),
            window_rows: 0,
            summary: Summary { start_ns: i64::MAX, end_ns: i64::MIN, ..Summary::default() },
            density: LiveDensity::default(),
            late: LateRows::default(),
            untracked: 0,
            kept_part: None,
            trimmed: (i64::MIN, 0),
            last_ends_ns: [i64::MIN; 3],
            dropped: 0,
            blob: Vec::new(),
            has_changed: false,
        })
    }

    /// Limits the store to its latest rows. Returns an error if the disk cannot punch holes.
    pub(crate) fn keep_part(&mut self, part: Retention) -> io::Result<()> {
        self.kept_part = Some(part);
        self.store.keep_ring()
    }

    /// Returns the number of dropped rows.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Returns whether anything arrived since the last snapshot.
    pub(crate) fn has_changed(&self) -> bool {
        self.has_changed
    }

    /// Returns whether too many rows may move: [`Self::settle`] must be called.
    pub(crate) fn is_full(&self) -> bool {
        self.window_rows > self.limits.window_rows
    }

    /// Returns the density of the last snapshot.
    pub(crate) fn density(&self) -> &LiveDensity {
        &self.density
    }

    pub(crate) fn late(&self) -> LateRows {
        self.late
    }

    pub(crate) fn file_bytes(&self) -> u64 {
        self.store.kept_bytes()
    }

    /// Adds new names and tracks. Must be called before each step, which may add sources.
    pub(crate) fn take_tables(&mut self, session: &mut LiveSession) {
        self.sources.update(session);
        self.tracks_by_key.resize_with(self.sources.len(), FxHashMap::default);
        for (source, rows) in session.take_tables() {
            for row in rows {
                self.has_changed = true;
                match row {
                    LiveTableRow::Track(key) => _ = self.track(source, &key),
                    LiveTableRow::Metadata(mut metadata) => {
                        self.name_apart(source, &mut metadata);
                        self.registry.apply(&metadata);
                    }
                }
            }
        }
    }

    /// Adds a row. Returns the I/O error of a failed write.
    pub(crate) fn add(&mut self, row: &SourceRow<'_>) -> io::Result<()> {
        let &SourceRow { row, source, .. } = row;
        let Some(track) = self.track(source, &row.track) else {
            self.untracked += 1;
            return Ok(());
        };
        self.has_changed = true;
        let before = self.tracks[track.index()].window_len();
        let added = self.add_to_track(track, row)?;
        self.window_rows = (self.window_rows + self.tracks[track.index()].window_len()).saturating_sub(before);
        match added {
            RowPlacement::InWindow => {}
            RowPlacement::Apart => self.late.apart += 1,
            RowPlacement::LeftOut => {
                self.late.left_out += 1;
                self.late.first_left_out_ns.get_or_insert(row.ts_ns);
            }
        }
        Ok(())
    }

    /// Adds a row to its track, and counts it.
    fn add_to_track(&mut self, track: TrackIdx, row: &LiveRow) -> io::Result<RowPlacement> {
        let (name, detail) = (self.name(&row.name), self.detail(&row.args)?);
        let (start_ns, order) = (row.ts_ns, row.order);
        let is_unended = matches!(row.value, RowValue::Span { dur_ns: None } | RowValue::Scheduling { dur_ns: None });
        // A span without an end lasts until now, and grows.
        let end_ns = start_ns.saturating_add_unsigned(row.dur_ns(self.summary.end_ns));
        self.summary.start_ns = self.summary.start_ns.min(start_ns);
        self.summary.end_ns = self.summary.end_ns.max(end_ns);
        let [_, before_ns, last_ns] = self.last_ends_ns;
        self.last_ends_ns = [before_ns, last_ns, if is_unended { start_ns } else { end_ns }];
        let Self { store, tracks, summary, .. } = self;
        let state = &mut tracks[track.index()];
        Ok(match &row.value {
            RowValue::Span { .. } | RowValue::Scheduling { .. } => {
                summary.spans += 1;
                let endless = OpenRow { start_ns, order, name: name.0, detail };
                if is_unended && state.add_endless(endless) {
                    RowPlacement::InWindow
                } else {
                    let value = WindowValue::Span { end_ns };
                    state.add(WindowRow { start_ns, order, value, name: name.0, detail })
                }
            }
            RowValue::Instant => {
                summary.instants += 1;
                let row = WindowRow { start_ns, order, value: WindowValue::Instant, name: name.0, detail };
                state.add(row)
            }
            RowValue::Flow(LiveFlow { id, point, is_placed }) => {
                summary.flows += 1;
                let value = WindowValue::Flow { id: *id, is_placed: *is_placed };
                state.add(WindowRow { start_ns, order, value, name: name.0, detail: point.to_bits() })
            }
            RowValue::Counter(value) => {
                summary.counters += 1;
                let row = Row { start_ns, value: value.to_bits(), detail, name: name.0 };
                state.add_point(store, (track, LaneKind::Counter), row)?
            }
            RowValue::Sample(functions) => {
                summary.samples += 1;
                let names = &mut self.names;
                let path = functions.iter().rev().map(|name| names.intern_row(name.borrowed()));
                let stack = self.stacks.intern_path(path);
                let point = Row { start_ns, value: u64::from(stack.0), detail, name: name.0 };
                let added = state.add_point(store, (track, LaneKind::Samples), point)?;
                self.chart(track, row, stack)?;
                added
            }
        })
    }

    /// Writes the arguments of a row, and returns their position; 0 without arguments.
    fn detail(&mut self, args: &str) -> io::Result<u64> {
        if args.is_empty() {
            return Ok(0);
        }
        self.blob.clear();
        Detail { args_json: args, ..Detail::default() }.encode_into(&mut self.blob);
        Ok(self.store.push_detail(&self.blob)?.0)
    }

    /// Adds a sample to the chart of its thread and event.
    fn chart(&mut self, track: TrackIdx, row: &LiveRow, stack: crate::model::StackIdx) -> io::Result<()> {
        let event = sample_event(&row.args);
        let key = (track, Box::from(&*event));
        if !self.charts.contains_key(&key) {
            if self.charts.len() >= CHARTS_MAX {
                return Ok(());
            }
            let is_first = !self.charts.keys().any(|(other_track, _)| *other_track == track);
            let title = if is_first { "samples".to_owned() } else { format!("samples: {event}") };
            let part = match &*event {
                _ if is_first => "",
                "" => " ",
                event => event,
            };
            let Some(chart) = self.registry.derived(track, TrackKind::Samples, part, &title) else { return Ok(()) };
            self.add_tracks();
            self.charts.insert(key.clone(), (chart, LiveChart::default()));
        }
        let Some((chart_track, chart)) = self.charts.get_mut(&key) else { return Ok(()) };
        let sample = TimedStack::from_args(row.ts_ns, stack, &row.args);
        chart.add(&mut self.store, *chart_track, (sample, *key.1 == *OFF_CPU), &self.stacks)
    }

    /// Settles half of the moving rows until they are within the limit. Returns the I/O error of a failed write.
    pub(crate) fn settle(&mut self, session: &LiveSession) -> io::Result<()> {
        let open = self.open_rows(session);
        while self.window_rows > self.limits.window_rows / 2 {
            for (track, state) in self.tracks.iter_mut().enumerate() {
                let before = state.window_len();
                state.settle_half((&mut self.store, &mut self.density), track_idx(track), &open)?;
                self.window_rows -= before.saturating_sub(state.window_len()).min(self.window_rows);
            }
            // Settled spans without an end are in no window.
            let moving = self.tracks.iter().map(LiveTrack::window_len).sum();
            if moving >= self.window_rows {
                self.window_rows = moving;
                break;
            }
            self.window_rows = moving;
        }
        Ok(())
    }

    /// Returns a snapshot of everything that has arrived, in which open spans last for `silent_ns` after the newest
    /// event. Returns the I/O error of a failed write or map.
    pub(crate) fn snapshot(&mut self, session: &LiveSession, silent_ns: i64) -> io::Result<Snapshot> {
        if self.is_full() {
            self.settle(session)?;
        }
        let mut open = self.open_rows(session);
        let (now_ns, end_ns) = (self.now_ns(), self.summary.end_ns);
        for (&track, rows) in &open {
            self.tracks[track.index()].is_changed = true;
            rows.iter().for_each(|row| self.summary.start_ns = self.summary.start_ns.min(row.start_ns));
        }
        for (track, state) in self.tracks.iter_mut().enumerate().filter(|(_, state)| state.is_changed) {
            let (track, before) = (track_idx(track), state.window_len());
            state.settle_old((&mut self.store, &mut self.density), track, now_ns, &open)?;
            self.window_rows -= before.saturating_sub(state.window_len()).min(self.window_rows);
            let rows = open.entry(track).or_default();
            state.place((&mut self.store, &mut self.density), track, rows, end_ns.saturating_add(silent_ns))?;
        }
        for (track, chart) in self.charts.values_mut() {
            chart.place(&mut self.store, *track, &self.stacks)?;
        }
        self.trim()?;
        if self.shared_names.len() != self.names.len() {
            self.shared_names = Arc::new(self.names.clone());
        }
        if self.shared_stacks.len() != self.stacks.len() {
            self.shared_stacks = Arc::new(self.stacks.clone());
        }
        self.has_changed = false;
        let mut summary = self.summary.clone();
        if summary.start_ns > summary.end_ns {
            summary.end_ns = if summary.start_ns == i64::MAX { 0 } else { summary.start_ns };
            summary.start_ns = summary.end_ns;
        }
        summary.end_ns = summary.end_ns.saturating_add(silent_ns);
        summary.sorted_to_ns = Some(summary.end_ns);
        summary.source_bytes = session.counts().bytes;
        let meta = Meta {
            names: Arc::clone(&self.shared_names),
            stacks: Arc::clone(&self.shared_stacks),
            tracks: self.registry.named_tables(),
            losses: self.losses(session),
            summary,
        };
        Ok(Snapshot::new(Arc::new(self.store.preview(meta)?)).with_shared_names_found())
    }

    /// Returns the current time: the middle one of the last ends, which a single wrong time does not move far.
    fn now_ns(&self) -> i64 {
        let mut ends_ns = self.last_ends_ns;
        ends_ns.sort_unstable();
        ends_ns[1]
    }

    /// Drops the oldest rows, if the store is limited and enough has arrived since the last trim. All rows in memory
    /// are in the store by now, so their details are known.
    fn trim(&mut self) -> io::Result<()> {
        let (now_ns, (at_ns, at_bytes)) = (self.now_ns(), self.trimmed);
        let file_bytes = self.store.file_bytes();
        match self.kept_part {
            Some(Retention::Time(ns)) if now_ns.abs_diff(at_ns) >= ns / TRIM_STEPS => {
                self.trimmed = (now_ns, file_bytes);
                self.drop_before(now_ns.saturating_sub_unsigned(ns))
            }
            Some(Retention::Bytes(bytes)) if file_bytes >= at_bytes + bytes / TRIM_STEPS => {
                self.trimmed = (now_ns, file_bytes);
                (0..CUTS_MAX).try_for_each(|_| match self.store.cut_for(bytes) {
                    Some(to_ns) => self.drop_before(to_ns),
                    None => Ok(()),
                })
            }
            _ => Ok(()),
        }
    }

    fn drop_before(&mut self, to_ns: i64) -> io::Result<()> {
        let Self { store, registry, summary, dropped, .. } = self;
        store.drop_before(to_ns, &mut |gone| {
            if registry.tables().tracks[gone.track.index()].key.kind.is_derived() {
                return;
            }
            *dropped += gone.rows;
            let count = match gone.kind {
                LaneKind::Spans => &mut summary.spans,
                LaneKind::Instants => &mut summary.instants,
                LaneKind::Counter => &mut summary.counters,
                LaneKind::Samples => &mut summary.samples,
                LaneKind::Flows => &mut summary.flows,
            };
            *count = count.saturating_sub(gone.rows);
        })?;
        if let Some(first_ns) = store.first_start_ns() {
            summary.start_ns = first_ns;
        }
        Ok(())
    }

    fn losses(&self, session: &LiveSession) -> Losses {
        let mut losses = Losses::default();
        session.losses().iter().for_each(|(_, source_losses)| losses.merge(source_losses));
        losses.merge(&self.own_losses());
        losses
    }

    /// Returns the losses of the store itself, which belong to no source.
    pub(super) fn own_losses(&self) -> Losses {
        let mut losses = Losses::default();
        losses.add_many(Loss::OverLimit, SourcePos::Time(self.summary.end_ns), self.untracked);
        let first_ns = self.late.first_left_out_ns.unwrap_or(self.summary.end_ns);
        losses.add_many(Loss::LateRow, SourcePos::Time(first_ns), self.late.left_out);
        losses
    }

    /// Returns the open spans by track.
    fn open_rows(&mut self, session: &LiveSession) -> OpenRows {
        let mut open = OpenRows::default();
        session.each_open(&mut |source, key, start_ns, name, order| {
            if let Some(track) = self.track(source, key) {
                let name = self.name(name).0;
                self.summary.end_ns = self.summary.end_ns.max(start_ns);
                open.entry(track).or_default().push(OpenRow { start_ns, order, name, detail: 0 });
            }
        });
        open
    }

    fn name(&mut self, name: &Arc<LiveName>) -> NameIdx {
        if let Some(index) = self.name_cache.get(name) {
            return index;
        }
        let index = self.names.intern_row(name.borrowed());
        self.name_cache.insert(name, index);
        index
    }

    fn track(&mut self, source: usize, key: &Arc<TrackKey>) -> Option<TrackIdx> {
        // A key in memory belongs to one source.
        if let Some(track) = self.track_cache.get(key) {
            return Some(track);
        }
        if let Some(&track) = self.tracks_by_key[source].get(key) {
            self.track_cache.insert(key, track);
            return Some(track);
        }
        let mut named = TrackKey::clone(key);
        self.id_apart(source, &mut named.pid);
        if named.kind == TrackKind::Global && source > 0 {
            named.kind = TrackKind::Process;
        }
        let track = self.registry.track(&named)?;
        self.add_tracks();
        self.tracks_by_key[source].insert(Arc::clone(key), track);
        Some(track)
    }

    fn add_tracks(&mut self) {
        self.tracks.resize_with(self.registry.tables().tracks.len(), LiveTrack::default);
    }

    fn id_apart(&self, source: usize, pid: &mut Id) {
        if let Cow::Owned(named) = self.sources.process_id(source, pid) {
            *pid = named;
        }
    }

    fn name_apart(&self, source: usize, metadata: &mut Metadata) {
        match metadata {
            Metadata::ProcessName { pid, .. }
            | Metadata::ProcessFile { pid, .. }
            | Metadata::ProcessLabels { pid, .. }
            | Metadata::ProcessSortIndex { pid, .. }
            | Metadata::ThreadName { pid, .. }
            | Metadata::KernelName { pid, .. }
            | Metadata::ThreadSortIndex { pid, .. } => self.id_apart(source, pid),
            Metadata::ThreadProcess { before, pid, .. } => {
                self.id_apart(source, before);
                self.id_apart(source, pid);
            }
            Metadata::TrackSortIndex { key, .. }
            | Metadata::CounterUnit { key, .. }
            | Metadata::TrackGroup { key, .. } => {
                self.id_apart(source, &mut key.pid);
            }
            Metadata::Fact { fact } => match &mut fact.subject {
                Subject::Process(pid) | Subject::Thread(pid, _) => self.id_apart(source, pid),
                Subject::Recording => {}
            },
            Metadata::Utc { .. } | Metadata::Module { .. } | Metadata::Unwound { .. } => {}
        }
    }
}

fn track_idx(position: usize) -> TrackIdx {
    TrackIdx(u32::try_from(position).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests;
