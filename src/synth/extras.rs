//! The events of the demo other than spans: counters, instants, flows from the main thread to its workers, and async
//! requests. Each frame plans its events, which are buffered until their time.

use std::collections::BTreeMap;

use super::event::event;
use super::program::{Program, Role, ThreadPlan};
use super::random::{Random, Spread};
use super::thread::{burst_start_ns, frame_start_ns};
use crate::model::args::Detail;
use crate::model::{Chunk, Event, EventFlags, EventKind, Id, NameIdx, TrackIdx, TrackKey, TrackKind};

/// Frames between two instants of the whole process.
const FRAMES_PER_MARK: u64 = 60;

/// The generator of everything except spans, all in the first process.
#[derive(Debug, Clone)]
pub(super) struct Extras {
    seed: u64,
    random: Random,
    frame: u64,
    main: TrackIdx,
    workers: Vec<ThreadPlan>,
    tracks: ExtraTracks,
    names: ExtraNames,
    heap_bytes: u64,
    next_request: u64,
    /// Planned events by time and sequence number, with their arguments.
    planned: BTreeMap<(i64, u64), (Event, String)>,
    planned_count: u64,
}

#[derive(Debug, Clone)]
struct ExtraTracks {
    process: TrackIdx,
    heap: TrackIdx,
    pool: TrackIdx,
    frame_time: TrackIdx,
    requests: TrackIdx,
}

#[derive(Debug, Clone)]
struct ExtraNames {
    memory: NameIdx,
    frame_time: NameIdx,
    vsync: NameIdx,
    mark: NameIdx,
    dispatch: NameIdx,
    requests: [NameIdx; 5],
    steps: [NameIdx; 3],
}

impl Extras {
    /// Adds the tracks and names of the demo to the program; `None` if it has no room for more tracks.
    #[must_use]
    pub(super) fn new(seed: u64, program: &mut Program) -> Option<Self> {
        let pid = program.registry.tables().tracks[0].key.pid.clone();
        let mut track = |kind: TrackKind, name: &str| {
            let key = TrackKey { kind, pid: pid.clone(), tid: Id::None, name: name.into(), slot: 0 };
            program.registry.track(&key)
        };
        let tracks = ExtraTracks {
            process: track(TrackKind::Process, "")?,
            heap: track(TrackKind::Counter, "memory heap")?,
            pool: track(TrackKind::Counter, "memory pool")?,
            frame_time: track(TrackKind::Counter, "frame time ms")?,
            requests: track(TrackKind::Async, "network")?,
        };
        let names = &mut program.names;
        let network = Some("network");
        let names = ExtraNames {
            memory: names.intern("memory", Some("memory")),
            frame_time: names.intern("frame time", Some("render")),
            vsync: names.intern("vsync", Some("render")),
            mark: names.intern("autosave", Some("io")),
            dispatch: names.intern("dispatch", Some("jobs")),
            requests: ["GET /scene", "GET /texture", "GET /mesh", "POST /telemetry", "GET /friends"]
                .map(|text| names.intern(text, network)),
            steps: ["resolve", "connect", "transfer"].map(|text| names.intern(text, network)),
        };
        let first_process = program.threads().iter().filter(|plan| plan.process == 0);
        Some(Self {
            seed,
            random: Random::new(seed, u64::MAX - 1),
            frame: 0,
            main: program.threads()[0].track,
            workers: first_process.filter(|plan| plan.role == Role::Jobs).copied().collect(),
            tracks,
            names,
            heap_bytes: 200 << 20,
            next_request: 1,
            planned: BTreeMap::new(),
            planned_count: 0,
        })
    }

    /// Adds the events before `until_ns`.
    pub(super) fn trace(&mut self, until_ns: i64, round: &mut Chunk) {
        loop {
            let start_ns = frame_start_ns(self.seed, 0, self.frame);
            if start_ns >= until_ns {
                break;
            }
            self.plan_frame(start_ns);
            self.frame += 1;
        }
        while let Some(entry) = self.planned.first_entry()
            && entry.key().0 < until_ns
        {
            push(round, entry.remove());
        }
    }

    /// Adds all planned events, so that every async span and flow has its end.
    pub(super) fn finish(&mut self, round: &mut Chunk) {
        std::mem::take(&mut self.planned).into_values().for_each(|planned| push(round, planned));
    }

    fn plan_frame(&mut self, start_ns: i64) {
        self.plan(event(EventKind::Instant, start_ns, self.main, self.names.vsync));
        self.plan_counters(start_ns);
        if self.frame.is_multiple_of(4) && !self.workers.is_empty() {
            self.plan_flow(start_ns);
        }
        if self.random.below(3) == 0 {
            self.plan_request(start_ns);
        }
        if self.frame % FRAMES_PER_MARK == FRAMES_PER_MARK - 1 {
            let mark = event(EventKind::Instant, start_ns + 5_000_000, self.tracks.process, self.names.mark);
            self.plan_with_args(
                mark,
                format!(r#"{{"slot":{},"name":"día {}"}}"#, self.frame / 60 % 3, self.frame / 60),
            );
        }
    }

    fn plan_counters(&mut self, start_ns: i64) {
        // The heap grows until a simulated collection frees most of it.
        self.heap_bytes += self.random.log_normal(3 << 20, Spread(300));
        if self.heap_bytes > 900 << 20 {
            self.heap_bytes = (200 << 20) + self.random.below(64 << 20);
        }
        let pool_bytes = (64 + self.random.skewed_below(64)) << 20;
        let frame_ns = frame_start_ns(self.seed, 0, self.frame + 1).saturating_sub(start_ns);
        let counter = |track, name, value: f64| Event::at(start_ns, track, name).counter(value);
        let ExtraTracks { heap, pool, frame_time, .. } = self.tracks;
        self.plan(counter(heap, self.names.memory, self.heap_bytes as f64));
        self.plan(counter(pool, self.names.memory, pool_bytes as f64));
        self.plan(counter(frame_time, self.names.frame_time, frame_ns as f64 / 1e6));
    }

    /// Plans a flow from the frame to the first job of a worker, sometimes through another worker.
    fn plan_flow(&mut self, start_ns: i64) {
        let flow = |kind, ts_ns, track, name| Event::at(ts_ns, track, name).flow(kind, self.frame + 1, false);
        let worker = self.workers[self.frame as usize / 4 % self.workers.len()];
        let name = self.names.dispatch;
        let start = flow(EventKind::FlowStart, start_ns + 90_000, self.main, name);
        let arrival_ns = burst_start_ns(self.seed, &worker, self.frame) - 1_000;
        let end = flow(EventKind::FlowEnd, arrival_ns, worker.track, name);
        let step = self.frame.is_multiple_of(12).then(|| {
            let helper = self.workers[(self.frame as usize / 4 + 1) % self.workers.len()];
            flow(EventKind::FlowStep, arrival_ns.min(start_ns + 300_000), helper.track, name)
        });
        for around in [Some(start), step].into_iter().flatten() {
            self.plan(Event { flags: EventFlags::BIND_ENCLOSING, ..around });
        }
        self.plan(end);
    }

    /// Plans a request with its steps; several run at the same time.
    fn plan_request(&mut self, start_ns: i64) {
        let id = self.next_request;
        self.next_request += 1;
        let name = self.names.requests[self.random.skewed_below(5) as usize];
        let mut ts_ns = start_ns.saturating_add_unsigned(self.random.below(10_000_000));
        let asynchronous = |kind, ts_ns, track, name| {
            let event = event(kind, ts_ns, track, name);
            Event { value: id, ..event }
        };
        let track = self.tracks.requests;
        let args = format!(r#"{{"id":{id},"retries":{}}}"#, self.random.skewed_below(3));
        self.plan_with_args(asynchronous(EventKind::AsyncBegin, ts_ns, track, name), args);
        for (step, median_ns) in self.names.steps.into_iter().zip([3_000_000, 8_000_000, 60_000_000]) {
            ts_ns += 20_000;
            self.plan(asynchronous(EventKind::AsyncBegin, ts_ns, track, step));
            ts_ns = ts_ns.saturating_add_unsigned(self.random.log_normal(median_ns, Spread(256)));
            self.plan(asynchronous(EventKind::AsyncEnd, ts_ns, track, step));
        }
        self.plan(asynchronous(EventKind::AsyncEnd, ts_ns + 40_000, track, name));
    }

    fn plan(&mut self, event: Event) {
        self.plan_with_args(event, String::new());
    }

    fn plan_with_args(&mut self, event: Event, args_json: String) {
        self.planned.insert((event.ts_ns, self.planned_count), (event, args_json));
        self.planned_count += 1;
    }
}

fn push(round: &mut Chunk, (event, args_json): (Event, String)) {
    let detail = round.details.push(&Detail { args_json: &args_json, ..Detail::default() });
    round.events.push(Event { detail, ..event });
}
