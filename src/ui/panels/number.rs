//! Numbers in tables. Durations have four significant digits and one unit, and end where the units of their column
//! begin; other numbers are aligned at the decimal point. Tooltips and copies have the exact value. Durations and
//! shares are rounded to the nearest, so that the same value is the same text in all tables.

use egui::text::{LayoutJob, TextFormat};
use egui::{Color32, FontId, Painter, Rect, pos2};

use crate::base::time::{HOUR_NS, grouped_digits};
use crate::scene::counters::value_text;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum TableNumber {
    Count(u64),
    /// A duration; the unit is the nanosecond.
    Duration(u128),
    /// A value of a counter without a known unit.
    Value(f64),
    /// A fraction of a whole, both in the same unit.
    Share {
        part: u128,
        whole: u128,
    },
}

/// The digits before the decimal point, the point with the digits after it, and the unit.
#[derive(Debug, Clone, PartialEq, Eq)]
struct NumberParts {
    whole: String,
    fraction: String,
    unit: &'static str,
}

/// Number of digits to show of a duration.
const SIGNIFICANT_DIGITS: usize = 4;

/// The widest unit of durations.
const UNIT_MAX: &str = "ms";

/// Gap between a number and its unit, in points.
const UNIT_GAP: f32 = 3.0;

impl TableNumber {
    /// Returns the text of a cell, such as `416.8 ms`.
    #[must_use]
    pub(crate) fn text(self) -> String {
        let NumberParts { whole, fraction, unit } = self.parts();
        let gap = if unit.is_empty() { "" } else { " " };
        format!("{whole}{fraction}{gap}{unit}")
    }

    /// Returns the exact value for a tooltip, such as `416 812 345 ns`.
    #[must_use]
    pub(crate) fn exact(self) -> String {
        match self {
            Self::Count(count) => grouped_digits(count),
            Self::Duration(ns) => format!("{} ns", grouped_digits(saturated(ns))),
            Self::Value(value) => value.to_string(),
            Self::Share { part, whole } => {
                format!("{} of {}", grouped_digits(saturated(part)), grouped_digits(saturated(whole)))
            }
        }
    }

    /// Returns the exact value for the clipboard: digits only, and a share as a fraction of one.
    #[must_use]
    pub(crate) fn copied(self) -> String {
        match self {
            Self::Count(count) => count.to_string(),
            Self::Duration(ns) => ns.to_string(),
            Self::Value(value) => value.to_string(),
            // A total with nested spans of its group may exceed the whole.
            Self::Share { whole: 0, .. } => format!("{:.6}", 0.0),
            Self::Share { part, whole } => format!("{:.6}", part as f64 / whole as f64),
        }
    }

    fn parts(self) -> NumberParts {
        match self {
            Self::Count(count) => NumberParts { whole: grouped_digits(count), fraction: String::new(), unit: "" },
            Self::Duration(ns) => duration_parts(ns),
            Self::Value(value) => value_parts(value),
            Self::Share { whole: 0, .. } => NumberParts { whole: "-".to_owned(), fraction: String::new(), unit: "%" },
            Self::Share { part, whole } => {
                let thousandths = part.saturating_mul(1000).saturating_add(whole / 2) / whole;
                if thousandths == 0 && part > 0 {
                    return NumberParts { whole: "< 0".to_owned(), fraction: ".1".to_owned(), unit: "%" };
                }
                let whole = grouped_digits(saturated(thousandths / 10));
                NumberParts { whole, fraction: format!(".{}", thousandths % 10), unit: "%" }
            }
        }
    }

    /// Paints the number into a cell. The ends of durations, other decimal points, and units are aligned in a column.
    pub(super) fn paint(self, painter: &Painter, cell: Rect, font: &FontId, (color, unit_color): (Color32, Color32)) {
        let NumberParts { whole, fraction, unit } = self.parts();
        let width = |text: &str| {
            painter.fonts_mut(|fonts| text.chars().map(|letter| fonts.glyph_width(font, letter)).sum::<f32>())
        };
        let (whole_points, used_points) = (width(&whole), width(&fraction));
        let (fraction_points, unit_points) = match self {
            Self::Count(_) => (0.0, 0.0),
            Self::Duration(_) => (used_points, width(UNIT_MAX) + UNIT_GAP),
            Self::Value(_) => (width(".00"), width("M") + UNIT_GAP),
            Self::Share { .. } => (width(".0"), width("%") + UNIT_GAP),
        };
        let point_x = cell.right() - unit_points - fraction_points;
        let aligned = point_x - whole_points;
        // A number without space left of the point uses the space right of the point.
        let gap = if aligned < cell.left() { UNIT_GAP } else { fraction_points - used_points + UNIT_GAP };
        let mut job = LayoutJob::default();
        job.append(&format!("{whole}{fraction}"), 0.0, TextFormat::simple(font.clone(), color));
        if !unit.is_empty() {
            job.append(unit, gap, TextFormat::simple(font.clone(), unit_color));
        }
        let galley = painter.layout_job(job);
        // A number that is too wide for its column keeps its first digits.
        let left = aligned.max(cell.left()).min(cell.right() - galley.size().x).max(cell.left());
        painter.galley(pos2(left, cell.center().y - galley.size().y / 2.0), galley, color);
    }
}

/// Rounds a duration to four significant digits of its largest unit. All digits before the decimal point are shown.
fn duration_parts(ns: u128) -> NumberParts {
    /// Each unit in nanoseconds, and half of the last digit of the next smaller unit: a duration this close below the
    /// unit is rounded up to it.
    const UNITS: [(u128, u128, &str); 5] = [
        (HOUR_NS as u128, 500_000_000, "h"),
        (1_000_000_000, 50_000, "s"),
        (1_000_000, 50, "ms"),
        (1_000, 0, "µs"),
        (1, 0, "ns"),
    ];
    let reaches = |&(unit_ns, half_ns, _): &(u128, u128, &str)| ns >= unit_ns - half_ns;
    let (unit_ns, _, unit) = UNITS.into_iter().find(reaches).unwrap_or((1, 0, "ns"));
    let most = if unit_ns == 1 { 0 } else { SIGNIFICANT_DIGITS - 1 };
    // Rounding may add a digit before the point, such as in 9.9996.
    let decimals = (0..=most)
        .rev()
        .find(|&decimals| decimals == 0 || rounded(ns, unit_ns, decimals) < 10_u128.pow(SIGNIFICANT_DIGITS as u32));
    let decimals = decimals.unwrap_or(0);
    let (rounded, scale) = (rounded(ns, unit_ns, decimals), 10_u128.pow(decimals as u32));
    let fraction = if decimals == 0 { String::new() } else { format!(".{:0decimals$}", rounded % scale) };
    NumberParts { whole: grouped_digits(saturated(rounded / scale)), fraction, unit }
}

/// Returns a duration in units with some decimals, rounded to the nearest, times ten for each decimal.
fn rounded(ns: u128, unit_ns: u128, decimals: usize) -> u128 {
    let scale = 10_u128.pow(decimals as u32);
    let (whole, rest) = (ns / unit_ns, ns % unit_ns);
    whole.saturating_mul(scale).saturating_add((rest * scale + unit_ns / 2) / unit_ns)
}

/// Formats values like the timeline, but small ones with an exponent: a rate of 0.0003 must not show as zero.
fn value_parts(value: f64) -> NumberParts {
    if value != 0.0 && value.abs() < 0.01 {
        return NumberParts { whole: format!("{value:.2e}"), fraction: String::new(), unit: "" };
    }
    let text = value_text(value);
    let (digits, unit) = match text.chars().last() {
        Some('T') => (&text[..text.len() - 1], "T"),
        Some('G') => (&text[..text.len() - 1], "G"),
        Some('M') => (&text[..text.len() - 1], "M"),
        Some('k') => (&text[..text.len() - 1], "k"),
        _ => (&*text, ""),
    };
    let point = digits.find('.').unwrap_or(digits.len());
    NumberParts { whole: digits[..point].to_owned(), fraction: digits[point..].to_owned(), unit }
}

/// Returns a fraction of a whole, from 0 to 1.
#[must_use]
pub(super) fn fraction(part: u128, whole: u128) -> f64 {
    if whole == 0 { 0.0 } else { (part as f64 / whole as f64).clamp(0.0, 1.0) }
}

/// Saturates to 64 bits, the limit of the digit grouping: 584 years in nanoseconds.
fn saturated(number: u128) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn durations_have_four_significant_digits_and_one_unit() {
        for (ns, text) in [
            (0, "0 ns"),
            (999, "999 ns"),
            (1_000, "1.000 µs"),
            (70_224, "70.22 µs"),
            (70_225, "70.23 µs"),
            (416_812_345, "416.8 ms"),
            (13_296_000, "13.30 ms"),
            (28_519_000, "28.52 ms"),
            (1_072_999_999, "1.073 s"),
            (1_234_499_999_999, "1\u{2009}234 s"),
            (6_833_826_000_000_000, "1\u{2009}898 h"),
            (9_000_000_000_000, "2.500 h"),
        ] {
            assert_eq!(TableNumber::Duration(ns).text(), text, "{ns}");
        }
    }

    #[test]
    fn a_carry_goes_to_the_next_digit_or_unit() {
        for (ns, text) in [
            (9_999, "9.999 µs"),
            (999_940, "999.9 µs"),
            (999_949, "999.9 µs"),
            (999_950, "1.000 ms"),
            (999_960, "1.000 ms"),
            (9_999_499, "9.999 ms"),
            (9_999_500, "10.00 ms"),
            (99_995_000, "100.0 ms"),
            (999_949_999, "999.9 ms"),
            (999_950_000, "1.000 s"),
            (59_999_999_999, "60.00 s"),
            (999_949_999_999, "999.9 s"),
            (999_950_000_000, "1\u{2009}000 s"),
            (3_599_499_999_999, "3\u{2009}599 s"),
            (3_599_500_000_000, "1.000 h"),
            (35_998_200_000_000, "10.00 h"),
            (u128::from(u64::MAX), "5\u{2009}124\u{2009}096 h"),
        ] {
            assert_eq!(TableNumber::Duration(ns).text(), text, "{ns}");
        }
        assert!(TableNumber::Duration(u128::MAX).text().ends_with(" h"));
    }

    #[test]
    fn large_values_have_a_metric_prefix_and_small_ones_are_not_rounded_to_zero() {
        for (value, text) in
            [(3.0, "3"), (-2.5, "-2.5"), (12_345.0, "12.35 k"), (9_999.0, "9999"), (0.0003, "3.00e-4"), (0.0, "0")]
        {
            assert_eq!(TableNumber::Value(value).text(), text);
        }
        assert_eq!(TableNumber::Value(0.1).copied(), "0.1");
    }

    #[test]
    fn tooltips_and_copies_are_exact() {
        let number = TableNumber::Duration(416_812_345);
        assert_eq!(number.exact(), "416\u{2009}812\u{2009}345 ns");
        assert_eq!(number.copied(), "416812345");
        assert_eq!(TableNumber::Count(1_234_567).text(), "1\u{2009}234\u{2009}567");
        assert_eq!(TableNumber::Count(1_234_567).copied(), "1234567");
    }

    #[test]
    fn shares_have_one_decimal_and_small_ones_are_not_rounded_to_zero() {
        for (part, whole, text) in
            [(1, 3, "33.3 %"), (2, 3, "66.7 %"), (0, 3, "0.0 %"), (1, 1_000_000, "< 0.1 %"), (3, 3, "100.0 %")]
        {
            assert_eq!(TableNumber::Share { part, whole }.text(), text);
        }
        assert_eq!(TableNumber::Share { part: 1, whole: 0 }.text(), "- %");
        // A recursive function has a larger total than the whole.
        let above = TableNumber::Share { part: 3, whole: 2 };
        assert_eq!((above.text(), above.copied()), ("150.0 %".to_owned(), "1.500000".to_owned()));
    }

    /// Paints a number into a cell that starts at 0. Returns its left end, and the end of each letter.
    fn painted(number: TableNumber, width: f32) -> (f32, Vec<(char, f32)>) {
        let ctx = egui::Context::default();
        let cell = Rect::from_min_size(pos2(0.0, 0.0), egui::vec2(width, 19.0));
        let mut output = ctx.run_ui(egui::RawInput::default(), |ui| {
            number.paint(ui.painter(), cell, &FontId::proportional(12.0), (Color32::WHITE, Color32::GRAY));
        });
        // egui requires that textures are taken or freed.
        output.textures_delta.clear();
        let text = output.shapes.iter().find_map(|clipped| match &clipped.shape {
            egui::Shape::Text(text) => Some(text),
            _ => None,
        });
        let text = text.expect("a text");
        let glyphs = text.galley.rows.iter().flat_map(|row| &row.glyphs);
        (text.pos.x, glyphs.map(|glyph| (glyph.chr, text.pos.x + glyph.max_x())).collect())
    }

    #[test]
    fn a_number_that_is_too_wide_for_its_column_keeps_its_first_digits() {
        let hours = TableNumber::Duration(277_777 * u128::from(HOUR_NS));
        let (left, letters) = painted(hours, 68.0);
        assert!(left >= 0.0 && letters.iter().all(|&(_, end)| end <= 68.0), "{left}, {letters:?}");
        assert_eq!(painted(hours, 20.0).0, 0.0);
        // A value without a fraction uses the space of a fraction.
        assert!(painted(TableNumber::Value(-123_456_789.0), 50.0).0 >= 0.0);
    }

    #[test]
    fn durations_of_different_units_end_at_the_same_position() {
        let ends = [999, 5_667, 487_400, 206_900_000, 1_163_000_000, 6_833_826_000_000_000].map(|ns| {
            let (_, letters) = painted(TableNumber::Duration(ns), 82.0);
            let units = letters.iter().position(|(letter, _)| letter.is_alphabetic()).expect("a unit");
            let widest = letters.last().expect("a letter").1;
            assert!(widest <= 82.0, "{letters:?}");
            letters[units - 1].1.round()
        });
        assert!(ends.iter().all(|&end| end == ends[0]), "{ends:?}");
    }

    #[test]
    fn decimal_points_of_values_are_aligned() {
        let ends = [3.0, 2.5, -12.25].map(|value| {
            let (_, letters) = painted(TableNumber::Value(value), 82.0);
            letters.iter().take_while(|(letter, _)| *letter != '.').last().expect("a digit").1.round()
        });
        assert!(ends.iter().all(|&end| end == ends[0]), "{ends:?}");
    }

    proptest! {
        #[test]
        fn a_text_is_the_nearest_of_four_digits_and_longer_durations_have_no_smaller_one(
            // Durations of every length, and durations near a power of ten, where rounding carries.
            (ns, more) in (1u32..48, any::<u64>(), any::<bool>(), 0u64..200, 0u32..18).prop_map(
                |(bits, random, is_near, more, digits)| {
                    let ns = if is_near { 10u64.pow(digits).saturating_sub(random % 100) } else { random >> (63 - bits) };
                    (ns.min(1 << 53), more)
                }
            ),
        ) {
            let shown = |ns: u64| {
                let text = TableNumber::Duration(ns.into()).text().replace('\u{2009}', "");
                let (digits, unit) = text.split_once(' ').unwrap();
                let unit_ns: u128 = match unit {
                    "h" => 3_600_000_000_000,
                    "s" => 1_000_000_000,
                    "ms" => 1_000_000,
                    "µs" => 1_000,
                    _ => 1,
                };
                let decimals = digits.split_once('.').map_or(0, |(_, decimals)| decimals.len());
                let scale = 10u128.pow(decimals as u32);
                let count: u128 = digits.replace('.', "").parse().unwrap();
                (text.clone(), digits.replace('.', "").len(), count * unit_ns, unit_ns, scale)
            };
            let (text, digits, scaled_ns, unit_ns, scale) = shown(ns);
            // At most half of the last digit.
            prop_assert!((scaled_ns.abs_diff(u128::from(ns) * scale)) * 2 <= unit_ns, "{text} of {ns}");
            prop_assert!(unit_ns == 1 || digits == 4 || digits > 4 && scale == 1, "{text} of {ns}");
            let (longer, _, longer_ns, _, longer_scale) = shown(ns + more);
            prop_assert!(scaled_ns * longer_scale <= longer_ns * scale, "{text} and {longer} of {ns} and {more} more");
        }
    }
}
