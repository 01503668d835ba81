//! V8 CPU profiles in trace events: a `Profile` event, then `ProfileChunk`s with new nodes, samples, and the
//! microseconds between samples. Each chunk depends on those before it in time, but events may be in any order. So the
//! parts wait for earlier parts, as far as their share of the memory allows, and one thread parses them. Samples are on
//! the thread of the `Profile` event, and weigh the time to the next sample. A `CpuProfile`, as written by webpack and
//! older Chrome, is a complete profile in one event.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::formats::ChunkLimits;
use crate::formats::json::document::TimeUnit;
use crate::formats::output::batch::BatchBuilder;
use crate::formats::profiles::v8_calls::{Calls, TimedSamples, V8CallNode};
use crate::model::{Batch, Id, Loss, SourcePos, TrackKey};

/// An event of a profile.
#[derive(Debug)]
pub(in crate::formats) struct ProfilePart {
    pub(in crate::formats) pid: Id,
    pub(in crate::formats) tid: Id,
    /// Id of the profile in its process.
    pub(in crate::formats) id: Box<[u8]>,
    pub(in crate::formats) role: ProfileRole,
    pub(in crate::formats) ts_ns: i64,
    /// Converts times inside the profile to the clock of the trace, by addition.
    pub(in crate::formats) clock_shift_ns: i64,
    /// Argument `data` as JSON text.
    pub(in crate::formats) data: Box<str>,
    pub(in crate::formats) pos: SourcePos,
}

/// Role of an event in its profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::formats) enum ProfileRole {
    /// Starts a profile, and has its start time.
    Start,
    /// Continues a profile that a [`Self::Start`] began.
    Chunk,
    /// A complete profile in one event.
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
    pub(in crate::formats) fn from_name(name: &[u8]) -> Option<Self> {
        match name {
            b"Profile" => Some(Self::Start),
            b"ProfileChunk" => Some(Self::Chunk),
            b"CpuProfile" => Some(Self::Whole),
            _ => None,
        }
    }
}

/// Message for a profile whose start is not in the trace, but whose first chunk is.
const NO_START: &str = "The trace lacks the start of a profile of V8, so its samples are placed by the time of their first chunk, on the thread that wrote it.";

/// Message for samples whose profile cannot be read.
const NO_TREE: &str =
    "Samples belong to a profile of V8 whose beginning is not in the trace; they cannot be read and are not shown.";

/// Duration for which parts of a live stream wait for earlier parts, by the times of its events.
const LIVE_WAIT_NS: u64 = 1_000_000_000;

/// The order of parts: by time, starts first, then as in the trace.
type PartOrder = (i64, ProfileRole, u64);

/// The first of all parts.
const FIRST: PartOrder = (i64::MIN, ProfileRole::Start, 0);

/// The process of a profile, and its id in it.
type ProfileKey = (Id, Box<[u8]>);

/// The profiles of a trace.
#[derive(Debug)]
pub(in crate::formats) struct Profiles {
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
    samples: TimedSamples,
    clock_shift_ns: i64,
    now_ns: i64,
    /// End of the profile, which its last chunk has.
    end_ns: Option<i64>,
    /// Time of the latest chunk.
    chunk_ns: i64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Data<'a> {
    #[serde(borrow)]
    start_time: Option<&'a RawValue>,
    #[serde(borrow)]
    end_time: Option<&'a RawValue>,
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
    #[serde(borrow)]
    end_time: Option<&'a RawValue>,
    #[serde(borrow, default)]
    time_deltas: Vec<&'a RawValue>,
}

impl Profiles {
    pub(in crate::formats) fn new(chunk_limits: ChunkLimits) -> Self {
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

    /// Adds a part, which waits for earlier parts.
    pub(in crate::formats) fn push(&mut self, part: ProfilePart) {
        self.waiting_bytes += part.bytes();
        self.parts += 1;
        self.waiting.insert((part.ts_ns, part.role, self.parts), part);
    }

    /// Adds the samples of the earliest part if the waiting parts exceed a limit. Returns false if they do not.
    pub(in crate::formats) fn apply_earliest(&mut self, bytes_max: u64) -> bool {
        if self.waiting_bytes <= bytes_max {
            return false;
        }
        let first = self.waiting.pop_first().map(|(_, part)| part);
        let Some(part) = first.or_else(|| self.orphans.pop_first().map(|(_, part)| part)) else { return false };
        self.add_part(part);
        true
    }

    /// Adds the samples of the earliest part of a live stream whose events are at `now_ns`, if no earlier part is
    /// expected any more. Returns false if there is none.
    pub(in crate::formats) fn apply_settled(&mut self, now_ns: i64) -> bool {
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
        self.add_part(part);
        true
    }

    /// Adds the samples of a part, and the samples of the chunks that have waited for it.
    fn add_part(&mut self, part: ProfilePart) {
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
    pub(in crate::formats) fn full_batch(&mut self) -> Option<Batch> {
        let has_late_callers = std::mem::take(&mut self.has_late_callers);
        (self.batch.is_full() || has_late_callers).then(|| self.rest())
    }

    fn apply(&mut self, part: ProfilePart) {
        let Ok(data) = serde_json::from_str::<Data<'_>>(&part.data) else {
            return self.batch.lose(Loss::BadRecord, part.pos);
        };
        let key = (part.pid, part.id);
        let mut alone = None;
        if part.role != ProfileRole::Chunk {
            let start = data.start_time.or(data.cpu_profile.start_time);
            let Some(now_ns) = start.and_then(|time| shifted_ns(time, part.clock_shift_ns)) else {
                return self.batch.lose(Loss::BadTime, part.pos);
            };
            let track = TrackKey::thread(key.0.clone(), part.tid);
            let begun = V8Profile::new(track, part.clock_shift_ns, now_ns);
            if part.role == ProfileRole::Whole {
                alone = Some(begun);
            } else if let Some(mut former) = self.open.insert(key.clone(), begun) {
                former.samples.finish(former.end_ns, &mut self.batch);
            }
        } else if !self.open.contains_key(&key)
            && let Some(now_ns) = data.start_before(part.ts_ns)
        {
            self.batch.losses().add_because(NO_START, Loss::MissingWeight, part.pos);
            let track = TrackKey::thread(key.0.clone(), part.tid);
            self.open.insert(key.clone(), V8Profile::new(track, part.clock_shift_ns, now_ns));
        }
        let Some(profile) = alone.as_mut().or_else(|| self.open.get_mut(&key)) else {
            let lost = data.cpu_profile.samples.len().max(1) as u64;
            return self.batch.losses().add_many_because(NO_TREE, Loss::MissingState, part.pos, lost);
        };
        // The samples after it already have times, so the times of this part are unknown.
        let is_late = part.ts_ns < profile.chunk_ns;
        if part.role == ProfileRole::Chunk {
            profile.chunk_ns = profile.chunk_ns.max(part.ts_ns);
        }
        self.has_late_callers |= is_late;
        profile.add_data(&data, is_late, part.pos, &mut self.batch);
        if let Some(mut whole) = alone {
            whole.samples.finish(whole.end_ns, &mut self.batch);
        }
    }

    /// Ends all profiles at the end of the trace.
    pub(in crate::formats) fn finish(&mut self) {
        // The map is unordered.
        let mut open: Vec<_> = self.open.drain().collect();
        open.sort_by(|(one, _), (other, _)| one.cmp(other));
        for (_, mut profile) in open {
            profile.samples.finish(profile.end_ns, &mut self.batch);
        }
    }

    /// Returns the pending samples, sorted.
    pub(in crate::formats) fn rest(&mut self) -> Batch {
        let mut batch = self.batch.take_batch();
        batch.chunk.sort();
        batch
    }
}

impl Data<'_> {
    /// Returns the start of a profile whose first chunk this is, if the chunk was written right after its last sample.
    /// Only the first chunk has the root of the call tree, so its nodes have no caller in an earlier chunk.
    fn start_before(&self, chunk_ns: i64) -> Option<i64> {
        let nodes = &self.cpu_profile.nodes;
        let ids: FxHashSet<u64> = nodes.iter().map(|node| node.id).collect();
        let is_first = !nodes.is_empty() && nodes.iter().all(|node| node.parent.is_none_or(|id| ids.contains(&id)));
        is_first.then_some(())?;
        self.time_deltas.iter().try_fold(chunk_ns, |now_ns, delta| {
            TimeUnit::Microseconds.nanos(delta).ok().and_then(|delta_ns| now_ns.checked_sub(delta_ns))
        })
    }
}

impl V8Profile {
    fn new(track: TrackKey, clock_shift_ns: i64, now_ns: i64) -> Self {
        let samples = TimedSamples::new(Calls::default(), track, now_ns);
        Self { samples, clock_shift_ns, now_ns, end_ns: None, chunk_ns: i64::MIN }
    }

    /// Adds nodes and samples. The samples of a late part are only counted.
    fn add_data(&mut self, data: &Data<'_>, is_late: bool, pos: SourcePos, batch: &mut BatchBuilder) {
        let V8CallTree { nodes, samples, .. } = &data.cpu_profile;
        let profile_deltas = &data.cpu_profile.time_deltas;
        let time_deltas = if data.time_deltas.is_empty() { profile_deltas } else { &data.time_deltas };
        let end = data.end_time.or(data.cpu_profile.end_time);
        self.end_ns = end.and_then(|time| shifted_ns(time, self.clock_shift_ns)).or(self.end_ns);
        for node in nodes {
            self.samples.calls.add(node);
        }
        batch.losses().add_many(Loss::BadRecord, pos, self.samples.calls.join());
        let unequal = samples.len().abs_diff(time_deltas.len()) as u64;
        batch.losses().add_many(Loss::BadRecord, pos, unequal);
        for (&node, delta) in samples.iter().zip(time_deltas) {
            let next_ns = TimeUnit::Microseconds.nanos(delta).ok().and_then(|delta| self.now_ns.checked_add(delta));
            match next_ns {
                Some(next_ns) => self.now_ns = next_ns,
                None => batch.lose(Loss::BadTime, pos),
            }
            if is_late {
                batch.lose(Loss::OverLimit, pos);
                continue;
            }
            self.samples.push(self.now_ns, Some(node), batch);
        }
    }
}

/// Converts a time inside a profile to nanoseconds of the trace's clock.
fn shifted_ns(time: &RawValue, clock_shift_ns: i64) -> Option<i64> {
    TimeUnit::Microseconds.nanos(time).ok()?.checked_add(clock_shift_ns)
}
