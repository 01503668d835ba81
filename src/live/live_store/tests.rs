//! Snapshots of streams, compared with the store of the whole file; and the work of a snapshot counted.

use std::io::Write as _;
use std::path::Path;

use super::*;
use crate::base::budget::Memory;
use crate::base::cancel::Cancel;
use crate::base::progress::Progress;
use crate::ingest::{self, CachePolicy, LoadOptions};
use crate::live::arrivals::LiveInput;
use crate::live::pairs::{LiveNames, RowOrder};
use crate::live::reading_thread::Pace;
use crate::live::session::{LiveStep, SessionOptions};
use crate::live::source_note::Say;
use crate::store::flow::{FlowBound, FlowPoint, FlowRole};
use crate::store::{LaneIdx, Store};

const LIMITS: LiveStoreLimits = LiveStoreLimits { window_rows: 1 << 18, settled_rows: 1 << 20 };

/// Returns the options of a session that shows each row at once.
fn session_options() -> SessionOptions {
    SessionOptions {
        memory: Memory::default(),
        delay: Some(std::time::Duration::ZERO),
        places_late: true,
        pace: Pace::Waits,
        stop: Cancel::default(),
        spool: None,
        keeps_tables: true,
    }
}

/// Builds the snapshot of a pipe with this text, renewed every `every` rows.
fn store_of(folder: &Path, text: &str, limits: LiveStoreLimits, every: usize) -> (Snapshot, LiveStore) {
    store_of_parts(folder, [text, ""], 0, limits, every)
}

/// Builds the snapshot of two texts; the second is written once this many rows of the first have arrived.
fn store_of_parts(
    folder: &Path,
    [text, later]: [&str; 2],
    rows_before: usize,
    limits: LiveStoreLimits,
    every: usize,
) -> (Snapshot, LiveStore) {
    let path = folder.join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&path).status().expect("mkfifo");
    assert!(made.success());
    let (to, text, later) = (path.clone(), text.to_owned(), later.to_owned());
    let (have_come, wait) = std::sync::mpsc::channel();
    let writer = std::thread::spawn(move || {
        let mut pipe = std::fs::File::options().write(true).open(to).unwrap();
        text.as_bytes().chunks(60_001).for_each(|part| pipe.write_all(part).unwrap());
        wait.recv_timeout(std::time::Duration::from_mins(1)).expect("the rows before");
        pipe.write_all(later.as_bytes()).unwrap();
    });
    let say: Say = Arc::new(|note| assert_eq!(note.to_string(), "", "nothing to say"));
    let mut session = LiveSession::start(&[LiveInput::Input(path.into())], &session_options(), &say).unwrap();
    let file = tempfile::tempfile_in(folder).unwrap();
    let mut live_store = LiveStore::new(file, Names::default(), limits).unwrap();
    let (mut added, mut all) = (0, 0);
    loop {
        if all >= rows_before {
            have_come.send(()).ok(); // the writer waits for the first, and may have ended
        }
        live_store.take_tables(&mut session);
        let step = session.step(&mut |row| {
            added += 1;
            all += 1;
            live_store.add(&row)
        });
        let step = step.unwrap();
        if live_store.is_full() {
            live_store.settle(&session).unwrap();
        }
        if added >= every {
            added = 0;
            let snapshot = live_store.snapshot(&session, 0).unwrap();
            assert_eq!(snapshot.store().damaged_in_all(), 0);
        }
        if step == LiveStep::Done {
            break;
        }
    }
    writer.join().unwrap();
    (live_store.snapshot(&session, 0).unwrap(), live_store)
}

/// Returns all rows: track, kind and depth of the lane, start, duration, name, category and arguments.
fn rows(store: &Store) -> Vec<(String, LaneKind, u16, i64, u64, String, String)> {
    let mut all = Vec::new();
    for lane in (0..store.lane_count()).map(LaneIdx) {
        let info = store.lane(lane).info();
        let track = &store.meta().tracks.tracks[info.track.index()];
        let mut own = Vec::new();
        for number in 0..store.lane(lane).extents().len() {
            let extent = store.lane(lane).extent(number).expect("an extent");
            (0..extent.blocks()).for_each(|block| extent.block(block).decode(&mut own));
        }
        let mut reader = crate::store::details::DetailReader::default();
        for row in own {
            let name = store.meta().names.get(crate::model::NameIdx(row.name));
            let text = format!("{} {:?}", name.text, name.category);
            let args = if info.kind == LaneKind::Flows {
                format!("{:?}", crate::store::flow::FlowPoint::from_bits(row.detail))
            } else {
                Detail::decode(store.detail(crate::store::DetailRef(row.detail), &mut reader)).args_json.to_owned()
            };
            let title = format!("{} {} {}", track.key.pid, track.key.tid, track.name);
            all.push((title, info.kind, info.depth, row.start_ns, row.value, text, args));
        }
    }
    all
}

/// Returns the times of all spans of the first lane of each track, with the instants outside any span.
fn outermost(snapshot: &Snapshot) -> Vec<(i64, i64)> {
    let mut all = Vec::new();
    for lane in (0..snapshot.store().lane_count()).map(LaneIdx) {
        let info = snapshot.lane(lane);
        for row in 0..info.rows {
            let span = snapshot.row(crate::store::RowIdx { lane, row });
            if info.kind == LaneKind::Spans && info.depth == 0 {
                all.push((span.start_ns, span.end_ns()));
            }
        }
    }
    all
}

fn offline(folder: &Path, text: &str) -> Arc<Store> {
    let path = folder.join("whole.json");
    std::fs::write(&path, text).unwrap();
    let options = LoadOptions { cache: CachePolicy::None, ..LoadOptions::default() };
    ingest::open(&path, &options, &Cancel::default(), &Progress::default()).unwrap().store
}

/// Builds spans that are written at their ends, parents after children, on a few threads; begins and ends on another
/// one; counters and instants.
fn trace(calls: u64) -> String {
    let mut lines = vec![r#"{"ph":"M","name":"process_name","pid":1,"args":{"name":"server"}}"#.to_owned()];
    let span = |tid: u64, name: &str, ts: u64, dur: u64, args: &str| {
        format!(r#"{{"ph":"X","pid":1,"tid":{tid},"name":"{name}","cat":"work","ts":{ts},"dur":{dur},"args":{args}}}"#)
    };
    for call in 0..calls {
        let (tid, at) = (call % 3 + 1, call * 100);
        for child in 0..4 {
            lines.push(span(tid, "child", at + child * 20, 15, &format!(r#"{{"child":{child}}}"#)));
        }
        lines.push(span(tid, "call", at, 90, &format!(r#"{{"call":{call}}}"#)));
        lines.push(format!(r#"{{"ph":"B","pid":2,"tid":9,"name":"outer","ts":{at}}}"#));
        lines.push(format!(r#"{{"ph":"B","pid":2,"tid":9,"name":"inner","ts":{}}}"#, at + 10));
        lines.push(format!(r#"{{"ph":"i","pid":2,"tid":9,"name":"hit","ts":{}}}"#, at + 20));
        lines.push(format!(r#"{{"ph":"E","pid":2,"tid":9,"ts":{}}}"#, at + 30));
        lines.push(format!(r#"{{"ph":"E","pid":2,"tid":9,"ts":{}}}"#, at + 95));
        lines.push(format!(r#"{{"ph":"s","pid":1,"tid":{tid},"name":"next","id":{call},"ts":{}}}"#, at + 10));
        let end = r#""ph":"f","bp":"e","pid":2,"tid":9,"name":"next""#;
        lines.push(format!(r#"{{{end},"id":{call},"ts":{}}}"#, at + 25));
        lines.push(format!(r#"{{"ph":"C","pid":1,"name":"load","ts":{at},"args":{{"value":{}}}}}"#, call % 7));
    }
    format!("[{}]", lines.join(",\n"))
}

#[test]
fn the_last_snapshot_has_the_rows_of_the_trace_that_is_opened_when_it_is_finished() {
    let folder = tempfile::tempdir().unwrap();
    let text = trace(3000);
    let expected = rows(&offline(folder.path(), &text));
    // Also with very small limits: parents come right after their children.
    let small = LiveStoreLimits { window_rows: 2000, settled_rows: 5000 };
    for (limits, every) in [(LIMITS, 5000), (small, 700)] {
        let (snapshot, live_store) = store_of(folder.path(), &text, limits, every);
        assert_eq!(rows(snapshot.store()), expected);
        assert_eq!(live_store.late(), LateRows::default());
        let summary = snapshot.summary();
        assert_eq!((summary.spans, summary.instants, summary.counters), (3000 * 7, 3000, 3000));
        assert_eq!(summary.flows, 6000);
        // The minimap counts outermost rows: calls, and the span around the instant.
        let starts = outermost(&snapshot);
        let (buckets, filled) = live_store.density().filled();
        let touching = |bucket: i64| {
            let of = |ts_ns: i64| ts_ns >> buckets.width_log2;
            starts.iter().filter(|(start, end)| of(*start) <= bucket && bucket <= of(*end)).count() as u32
        };
        let expected: Vec<u32> = (0..i64::from(buckets.count)).map(|number| touching(buckets.first + number)).collect();
        assert_eq!(filled, expected);
        std::fs::remove_file(folder.path().join("pipe")).unwrap();
    }
}

/// Returns a source of pseudo-random numbers, which are the same each time.
fn random_below(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut drawn = seed;
    move |most| {
        drawn = drawn.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (drawn >> 33) % most
    }
}

#[test]
fn points_between_begins_and_ends_of_one_time_are_in_the_spans_of_the_finished_trace() {
    let small = LiveStoreLimits { window_rows: 200, settled_rows: 500 };
    for seed in 1..=6 {
        let (mut lines, mut below) = (Vec::new(), random_below(seed));
        let (mut ts, mut depths) = (10, [0; 2]);
        for number in 0..1500 {
            ts += below(2) * below(3);
            let tid = below(2);
            let depth = &mut depths[tid as usize];
            let event = match below(8) {
                0 | 1 if *depth < 6 => {
                    *depth += 1;
                    format!(r#""ph":"B","ts":{ts}"#)
                }
                2 | 3 if *depth > 0 => {
                    *depth -= 1;
                    lines.push(format!(r#"{{"ph":"E","pid":1,"tid":{tid},"ts":{ts}}}"#));
                    continue;
                }
                4 => {
                    // Some are written after rows that they contain.
                    let before = below(2) * below(3);
                    format!(r#""ph":"X","ts":{},"dur":{}"#, ts - before, before + below(3))
                }
                5 => format!(r#""ph":"s","id":{number},"ts":{ts}"#),
                6 => format!(r#""ph":"f","bp":"e","id":{number},"ts":{ts}"#),
                _ => format!(r#""ph":"i","s":"t","ts":{ts}"#),
            };
            lines.push(format!(r#"{{"pid":1,"tid":{tid},"name":"n{number}",{event}}}"#));
        }
        // In the finished trace, an open span ends with the last event of its track.
        ts += 10;
        lines.extend((0..2).map(|tid| format!(r#"{{"ph":"i","pid":1,"tid":{tid},"name":"last","ts":{ts}}}"#)));
        let text = format!("[{}]", lines.join(",\n"));
        let folder = tempfile::tempdir().unwrap();
        let expected = rows(&offline(folder.path(), &text));
        for (limits, every) in [(LIMITS, 10_000), (small, 70)] {
            let (snapshot, live_store) = store_of(folder.path(), &text, limits, every);
            assert_eq!(live_store.late(), LateRows::default());
            let shown = rows(snapshot.store());
            assert_eq!(shown.iter().zip(&expected).find(|(shown, expected)| shown != expected), None, "seed {seed}");
            assert_eq!(shown.len(), expected.len());
            std::fs::remove_file(folder.path().join("pipe")).unwrap();
        }
    }
}

#[test]
fn spans_that_begin_and_end_together_nest_as_in_the_finished_trace_and_open_ones_have_no_end() {
    let folder = tempfile::tempdir().unwrap();
    let mut lines = Vec::new();
    let mut below = random_below(1);
    let (mut ts, mut depths) = (0, [0; 3]);
    for number in 0..3000 {
        ts += below(2) * below(4);
        let tid = below(3) as usize;
        if depths[tid] > 2 && below(2) == 0 {
            depths[tid] -= 1;
            lines.push(format!(r#"{{"ph":"E","pid":1,"tid":{tid},"ts":{ts}}}"#));
        } else if depths[tid] < 9 {
            depths[tid] += 1;
            let args = format!(r#"{{"number":{number}}}"#);
            lines.push(format!(r#"{{"ph":"B","pid":1,"tid":{tid},"name":"n{number}","ts":{ts},"args":{args}}}"#));
        }
    }
    // In the finished trace, an open span ends with the last event of its track.
    lines.extend((0..3).map(|tid| format!(r#"{{"ph":"i","pid":1,"tid":{tid},"name":"last","ts":{ts}}}"#)));
    let text = format!("[{}]", lines.join(",\n"));
    let whole = offline(folder.path(), &text);
    let unfinished = |store: &Store| -> Vec<bool> {
        let lanes = (0..store.lane_count()).map(|lane| store.lane(LaneIdx(lane)));
        lanes.map(|lane| lane.is_unfinished(lane.info().rows - 1)).collect()
    };
    assert!(unfinished(&whole).iter().filter(|unfinished| **unfinished).count() >= 6);
    let small = LiveStoreLimits { window_rows: 200, settled_rows: 500 };
    for (limits, every) in [(LIMITS, 10_000), (small, 70)] {
        let (snapshot, live_store) = store_of(folder.path(), &text, limits, every);
        assert_eq!(live_store.late(), LateRows::default());
        let (shown, expected) = (rows(snapshot.store()), rows(&whole));
        assert_eq!(shown.iter().zip(&expected).find(|(shown, expected)| shown != expected), None);
        assert_eq!(shown.len(), expected.len());
        assert_eq!(unfinished(snapshot.store()), unfinished(&whole));
        std::fs::remove_file(folder.path().join("pipe")).unwrap();
    }
}

#[test]
fn a_process_has_the_name_of_its_main_thread_as_in_the_finished_trace() {
    let folder = tempfile::tempdir().unwrap();
    let sample = |comm: &str, tid: u64, time: u64| {
        format!("{comm}  7238/{tid}  [001]  100.{time:06}:  250000 cycles:\n\t  55d0c0 work+0x10 (/bin/app)\n\n")
    };
    let text = [sample("Worker", 7240, 1), sample("before", 7238, 2), sample("Main", 7238, 3)].concat();
    let names = |store: &Store| -> Vec<String> {
        store.meta().tracks.processes.iter().map(|process| process.name.to_string()).collect()
    };
    let (snapshot, _) = store_of(folder.path(), &text, LIMITS, 1);
    let expected = names(&offline(folder.path(), &text));
    assert_eq!((names(snapshot.store()), expected.iter().any(|name| name == "Main")), (expected.clone(), true));
}

#[test]
fn the_work_of_a_snapshot_does_not_grow_with_what_came_before() {
    let folder = tempfile::tempdir().unwrap();
    let small = LiveStoreLimits { window_rows: 4096, settled_rows: 1 << 20 };
    let (_, mut live_store) = store_of(folder.path(), &trace(20_000), small, usize::MAX);
    let say: Say = Arc::new(drop);
    let session = LiveSession::start(&[], &session_options(), &say).unwrap();
    let before = live_store.store.packed_rows();
    live_store.tracks.iter_mut().for_each(|track| track.is_changed = true);
    live_store.snapshot(&session, 0).unwrap();
    let packed = live_store.store.packed_rows() - before;
    // At most the moving rows, and less than one extent for each of some twelve lanes.
    assert!(packed <= 4096 + 12 * 4096, "{packed} of 240,000 rows");
    let before = live_store.store.packed_rows();
    live_store.snapshot(&session, 0).unwrap();
    assert_eq!(live_store.store.packed_rows(), before, "nothing has changed");
}

#[test]
fn a_parent_that_comes_after_the_window_is_shown_below_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    let text = trace(3000);
    let root = r#",{"ph":"X","pid":1,"tid":1,"name":"root","ts":0,"dur":300000}]"#;
    // The trace has 27,000 rows, far more than the limit of the window.
    let (parts, rows_before) = ([&text[..text.len() - 1], root], 20_000);
    let small = LiveStoreLimits { window_rows: 1000, settled_rows: 5000 };
    let (snapshot, live_store) = store_of_parts(folder.path(), parts, rows_before, small, 500);
    assert_eq!(live_store.late(), LateRows { apart: 1, ..LateRows::default() });
    let root: Vec<_> = rows(snapshot.store()).into_iter().filter(|row| row.5.starts_with("root")).collect();
    assert_eq!((root.len(), root[0].2, root[0].4), (1, 2, 300_000_000), "the lane after those of calls and children");
}

/// Creates an empty store, and a session without sources.
fn idle_store() -> (LiveStore, LiveSession) {
    let say: Say = Arc::new(drop);
    let session = LiveSession::start(&[], &session_options(), &say).unwrap();
    let mut live_store = LiveStore::new(tempfile::tempfile().unwrap(), Names::default(), LIMITS).unwrap();
    live_store.tracks_by_key.push(FxHashMap::default());
    (live_store, session)
}

/// Adds a row of a thread to a store without sources.
fn add_row(live_store: &mut LiveStore, tid: i64, ts_ns: i64, value: RowValue) {
    let track = Arc::new(TrackKey::thread(Id::Number(1), Id::Number(tid)));
    let (name, args, order) = (Arc::default(), Box::default(), RowOrder::default());
    let row = LiveRow { ts_ns, value, name, track, args, order };
    let (names, came) = (&LiveNames::default(), std::time::Instant::now());
    live_store.add(&SourceRow { row: &row, names, late_ns: 0, source: 0, now_ns: ts_ns, came }).unwrap();
}

/// Settles all rows that may still move.
fn settle_all(live_store: &mut LiveStore, session: &LiveSession) {
    let window_rows = std::mem::replace(&mut live_store.limits.window_rows, 0);
    while live_store.window_rows > 0 {
        live_store.settle(session).unwrap();
    }
    live_store.limits.window_rows = window_rows;
}

#[test]
fn late_rows_of_an_idle_track_are_shown_once_after_another_track_fills_the_window() {
    let (mut live_store, session) = idle_store();
    [100, 200, 300].into_iter().for_each(|ts_ns| add_row(&mut live_store, 1, ts_ns, RowValue::Instant));
    settle_all(&mut live_store, &session);
    live_store.snapshot(&session, 0).unwrap();
    (1..=5).for_each(|ts_ns| add_row(&mut live_store, 1, ts_ns, RowValue::Instant));
    assert_eq!(live_store.late(), LateRows { apart: 5, ..LateRows::default() });
    live_store.snapshot(&session, 0).unwrap();
    live_store.limits.window_rows = 100;
    (1000..1096).for_each(|ts_ns| add_row(&mut live_store, 2, ts_ns, RowValue::Instant));
    assert!(live_store.is_full());
    live_store.settle(&session).unwrap();
    let shown = rows(live_store.snapshot(&session, 0).unwrap().store());
    let mut starts: Vec<i64> = shown.iter().map(|row| row.3).filter(|&start_ns| start_ns < 1000).collect();
    starts.sort_unstable();
    assert_eq!(starts, [1, 2, 3, 4, 5, 100, 200, 300]);
    let (_, filled) = live_store.density().filled();
    assert_eq!((shown.len(), filled.iter().sum::<u32>()), (104, 104));
}

#[test]
fn late_points_have_the_depths_of_late_spans_also_when_these_move_down() {
    let (mut live_store, session) = idle_store();
    let span = |dur_ns| RowValue::Span { dur_ns: Some(dur_ns) };
    let point = FlowPoint { role: FlowRole::Start, binds_enclosing: false, depth: None, bound: FlowBound::Time };
    [(1000, 1000), (1100, 100)]
        .into_iter()
        .for_each(|(ts_ns, dur_ns)| add_row(&mut live_store, 1, ts_ns, span(dur_ns)));
    settle_all(&mut live_store, &session);
    add_row(&mut live_store, 1, 10, span(50));
    add_row(&mut live_store, 1, 20, RowValue::Instant);
    add_row(&mut live_store, 1, 30, RowValue::Flow(LiveFlow { id: 7, point, is_placed: false }));
    let check = |live_store: &mut LiveStore, first_depth: u16| {
        let shown = rows(live_store.snapshot(&session, 0).unwrap().store());
        let late = shown.iter().filter(|row| row.3 < 1000).map(|row| (row.1, row.2, row.3, row.4, &*row.6));
        let flow_point = format!("{:?}", FlowPoint { depth: Some(first_depth), ..point });
        let expected = [
            (LaneKind::Instants, 0, 20, u64::from(first_depth) + 1, ""),
            (LaneKind::Spans, first_depth, 10, 50, ""),
            (LaneKind::Flows, 0, 30, 7, &flow_point),
        ];
        assert_eq!(late.collect::<Vec<_>>(), expected);
    };
    check(&mut live_store, 2);
    for (ts_ns, dur_ns) in [(5000, 100), (5010, 50), (5020, 10)] {
        add_row(&mut live_store, 1, ts_ns, span(dur_ns));
    }
    check(&mut live_store, 3);
    settle_all(&mut live_store, &session);
    check(&mut live_store, 3);
}

/// Rows without what depends on the rows around them: the depth of spans, instants and flow points.
fn undepthed(store: &Store) -> Vec<(String, LaneKind, i64, u64, String)> {
    let without_depth = |(title, kind, _, start_ns, value, name, _)| {
        (title, kind, start_ns, if kind == LaneKind::Instants { 0 } else { value }, name)
    };
    let mut all: Vec<_> = rows(store).into_iter().map(without_depth).collect();
    all.sort();
    all
}

#[test]
fn rows_after_a_step_of_the_clock_to_before_the_window_are_all_shown() {
    let folder = tempfile::tempdir().unwrap();
    let events = |first_us: u64| {
        let mut lines = Vec::new();
        for number in 0..1500 {
            // Some are written after later ones.
            let ts = first_us + number * 100 - number % 7 * 130;
            let mut push = |event: String| lines.push(format!(r#"{{"pid":1,"tid":1,"ts":{ts},{event}}}"#));
            push(format!(r#""ph":"X","dur":{},"name":"x""#, number % 300));
            push(r#""ph":"i","s":"t","name":"i""#.to_owned());
            push(format!(r#""ph":"s","id":{first_us}{number},"name":"s""#));
            push(format!(r#""ph":"C","name":"c","args":{{"v":{number}}}"#));
        }
        lines.join(",\n")
    };
    let (before, after) = (format!("[{}", events(60_000_000)), format!(",{}]", events(30_000_000)));
    let is_value = |row: &(String, LaneKind, i64, u64, String)| row.1 == LaneKind::Counter;
    let expected = undepthed(&offline(folder.path(), &format!("{before}{after}")));
    assert_eq!(expected.len(), 3000 * 4);
    let (expected_values, expected): (Vec<_>, Vec<_>) = expected.into_iter().partition(is_value);
    let small = LiveStoreLimits { window_rows: 1000, settled_rows: 5000 };
    let (snapshot, live_store) = store_of_parts(folder.path(), [&before, &after], 5000, small, 500);
    let late = live_store.late();
    let (values, shown): (Vec<_>, Vec<_>) = undepthed(snapshot.store()).into_iter().partition(is_value);
    assert_eq!(shown, expected);
    // Late values of counters are left out.
    assert!(values.iter().all(|value| expected_values.binary_search(value).is_ok()));
    assert_eq!((values.len() as u64 + late.left_out, live_store.own_losses().total()), (3000, late.left_out));
    assert!(late.apart >= 4500 && late.left_out >= 1500, "{late:?}");
    // Late spans are below all others, and the points among them too.
    let all = rows(snapshot.store());
    let all_late = || all.iter().filter(|row| row.3 < 45_000_000_000);
    let first_depth = all_late().filter(|row| row.1 == LaneKind::Spans).map(|row| row.2).min().unwrap();
    assert!(first_depth > 0);
    for (_, kind, _, _, value, _, args) in all_late() {
        let is_above = |depth: u16| match kind {
            LaneKind::Instants => *value == u64::from(depth),
            _ => args.contains(&format!("depth: Some({depth})")),
        };
        assert!(!(0..first_depth).any(is_above), "{kind:?} {value} {args}");
    }
    let summary = snapshot.summary();
    assert_eq!([summary.spans, summary.instants, summary.flows, summary.counters], [3000; 4]);
}

#[test]
fn one_wrong_time_neither_drops_the_rows_before_it_nor_keeps_all_later_ones() {
    const SECOND_NS: i64 = 1_000_000_000;
    let (mut live_store, session) = idle_store();
    // A thousand rows, which is longer than they may still move.
    live_store.keep_part(Retention::Time(20_000_000_000)).unwrap();
    for number in 0..4000_i64 {
        let ts_ns = number * SECOND_NS / 50;
        add_row(&mut live_store, 1, ts_ns, RowValue::Span { dur_ns: Some(1000) });
        if number == 1000 {
            add_row(&mut live_store, 2, 9_000_000 * SECOND_NS, RowValue::Instant);
        }
        if number % 50 == 0 {
            let spans = live_store.snapshot(&session, 0).unwrap().summary().spans;
            let expected = (number.cast_unsigned() + 1).min(1000);
            assert!((expected..=expected + 400).contains(&spans), "{spans} at {number}");
        }
    }
    assert!(live_store.dropped() > 2500);
}
