//! The strip of a folded process or group in place of its tracks: in each column the longest span of all of them,
//! from [`TrackSummaries`].

use super::lit::{LitSpans, LitTracks};
use crate::model::Names;
use crate::query::{Buckets, Cell, Snapshot};
use crate::scene::color::Rgba;
use crate::scene::palette::{ColorBy, Palette};
use crate::scene::rects::{Columns, Rect, rect};
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

/// Adds the strip of a process or group from the cells of its summary.
pub(crate) fn rects(
    view: &Viewport,
    (buckets, cells): (Buckets, &[Cell]),
    band: SummaryBand,
    (owner, summaries): (TileOwner, &TrackSummaries),
    (names, palette, lit): (&Names, &Palette, Option<Lighting<'_>>),
    out: &mut Vec<Rect>,
) {
    let columns = Columns::from_cells(view, buckets, cells);
    let wider = band.column_px.max(COLUMN_PX_MIN).ilog2();
    let runs = (0..wider).fold(columns, |columns, _| columns.wider()).runs(palette);
    out.extend(runs.iter().map(|run| {
        let (track, name) = (summaries.track_of(owner, run.row), names.get(run.name));
        let color = match (track, palette.by()) {
            (Some(track), ColorBy::Name) if summaries.is_of_states(track) => palette.state_color(name.text),
            (Some(track), ColorBy::Track) => palette.hashed_color(&summaries.text_of(track)),
            _ => palette.span_color(name, run.dur_ns, Rgba::default()),
        };
        let color = lit.map_or(color, |lit| {
            let is_on_track = lit.spans.tracks == LitTracks::All
                || track.is_some_and(|track| lit.spans.tracks.has(lit.snapshot, track));
            lit.spans.color((names, run.name), is_on_track, (color, color))
        });
        rect(run, band.y0, band.y1, color)
    }));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::cancel::Cancel;
    use crate::frame::lit::LitNames;
    use crate::model::{ProcessIdx, TrackIdx, TrackKind};
    use crate::scene::color::Shade;
    use crate::scene::tests::snapshot;
    use crate::tiles::TileSource;

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
        rects(&view, (buckets, &cells), band, process, (snapshot.names(), &palette, None), &mut out);
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
            rects(&view, (buckets, &cells), band, (owner, &lanes), (snapshot.names(), &palette, lit), &mut out);
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
        rects(&view, (buckets, &cells), band, (owner, &lanes), (snapshot.names(), &palette, None), &mut out);
        let width = |color| out.iter().filter(|rect| rect.color == color).map(|rect| rect.x1 - rect.x0).sum::<f32>();
        let (running, asleep) = (width(palette.state_color("Running")), width(palette.state_color("Sleeping")));
        assert!(running > 200.0 && asleep > 400.0, "{running} and {asleep}: {out:?}");
        assert_eq!(width(palette.hashed_color("Running")), 0.0);
    }
}
