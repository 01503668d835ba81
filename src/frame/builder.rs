//! Builds one picture of the canvas, rectangles and text positions, from a trace, a layout and a viewport. Work is
//! bounded by the pixels in view.

use rayon::prelude::*;

use super::filtered::Filtered;
use super::lane_tracks::LaneTracks;
use super::lit::LitSpans;
use super::name_colors::NameColors;
use super::overlaid::push_overlaid;
use crate::model::{NameIdx, Names, TrackIdx};
use crate::query::open_end::OpenEnd;
use crate::query::{Buckets, ReadCount};
use crate::scene::color::Rgba;
use crate::scene::counter_form::{CounterForm, range_in};
use crate::scene::counter_overlay::OverlaidRow;
use crate::scene::palette::{ColorBy, OPEN_END_OPACITY, Palette};
use crate::scene::rects::{ColumnPacker, ColumnRun, Columns, Rect, RectStyle, clipped_x, rect};
use crate::scene::rows::{LaneRow, RowLayout};
use crate::scene::viewport::Viewport;
use crate::scene::{counters, instant_shapes, labels};
use crate::store::lane::{LaneIdx, LaneKind};
use crate::tiles::{TileOwner, Tiles};

/// Limit for the number of rectangles of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RectBudget(pub usize);

impl RectBudget {
    /// For a GPU: nearly one for each of 64 lanes and 4096 columns.
    pub const HARDWARE: Self = Self(200_000);
    /// For software rendering, where 20 thousand rectangles take 16 ms.
    pub const SOFTWARE: Self = Self(20_000);
}

/// The drawing options of a frame.
#[derive(Debug, Clone, Copy)]
pub struct FrameOptions<'a> {
    /// The colours of spans in this theme.
    pub palette: &'a Palette,
    /// Limit for the rectangles of the picture.
    pub rects: RectBudget,
    /// Physical pixels per point.
    pub scale: f32,
    /// The filter whose matches keep their full colour; `None` for no filter.
    pub filtered: Option<&'a Filtered>,
    /// The spans of the hovered row of a panel, which keep their full colour; `None` dims none.
    pub lit: Option<&'a LitSpans>,
    /// Counters that are drawn as changes or rates.
    pub counters: &'a [(TrackIdx, CounterForm)],
    /// Rows that show the curves of several counters.
    pub overlaid: &'a [OverlaidRow],
}

/// Position of a name on a span.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Label {
    /// Left end of the space for text.
    pub(crate) x0: f32,
    pub(crate) x1: f32,
    pub(crate) y: f32,
    pub(crate) name: NameIdx,
    pub(crate) track: TrackIdx,
    /// `None` on the part of an open span after its last known time.
    pub(crate) dur_ns: Option<u64>,
    /// Whether the end of the span is missing, so that it may have lasted longer.
    pub(crate) is_unfinished: bool,
    /// A text colour that is readable on the span.
    pub(crate) color: Rgba,
    /// The colour of the span.
    pub(crate) fill: Rgba,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct TimelineFrame {
    /// Rectangles in drawing order, in pixels from the upper left corner of the canvas.
    pub rects: Vec<Rect>,
    /// Names, top to bottom.
    pub(crate) labels: Vec<Label>,
    /// Width in pixels of the columns that narrow spans share.
    pub(crate) column_px: u32,
    /// Reads of this frame that the tile cache did not serve.
    pub(crate) read: ReadCount,
    /// Number of tiles that are drawn coarser than they should be, or not at all, because their answers are late.
    pub(crate) pending: usize,
    /// The visible ranges of counters whose values are not drawn above zero, and of rows of several counters, one per
    /// unit.
    pub(crate) ranges: Vec<(LaneIdx, Vec<(f64, f64)>)>,
}

/// The rectangles, the names and the ranges of a lane.
#[derive(Default)]
struct DrawnParts {
    rects: Vec<Rect>,
    labels: Vec<Label>,
    ranges: Vec<(f64, f64)>,
}

/// The inputs to the lanes of a picture.
struct LaneInputs<'a> {
    tracks: &'a dyn LaneTracks,
    names: &'a Names,
    view: &'a Viewport,
    tiles: &'a Tiles,
    buckets: Buckets,
    options: FrameOptions<'a>,
}

/// A lane with its edges on the canvas and its columns.
struct DrawnLane {
    lane: LaneIdx,
    kind: LaneKind,
    y0: f32,
    y1: f32,
    columns: Columns,
}

/// The inputs to the rectangles of a lane.
#[derive(Clone, Copy)]
struct Drawing<'a> {
    names: &'a Names,
    lane: &'a DrawnLane,
    track: TrackIdx,
    /// Colour of the track, for colouring by track.
    of_track: Rgba,
    /// Whether the spans of the lane are thread states.
    is_of_states: bool,
    /// Whether spans of the hovered row may be on the lane.
    is_lit: bool,
    colors: &'a NameColors,
    options: FrameOptions<'a>,
}

/// The colour of a run, without and with the filter and the hovered row.
struct Colored {
    full: Rgba,
    shown: Rgba,
}

/// Returns the lanes that a frame queries.
#[must_use]
pub fn lanes_in_view(layout: &RowLayout, view: &Viewport) -> Vec<(TileOwner, LaneKind)> {
    layout.lanes_in_view(view).iter().map(|row| (TileOwner::Lane(row.lane), row.kind)).collect()
}

/// Builds the picture from the `tiles` of the [`lanes_in_view`].
#[must_use]
pub fn build(
    tracks: &dyn LaneTracks,
    names: &Names,
    layout: &RowLayout,
    view: &Viewport,
    tiles: &Tiles,
    options: FrameOptions<'_>,
) -> TimelineFrame {
    let picture = LaneInputs { tracks, names, view, tiles, buckets: view.buckets(), options };
    let lanes = layout.lanes_in_view(view).par_iter().map(|row| picture.pack(row)).collect();
    let (column_px, lanes) = within_budget(lanes, options);
    let mut frame =
        TimelineFrame { column_px, read: tiles.read(), pending: tiles.pending(), ..TimelineFrame::default() };
    push_unknown(&mut frame, view, &lanes, tiles.unknown());
    let drawn: Vec<DrawnParts> = lanes.par_iter().map(|lane| picture.draw(lane, column_px)).collect();
    frame.rects.reserve_exact(drawn.iter().map(|parts| parts.rects.len()).sum());
    frame.labels.reserve_exact(drawn.iter().map(|parts| parts.labels.len()).sum());
    for (lane, DrawnParts { rects, labels, ranges }) in lanes.iter().zip(drawn) {
        frame.rects.extend(rects);
        frame.labels.extend(labels);
        if !ranges.is_empty() {
            frame.ranges.push((lane.lane, ranges));
        }
    }
    frame
}

impl LaneInputs<'_> {
    /// Packs the spans of a lane into columns.
    fn pack(&self, row: &LaneRow) -> DrawnLane {
        let (tiles, owner) = (self.tiles, TileOwner::Lane(row.lane));
        let (y0, y1) = lane_edges(self.view, row);
        let gap_px = self.options.scale.round().max(1.0);
        let mut packer = ColumnPacker::new(self.view, self.buckets, tiles.span_count(owner, self.buckets));
        if row.kind != LaneKind::Counter {
            tiles.each_span(owner, self.buckets, |cell| packer.push_cell(cell));
        }
        DrawnLane { lane: row.lane, kind: row.kind, y0, y1: y1 - gap_px, columns: packer.finish() }
    }

    /// Draws a lane, and the matches of the filter over it.
    fn draw(&self, lane: &DrawnLane, column_px: u32) -> DrawnParts {
        let Self { tracks, names, view, options, .. } = *self;
        let palette = options.palette;
        let mut parts = DrawnParts::default();
        let runs = lane.columns.runs(palette);
        let of_track = color_of_track(tracks, lane.lane, palette);
        let track = tracks.track(lane.lane);
        let is_of_states = tracks.is_of_states(lane.lane) && palette.by() == ColorBy::Name;
        let is_lit = options.lit.is_none_or(|lit| tracks.is_on(lane.lane, lit.tracks));
        let colors = &NameColors::new();
        let drawing = Drawing { names, lane, track, of_track, is_of_states, is_lit, colors, options };
        match lane.kind {
            LaneKind::Counter => parts.ranges = self.push_counters(&mut parts.rects, lane, track),
            LaneKind::Instants | LaneKind::Samples => drawing.push_instants(&mut parts.rects, &runs),
            LaneKind::Spans => {
                drawing.push_spans(&mut parts, view, &runs);
                if let Some(open) = self.tiles.open_end(TileOwner::Lane(lane.lane)) {
                    drawing.push_open_end(&mut parts, view, open, runs.last());
                }
            }
            LaneKind::Flows => {}
        }
        if let Some(filtered) = options.filtered {
            let matching = filtered.runs(view, lane.lane, column_px, palette);
            let drawing = Drawing { options: FrameOptions { filtered: None, ..options }, ..drawing };
            match lane.kind {
                LaneKind::Counter | LaneKind::Flows => {}
                LaneKind::Spans => drawing.push_spans(&mut parts, view, &matching),
                LaneKind::Instants | LaneKind::Samples => drawing.push_instants(&mut parts.rects, &matching),
            }
        }
        parts
    }

    /// Adds the rectangles of a counter, or of all counters of its row. Returns their ranges.
    fn push_counters(&self, rects: &mut Vec<Rect>, lane: &DrawnLane, track: TrackIdx) -> Vec<(f64, f64)> {
        let options = self.options;
        if let Some(row) = options.overlaid.iter().find(|row| row.lead == lane.lane) {
            let look = (options.palette, options.scale);
            return push_overlaid(rects, (self.tiles, self.buckets), self.view, row, (lane.y0, lane.y1), look);
        }
        let form = CounterForm::for_track(track, options.counters);
        self.push_counter(rects, lane, form).into_iter().collect()
    }

    /// Adds the rectangles of a counter. Returns the range in view, unless its values are drawn above zero.
    fn push_counter(&self, rects: &mut Vec<Rect>, lane: &DrawnLane, form: CounterForm) -> Option<(f64, f64)> {
        let (buckets, pixels_per_point) = (self.buckets, self.options.scale);
        let mut cells = Vec::new();
        self.tiles.counter(TileOwner::Lane(lane.lane), buckets, &mut cells);
        let range = (form != CounterForm::Value).then(|| {
            cells = form.cells(&cells);
            range_in(&cells, buckets).unwrap_or_default()
        });
        let (min, max) = range.or_else(|| self.tiles.counter_range(TileOwner::Lane(lane.lane))).unwrap_or_default();
        let scale = form.scale(min, max);
        let band = counters::CounterBand {
            y0: lane.y0 + (2.0 * pixels_per_point).round(),
            y1: lane.y1,
            color: self.options.palette.hashed_color(self.tracks.track_name(lane.lane)),
            line_px: pixels_per_point.round().max(1.0),
            fill_opacity: counters::CounterBand::FAINT,
        };
        counters::rects(self.view, buckets, &cells, scale, &band, rects);
        range
    }
}

/// Returns the colour of a lane's track, for colouring by track.
#[must_use]
pub(crate) fn color_of_track(tracks: &dyn LaneTracks, lane: LaneIdx, palette: &Palette) -> Rgba {
    match palette.by() {
        ColorBy::Track => palette.hashed_color(&tracks.track_text(lane)),
        _ => Rgba::default(),
    }
}

/// Returns the lanes in the narrowest columns that stay within the limit of rectangles, and the width of these columns.
fn within_budget(mut lanes: Vec<DrawnLane>, options: FrameOptions<'_>) -> (u32, Vec<DrawnLane>) {
    /// At 16 pixels, a column is as wide as a lane is high: a sixteenth of the detail fits any budget.
    const COLUMN_PX_MAX: u32 = 16;
    let mut column_px = 1;
    loop {
        let total: usize = lanes.par_iter().map(|lane| lane.columns.run_count(options.palette)).sum();
        if total <= options.rects.0 || column_px >= COLUMN_PX_MAX {
            return (column_px, lanes);
        }
        lanes.par_iter_mut().for_each(|lane| lane.columns = lane.columns.wider());
        column_px *= 2;
    }
}

impl Drawing<'_> {
    fn color_of(&self, run: &ColumnRun) -> Colored {
        let palette = self.options.palette;
        let compute = || match self.names.get(run.name) {
            name if self.is_of_states => palette.state_color(name.text),
            name => palette.span_color(name, run.dur_ns, self.of_track),
        };
        let full = match palette.by() {
            ColorBy::Name | ColorBy::Category => self.colors.get(run.name, compute),
            ColorBy::Track | ColorBy::Duration => compute(),
        };
        let shown = self.options.filtered.map_or(full, |filtered| filtered.color(run, self.track, full));
        let lit = self.options.lit.map(|lit| lit.color((self.names, run.name), self.is_lit, (full, shown)));
        let shown = lit.unwrap_or(shown);
        Colored { full, shown }
    }

    fn push_spans(&self, parts: &mut DrawnParts, view: &Viewport, runs: &[ColumnRun]) {
        let (y0, y1) = (self.lane.y0, self.lane.y1);
        parts.rects.reserve(runs.len());
        for run in runs {
            let Colored { full, shown } = self.color_of(run);
            let mut drawn = rect(run, y0, y1, shown);
            // A dimmed span has no mark, so that the marks of matches stand out.
            if shown == full && self.names.is_failed(run.name) {
                drawn.style = drawn.style.with(RectStyle::FAILED);
            }
            parts.rects.push(drawn);
            // A dimmed span gets no name, because the name of a match may be drawn over it.
            if shown != full {
                continue;
            }
            parts.labels.extend(self.label(view, run, shown, || shown.text_on()));
        }
    }

    /// Returns the name of a run, if there is room for it, in a colour for its fill. Few runs have room, and computing
    /// a colour takes longer than all other work for a run.
    fn label(&self, view: &Viewport, run: &ColumnRun, fill: Rgba, text_color: impl FnOnce() -> Rgba) -> Option<Label> {
        /// Space between a span's edge and its name.
        const LABEL_PADDING: f32 = 4.0;
        let (x0, x1) = labels::text_room(view, run, f64::from(LABEL_PADDING * self.options.scale))?;
        let y = f32::midpoint(self.lane.y0, self.lane.y1);
        let (x0, x1) = (x0 as f32, x1 as f32);
        let (name, track, dur_ns, color) = (run.name, self.track, Some(run.dur_ns), text_color());
        Some(Label { x0, x1, y, name, track, dur_ns, is_unfinished: run.unfinished, color, fill })
    }

    /// Continues an open span to the end of the trace, pale, since it may have ended earlier. The continuation shows
    /// the name unless the span itself does. `last` is the last run in view.
    fn push_open_end(&self, parts: &mut DrawnParts, view: &Viewport, open: &OpenEnd, last: Option<&ColumnRun>) {
        let (x0, x1) = (clipped_x(view, open.from_ns), clipped_x(view, open.to_ns));
        if x1 <= x0 {
            return;
        }
        let (name, row, dur_ns) = (open.name, open.row.row, open.dur_ns);
        let run = ColumnRun { x0, x1, name, row, dur_ns, wide: true, unfinished: true, torn: true };
        let Colored { full, shown } = self.color_of(&run);
        let pale = shown.with_opacity(shown.0[3].min(OPEN_END_OPACITY));
        parts.rects.push(rect(&run, self.lane.y0, self.lane.y1, pale));
        let is_named = last.is_some_and(|last| last.row == row && self.label(view, last, full, || full).is_some());
        if shown == full && !is_named {
            // The fill lets most of the background through, so only text for the background is readable on it.
            let color = self.options.palette.canvas_text();
            parts.labels.extend(self.label(view, &run, pale, || color).map(|label| Label { dur_ns: None, ..label }));
        }
    }

    fn push_instants(&self, rects: &mut Vec<Rect>, runs: &[ColumnRun]) {
        let scale = self.options.scale;
        let band = instant_shapes::InstantBand { y0: self.lane.y0 + scale, y1: self.lane.y1 - scale };
        instant_shapes::rects(runs, band, |run| self.color_of(run).shown, rects);
    }
}

/// Covers unknown buckets with a veil, so that they do not look empty.
fn push_unknown(frame: &mut TimelineFrame, view: &Viewport, lanes: &[DrawnLane], unknown: &[(TileOwner, Buckets)]) {
    /// Visible on dark and light backgrounds, and unlike any span.
    const VEIL: Rgba = Rgba([0x80, 0x80, 0x80, 0x30]);
    for (owner, buckets) in unknown {
        let Some(lane) = lanes.iter().find(|drawn| TileOwner::Lane(drawn.lane) == *owner) else { continue };
        let x_of = |bucket| view.x_from_time(buckets.start_ns(bucket)).round().clamp(0.0, view.width_px());
        let (x0, x1) = (x_of(buckets.first) as f32, x_of(buckets.end()) as f32);
        if x1 > x0 {
            frame.rects.push(Rect { x0, y0: lane.y0, x1, y1: lane.y1, color: VEIL, style: RectStyle::PLAIN });
        }
    }
}

/// Returns the upper and the lower edge of a lane on the canvas.
fn lane_edges(view: &Viewport, row: &LaneRow) -> (f32, f32) {
    let y0 = view.y_on_canvas(row.top_px);
    let height = row.height_px as f32;
    (y0, y0 + height)
}

#[cfg(test)]
mod tests;
