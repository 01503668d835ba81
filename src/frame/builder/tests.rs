//! Pictures of regular lanes and of small traces: their budget, their queries, and what is drawn.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use super::super::filtered::DIMMED_OPACITY;
use super::super::lit::{LitNames, LitSpans, LitTracks, UNLIT_OPACITY};
use super::*;
use crate::base::threads::start_frame_threads;
use crate::model::{NameRow, ProcessIdx, TrackIdx};
use crate::query::filter::Filter;
use crate::query::matcher::Matcher;
use crate::query::open_end::open_end;
use crate::query::pick::row_at;
use crate::query::{Cell, CounterCell, RowCount};
use crate::scene::arrange::{self, Arrangement};
use crate::scene::color::Shade;
use crate::scene::rows::{Folded, RowHeights, TrackRows};
use crate::store::lane::LaneInfo;
use crate::tiles::TileSource;

/// Lanes of spans of 60 ns, one every 100 ns, with alternating names; every query is counted by its buckets.
struct Regular {
    rows: i64,
}

impl LaneTracks for Regular {
    fn track(&self, _: LaneIdx) -> TrackIdx {
        TrackIdx(0)
    }

    fn track_name(&self, _: LaneIdx) -> &'static str {
        ""
    }
}

impl TileSource for Regular {
    fn info(&self, _: TileOwner) -> Option<LaneInfo> {
        Some(LaneInfo {
            track: TrackIdx(0),
            kind: LaneKind::Spans,
            depth: 0,
            rows: self.rows.unsigned_abs(),
            start_ns: 0,
            end_ns: self.rows * 100,
        })
    }

    fn longest(&self, _: TileOwner, buckets: Buckets, cells: &mut Vec<Cell>) -> ReadCount {
        for bucket in buckets.first..buckets.end() {
            let (from, to) = (buckets.start_ns(bucket), buckets.start_ns(bucket + 1));
            // The first span that starts in the bucket, or the span that reaches into it.
            let row = if from.rem_euclid(100) < 60 { from.div_euclid(100) } else { from.div_euclid(100) + 1 };
            if row < 0 || row >= self.rows || row * 100 >= to {
                continue;
            }
            let rows = ((to - 1).div_euclid(100) - (from - 1).div_euclid(100)).unsigned_abs();
            let cell = Cell {
                first_bucket: bucket,
                bucket_count: 1,
                row: row.unsigned_abs(),
                start_ns: row * 100,
                end_ns: row * 100 + 60,
                name: NameIdx(u32::try_from(row % 7).unwrap_or(0)),
                unfinished: false,
                first_rows: RowCount::from_count(rows),
                last_rows: RowCount::default(),
            };
            if !cells.last_mut().is_some_and(|last| last.extend(&cell)) {
                cells.push(cell);
            }
        }
        ReadCount { queries: u64::from(buckets.count), ..ReadCount::default() }
    }

    fn counter(&self, _: TileOwner, _: Buckets, _: &mut Vec<CounterCell>) -> ReadCount {
        ReadCount::default()
    }
}

struct FrameFixture {
    trace: Regular,
    layout: RowLayout,
    view: Viewport,
    tiles: Tiles,
    palette: Palette,
}

fn fixture(lanes: u32, rows: i64) -> FrameFixture {
    let tracks = [TrackRows {
        track: TrackIdx(0),
        process: ProcessIdx(0),
        custom_group: None,
        lanes: 0..lanes,
        group: None,
        starts_folded: false,
        curves: 0,
    }];
    FrameFixture {
        trace: Regular { rows },
        layout: RowLayout::new(tracks, |_| LaneKind::Spans, |_| None, &Folded::default(), &RowHeights::at_scale(1.0)),
        view: Viewport::covering(0, rows * 100, 1920.0, 1080.0),
        tiles: Tiles::default(),
        palette: Palette::new(Shade::Dark),
    }
}

impl FrameFixture {
    fn frame(&mut self, rects: RectBudget) -> TimelineFrame {
        let options = FrameOptions {
            palette: &self.palette,
            rects,
            scale: 1.0,
            filtered: None,
            lit: None,
            counters: &[],
            overlaid: &[],
        };
        self.tiles.prepare(&self.trace, self.view.buckets(), &lanes_in_view(&self.layout, &self.view));
        build(&self.trace, &Names::default(), &self.layout, &self.view, &self.tiles, options)
    }
}

#[test]
fn a_frame_stays_within_its_budget_and_is_made_of_coarser_columns() {
    // 40 nanoseconds per pixel: a span and a gap for every three columns, in 54 lanes.
    let mut fixture = fixture(200, 10_000_000);
    fixture.view.show_exactly(0, 1920 * 40);
    let fine = fixture.frame(RectBudget::HARDWARE);
    let coarse = fixture.frame(RectBudget::SOFTWARE);
    assert_eq!(fine.column_px, 1);
    assert!(fine.rects.len() > RectBudget::SOFTWARE.0, "{}", fine.rects.len());
    assert!(coarse.rects.len() <= RectBudget::SOFTWARE.0, "{}", coarse.rects.len());
    assert!(coarse.column_px > 1);
}

#[test]
fn a_frame_does_not_wait_for_queries_that_hold_all_their_threads() {
    let (gate, held) = (Arc::new(Mutex::new(())), Arc::new(AtomicUsize::new(0)));
    let shut = gate.lock().unwrap();
    let (to_open, count) = (Arc::clone(&gate), Arc::clone(&held));
    rayon::spawn_broadcast(move |_| {
        count.fetch_add(1, Ordering::SeqCst);
        drop(to_open.lock());
    });
    while held.load(Ordering::SeqCst) < rayon::current_num_threads() {
        std::thread::sleep(Duration::from_millis(1));
    }
    // On separate threads, since a thread stays in the pool of frames.
    let build = |has_own: bool| {
        let (sender, frames) = mpsc::channel();
        std::thread::spawn(move || {
            let _threads = has_own.then(start_frame_threads);
            sender.send(frames_of_a_zoom_out()).ok(); // the test has failed
        });
        frames
    };
    let (own, shared) = (build(true), build(false));
    let in_time = own.recv_timeout(Duration::from_secs(20));
    let waits = shared.recv_timeout(Duration::from_millis(100)).is_err();
    drop(shut);
    assert_eq!(in_time.expect("frames without the threads of queries"), frames_of_a_zoom_out());
    assert!(waits, "the test holds too few threads");
}

/// Returns two frames. The second derives its tiles from the tiles of the first.
fn frames_of_a_zoom_out() -> [TimelineFrame; 2] {
    let mut fixture = fixture(20, 100_000);
    fixture.view.zoom(4.0, 960.0);
    let near = fixture.frame(RectBudget::HARDWARE);
    fixture.view.zoom(0.5, 960.0);
    [near, fixture.frame(RectBudget::HARDWARE)]
}

#[test]
fn lanes_out_of_view_are_not_queried() {
    let mut fixture = fixture(1_000_000, 1_000_000);
    let asked = fixture.frame(RectBudget::HARDWARE).read.queries;
    assert!(asked < 64 * 5000, "{asked}");
}

#[test]
fn dragging_queries_only_what_came_into_view() {
    let mut fixture = fixture(20, 10_000_000);
    fixture.view.show_exactly(50_000_000, 50_000_000 + 1920 * 100);
    let first = fixture.frame(RectBudget::HARDWARE);
    let again = fixture.frame(RectBudget::HARDWARE);
    assert!(first.read.queries > 0);
    assert_eq!(again.read.queries, 0);
    assert_eq!(again.rects, first.rects);
    fixture.view.pan(30.0);
    assert!(fixture.frame(RectBudget::HARDWARE).read.queries <= 20 << 8);
}

#[test]
fn cached_tiles_give_the_same_picture_as_fresh_ones() {
    let mut fixture = fixture(5, 100_000);
    for step in 0..60 {
        fixture.view.zoom(1.17, f64::from(step * 31 % 1920));
        fixture.view.pan(f64::from(step % 7) * 40.0);
        let cached = fixture.frame(RectBudget::HARDWARE);
        fixture.tiles = Tiles::default();
        let fresh = fixture.frame(RectBudget::HARDWARE);
        assert_eq!(cached.rects, fresh.rects);
        assert_eq!(cached.labels, fresh.labels);
    }
}

#[test]
fn failed_spans_are_marked_unless_a_filter_dims_them_and_never_hidden_by_others_of_their_name() {
    let span = |start: u32, dur: u32, error: bool| {
        format!(
            r#"{{"traceID":"1","spanID":"{start}","operationName":"GET","startTime":{start},"duration":{dur},
            "processID":"p","tags":[{{"key":"error","value":{error}}}]}}"#
        )
    };
    // Two wide spans, and a narrow failed span between two narrow spans that succeeded.
    let narrow = [span(700, 1, false), span(701, 2, true), span(703, 1, false)];
    let wide = [span(0, 300, false), span(300, 300, true), span(900, 100, false)];
    let spans = [&wide[..], &narrow].concat();
    let trace = format!(
        r#"{{"data":[{{"traceID":"1","spans":[{}],"processes":{{"p":{{"serviceName":"s"}}}}}}]}}"#,
        spans.join(",")
    );
    let snapshot = crate::scene::tests::snapshot(&trace);
    let tracks = arrange::tracks(&snapshot, &Arrangement::default(), None);
    let heights = RowHeights::at_scale(1.0);
    let kind_of = |lane| snapshot.lane(lane).kind;
    let layout = RowLayout::new(tracks, kind_of, |_| None, &Folded::default(), &heights);
    let palette = Palette::new(Shade::Dark);
    let mut view = Viewport::covering(snapshot.start_ns(), snapshot.end_ns(), 500.0, 500.0);
    view.show_exactly(snapshot.start_ns(), snapshot.end_ns());
    let mut tiles = Tiles::default();
    tiles.prepare(&snapshot, view.buckets(), &lanes_in_view(&layout, &view));
    let matcher = Matcher::new(&snapshot, &Filter::parse("-is:failed").unwrap());
    let filtered = Filtered::new(Arc::new(matcher));
    // The statistics sum failures under the regular name, whose hovered row lights them.
    let mut names = (0..snapshot.names().len() as u32).map(NameIdx);
    let get = names.find(|&name| snapshot.names().get(name) == NameRow::new("GET", None)).unwrap();
    let [lit, other] = [get, NameIdx::EMPTY].map(|name| LitSpans::named(LitNames::Name(name)));
    let marks = vec![(150.0, 300.0), (351.0, 352.0)];
    for (filtered, lit, expected) in [
        (None, None, marks.clone()),
        (Some(&filtered), None, vec![]),
        (None, Some(&lit), marks),
        (None, Some(&other), vec![]),
    ] {
        let options = FrameOptions {
            palette: &palette,
            rects: RectBudget::HARDWARE,
            scale: 1.0,
            filtered,
            lit,
            counters: &[],
            overlaid: &[],
        };
        let frame = build(&snapshot, snapshot.names(), &layout, &view, &tiles, options);
        let marked = frame.rects.iter().filter(|rect| rect.style.has(RectStyle::FAILED));
        assert_eq!(marked.map(|rect| (rect.x0, rect.x1)).collect::<Vec<_>>(), expected);
    }
}

#[test]
fn a_span_without_an_end_goes_on_to_the_end_of_the_trace() {
    // Nothing follows the begin on its thread, as in a call that hangs.
    let snapshot = crate::scene::tests::snapshot(
        r#"[{"ph":"B","name":"hung","pid":1,"tid":1,"ts":10},
        {"ph":"X","name":"work","pid":1,"tid":2,"ts":0,"dur":100},
        {"ph":"B","name":"last","pid":1,"tid":3,"ts":90},{"ph":"i","name":"end","pid":1,"tid":3,"ts":100},
        {"ph":"X","name":"done","pid":1,"tid":4,"ts":20,"dur":10}]"#,
    );
    let tracks = arrange::tracks(&snapshot, &Arrangement::default(), None);
    let heights = RowHeights::at_scale(1.0);
    let layout = RowLayout::new(tracks, |lane| snapshot.lane(lane).kind, |_| None, &Folded::default(), &heights);
    let lane_of = |name: &str| {
        let mut lanes = (0..snapshot.store().lane_count()).map(LaneIdx);
        let names = snapshot.names();
        let is_of = |lane: &LaneIdx| {
            row_at(&snapshot, *lane, 100_000, 100_000).is_some_and(|row| names.get(snapshot.row(row).name).text == name)
        };
        lanes.find(is_of).expect("a lane")
    };
    let palette = Palette::new(Shade::Dark);
    for (from_us, to_us) in [(0, 100), (50, 90), (92, 95)] {
        let mut view = Viewport::covering(0, 100_000, 1000.0, 500.0);
        view.show_exactly(from_us * 1000, to_us * 1000);
        let options = FrameOptions {
            palette: &palette,
            rects: RectBudget::HARDWARE,
            scale: 1.0,
            filtered: None,
            lit: None,
            counters: &[],
            overlaid: &[],
        };
        let mut tiles = Tiles::default();
        tiles.prepare(&snapshot, view.buckets(), &lanes_in_view(&layout, &view));
        let names = snapshot.names();
        let frame = build(&snapshot, names, &layout, &view, &tiles, options);
        let hung: Vec<_> = frame.labels.iter().filter(|label| names.get(label.name).text == "hung").collect();
        assert_eq!(hung.len(), 1, "{:?}", frame.labels);
        assert_eq!(hung[0].color, palette.canvas_text(), "its fill is too pale for another colour");
        let right = frame.rects.iter().filter(|rect| rect.y0 <= hung[0].y && hung[0].y < rect.y1).map(|rect| rect.x1);
        assert_eq!(right.fold(0.0, f32::max), if to_us == 100 { 1000.0 } else { 1008.0 });
        // The label says that the span is unfinished, even where the end is out of view.
        let last = frame.labels.iter().filter(|label| names.get(label.name).text == "last");
        let last: Vec<bool> = last.map(|label| label.is_unfinished).collect();
        assert_eq!(last, if to_us == 90 { vec![] } else { vec![true] }, "{from_us} to {to_us}");
        // A search for another span dims the part after the last event of the thread too.
        let others = Filtered::new(Arc::new(Matcher::new(&snapshot, &Filter::parse("name:work").unwrap())));
        let frame =
            build(&snapshot, names, &layout, &view, &tiles, FrameOptions { filtered: Some(&others), ..options });
        let is_hung = |rect: &&Rect| rect.color.0[..3] == palette.hashed_color("hung").0[..3];
        let dimmed: Vec<u8> = frame.rects.iter().filter(is_hung).map(|rect| rect.color.0[3]).collect();
        assert!(!dimmed.is_empty() && dimmed.iter().all(|&opacity| opacity == DIMMED_OPACITY), "{dimmed:?}");
    }
    let hung = lane_of("hung");
    let at_us = |ts_us: i64| row_at(&snapshot, hung, 1000 * ts_us, 0).map(|row| row.row);
    assert_eq!([5, 10, 50, 100, 101].map(at_us), [None, Some(0), Some(0), Some(0), None]);
    assert_eq!(open_end(&snapshot, lane_of("last")), None, "it reaches the end");
    assert_eq!(open_end(&snapshot, lane_of("done")), None, "it has an end");
}

#[test]
fn spans_of_a_hovered_row_keep_their_colour_and_the_others_are_dimmed_less_than_by_a_search() {
    let snapshot = crate::scene::tests::snapshot(
        r#"[{"ph":"X","name":"a","cat":"io","pid":1,"tid":1,"ts":0,"dur":40},
        {"ph":"X","name":"b","cat":"io","pid":1,"tid":1,"ts":50,"dur":50},
        {"ph":"X","name":"a","cat":"net","pid":2,"tid":2,"ts":0,"dur":100}]"#,
    );
    let rows = arrange::tracks(&snapshot, &Arrangement::default(), None);
    let heights = RowHeights::at_scale(1.0);
    let layout = RowLayout::new(rows, |lane| snapshot.lane(lane).kind, |_| None, &Folded::default(), &heights);
    let view = Viewport::covering(0, 100_000, 1000.0, 500.0);
    let mut tiles = Tiles::default();
    tiles.prepare(&snapshot, view.buckets(), &lanes_in_view(&layout, &view));
    let palette = Palette::new(Shade::Dark);
    let drawn_in = |filtered: Option<&Filtered>, lit: Option<&LitSpans>| {
        let options = FrameOptions {
            palette: &palette,
            rects: RectBudget::HARDWARE,
            scale: 1.0,
            filtered,
            lit,
            counters: &[],
            overlaid: &[],
        };
        let frame = build(&snapshot, snapshot.names(), &layout, &view, &tiles, options);
        let opacities: Vec<_> = frame.rects.iter().map(|rect| rect.color.0[3]).collect();
        let names: Vec<_> = frame.labels.iter().map(|label| snapshot.names().get(label.name).text).collect();
        (opacities, names)
    };
    let drawn = |lit: Option<&LitSpans>| drawn_in(None, lit);
    let dim = UNLIT_OPACITY;
    assert_eq!(drawn(None), (vec![255, 255, 255], vec!["a", "b", "a"]));
    let of_process = LitTracks::Process(snapshot.track(TrackIdx(1)).process);
    for (lit, opacities, names) in [
        (LitSpans::named(LitNames::Text("a".into())), [255, dim, 255], vec!["a", "a"]),
        (LitSpans::named(LitNames::Category(Some("io".into()))), [255, 255, dim], vec!["a", "b"]),
        (LitSpans::on(LitTracks::Like(TrackIdx(0))), [255, 255, dim], vec!["a", "b"]),
        (LitSpans::on(LitTracks::Like(TrackIdx(900))), [dim, dim, dim], vec![]),
        (LitSpans { names: LitNames::Text("a".into()), tracks: of_process }, [dim, dim, 255], vec!["a"]),
        (LitSpans::named(LitNames::Text("none".into())), [dim, dim, dim], vec![]),
    ] {
        assert_eq!(drawn(Some(&lit)), (opacities.to_vec(), names), "{lit:?}");
    }
    // A search dims more, and spans that it dims stay dimmed unless they are lit.
    let matcher = Matcher::new(&snapshot, &Filter::parse("name:a process:1").unwrap());
    let search = Filtered::new(Arc::new(matcher));
    let dimmed = DIMMED_OPACITY;
    assert_eq!(drawn_in(Some(&search), None).0, [255, dimmed, dimmed]);
    let lit = LitSpans::named(LitNames::Text("b".into()));
    assert_eq!(drawn_in(Some(&search), Some(&lit)).0, [dim, 255, dimmed]);
}
