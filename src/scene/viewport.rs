//! The time range and rows that the canvas shows. Converts between times and pixels.

use crate::query::Buckets;

/// The closest zoom: a nanosecond is the unit of time, so ten pixels for one are enough.
const NS_PER_PX_MIN: f64 = 0.1;

/// How far the view may reach beyond either end of the trace, relative to its width: enough to see the end.
const MARGIN: f64 = 0.05;

/// A window onto a trace: `width_px` pixels of `ns_per_px` nanoseconds each. The start is stored as a whole nanosecond
/// plus a fraction. So zooming at a point keeps the point in place at any epoch and at ten pixels per nanosecond.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Viewport {
    start_ns: i64,
    /// Fraction of the start, in `[0, 1)`.
    start_fraction_ns: f64,
    ns_per_px: f64,
    width_px: f64,
    height_px: f64,
    scroll_px: f64,
    trace_start_ns: i64,
    trace_end_ns: i64,
    /// The times that can be shown, besides a margin: the range of the trace, or a larger one.
    first_ns: i64,
    last_ns: i64,
}

impl Viewport {
    /// Creates a view of the whole trace.
    #[must_use]
    pub fn covering(start_ns: i64, end_ns: i64, width_px: f64, height_px: f64) -> Self {
        let mut view = Self {
            start_ns,
            start_fraction_ns: 0.0,
            ns_per_px: NS_PER_PX_MIN,
            width_px: width_px.max(1.0),
            height_px: height_px.max(1.0),
            scroll_px: 0.0,
            trace_start_ns: start_ns,
            trace_end_ns: end_ns.max(start_ns),
            first_ns: start_ns,
            last_ns: end_ns.max(start_ns),
        };
        view.show_all();
        view
    }

    /// Converts a time to x; exact to far below a pixel for every time in view.
    #[must_use]
    pub fn x_from_time(&self, ts_ns: i64) -> f64 {
        (difference_ns(ts_ns, self.start_ns) - self.start_fraction_ns) / self.ns_per_px
    }

    /// Converts x to the nanosecond under it; saturates.
    #[must_use]
    pub fn time_from_x(&self, x_px: f64) -> i64 {
        let (ts_ns, _) = advanced(self.start_ns, self.start_fraction_ns + x_px * self.ns_per_px);
        ts_ns
    }

    /// Returns the first nanosecond that is at least partly in view.
    #[must_use]
    pub fn start_ns(&self) -> i64 {
        self.start_ns
    }

    /// Returns the first nanosecond that is wholly out of view on the right.
    #[must_use]
    pub fn end_ns(&self) -> i64 {
        self.time_from_x(self.width_px).saturating_add(1)
    }

    /// Returns the end of the trace.
    #[must_use]
    pub(crate) fn trace_end_ns(&self) -> i64 {
        self.trace_end_ns
    }

    /// Returns the time that one pixel covers.
    #[must_use]
    pub fn ns_per_px(&self) -> f64 {
        self.ns_per_px
    }

    /// Returns the width of the canvas.
    #[must_use]
    pub(crate) fn width_px(&self) -> f64 {
        self.width_px
    }

    /// Returns the height of the canvas.
    #[must_use]
    pub(crate) fn height_px(&self) -> f64 {
        self.height_px
    }

    /// Returns the width and height of the canvas, as the renderer takes them.
    pub(crate) fn size_px(&self) -> [f32; 2] {
        [self.width_px as f32, self.height_px as f32]
    }

    /// Returns the vertical scroll offset.
    #[must_use]
    pub(crate) fn scroll_px(&self) -> f64 {
        self.scroll_px
    }

    /// Returns the length of the time in view.
    #[must_use]
    pub(crate) fn width_ns(&self) -> f64 {
        self.width_px * self.ns_per_px
    }

    /// Shows the whole trace with a margin.
    pub(crate) fn show_all(&mut self) {
        self.ns_per_px = self.ns_per_px_max();
        self.show_middle_of(self.first_ns, self.last_ns);
    }

    /// Shows a time range, with a tenth of the width free on either side.
    pub(crate) fn show_range(&mut self, start_ns: i64, end_ns: i64) {
        let range_ns = difference_ns(end_ns.max(start_ns), start_ns);
        self.ns_per_px = (range_ns * 1.25 / self.width_px).clamp(NS_PER_PX_MIN, self.ns_per_px_max());
        self.show_middle_of(start_ns, end_ns.max(start_ns));
        self.keep_in_bounds();
    }

    /// Shows exactly `[start_ns, end_ns)`, within the zoom limits.
    pub fn show_exactly(&mut self, start_ns: i64, end_ns: i64) {
        let range_ns = difference_ns(end_ns.max(start_ns), start_ns);
        self.ns_per_px = (range_ns / self.width_px).clamp(NS_PER_PX_MIN, self.ns_per_px_max());
        (self.start_ns, self.start_fraction_ns) = (start_ns, 0.0);
        self.keep_in_bounds();
    }

    /// Allows the view to show a time range that reaches beyond the trace.
    pub(crate) fn allow(&mut self, start_ns: i64, end_ns: i64) {
        self.first_ns = self.first_ns.min(start_ns);
        self.last_ns = self.last_ns.max(end_ns);
    }

    /// Brings a time range into view without changing the zoom, or the start of one that is longer than the view. Does
    /// nothing if the range is in view already, or covers the view.
    pub(crate) fn reveal(&mut self, start_ns: i64, end_ns: i64) {
        let (x0, x1) = (self.x_from_time(start_ns), self.x_from_time(end_ns));
        let wholly_in_view = x0 >= 0.0 && x1 <= self.width_px;
        let covers_the_view = x0 <= 0.0 && x1 >= self.width_px;
        if !wholly_in_view && !covers_the_view {
            let is_longer = x1 - x0 > self.width_px;
            self.show_middle_of(start_ns, if is_longer { start_ns } else { end_ns.max(start_ns) });
            self.keep_in_bounds();
        }
    }

    /// Moves the view to later times by some pixels, or to earlier ones if negative.
    pub fn pan(&mut self, right_px: f64) {
        self.shift(right_px * self.ns_per_px);
        self.keep_in_bounds();
    }

    /// Zooms by `factor` (above 1 zooms in). The time under `at_x_px` stays in place unless the end of the trace is
    /// reached.
    pub(crate) fn zoom(&mut self, factor: f64, at_x_px: f64) {
        if !(factor.is_finite() && factor > 0.0) {
            return;
        }
        let before = self.ns_per_px;
        self.ns_per_px = (before / factor).clamp(NS_PER_PX_MIN, self.ns_per_px_max());
        self.shift(at_x_px * (before - self.ns_per_px));
        self.keep_in_bounds();
    }

    /// Scrolls the rows down by some pixels, within a content height of `content_px`.
    pub(crate) fn scroll(&mut self, down_px: f64, content_px: f64) {
        self.scroll_to(self.scroll_px + down_px, content_px);
    }

    /// Scrolls the row at `top_px` to the top, within a content height of `content_px`.
    pub(crate) fn scroll_to(&mut self, top_px: f64, content_px: f64) {
        // Whole pixels, so that rows and their text stay sharp.
        self.scroll_px = top_px.min(content_px - self.height_px).max(0.0).round();
    }

    /// Returns the same time range over other rows: a canvas `height_px` high, scrolled to `scroll_px` within
    /// `content_px`.
    #[must_use]
    pub(crate) fn over_rows(&self, height_px: f64, scroll_px: f64, content_px: f64) -> Self {
        let mut view = Self { height_px: height_px.max(1.0), ..*self };
        view.scroll_to(scroll_px, content_px);
        view
    }

    /// Returns the time range of `other` over the rows of this view; another width shows more or less time.
    #[must_use]
    pub(crate) fn with_time_of(&self, other: &Self) -> Self {
        let mut view = Self { scroll_px: self.scroll_px, height_px: self.height_px, width_px: self.width_px, ..*other };
        (view.trace_start_ns, view.trace_end_ns) = (self.trace_start_ns, self.trace_end_ns);
        (view.first_ns, view.last_ns) = (self.first_ns, self.last_ns);
        view.ns_per_px = view.ns_per_px.clamp(NS_PER_PX_MIN, view.ns_per_px_max());
        view.keep_in_bounds();
        view
    }

    /// Returns whether the whole trace is in view with its margins.
    #[must_use]
    pub(crate) fn shows_all(&self) -> bool {
        self.ns_per_px >= self.ns_per_px_max()
    }

    /// Moves the left edge to a time, without changing the zoom.
    pub(crate) fn start_at(&mut self, start_ns: i64) {
        (self.start_ns, self.start_fraction_ns) = (start_ns, 0.0);
        self.keep_in_bounds();
    }

    /// Interpolates to another view of the same size. The zoom changes by equal factors for equal parts, so the one
    /// time that has the same x in both views keeps its x.
    #[must_use]
    pub(crate) fn between(&self, to: &Self, part: f64) -> Self {
        let mut view = *self;
        let ratio = to.ns_per_px / self.ns_per_px;
        view.ns_per_px = self.ns_per_px * ratio.powf(part);
        // The edge moves in proportion to the change of the zoom, or, without such a change, in proportion to `part`.
        let change = self.ns_per_px - to.ns_per_px;
        let moved = if (ratio - 1.0).abs() > 1e-9 { (self.ns_per_px - view.ns_per_px) / change } else { part };
        let whole_ns = difference_ns(to.start_ns, self.start_ns) + to.start_fraction_ns - self.start_fraction_ns;
        view.shift(whole_ns * moved);
        view
    }

    /// Sets new ends of the trace. A view of the whole trace still shows the whole trace.
    pub(crate) fn set_trace(&mut self, start_ns: i64, end_ns: i64) {
        let shows_all = self.ns_per_px >= self.ns_per_px_max();
        (self.trace_start_ns, self.trace_end_ns) = (start_ns, end_ns.max(start_ns));
        (self.first_ns, self.last_ns) = (self.trace_start_ns, self.trace_end_ns);
        if shows_all {
            self.show_all();
        } else {
            self.ns_per_px = self.ns_per_px.clamp(NS_PER_PX_MIN, self.ns_per_px_max());
            self.keep_in_bounds();
        }
    }

    /// Returns the same time range and rows on `times` as many pixels across and down.
    #[must_use]
    pub(crate) fn magnified(&self, times: f64) -> Self {
        let [width_px, height_px, scroll_px] = [self.width_px, self.height_px, self.scroll_px].map(|px| px * times);
        Self { ns_per_px: self.ns_per_px / times, width_px, height_px, scroll_px, ..*self }
    }

    /// Sets a new size; the left edge and the zoom stay.
    pub(crate) fn resize(&mut self, width_px: f64, height_px: f64) {
        let shows_all = self.ns_per_px >= self.ns_per_px_max();
        self.width_px = width_px.max(1.0);
        self.height_px = height_px.max(1.0);
        if shows_all {
            self.show_all();
        } else {
            self.ns_per_px = self.ns_per_px.clamp(NS_PER_PX_MIN, self.ns_per_px_max());
            self.keep_in_bounds();
        }
    }

    /// Returns the widest zoom: the whole trace and its margins.
    fn ns_per_px_max(&self) -> f64 {
        let whole_ns = difference_ns(self.last_ns, self.first_ns);
        (whole_ns / (1.0 - 2.0 * MARGIN) / self.width_px).max(NS_PER_PX_MIN)
    }

    fn show_middle_of(&mut self, start_ns: i64, end_ns: i64) {
        (self.start_ns, self.start_fraction_ns) = (start_ns, 0.0);
        self.shift((difference_ns(end_ns, start_ns) - self.width_ns()) / 2.0);
    }

    fn shift(&mut self, ns: f64) {
        (self.start_ns, self.start_fraction_ns) = advanced(self.start_ns, self.start_fraction_ns + ns);
    }

    fn keep_in_bounds(&mut self) {
        let view_ns = self.width_ns();
        let to_first = difference_ns(self.first_ns, self.start_ns) - self.start_fraction_ns - MARGIN * view_ns;
        let to_last = difference_ns(self.last_ns, self.start_ns) - self.start_fraction_ns - (1.0 - MARGIN) * view_ns;
        // Fully zoomed out, it fits exactly; rounding must not make it jump.
        if to_first >= to_last {
            self.show_middle_of(self.first_ns, self.last_ns);
        } else if to_first > 0.0 {
            self.shift(to_first);
        } else if to_last < 0.0 {
            self.shift(to_last);
        }
    }

    /// Returns the first row of pixels in view and the end of the last, from the top of all rows.
    #[must_use]
    pub(crate) fn pixels_in_view(&self) -> (u64, u64) {
        (self.scroll_px() as u64, (self.scroll_px() + self.height_px()).ceil() as u64)
    }

    /// Converts a distance from the top of all rows to a position on the canvas.
    #[must_use]
    pub(crate) fn y_on_canvas(&self, top_px: u64) -> f32 {
        (top_px as f64 - self.scroll_px()) as f32
    }

    /// Returns the buckets of a view: between half a pixel and one pixel wide, so that columns are sharp.
    #[must_use]
    pub fn buckets(&self) -> Buckets {
        let least_ns = (self.ns_per_px() / 2.0).ceil() as u64;
        Buckets::covering(self.start_ns(), self.end_ns(), least_ns)
    }
}

/// Returns `a - b` without overflow; exact below 2^53 ns, which is 104 days. In longer views
/// a pixel is wider than the error.
fn difference_ns(a: i64, b: i64) -> f64 {
    match a.checked_sub(b) {
        // This runs for each span of a frame, and a conversion from 128 bits is a call.
        Some(difference) => difference as f64,
        None => (i128::from(a) - i128::from(b)) as f64,
    }
}

/// Adds any offset to a time, as a time and a non-negative fraction; saturates.
fn advanced(ts_ns: i64, offset_ns: f64) -> (i64, f64) {
    let whole = offset_ns.floor();
    let sum = i128::from(ts_ns).saturating_add(whole as i128);
    let kept = sum.clamp(i128::from(i64::MIN), i128::from(i64::MAX));
    let fraction = if kept == sum { offset_ns - whole } else { 0.0 };
    (i64::try_from(kept).unwrap_or(ts_ns), fraction.clamp(0.0, 1.0 - f64::EPSILON))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const EPOCH_NS: i64 = 1_700_000_000_000_000_000;

    proptest! {
        #[test]
        fn zooming_keeps_the_time_under_the_pointer(
            epoch_ns in prop_oneof![Just(0), Just(EPOCH_NS), Just(-EPOCH_NS)],
            length_ns in 1_000_000_i64..1_000_000_000_000_000,
            middle in 0.3..0.7,
            depth in 4.0..1e6,
            at_x in 200.0..1700.0,
            factor in 0.5..2.0,
        ) {
            let mut view = Viewport::covering(epoch_ns, epoch_ns + length_ns, 1920.0, 1080.0);
            let middle_ns = epoch_ns + (length_ns as f64 * middle) as i64;
            view.zoom(depth, view.x_from_time(middle_ns));
            let ts_ns = view.time_from_x(at_x);
            let x_before = view.x_from_time(ts_ns);
            let before = view;
            view.zoom(factor, x_before);
            prop_assume!(view.ns_per_px() > NS_PER_PX_MIN && before.ns_per_px() > NS_PER_PX_MIN);
            let moved_px = (view.x_from_time(ts_ns) - x_before).abs();
            prop_assert!(moved_px < 1e-6, "moved by {moved_px}");
        }

        #[test]
        fn a_time_lies_in_the_pixel_that_it_came_from(
            start_ns in prop_oneof![Just(EPOCH_NS), Just(i64::MIN), Just(-1), Just(i64::MAX - 1_000_000)],
            length_ns in 1_i64..1_000_000,
            depth in 1.0..1e5,
            x in 0.0..1920.0,
        ) {
            let mut view = Viewport::covering(start_ns, start_ns.saturating_add(length_ns), 1920.0, 1080.0);
            view.zoom(depth, 960.0);
            let ts_ns = view.time_from_x(x);
            prop_assume!(ts_ns != i64::MIN && ts_ns != i64::MAX);
            prop_assert!(view.x_from_time(ts_ns) <= x + 1e-6);
            prop_assert!(view.x_from_time(ts_ns.saturating_add(1)) > x - 1e-6);
        }

        #[test]
        fn no_sequence_of_moves_loses_the_trace(
            moves in prop::collection::vec((0..3, -5000.0..5000.0, 0.01..100.0), 1..40),
            length_ns in 0_i64..i64::MAX,
        ) {
            let mut view = Viewport::covering(EPOCH_NS, EPOCH_NS.saturating_add(length_ns), 1920.0, 1080.0);
            for (kind, by_px, factor) in moves {
                match kind {
                    0 => view.pan(by_px),
                    1 => view.zoom(factor, by_px),
                    _ => view.resize(by_px.abs() + 1.0, 700.0),
                }
                prop_assert!(view.start_ns() <= EPOCH_NS.saturating_add(length_ns));
                prop_assert!(view.end_ns() >= EPOCH_NS);
                prop_assert!(view.ns_per_px().is_finite() && view.ns_per_px() >= NS_PER_PX_MIN);
            }
        }
    }

    #[test]
    fn the_whole_of_time_fits() {
        let view = Viewport::covering(i64::MIN, i64::MAX, 1000.0, 100.0);
        assert!(view.width_ns() > 1.8e19);
        assert_eq!(view.time_from_x(-1e300), i64::MIN);
        assert_eq!(view.time_from_x(1e300), i64::MAX);
    }

    #[test]
    fn a_trace_of_one_instant_is_in_the_middle() {
        let view = Viewport::covering(EPOCH_NS, EPOCH_NS, 1000.0, 100.0);
        assert!((view.x_from_time(EPOCH_NS) - 500.0).abs() < 1.0);
    }

    #[test]
    fn a_shown_range_is_wholly_in_view() {
        let mut view = Viewport::covering(0, 1_000_000_000, 1000.0, 100.0);
        view.show_range(500, 900);
        assert!(view.x_from_time(500) > 50.0 && view.x_from_time(900) < 950.0);
        view.show_exactly(1000, 2000);
        assert!(view.x_from_time(1000).abs() < 1e-9 && (view.x_from_time(2000) - 1000.0).abs() < 1e-9);
    }

    #[test]
    fn an_allowed_range_beyond_the_trace_is_shown_exactly_and_stays() {
        for (start_ns, end_ns) in [(500, 5000), (-700, 20), (3000, 4000), (-100, 1100)] {
            let mut view = Viewport::covering(0, 1000, 1000.0, 100.0);
            view.allow(start_ns, end_ns);
            view.show_exactly(start_ns, end_ns);
            view.resize(1000.0, 80.0);
            view.scroll(1.0, 500.0);
            assert!(view.x_from_time(start_ns).abs() < 1e-9, "{start_ns} {end_ns}");
            let end_px = view.x_from_time(end_ns);
            assert!((end_px - 1000.0).abs() < 1e-9, "{start_ns} {end_ns}: {end_px}");
            assert_eq!(view.trace_end_ns(), 1000);
        }
    }

    #[test]
    fn rows_scroll_no_further_than_the_last() {
        let mut view = Viewport::covering(0, 100, 1000.0, 100.0);
        view.scroll(1e9, 250.0);
        assert!((view.scroll_px() - 150.0).abs() < 1e-9);
        view.scroll(-1e9, 250.0);
        assert!(view.scroll_px().abs() < 1e-9);
        view.scroll(10.0, 50.0);
        assert!(view.scroll_px().abs() < 1e-9, "content that fits does not scroll");
    }
}
