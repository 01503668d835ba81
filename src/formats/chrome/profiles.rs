//! V8 CPU profiles in trace events: a `Profile` event, then `ProfileChunk`s with new nodes, samples, and the
//! microseconds between samples. Each chunk depends on those before it in time, but events may be in any order. So the
//! parts wait for earlier ones, as far as their share of the memory allows, and one thread parses them. Samples are on
//! the thread of the `Profile` event. A `CpuProfile`, as written by webpack and older Chrome, is a complete profile in
//! one event.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::formats::ChunkLimits;
use crate::formats::json::document::TimeUnit;
use crate::formats::output::batch::BatchBuilder;
use crate::formats::profiles::v8_calls::{Calls, V8CallNode};
use crate::model::{Batch, Id, Loss, SourcePos, TrackKey};

/// An event of a profile.
#[derive(Debug)]
pub(super) struct ProfilePart {
    pub(super) pid: Id,
    pub(super) tid: Id,
    /// Id of the profile in its process.
    pub(super) id: Box<[u8]>,
    pub(super) role: ProfileRole,
    pub(super) ts_ns: i64,
    /// Argument `data` as JSON text.
    pub(super) data: Box<str>,
    pub(super) place: SourcePos,
}

/// Role of an event in its profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ProfileRole {
    /// Starts a profile, and has its start time.
    Start,
    /// Continues a profile.
    Chunk,
    /// A complete profile.
    Whole,
}

impl ProfilePart {
    /// Returns its approximate bytes in memory.
    fn bytes(&self) -> u64 {
        (size_of::<(PartOrder, Self)>() + self.id.len() + self.data.len()) as u64
    }
}

impl ProfileRole {
    /// Returns the role of a sample with this name, if it belongs to a profile.
    pub(super) fn from_name(name: &[u8]) -> Option<Self> {
        match name {
            b"Profile" => Some(Self::Start),
            b"ProfileChunk" => Some(Self::Chunk),
            b"CpuProfile" => Some(Self::Whole),
            _ => None,
        }
    }
}

/// How long parts of a live stream wait for earlier ones, by the times of its events.
const LIVE_WAIT_NS: u64 = 1_000_000_000;

/// The order of parts: by time, starts first, then as in the trace.
type PartOrder = (i64, ProfileRole, u64);

/// The first of all parts.
const FIRST: PartOrder = (i64::MIN, ProfileRole::Start, 0);

/// The process of a profile, and its id in it.
type ProfileKey = (Id, Box<[u8]>);

/// The profiles of a trace.
#[derive(Debug)]
pub(super) struct Profiles {
    /// Parts that may follow others which have not been read yet.
    waiting: BTreeMap<PartOrder, ProfilePart>,
    /// Chunks of a live stream whose start has not come in time, by their profile.
    orphans: BTreeMap<(ProfileKey, PartOrder), ProfilePart>,
    /// Bytes of all these parts.
    waiting_bytes: u64,
    /// Number of parts so far.
    parts: u64,
    /// Whether frames have callers that the stacks of this batch lack.
    has_late_callers: bool,
    open: FxHashMap<ProfileKey, V8Profile>,
    batch: BatchBuilder,
}

#[derive(Debug)]
struct V8Profile {
    calls: Calls,
    now_ns: i64,
    key: TrackKey,
    /// Time of the latest chunk.
    chunk_ns: i64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Data<'a> {
    #[serde(borrow)]
    start_time: Option<&'a RawValue>,
    #[serde(borrow, default)]
    cpu_profile: V8CallTree<'a>,
    #[serde(borrow, default)]
    time_deltas: Vec<&'a RawValue>,
}

/// Call tree of an event. A profile in one event also has its times here.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct V8CallTree<'a> {
    #[serde(default)]
    nodes: Vec<V8CallNode>,
    #[serde(default)]
    samples: Vec<u64>,
    #[serde(borrow)]
    start_time: Option<&'a RawValue>,
    #[serde(borrow, default)]
    time_deltas: Vec<&'a RawValue>,
}

impl Profiles {
    pub(super) fn new(chunk_limits: ChunkLimits) -> Self {
        Self {
            waiting: BTreeMap::new(),
            orphans: BTreeMap::new(),
            waiting_bytes: 0,
            parts: 0,
            has_late_callers: false,
            open: FxHashMap::default(),
            batch: BatchBuilder::new(chunk_limits),
        }
    }

    /// Adds a part, which waits for earlier ones.
    pub(super) fn push(&mut self, part: ProfilePart) {
        self.waiting_bytes += part.bytes();
        self.parts += 1;
        self.waiting.insert((part.ts_ns, part.role, self.parts), part);
    }

    /// Adds the samples of the earliest part if the waiting parts exceed a limit. Returns false if they do not.
    pub(super) fn apply_earliest(&mut self, bytes_max: u64) -> bool {
        if self.waiting_bytes <= bytes_max {
            return false;
        }
        let first = self.waiting.pop_first().map(|(_, part)| part);
        let Some(part) = first.or_else(|| self.orphans.pop_first().map(|(_, part)| part)) else { return false };
        self.take(part);
        true
    }

    /// Adds the samples of the earliest part of a live stream whose events are at `now_ns`, if no earlier part is
    /// expected any more. Returns false if there is none.
    pub(super) fn apply_settled(&mut self, now_ns: i64) -> bool {
        let Some(first) = self.waiting.first_entry() else { return false };
        if first.key().0 > now_ns.saturating_sub_unsigned(LIVE_WAIT_NS) {
            return false;
        }
        let (order, part) = first.remove_entry();
        let key = (part.pid.clone(), part.id.clone());
        if part.role == ProfileRole::Chunk && !self.open.contains_key(&key) {
            self.orphans.insert((key, order), part);
            return true;
        }
        self.take(part);
        true
    }

    /// Adds the samples of a part, and those of the chunks that have waited for it.
    fn take(&mut self, part: ProfilePart) {
        let started = (part.role == ProfileRole::Start).then(|| (part.pid.clone(), part.id.clone()));
        self.waiting_bytes -= part.bytes();
        self.apply(part);
        let Some(key) = started else { return };
        let first = (key, FIRST);
        while let Some(next) = self.orphans.range(&first..).next().map(|(orphan, _)| orphan.clone())
            && next.0 == first.0
            && let Some(orphan) = self.orphans.remove(&next)
        {
            self.waiting_bytes -= orphan.bytes();
            self.apply(orphan);
        }
    }

    /// Returns the batch of samples once it is full, or if the next samples have other stacks.
    pub(super) fn full_batch(&mut self) -> Option<Batch> {
        let has_late_callers = std::mem::take(&mut self.has_late_callers);
        (self.batch.is_full() || has_late_callers).then(|| self.rest())
    }

    fn apply(&mut self, part: ProfilePart) {
        let Ok(data) = serde_json::from_str::<Data<'_>>(&part.data) else {
            return self.batch.lose(Loss::BadRecord, part.place);
        };
        let key = (part.pid, part.id);
        let mut alone = None;
        if part.role != ProfileRole::Chunk {
            let start = data.start_time.or(data.cpu_profile.start_time);
            let Some(now_ns) = start.and_then(|time| TimeUnit::Microseconds.nanos(time).ok()) else {
                return self.batch.lose(Loss::BadTime, part.place);
            };
            let track = TrackKey::thread(key.0.clone(), part.tid);
            let begun = V8Profile { calls: Calls::default(), now_ns, key: track, chunk_ns: i64::MIN };
            if part.role == ProfileRole::Whole {
                alone = Some(begun);
            } else {
                self.open.insert(key.clone(), begun);
            }
        }
        let Some(profile) = alone.as_mut().or_else(|| self.open.get_mut(&key)) else {
            return self.batch.lose(Loss::MissingState, part.place);
        };
        // The samples after it already have their times, so those of this part have no known time.
        let is_late = part.ts_ns < profile.chunk_ns;
        if part.role == ProfileRole::Chunk {
            profile.chunk_ns = profile.chunk_ns.max(part.ts_ns);
        }
        self.has_late_callers |= is_late;
        profile.add_data(&data, is_late, part.place, &mut self.batch);
    }

    /// Returns the pending samples, sorted.
    pub(super) fn rest(&mut self) -> Batch {
        let mut batch = self.batch.take_batch();
        batch.chunk.sort();
        batch
    }
}

impl V8Profile {
    /// Adds nodes and samples; those of a late part are only counted.
    fn add_data(&mut self, data: &Data<'_>, is_late: bool, place: SourcePos, batch: &mut BatchBuilder) {
        let V8CallTree { nodes, samples, .. } = &data.cpu_profile;
        let profile_deltas = &data.cpu_profile.time_deltas;
        let time_deltas = if data.time_deltas.is_empty() { profile_deltas } else { &data.time_deltas };
        nodes.iter().for_each(|node| self.calls.add(node));
        batch.batch.losses.add_many(Loss::BadRecord, place, self.calls.join());
        let unequal = samples.len().abs_diff(time_deltas.len()) as u64;
        batch.batch.losses.add_many(Loss::BadRecord, place, unequal);
        for (&node, delta) in samples.iter().zip(time_deltas) {
            let next_ns = TimeUnit::Microseconds.nanos(delta).ok().and_then(|delta| self.now_ns.checked_add(delta));
            match next_ns {
                Some(next_ns) => self.now_ns = next_ns,
                None => batch.lose(Loss::BadTime, place),
            }
            if is_late {
                batch.lose(Loss::OverLimit, place);
                continue;
            }
            let Some(stack) = self.calls.stack(node, batch, place) else {
                batch.lose(Loss::MissingText, place);
                continue;
            };
            let track = batch.track_with(&self.key);
            batch.push_sample(self.now_ns, track, stack, 0);
        }
    }
}
