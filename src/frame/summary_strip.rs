//! The strip of a folded process or group in place of its tracks: in each column the longest span of all tracks, from
//! [`TrackSummaries`]. A filter of names, tracks and durations dims all but the wide spans that match; any other filter
//! dims the whole strip. Matching spans below longer spans are not searched.

use super::filtered::{DIMMED_OPACITY, Filtered};
use super::lit::{LitSpans, LitTracks};
use crate::model::{Names, TrackIdx};
use crate::query::open_end::OpenEnd;
use crate::query::{Buckets, Cell, Snapshot};
use crate::scene::color::Rgba;
use crate::scene::palette::{ColorBy, OPEN_END_OPACITY, Palette};
use crate::scene::rects::{ColumnRun, Columns, Rect, clipped_x, rect};
use crate::scene::viewport::Viewport;
use crate::tiles::TileOwner;
use crate::tiles::summaries::TrackSummaries;

/// Minimum width of a column. A strip is about ten pixels high, and forty strips fill a screen.
const COLUMN_PX_MIN: u32 = 2;

/// The position of a strip on the canvas.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct SummaryBand {
    pub(crate) y0: f32,
    pub(crate) y1: f32,
    /// Width of the columns that narrow spans share.
    pub(crate) column_px: u32,
}

/// The spans of the hovered row of a panel, and the trace with their tracks.
#[derive(Clone, Copy)]
pub(crate) struct Lighting<'a> {
    pub(crate) spans: &'a LitSpans,
    pub(crate) snapshot: &'a Snapshot,
}

/// The inputs to the colours of a strip.
#[derive(Clone, Copy)]
pub(crate) struct StripColors<'a> {
    pub(crate) names: &'a Names,
    pub(crate) palette: &'a Palette,
    /// The filter that dims what does not match; `None` for no filter.
    pub(crate) filtered: Option<&'a Filtered>,
    pub(crate) lit: Option<Lighting<'a>>,
}

/// Adds the strip of a process or group from the cells of its summary.
pub(crate) fn rects(
    view: &Viewport,
    (buckets, cells): (Buckets, &[Cell]),
    band: SummaryBand,
    (owner, summaries): (TileOwner, &TrackSummaries),
    colors: StripColors<'_>,
    out: &mut Vec<Rect>,
) {
    let columns = Columns::from_cells(view, buckets, cells);
    let wider = band.column_px.max(COLUMN_PX_MIN).ilog2();
    let runs = (0..wider).fold(columns, |columns, _| columns.wider()).runs(colors.palette);
    out.extend(runs.iter().map(|run| {
        let color = colors.color_of(run, summaries.track_of(owner, run.row), summaries);
        rect(run, band.y0, band.y1, color)
    }));
    if let Some(open) = summaries.open_end(owner) {
        push_open_end(view, open, &runs, band, (summaries, colors), out);
    }
}

impl StripColors<'_> {
    /// Returns the colour of a run, with the filter and the hovered row.
    fn color_of(&self, run: &ColumnRun, track: Option<TrackIdx>, summaries: &TrackSummaries) -> Rgba {
        let (palette, name) = (self.palette, self.names.get(run.name));
        let full = match (track, palette.by()) {
            (Some(track), ColorBy::Name) if summaries.is_of_states(track) => palette.state_color(name.text),
            (Some(track), ColorBy::Track) => palette.hashed_color(&summaries.text_of(track)),
            _ => palette.span_color(name, run.dur_ns, Rgba::default()),
        };
        // A row without a track is damaged, and matches nothing.
        let shown = self.filtered.map_or(full, |filtered| {
            track.map_or(full.with_opacity(DIMMED_OPACITY), |track| filtered.color(run, track, full))
        });
        self.lit.map_or(shown, |lit| {
            let is_on_track = lit.spans.tracks == LitTracks::All
                || track.is_some_and(|track| lit.spans.tracks.has(lit.snapshot, track));
            lit.spans.color((self.names, run.name), is_on_track, (full, shown))
        })
    }
}

/// Continues the longest open span up to the end of the trace, pale as in its lane, where no other span is drawn.
fn push_open_end(
    view: &Viewport,
    open: &OpenEnd,
    runs: &[ColumnRun],
    band: SummaryBand,
    (summaries, colors): (&TrackSummaries, StripColors<'_>),
    out: &mut Vec<Rect>,
) {
    let (from_x, to_x) = (clipped_x(view, open.from_ns), clipped_x(view, open.to_ns));
    let part = |x0: f64, x1: f64| ColumnRun {
        x0,
        x1,
        name: open.name,
        row: open.row.row,
        dur_ns: open.dur_ns,
        wide: true,
        unfinished: true,
        torn: x1 >= to_x,
    };
    let color = colors.color_of(&part(from_x, to_x), Some(summaries.track_of_lane(open.row.lane)), summaries);
    let pale = color.with_opacity(color.0[3].min(OPEN_END_OPACITY));
    let mut x0 = from_x;
    let ends = runs.iter().map(|run| (run.x0, run.x1)).chain([(to_x, to_x)]);
    for (run_x0, run_x1) in ends.filter(|(_, run_x1)| *run_x1 > from_x) {
        let x1 = run_x0.min(to_x);
        if x0 < x1 {
            out.push(rect(&part(x0, x1), band.y0, band.y1, pale));
        }
        x0 = x0.max(run_x1);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::base::cancel::Cancel;
    use crate::frame::lit::LitNames;
    use crate::model::{ProcessIdx, TrackKind};
    use crate::query::filter::Filter;
    use crate::query::matcher::Matcher;
    use crate::scene::color::Shade;
    use crate::scene::tests::snapshot;
    use crate::tiles::TileSource;

    /// Returns the colours without a filter and a hovered row.
    fn plain<'a>(snapshot: &'a Snapshot, palette: &'a Palette) -> StripColors<'a> {
        StripColors { names: snapshot.names(), palette, filtered: None, lit: None }
    }

    /// Returns the strip of the first process over 100 us on 1000 pixels.
    fn strip_of(snapshot: &Snapshot, colors: StripColors<'_>) -> Vec<Rect> {
        let mut view = Viewport::covering(snapshot.start_ns(), snapshot.end_ns(), 1000.0, 100.0);
        view.show_exactly(0, 100_000);
        let buckets = view.buckets();
        let summaries = TrackSummaries::from_snapshot(snapshot, buckets, &Cancel::default()).unwrap();
        let owner = TileOwner::Process(ProcessIdx(0));
        let (mut cells, mut out) = (Vec::new(), Vec::new());
        summaries.longest(owner, buckets, &mut cells);
        let band = SummaryBand { y0: 3.0, y1: 20.0, column_px: 1 };
        rects(&view, (buckets, &cells), band, (owner, &summaries), colors, &mut out);
        out
    }

    #[test]
    fn a_search_dims_the_strip_of_a_folded_process_except_for_its_hits() {
        let snapshot = snapshot(
            r#"[{"ph":"X","name":"a","pid":1,"tid":1,"ts":0,"dur":30},{"ph":"X","name":"b","pid":1,"tid":2,"ts":40,"dur":20},
            {"ph":"X","name":"a","pid":1,"tid":3,"ts":70,"dur":20},{"ph":"X","name":"c","pid":1,"tid":3,"ts":75,"dur":5}]"#,
        );
        let palette = Palette::new(Shade::Dark);
        let spans = [("a", 30), ("b", 20), ("a", 20)];
        let opacities = |text: &str, lit: Option<&LitSpans>| {
            let filtered = Filtered::new(Arc::new(Matcher::new(&snapshot, &Filter::parse(text).unwrap())));
            let lit = lit.map(|spans| Lighting { spans, snapshot: &snapshot });
            let colors = StripColors { filtered: Some(&filtered), lit, ..plain(&snapshot, &palette) };
            strip_of(&snapshot, colors).iter().map(|rect| rect.color.0[3]).collect::<Vec<_>>()
        };
        let expected = |is_hit: fn(&str, u32) -> bool| {
            spans.map(|(name, dur_us)| if is_hit(name, dur_us) { 255 } else { DIMMED_OPACITY }).to_vec()
        };
        assert_eq!(opacities("name:a", None), expected(|name, _| name == "a"));
        assert_eq!(opacities("name:c", None), expected(|_, _| false), "a hit below a longer span");
        assert_eq!(opacities("dur>25us", None), expected(|_, dur_us| dur_us > 25));
        assert_eq!(opacities("name:missing", None), expected(|_, _| false));
        // A hovered row is bright even while a search dims it.
        let lit = LitSpans::named(LitNames::Text("b".into()));
        assert_eq!(opacities("name:missing", Some(&lit)), expected(|name, _| name == "b"));
    }

    #[test]
    fn an_unfinished_span_is_pale_to_the_end_of_the_trace_where_no_span_of_the_folded_process_is() {
        let snapshot = snapshot(
            r#"[{"ph":"B","name":"hung","pid":1,"tid":1,"ts":10},{"ph":"B","name":"later","pid":1,"tid":3,"ts":50},
            {"ph":"X","name":"work","pid":1,"tid":2,"ts":0,"dur":30},{"ph":"X","name":"work","pid":1,"tid":2,"ts":60,"dur":20},
            {"ph":"X","name":"other","pid":2,"tid":4,"ts":0,"dur":100}]"#,
        );
        let palette = Palette::new(Shade::Dark);
        let pale = palette.hashed_color("hung").with_opacity(OPEN_END_OPACITY);
        let pale_parts = |colors| {
            let strip = strip_of(&snapshot, colors);
            let parts = strip.iter().filter(|rect| rect.color.0[..3] == pale.0[..3] && rect.x1 - rect.x0 > 2.0);
            parts.map(|rect| (rect.x0, rect.x1, rect.color.0[3])).collect::<Vec<_>>()
        };
        let shown = pale_parts(plain(&snapshot, &palette));
        // The second thread begins a span at 50 us, whose known part is a point.
        assert_eq!(shown.first().map(|part| part.0), Some(300.0), "{shown:?}");
        assert_eq!(shown.last().map(|part| (part.0, part.1)), Some((800.0, 1000.0)), "{shown:?}");
        assert!(shown.iter().all(|part| part.2 == OPEN_END_OPACITY), "{shown:?}");
        let width: f32 = shown.iter().map(|part| part.1 - part.0).sum();
        assert!((495.0..=500.0).contains(&width), "{shown:?}");
        let filtered = Filtered::new(Arc::new(Matcher::new(&snapshot, &Filter::parse("name:work").unwrap())));
        let dimmed = pale_parts(StripColors { filtered: Some(&filtered), ..plain(&snapshot, &palette) });
        assert!(!dimmed.is_empty() && dimmed.iter().all(|part| part.2 == DIMMED_OPACITY), "{dimmed:?}");
    }

    #[test]
    fn in_each_column_the_longest_span_of_all_tracks_is_drawn_whole() {
        // A long span on the ninth track, over the middle of the many short ones of the other eight.
        let short = (0..8).flat_map(|thread| {
            (0..100)
                .map(move |n| format!(r#"{{"ph":"X","name":"short","pid":1,"tid":{thread},"ts":{},"dur":8}},"#, n * 10))
        });
        let long = r#"{"ph":"X","name":"long","pid":1,"tid":9,"ts":300,"dur":400}"#;
        let snapshot = snapshot(&format!("[{}{long}]", short.collect::<String>()));
        let mut view = Viewport::covering(snapshot.start_ns(), snapshot.end_ns(), 1000.0, 100.0);
        view.show_exactly(0, 1_000_000);
        let buckets = view.buckets();
        let lanes = TrackSummaries::from_snapshot(&snapshot, buckets, &Cancel::default()).unwrap();
        let (mut cells, mut out) = (Vec::new(), Vec::new());
        lanes.longest(TileOwner::Process(ProcessIdx(0)), buckets, &mut cells);
        let palette = Palette::new(Shade::Dark);
        let band = SummaryBand { y0: 3.0, y1: 20.0, column_px: 1 };
        let process = (TileOwner::Process(ProcessIdx(0)), &lanes);
        rects(&view, (buckets, &cells), band, process, plain(&snapshot, &palette), &mut out);
        let of_long: Vec<_> = out.iter().filter(|rect| rect.color == palette.hashed_color("long")).collect();
        assert_eq!(of_long.len(), 1, "{out:?}");
        assert_eq!((of_long[0].x0, of_long[0].x1), (300.0, 700.0));
        assert!(out.windows(2).all(|pair| pair[0].x1 <= pair[1].x0), "{out:?}");
        assert!(out.iter().all(|rect| (rect.y0, rect.y1) == (3.0, 20.0)));
        assert!(out.iter().filter(|rect| rect.color == palette.hashed_color("short")).count() >= 50);
    }

    #[test]
    fn the_strip_of_a_folded_process_shows_where_the_spans_of_a_hovered_row_are() {
        let snapshot = snapshot(
            r#"[{"ph":"X","name":"a","pid":1,"tid":1,"ts":0,"dur":40},{"ph":"X","name":"b","pid":1,"tid":2,"ts":60,"dur":40}]"#,
        );
        let mut view = Viewport::covering(snapshot.start_ns(), snapshot.end_ns(), 1000.0, 100.0);
        view.show_exactly(0, 100_000);
        let buckets = view.buckets();
        let lanes = TrackSummaries::from_snapshot(&snapshot, buckets, &Cancel::default()).unwrap();
        let (owner, palette) = (TileOwner::Process(ProcessIdx(0)), Palette::new(Shade::Dark));
        let mut cells = Vec::new();
        lanes.longest(owner, buckets, &mut cells);
        let band = SummaryBand { y0: 3.0, y1: 20.0, column_px: 1 };
        let is_bright = |spans: &LitSpans| {
            let (mut out, lit) = (Vec::new(), Some(Lighting { spans, snapshot: &snapshot }));
            let colors = StripColors { lit, ..plain(&snapshot, &palette) };
            rects(&view, (buckets, &cells), band, (owner, &lanes), colors, &mut out);
            out.iter().map(|rect| rect.color.0[3] == 255).collect::<Vec<_>>()
        };
        assert_eq!(is_bright(&LitSpans::named(LitNames::Text("b".into()))), [false, true]);
        assert_eq!(is_bright(&LitSpans::on(LitTracks::Like(TrackIdx(0)))), [true, false]);
        assert_eq!(is_bright(&LitSpans::on(LitTracks::Process(ProcessIdx(0)))), [true, true]);
    }

    #[test]
    fn states_of_threads_have_the_colours_that_they_have_in_their_rows() {
        // A thread that runs for 3 ms and then sleeps for 7.
        let switch = |at: &str, from: (&str, u8, char), to: (&str, u8)| {
            let ((prev, prev_pid, state), (next, next_pid)) = (from, to);
            format!(
                "  {prev}-{prev_pid} (-----) [000] d... {at}: sched_switch: prev_comm={prev} prev_pid={prev_pid} \
                 prev_prio=120 prev_state={state} ==> next_comm={next} next_pid={next_pid} next_prio=120\n"
            )
        };
        let (idle, busy) = ("swapper/0", "busy");
        let trace = [
            "# tracer: nop\n".to_owned(),
            switch("1.000000", (idle, 0, 'R'), (busy, 7)),
            switch("1.003000", (busy, 7, 'S'), (idle, 0)),
            switch("1.010000", (idle, 0, 'R'), (busy, 7)),
            switch("1.011000", (busy, 7, 'S'), (idle, 0)),
        ];
        let snapshot = snapshot(&trace.concat());
        let view = Viewport::covering(snapshot.start_ns(), snapshot.end_ns(), 1000.0, 100.0);
        let buckets = view.buckets();
        let lanes = TrackSummaries::from_snapshot(&snapshot, buckets, &Cancel::default()).unwrap();
        let state = snapshot.tracks().tracks.iter().find(|track| track.key.kind == TrackKind::State).unwrap();
        let owner = TileOwner::Process(state.process);
        let palette = Palette::new(Shade::Dark);
        let (mut cells, mut out) = (Vec::new(), Vec::new());
        lanes.longest(owner, buckets, &mut cells);
        let band = SummaryBand { y0: 3.0, y1: 20.0, column_px: 1 };
        rects(&view, (buckets, &cells), band, (owner, &lanes), plain(&snapshot, &palette), &mut out);
        let width = |color| out.iter().filter(|rect| rect.color == color).map(|rect| rect.x1 - rect.x0).sum::<f32>();
        let (running, asleep) = (width(palette.state_color("Running")), width(palette.state_color("Sleeping")));
        assert!(running > 200.0 && asleep > 400.0, "{running} and {asleep}: {out:?}");
        assert_eq!(width(palette.hashed_color("Running")), 0.0);
    }
}
