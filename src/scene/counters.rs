//! Converts the values of a counter to a filled curve. Each column covers the whole range of the values in it, so no
//! peak is lost. Values that are not finite leave a gap.

use super::color::Rgba;
use super::labels::shown;
use super::rects::{Rect, RectStyle};
use super::viewport::Viewport;
use crate::base::time::grouped_digits;
use crate::query::{Buckets, CounterCell};

/// Limit below which values are written with an exponent.
const SMALL: f64 = 1e-4;

/// The values at the bottom and the top of the row of a counter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Scale {
    pub(crate) bottom: f64,
    /// The top of the curve, above `bottom`.
    pub(crate) top: f64,
}

impl Scale {
    /// Returns the scale for values between `min` and `max`. It always contains zero, so that heights are comparable.
    #[must_use]
    pub(crate) fn for_values(min: f64, max: f64) -> Self {
        let bottom = if min.is_finite() { min.min(0.0) } else { 0.0 };
        let top = if max.is_finite() { max.max(0.0) } else { 0.0 };
        if top - bottom > 0.0 { Self { bottom, top } } else { Self { bottom, top: bottom + 1.0 } }
    }

    /// Returns the scale from `min` to `max`, without zero. A constant value is in the middle.
    #[must_use]
    pub(crate) fn fitted(min: f64, max: f64) -> Self {
        let (bottom, top) = if min.is_finite() && max.is_finite() { (min, max) } else { (0.0, 0.0) };
        if top > bottom {
            return Self { bottom, top };
        }
        // Adding or subtracting 1 changes no float beyond 2^53.
        let around = (bottom.abs() * f64::EPSILON * 4.0).max(1.0);
        Self { bottom: (bottom - around).max(f64::MIN), top: (bottom + around).min(f64::MAX) }
    }

    /// Interpolates to `other`: 0 returns this scale, 1 the other.
    #[must_use]
    pub(crate) fn towards(self, other: Self, part: f64) -> Self {
        let between = |from: f64, to: f64| from * (1.0 - part) + to * part;
        Self { bottom: between(self.bottom, other.bottom), top: between(self.top, other.top) }
    }

    /// Returns the height of a value as a fraction of the row: 0 at the bottom, 1 at the top.
    fn part(&self, value: f64) -> f64 {
        // Halved first, so that a range beyond the largest float does not overflow.
        ((value / 2.0 - self.bottom / 2.0) / (self.top / 2.0 - self.bottom / 2.0)).clamp(0.0, 1.0)
    }
}

/// Formats a value for people: at most two digits after the point, four below 0.1, and a letter for the power of a
/// thousand.
#[must_use]
pub(crate) fn value_text(value: f64) -> String {
    /// Power of a thousand, its letter, and the least value that uses it. Plain digits go up to 9999, for years and
    /// ports. From each least value on, the text of the next smaller power would round to more digits.
    const POWERS: [(f64, &str, f64); 4] =
        [(1e12, "T", 999.995e9), (1e9, "G", 999.995e6), (1e6, "M", 999_995.0), (1e3, "k", 9_999.5)];
    if !value.is_finite() {
        return "none".to_owned();
    }
    let size = value.abs();
    if size >= 1e16 || (size > 0.0 && size < SMALL) {
        return format!("{value:.2e}");
    }
    let power = POWERS.into_iter().find(|(_, _, least)| size >= *least);
    let (unit, letter, _) = power.unwrap_or((1.0, "", 0.0));
    // Adding 0 makes a negative zero positive.
    let scaled = value / unit + 0.0;
    let digits = match scaled.abs() {
        1000.0.. => 0,
        0.1.. => 2,
        _ => 4,
    };
    let text = format!("{scaled:.digits$}");
    let text = if digits > 0 { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text}{letter}")
}

/// Formats the ends of a range of values: briefly, or in full if these texts would be the same.
#[must_use]
pub(crate) fn range_ends(least: f64, most: f64) -> [String; 2] {
    let ends = [least, most].map(value_text);
    if ends[0] == ends[1] && least < most { [least, most].map(exact_value_text) } else { ends }
}

/// Formats a recorded value in full, with grouped digits. It has at most the 15 digits that a double preserves of every
/// decimal number, so binary fractions add no noise.
#[must_use]
pub(crate) fn exact_value_text(value: f64) -> String {
    /// C's `DBL_DIG`.
    const DIGITS: usize = 15;
    /// Floats beyond have no fraction, and their shortest text may end with zeros that they do not have.
    const FLOATS_TO: f64 = 8_388_608.0;
    let float = value as f32;
    if value.abs() < FLOATS_TO && value.abs() >= SMALL && f64::from(float) == value {
        // The value was recorded as a float: use the shortest text that parses to this float.
        return grouped(value, &float.abs().to_string());
    }
    text_of_digits(value, DIGITS)
}

/// Formats a computed value with grouped digits, rounded to nine of them. Whole digits are all shown.
#[must_use]
pub(crate) fn computed_value_text(value: f64) -> String {
    text_of_digits(value, 9)
}

/// Formats a change with its sign.
#[must_use]
pub(crate) fn change_text(change: f64) -> String {
    let sign = if change > 0.0 { "+" } else { "" };
    format!("{sign}{}", computed_value_text(change))
}

/// Appends the unit of a counter to a value, if it has one.
#[must_use]
pub(crate) fn with_unit(value: &str, unit: &str) -> String {
    if unit.is_empty() { value.to_owned() } else { format!("{value} {}", shown(unit)) }
}

fn text_of_digits(value: f64, digits: usize) -> String {
    let size = value.abs();
    if !value.is_finite() || size >= 1e16 || (size > 0.0 && size < SMALL) {
        return value_text(value);
    }
    let whole = size.trunc();
    let whole_digits = if whole < 1.0 { 1 } else { whole.log10() as usize + 1 };
    grouped(value, &format!("{:.*}", digits.saturating_sub(whole_digits), size))
}

/// Groups the digits of a decimal number, which is the size of `value`, and drops zeros at its end.
fn grouped(value: f64, text: &str) -> String {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let fraction = fraction.trim_end_matches('0');
    let grouped = whole.parse().map_or_else(|_| whole.to_owned(), grouped_digits);
    let point = if fraction.is_empty() { "" } else { "." };
    let is_zero = fraction.is_empty() && whole == "0";
    let sign = if value < 0.0 && !is_zero { "-" } else { "" };
    format!("{sign}{grouped}{point}{fraction}")
}

/// The row of a counter on the canvas.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct CounterBand {
    pub(crate) y0: f32,
    pub(crate) y1: f32,
    /// The colour of the curve.
    pub(crate) color: Rgba,
    /// The thickness of the curve.
    pub(crate) line_px: f32,
    /// The opacity of the fill between the curve and zero; 0 means no fill.
    pub(crate) fill_opacity: u8,
}

impl CounterBand {
    /// Opacity of a faint fill, which leaves the curve readable.
    pub(crate) const FAINT: u8 = 90;
}

/// Appends the rectangles of a counter: per run of columns, a fill from zero and the range of the curve.
pub(crate) fn rects(
    view: &Viewport,
    buckets: Buckets,
    cells: &[CounterCell],
    scale: Scale,
    band: &CounterBand,
    out: &mut Vec<Rect>,
) {
    rects_above(view, buckets, (cells, &[]), scale, band, out);
}

/// Like [`rects`], but fills start at the values in `base`, one per cell, or at zero if there is none.
pub(crate) fn rects_above(
    view: &Viewport,
    buckets: Buckets,
    (cells, base): (&[CounterCell], &[f64]),
    scale: Scale,
    band: &CounterBand,
    out: &mut Vec<Rect>,
) {
    let height = f64::from(band.y1 - band.y0);
    let y_of = |value: f64| band.y1 - (scale.part(value) * height).round() as f32;
    let zero_y = y_of(0.0);
    // The last value holds until the end of the trace, and no further.
    let right_px = view.x_from_time(view.trace_end_ns()).ceil().min(view.width_px() + 2.0);
    let mut last: Option<CurveColumn> = None;
    for (index, cell) in cells.iter().enumerate() {
        if !(cell.min.is_finite() && cell.max.is_finite()) {
            continue;
        }
        let start_px = view.x_from_time(buckets.start_ns(cell.first_bucket)).max(-2.0);
        let end_px = view.x_from_time(buckets.start_ns(cell.end_bucket())).round().min(right_px);
        let pixel_px = start_px.floor().min(right_px - 1.0);
        let (x0, x1, pixel_x0) = (start_px.round() as f32, end_px as f32, pixel_px as f32);
        // Areas meet at the values at the end of a column.
        let base_y = base.get(index).map_or(zero_y, |&value| y_of(value));
        let x0 = last.map_or(x0, |last: CurveColumn| x0.max(last.x1));
        let mut next = CurveColumn { x0, x1, top: y_of(cell.max), bottom: y_of(cell.min), base_y };
        if next.x1 <= next.x0 {
            // A column narrower than a pixel gets this pixel, or adds its range to the column that already has it.
            if let Some(last) = last.as_mut().filter(|last| last.x1 > pixel_x0) {
                last.extend_last_pixel(&next, band, out);
                continue;
            }
            (next.x0, next.x1) = (pixel_x0, pixel_x0 + 1.0);
        }
        match &mut last {
            Some(last) if last.x1 >= next.x0 && last.is_alike(&next) => last.x1 = next.x1,
            _ => {
                if let Some(done) = last.replace(next) {
                    done.push(band, out);
                }
            }
        }
    }
    if let Some(done) = last {
        done.push(band, out);
    }
}

/// A run of pixel columns with the same range of the curve.
#[derive(Debug, Clone, Copy)]
struct CurveColumn {
    x0: f32,
    x1: f32,
    top: f32,
    bottom: f32,
    /// Vertical position at which the fill of the column starts.
    base_y: f32,
}

impl CurveColumn {
    fn is_alike(&self, other: &Self) -> bool {
        (self.top, self.bottom, self.base_y) == (other.top, other.bottom, other.base_y)
    }

    /// Adds the range of another column to the last pixel of this column, and appends the pixels before it.
    fn extend_last_pixel(&mut self, other: &Self, band: &CounterBand, out: &mut Vec<Rect>) {
        if self.x1 - self.x0 > 1.0 {
            let before = Self { x1: self.x1 - 1.0, ..*self };
            before.push(band, out);
            self.x0 = before.x1;
        }
        self.top = self.top.min(other.top);
        self.bottom = self.bottom.max(other.bottom);
    }

    fn push(self, band: &CounterBand, out: &mut Vec<Rect>) {
        let plain = |y0, y1, color| Rect { x0: self.x0, y0, x1: self.x1, y1, color, style: RectStyle::PLAIN };
        let (line_y0, line_y1) = (self.top, self.bottom.max(self.top + band.line_px).min(band.y1));
        let line_y0 = line_y0.min(line_y1 - band.line_px);
        let base_y = self.base_y;
        let (fill_y0, fill_y1) = if line_y1 <= base_y { (line_y1, base_y) } else { (base_y, line_y0) };
        if fill_y1 > fill_y0 && band.fill_opacity > 0 {
            out.push(plain(fill_y0, fill_y1, band.color.with_opacity(band.fill_opacity)));
        }
        out.push(plain(line_y0, line_y1, band.color));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BAND: CounterBand = CounterBand {
        y0: 10.0,
        y1: 50.0,
        color: Rgba::opaque(1, 2, 3),
        line_px: 1.0,
        fill_opacity: CounterBand::FAINT,
    };

    fn drawn(cells: &[CounterCell], scale: Scale) -> Vec<Rect> {
        let mut view = Viewport::covering(0, 1_000_000, 1024.0, 100.0);
        view.show_exactly(0, 1024);
        let mut out = Vec::new();
        rects(&view, Buckets::covering(0, 1024, 1), cells, scale, &BAND, &mut out);
        out
    }

    fn cell(first_bucket: i64, bucket_count: u32, min: f64, max: f64) -> CounterCell {
        CounterCell { first_bucket, bucket_count, sampled_ns: None, min, max, last: max }
    }

    #[test]
    fn a_value_in_full_has_its_digits_in_groups_and_no_noise_of_binary_fractions() {
        for (value, text) in [
            (0.0, "0"),
            (-0.0, "0"),
            (60.0, "60"),
            (0.1 + 0.2, "0.3"),
            (-1234.5, "-1\u{2009}234.5"),
            (f64::from(16.1_f32), "16.1"),
            (f64::from(16_777.217_f32), "16\u{2009}777.217"),
            (1_234_567_893.25, "1\u{2009}234\u{2009}567\u{2009}893.25"),
            (16_777_217.0, "16\u{2009}777\u{2009}217"),
            (f64::from(1_234_567_936_f32), "1\u{2009}234\u{2009}567\u{2009}936"),
            (9_007_199_254_740_993.0, "9\u{2009}007\u{2009}199\u{2009}254\u{2009}740\u{2009}992"),
            (1e300, "1.00e300"),
            (0.005, "0.005"),
            (9.9e-11, "9.90e-11"),
            (-1e-300, "-1.00e-300"),
            (f64::NAN, "none"),
            (f64::NEG_INFINITY, "none"),
        ] {
            assert_eq!(exact_value_text(value), text, "{value}");
        }
        assert_eq!(computed_value_text(2_827_577.266_441_983_6), "2\u{2009}827\u{2009}577.27");
        assert_eq!(computed_value_text(1.0 / 3.0), "0.33333333");
    }

    #[test]
    fn a_brief_value_has_the_unit_of_its_rounded_digits_and_is_never_zero_if_the_value_is_not() {
        for (value, text) in [
            (0.0, "0"),
            (0.005, "0.005"),
            (0.012_345, "0.0123"),
            (0.000_1, "0.0001"),
            (9.9e-11, "9.90e-11"),
            (-1e-5, "-1.00e-5"),
            (9999.4, "9999"),
            (9999.6, "10k"),
            (999_994.0, "999.99k"),
            (999_999.0, "1M"),
            (1_000_008.5, "1M"),
            (999_999_999.0, "1G"),
            (999_999_999_999.0, "1T"),
            (-999_999.0, "-1M"),
            (-0.0, "0"),
        ] {
            assert_eq!(value_text(value), text, "{value}");
        }
        assert_eq!(range_ends(0.0, 9.9e-11), ["0", "9.90e-11"]);
        assert_eq!(range_ends(1_000_000.0, 1_000_019.0), ["1\u{2009}000\u{2009}000", "1\u{2009}000\u{2009}019"]);
        assert_eq!(range_ends(5.0, 5.0), ["5", "5"]);
    }

    #[test]
    fn a_value_at_the_top_of_the_scale_fills_the_row() {
        let drawn = drawn(&[cell(0, 100, 8.0, 8.0)], Scale::for_values(2.0, 8.0));
        assert_eq!(drawn.iter().map(|rect| rect.y0).fold(f32::MAX, f32::min), 10.0);
        assert_eq!(drawn.iter().map(|rect| rect.y1).fold(0.0, f32::max), 50.0);
    }

    #[test]
    fn a_small_change_of_a_large_value_fills_a_fitted_row() {
        let cells = [cell(0, 100, 1.56e6, 1.56e6), cell(100, 100, 1.63e6, 1.63e6)];
        let heights = |scale: Scale| {
            let tops = drawn(&cells, scale);
            [0.0..100.0, 100.0..200.0].map(|columns| {
                let within = tops.iter().filter(|rect| columns.contains(&rect.x0));
                within.map(|rect| rect.y0).fold(f32::MAX, f32::min)
            })
        };
        let [low, high] = heights(Scale::fitted(1.56e6, 1.63e6));
        assert!(low > 45.0 && high == 10.0, "{low} {high}");
        let [low, high] = heights(Scale::for_values(1.56e6, 1.63e6));
        assert!(low < 12.5 && high == 10.0, "{low} {high}");
        for constant in [0.0, 7.0, -1e300, 1e17] {
            let scale = Scale::fitted(constant, constant);
            assert!((scale.part(constant) - 0.5).abs() < 0.01, "{constant} {scale:?}");
        }
        for constant in [f64::MAX, f64::MIN] {
            let scale = Scale::fitted(constant, constant);
            assert!(scale.bottom < scale.top, "{constant} {scale:?}");
        }
        assert_eq!(Scale::fitted(f64::NAN, 1.0), Scale { bottom: -1.0, top: 1.0 });
    }

    #[test]
    fn a_peak_of_one_pixel_is_drawn_to_its_height() {
        let cells = [cell(0, 100, 1.0, 1.0), cell(100, 1, 1.0, 8.0), cell(101, 100, 1.0, 1.0)];
        let drawn = drawn(&cells, Scale::for_values(0.0, 8.0));
        assert!(drawn.iter().any(|rect| rect.y0 == 10.0 && rect.x0 == 100.0 && rect.x1 == 101.0));
    }

    #[test]
    fn a_peak_between_two_pixels_does_not_widen_to_its_neighbours() {
        // Half a pixel per bucket: the bucket of the peak rounds to nothing.
        let mut view = Viewport::covering(0, 1_000_000, 512.0, 100.0);
        view.show_exactly(0, 1024);
        let cells = [cell(0, 101, 1.0, 1.0), cell(101, 1, 8.0, 8.0), cell(102, 100, 1.0, 1.0)];
        let mut out = Vec::new();
        rects(&view, Buckets::covering(0, 1024, 1), &cells, Scale::for_values(0.0, 8.0), &BAND, &mut out);
        let peak: Vec<_> = out.iter().filter(|rect| rect.y0 == 10.0).collect();
        assert!(!peak.is_empty() && peak.iter().all(|rect| rect.x1 - rect.x0 == 1.0), "{out:?}");
    }

    #[test]
    fn a_peak_narrower_than_a_pixel_is_drawn_in_its_pixel_at_the_start_after_a_gap_and_at_the_end() {
        let mut view = Viewport::covering(0, 1024, 256.0, 100.0);
        view.show_exactly(0, 1024);
        let peak_x = |cells: &[CounterCell]| {
            let mut out = Vec::new();
            rects(&view, Buckets::covering(0, 1024, 1), cells, Scale::for_values(0.0, 8.0), &BAND, &mut out);
            out.iter().filter(|rect| rect.y0 == 10.0).map(|rect| (rect.x0, rect.x1)).collect::<Vec<_>>()
        };
        let low = |first_bucket, bucket_count| cell(first_bucket, bucket_count, 1.0, 1.0);
        let peak = |first_bucket| cell(first_bucket, 1, 8.0, 8.0);
        // Four buckets per pixel: a column for the fill and one for the curve.
        let pixel = |x: f32| vec![(x, x + 1.0)];
        assert_eq!(peak_x(&[peak(1)]), pixel(0.0));
        assert_eq!(peak_x(&[peak(400), low(401, 80)]), pixel(100.0));
        assert_eq!(peak_x(&[low(0, 40), cell(40, 360, f64::NAN, f64::NAN), peak(401), low(402, 80)]), pixel(100.0));
        assert_eq!(peak_x(&[low(0, 40), peak(1023)]), pixel(255.0));
        assert_eq!(peak_x(&[low(0, 1024), peak(1024)]), pixel(255.0));
    }

    #[test]
    fn values_are_short_and_their_size_is_plain() {
        let texts =
            [0.0, 0.5, -16.67, 1234.0, 9999.4, 12_345.0, 1e6, 1.5e7, 2.5e10, 7e15, 1e300, f64::NAN].map(value_text);
        let expected =
            ["0", "0.5", "-16.67", "1234", "9999", "12.35k", "1M", "15M", "25G", "7000T", "1.00e300", "none"];
        assert_eq!(texts, expected);
    }

    #[test]
    fn values_that_are_not_finite_and_an_empty_range_are_drawn_inside_the_row() {
        for (min, max) in [(f64::NAN, f64::NAN), (0.0, 0.0), (f64::MIN, f64::MAX), (-3.0, -1.0)] {
            let cells = [cell(0, 10, min, max), cell(10, 10, f64::NAN, 1.0), cell(20, 10, f64::NEG_INFINITY, 0.0)];
            for rect in drawn(&cells, Scale::for_values(min, max)) {
                assert!(rect.y0 >= BAND.y0 - 1.0 && rect.y1 <= BAND.y1 && rect.y0 < rect.y1, "{rect:?}");
            }
        }
    }
}
