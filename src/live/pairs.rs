//! Pairs ordered events into rows: begins with their ends, and everything with the names known so far. Open spans are
//! bounded, and unpaired events are counted. Does not nest: the parent of a span may arrive later.

mod open_spans;

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use self::open_spans::OpenSpans;
use super::feed::{LiveEvent, LiveName};
use crate::base::budget::{Budget, Charge};
use crate::model::args::Detail;
use crate::model::{
    EventFlags, EventKind, Id, Loss, Losses, Metadata, OF_THREAD, Payload, SourcePos, TrackKey, TrackKind,
};
use crate::store::flow::{FlowPoint, LatestInstants};

/// Limit for open spans. A program has a few thousand; more are counted as lost.
const OPEN_MAX: usize = 1 << 18;

/// Limit for processes and threads with names.
const NAMES_MAX: usize = 1 << 17;

/// Limit for tracks of async spans. Beyond it, spans are on the tracks that the trace gives them.
const ASYNC_TRACKS_MAX: usize = 1 << 14;

/// The kind of a row, with its value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum RowValue {
    /// A span; `None` if it has not ended.
    Span {
        dur_ns: Option<u64>,
    },
    /// The state of a thread, or the run on a CPU.
    Scheduling {
        dur_ns: Option<u64>,
    },
    Instant,
    Counter(f64),
    /// The functions of a sample, innermost first.
    Sample(Box<[Arc<LiveName>]>),
    /// A flow point: the end of an arrow, without a row.
    Flow(LiveFlow),
}

impl RowValue {
    /// Returns the span of a state, which belongs to the scheduler only on the track of a thread.
    fn from_state(track: &TrackKey, dur_ns: Option<u64>) -> Self {
        if track.kind == TrackKind::State { Self::Scheduling { dur_ns } } else { Self::Span { dur_ns } }
    }
}

/// A point of a flow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct LiveFlow {
    pub(crate) id: u64,
    pub(crate) point: FlowPoint,
    /// Whether the trace says which span is around it.
    pub(crate) is_placed: bool,
}

/// The position of a row among the events of its track.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct RowOrder {
    pub(crate) begin: u64,
    /// The end of a span that came as a begin and an end, which nest by their positions; the maximum while it is open.
    /// Other spans nest by their times.
    pub(crate) end: Option<u64>,
}

/// A row: a span, a point or a value, with its names.
#[derive(Debug, Clone)]
pub(crate) struct LiveRow {
    pub(crate) ts_ns: i64,
    pub(crate) value: RowValue,
    pub(crate) name: Arc<LiveName>,
    pub(crate) track: Arc<TrackKey>,
    /// One JSON object, or empty.
    pub(crate) args: Box<str>,
    pub(crate) order: RowOrder,
}

impl LiveRow {
    /// Returns whether it is a flow point, which is not listed.
    pub(crate) fn is_flow(&self) -> bool {
        matches!(self.value, RowValue::Flow(_))
    }

    /// Returns its duration; 0 for points and values. A span that has not ended lasts until `now_ns`.
    pub(crate) fn dur_ns(&self, now_ns: i64) -> u64 {
        match self.value {
            RowValue::Span { dur_ns } | RowValue::Scheduling { dur_ns } => {
                dur_ns.unwrap_or_else(|| now_ns.max(self.ts_ns).abs_diff(self.ts_ns))
            }
            RowValue::Instant | RowValue::Counter(_) | RowValue::Sample(_) | RowValue::Flow(_) => 0,
        }
    }
}

/// The names of processes and threads.
#[derive(Debug, Default)]
pub(crate) struct LiveNames {
    processes: FxHashMap<Id, Box<str>>,
    threads: FxHashMap<(Id, Id), Box<str>>,
    /// The kernel's names of threads, used if nothing else names them.
    kernel: FxHashMap<(Id, Id), Box<str>>,
}

impl LiveNames {
    /// Applies metadata of the trace.
    pub(crate) fn apply(&mut self, metadata: Metadata) {
        fn keep<K: std::hash::Hash + Eq>(names: &mut FxHashMap<K, Box<str>>, key: K, name: Box<str>) {
            if names.len() < NAMES_MAX || names.contains_key(&key) {
                names.insert(key, name);
            }
        }
        match metadata {
            Metadata::ProcessName { pid, name } => keep(&mut self.processes, pid, name),
            Metadata::ThreadName { pid, tid, name } => keep(&mut self.threads, (pid, tid), name),
            Metadata::KernelName { pid, tid, name } => keep(&mut self.kernel, (pid, tid), name),
            Metadata::ThreadProcess { tid, before, pid } => {
                for names in [&mut self.threads, &mut self.kernel] {
                    if let Some(name) = names.remove(&(before.clone(), tid.clone())) {
                        names.entry((pid.clone(), tid.clone())).or_insert(name);
                    }
                }
            }
            Metadata::ProcessFile { .. }
            | Metadata::ProcessLabels { .. }
            | Metadata::ProcessSortIndex { .. }
            | Metadata::ThreadSortIndex { .. }
            | Metadata::TrackSortIndex { .. }
            | Metadata::CounterUnit { .. }
            | Metadata::TrackGroup { .. }
            | Metadata::Utc { .. }
            | Metadata::Fact { .. }
            | Metadata::Module { .. }
            | Metadata::Unwound { .. } => {}
        }
    }

    /// Returns the name of a track's process; empty if unknown.
    pub(crate) fn process(&self, track: &TrackKey) -> &str {
        let main = || self.kernel.get(&(track.pid.clone(), track.pid.clone()));
        self.processes.get(&track.pid).or_else(main).map_or("", |name| name)
    }

    /// Returns the name of a track's thread; empty if unknown, or if it is not the track of a thread.
    pub(crate) fn thread(&self, track: &TrackKey) -> &str {
        if !matches!(track.kind, TrackKind::Thread | TrackKind::State) {
            return "";
        }
        let key = (track.pid.clone(), track.tid.clone());
        self.threads.get(&key).or_else(|| self.kernel.get(&key)).map_or("", |name| name)
    }
}

/// The owner of open spans.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum OpenKey {
    Track(Arc<TrackKey>),
    /// An async id, on any track.
    Id(u64),
}

/// A begin without its end.
#[derive(Debug)]
struct WaitingBegin {
    track: Arc<TrackKey>,
    start_ns: i64,
    name: Arc<LiveName>,
    args: Box<str>,
    order: RowOrder,
    /// The memory of its arguments while it waits.
    charge: Option<Charge>,
}

/// The current state of a track.
#[derive(Debug)]
struct EnteredState {
    since_ns: i64,
    name: Arc<LiveName>,
    args: Box<str>,
    is_awake: bool,
    order: RowOrder,
    /// The memory of its arguments while it lasts.
    charge: Option<Charge>,
}

/// The steps of an async id.
#[derive(Debug, Clone, Copy)]
struct AsyncSteps {
    /// Whether the innermost span is a step, which the next one ends.
    is_in_step: bool,
    /// The start of the next step, if steps are given by their ends.
    start_ns: i64,
}

/// Called with track, start, name and position of each open span.
pub(crate) type EachOpen<'a> = dyn FnMut(&Arc<TrackKey>, i64, &Arc<LiveName>, RowOrder) + 'a;

/// The open spans of the tracks of a source.
#[derive(Debug, Default)]
pub(crate) struct LivePairs {
    /// Tracks without open spans have no entry.
    open: FxHashMap<OpenKey, OpenSpans>,
    /// The steps of the ids in `open`.
    steps: FxHashMap<u64, AsyncSteps>,
    /// The tracks of async spans, which are named by spans.
    async_tracks: FxHashSet<Arc<TrackKey>>,
    states: FxHashMap<Arc<TrackKey>, EnteredState>,
    /// The tracks of threads that have moved to their process, by their former keys, which queued events still have.
    moved: FxHashMap<Arc<TrackKey>, Arc<TrackKey>>,
    latest_instants: LatestInstants<Arc<TrackKey>>,
    open_count: usize,
    /// Counts the arguments of open spans and states, which may belong to several sources.
    args_budget: Budget,
    pub(crate) losses: Losses,
}

impl LivePairs {
    /// Creates pairs without open spans, whose arguments share a budget.
    pub(crate) fn new(args_budget: Budget) -> Self {
        Self { args_budget, ..Self::default() }
    }

    /// Adds the next event, and passes the rows that it completes to `out`.
    pub(crate) fn add(&mut self, live: LiveEvent, out: &mut dyn FnMut(LiveRow)) {
        let (name, mut track) = (Arc::clone(live.name()), Arc::clone(live.track()));
        if !self.moved.is_empty()
            && let Some(moved) = self.moved.get(&track)
        {
            track = Arc::clone(moved);
        }
        let LiveEvent { event, number, args, stack, .. } = live;
        let ts_ns = event.ts_ns;
        let order = RowOrder { begin: number, end: None };
        let row =
            |value, args| LiveRow { ts_ns, value, name: Arc::clone(&name), track: Arc::clone(&track), args, order };
        match event.payload() {
            Payload::Span { dur_ns, is_unfinished } => {
                let dur_ns = (!is_unfinished).then_some(dur_ns);
                let is_scheduling = matches!(track.kind, TrackKind::Cpu | TrackKind::State);
                let value = if is_scheduling { RowValue::Scheduling { dur_ns } } else { RowValue::Span { dur_ns } };
                out(LiveRow { ts_ns, value, name, track, args, order });
            }
            Payload::Begin { .. } => {
                let key = OpenKey::Track(Arc::clone(&track));
                let order = RowOrder { end: Some(u64::MAX), ..order };
                self.begin(key, WaitingBegin { track, start_ns: ts_ns, name, args, order, charge: None });
            }
            Payload::End { is_unnamed } => {
                let name = (!is_unnamed).then_some(&*name.text);
                self.end(&OpenKey::Track(track), name, (ts_ns, number), &args, out);
            }
            Payload::Async(id) => {
                let begin = WaitingBegin { track, start_ns: ts_ns, name, args, order, charge: None };
                self.asynchronous(id, event.kind, event.flags.has(EventFlags::UNNAMED), begin, out);
            }
            Payload::Instant => {
                self.latest_instants.add(ts_ns, Arc::clone(&track));
                out(row(RowValue::Instant, args));
            }
            Payload::Counter(value) => out(row(RowValue::Counter(value), args)),
            Payload::Sample(_) => {
                // A sample is named by its innermost function.
                let name = stack.first().cloned().unwrap_or_else(|| Arc::clone(&name));
                out(LiveRow { name, ..row(RowValue::Sample(stack), args) });
            }
            Payload::Flow { .. } => {
                let event = self.latest_instants.bound(&event, &track);
                let is_placed = event.flags.has(EventFlags::PLACED);
                let flow = LiveFlow { id: event.value, point: FlowPoint::from_event(&event, None), is_placed };
                out(row(RowValue::Flow(flow), Box::default()));
            }
            Payload::State { is_awake, is_from_rest } => {
                let entered = EnteredState { since_ns: ts_ns, name, args, is_awake, order, charge: None };
                self.state(track, entered, is_from_rest, out);
            }
        }
    }

    /// Moves the open spans and the state of a thread whose process is now known.
    pub(crate) fn apply(&mut self, metadata: &Metadata) {
        let Metadata::ThreadProcess { tid, before, pid } = metadata else { return };
        for (kind, slot) in OF_THREAD {
            if self.moved.len() >= NAMES_MAX {
                return;
            }
            let old_key = TrackKey { slot, ..TrackKey::new(kind, before.clone(), tid.clone()) };
            let new_key = Arc::new(TrackKey { pid: pid.clone(), ..old_key.clone() });
            let old_key = Arc::new(old_key);
            if let Some(state) = self.states.remove(&old_key) {
                self.states.insert(Arc::clone(&new_key), state);
            }
            if let Some(mut open) = self.open.remove(&OpenKey::Track(Arc::clone(&old_key))) {
                open.set_track(&new_key);
                self.open.insert(OpenKey::Track(Arc::clone(&new_key)), open);
            }
            self.moved.insert(old_key, new_key);
        }
    }

    /// Passes the open spans to `out`, sorted by start, at the end of the stream.
    pub(crate) fn finish(&mut self, out: &mut dyn FnMut(LiveRow)) {
        let begins = std::mem::take(&mut self.open).into_values().flat_map(OpenSpans::into_begins);
        let mut rows: Vec<LiveRow> = begins.map(WaitingBegin::without_end).collect();
        self.steps.clear();
        rows.iter().for_each(|row| self.losses.add(Loss::UnmatchedBegin, SourcePos::Time(row.ts_ns)));
        self.open_count = 0;
        rows.extend(std::mem::take(&mut self.states).into_iter().map(|(track, entered)| {
            let value = RowValue::from_state(&track, None);
            let EnteredState { since_ns, name, args, order, .. } = entered;
            LiveRow { ts_ns: since_ns, value, name, track, args, order }
        }));
        rows.sort_by_key(|row| (row.ts_ns, row.order.begin));
        rows.into_iter().for_each(out);
    }

    /// Calls `each` for all open spans and states: track, start, name and position.
    pub(crate) fn each_open(&self, each: &mut EachOpen<'_>) {
        let begins = self.open.values().flat_map(|open| open.inside(None));
        begins.for_each(|begin| each(&begin.track, begin.start_ns, &begin.name, begin.order));
        self.states.iter().for_each(|(track, entered)| each(track, entered.since_ns, &entered.name, entered.order));
    }

    fn lose(&mut self, loss: Loss, ts_ns: i64) {
        self.losses.add(loss, SourcePos::Time(ts_ns));
    }

    /// Charges the arguments of an open span or state. Drops them if they exceed the budget.
    fn charge_args(&mut self, args: &mut Box<str>, ts_ns: i64) -> Option<Charge> {
        /// Why they are dropped.
        const REASON: &str =
            "The arguments of open spans exceed their share of --memory; these spans are shown without them.";
        if args.is_empty() {
            return None;
        }
        let charge = self.args_budget.try_charge(args.len() as u64, 1.0);
        if charge.is_none() {
            *args = Box::default();
            self.losses.add_because(REASON, Loss::LongArgs, SourcePos::Time(ts_ns));
        }
        charge
    }

    fn begin(&mut self, key: OpenKey, mut begin: WaitingBegin) {
        if self.open_count >= OPEN_MAX {
            // Without an open span around the begin, its end has none to close.
            if let Some(open) = self.open.get_mut(&key) {
                open.drop_begin();
            }
            return self.lose(Loss::OverLimit, begin.start_ns);
        }
        self.open_count += 1;
        begin.charge = self.charge_args(&mut begin.args, begin.start_ns);
        self.open.entry(key).or_default().push(begin);
    }

    /// Returns the track of an event of an async id: that of open spans of the id, first those of its process, or else
    /// one with the name of the event. So names the sort at the end.
    fn async_track(&mut self, key: &OpenKey, kind: EventKind, event: &WaitingBegin) -> Arc<TrackKey> {
        let (source, open) = (&event.track, self.open.get(key));
        let own = open.and_then(|open| open.last_track(|track| track.pid == source.pid));
        // A begin opens a span in its own process.
        let other = open.filter(|_| kind != EventKind::AsyncBegin).and_then(|open| open.last_track(|_| true));
        if let Some(track) = own.or(other) {
            return Arc::clone(track);
        }
        if source.slot == TrackKey::SLOT_NAMED && !source.name.is_empty() {
            return Arc::clone(source);
        }
        let (pid, tid, name) = (source.pid.clone(), source.tid.clone(), (&*event.name.text).into());
        let key = TrackKey { name, ..TrackKey::new(TrackKind::Async, pid, tid) };
        if let Some(track) = self.async_tracks.get(&key) {
            return Arc::clone(track);
        }
        if self.async_tracks.len() >= ASYNC_TRACKS_MAX {
            return Arc::clone(source);
        }
        let track = Arc::new(key);
        self.async_tracks.insert(Arc::clone(&track));
        track
    }

    /// Handles an event of an async id; `event` has its time, name and arguments.
    fn asynchronous(
        &mut self,
        id: u64,
        kind: EventKind,
        is_unnamed: bool,
        mut event: WaitingBegin,
        out: &mut dyn FnMut(LiveRow),
    ) {
        let (key, ts_ns) = (OpenKey::Id(id), event.start_ns);
        let is_known = self.open.contains_key(&key);
        if kind != EventKind::AsyncEnd || !is_known {
            event.track = self.async_track(&key, kind, &event);
        }
        let mut steps = self.steps.get(&id).copied().unwrap_or(AsyncSteps { is_in_step: false, start_ns: ts_ns });
        let ends_step = matches!(kind, EventKind::AsyncEnd | EventKind::AsyncStepInto) && is_known;
        if ends_step && std::mem::take(&mut steps.is_in_step) {
            self.end(&key, None, (ts_ns, event.order.begin), "", out);
        }
        match kind {
            EventKind::AsyncBegin => self.begin(key.clone(), event),
            EventKind::AsyncEnd if !is_known => {
                // Only the time of its end is known.
                self.lose(Loss::UnmatchedAsyncEnd, ts_ns);
                out(LiveRow { value: RowValue::Instant, ..event.without_end() });
            }
            EventKind::AsyncEnd => {
                let name = (!is_unnamed).then_some(&*event.name.text);
                self.end_async(&key, (&event.track.pid, name), ts_ns, &event.args, out);
            }
            EventKind::AsyncStepInto => {
                steps.is_in_step = true;
                self.begin(key.clone(), event);
            }
            EventKind::AsyncStepPast => {
                let start_ns = std::mem::replace(&mut steps.start_ns, ts_ns);
                out(WaitingBegin { start_ns, ..event }.with_end(ts_ns, "", None));
            }
            EventKind::AsyncInstant
            | EventKind::Complete
            | EventKind::Begin
            | EventKind::End
            | EventKind::Instant
            | EventKind::Counter
            | EventKind::FlowStart
            | EventKind::FlowStep
            | EventKind::FlowEnd
            | EventKind::Sample
            | EventKind::State => out(LiveRow { value: RowValue::Instant, ..event.without_end() }),
        }
        if self.open.contains_key(&key) {
            self.steps.insert(id, steps);
        } else {
            self.steps.remove(&id);
        }
    }

    /// Ends the innermost span, or the innermost of a name including its open children, if there is one.
    fn end(
        &mut self,
        key: &OpenKey,
        name: Option<&str>,
        (ts_ns, number): (i64, u64),
        args: &str,
        out: &mut dyn FnMut(LiveRow),
    ) {
        let Some(open) = self.open.get_mut(key) else { return self.lose(Loss::UnmatchedEnd, ts_ns) };
        if open.take_dropped() {
            return;
        }
        let named = name.map_or_else(|| open.last(|_| true), |name| open.last_of(name, |_| true));
        let Some(first) = named else { return self.lose(Loss::UnmatchedEnd, ts_ns) };
        let ended = open.cut(first, ts_ns);
        self.open_count -= ended.len();
        if open.is_empty() {
            self.open.remove(key);
        }
        // Spans of an async id need not nest.
        let number = matches!(key, OpenKey::Track(_)).then_some(number);
        if ended.len() > 1 {
            self.lose(Loss::MismatchedEnd, ts_ns);
        }
        let outer = ended.len().saturating_sub(1);
        for (position, begin) in ended.into_iter().enumerate() {
            let is_outer = position == outer;
            if !is_outer {
                self.lose(Loss::TruncatedSpan, begin.start_ns);
            }
            out(begin.with_end(ts_ns, if is_outer { args } else { "" }, number));
        }
    }

    /// Ends only the innermost span of a name: spans of one id need not nest. One of the process of the end goes first.
    fn end_async(
        &mut self,
        key: &OpenKey,
        (pid, name): (&Id, Option<&str>),
        ts_ns: i64,
        args: &str,
        out: &mut dyn FnMut(LiveRow),
    ) {
        let Some(open) = self.open.get_mut(key) else { return self.lose(Loss::UnmatchedEnd, ts_ns) };
        if name.is_none() && open.take_dropped() {
            return;
        }
        let is_own = |begin: &WaitingBegin| begin.track.pid == *pid;
        let number = match name {
            Some(name) => open.last_of(name, is_own).or_else(|| open.last_of(name, |_| true)),
            None => open.last(is_own).or_else(|| open.last(|_| true)),
        };
        let Some(begin) = number.and_then(|number| open.remove(number)) else {
            if !open.take_dropped() {
                self.lose(Loss::UnmatchedEnd, ts_ns);
            }
            return;
        };
        self.open_count -= 1;
        if open.is_empty() {
            self.open.remove(key);
        }
        out(begin.with_end(ts_ns, args, None));
    }

    /// Ends the state of a track, and enters the next one unless that has no name.
    fn state(
        &mut self,
        track: Arc<TrackKey>,
        mut entered: EnteredState,
        is_from_rest: bool,
        out: &mut dyn FnMut(LiveRow),
    ) {
        let ts_ns = entered.since_ns;
        let before = self.states.get(&track);
        if is_from_rest && before.is_some_and(|before| before.is_awake) {
            return;
        }
        let before = self.states.remove(&track);
        if !entered.name.text.is_empty() {
            if self.states.len() >= OPEN_MAX {
                self.lose(Loss::OverLimit, ts_ns);
            } else {
                entered.charge = self.charge_args(&mut entered.args, ts_ns);
                self.states.insert(Arc::clone(&track), entered);
            }
        }
        // A state of no duration is dropped.
        if let Some(before) = before.filter(|before| before.since_ns < ts_ns) {
            let value = RowValue::from_state(&track, Some(ts_ns.abs_diff(before.since_ns)));
            let EnteredState { since_ns, name, args, order, .. } = before;
            out(LiveRow { ts_ns: since_ns, value, name, track, args, order });
        }
    }
}

impl WaitingBegin {
    /// Returns the span with its end at a time, with the arguments and the position of the end.
    fn with_end(self, ts_ns: i64, end_args: &str, end: Option<u64>) -> LiveRow {
        let Self { track, start_ns, name, args, order, .. } = self;
        let dur_ns = Some(ts_ns.max(start_ns).abs_diff(start_ns));
        let args = if end_args.is_empty() {
            args
        } else {
            let detail = |args_json| Detail { args_json, ..Detail::default() };
            let merged = detail(&args).ended_by(&detail(end_args));
            Detail::decode(&merged).args_json.into()
        };
        let order = RowOrder { end, ..order };
        LiveRow { ts_ns: start_ns, value: RowValue::Span { dur_ns }, name, track, args, order }
    }

    /// Returns the span without an end.
    fn without_end(self) -> LiveRow {
        let Self { track, start_ns, name, args, order, .. } = self;
        LiveRow { ts_ns: start_ns, value: RowValue::Span { dur_ns: None }, name, track, args, order }
    }
}

#[cfg(test)]
mod tests;
