//! Ruler ticks and their labels. Chooses a step whose labels never overlap, by the width of the longest label.

use super::viewport::Viewport;
use crate::model::sample_measure::{BYTES, drawn_ns_per_unit};

/// Free space between two labels, in widths of a digit.
pub(super) const GAP_DIGITS: f64 = 3.0;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tick {
    pub(crate) ts_ns: i64,
    /// The time from the ruler's base, such as `+250 µs`.
    pub(crate) label: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Ruler {
    /// The time that labels count from, such as `12.345 s`; empty for the start of the trace.
    pub(crate) base: String,
    /// The labelled ticks, left to right.
    pub(crate) ticks: Vec<Tick>,
    /// Time between two labelled ticks.
    pub(crate) step_ns: i64,
    /// Number of parts into which unlabelled ticks divide a step.
    pub(crate) parts: i64,
    /// The origin and unit of labels; `None` for times of day.
    pub(super) count: Option<Count>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Count {
    zero_ns: i128,
    unit: RulerUnit,
    is_signed: bool,
    /// The smallest distance that labels distinguish.
    least_ns: i128,
}

impl Ruler {
    /// Formats a time like the labels, with enough digits to distinguish pixels; `None` if labels are times of day.
    #[must_use]
    pub(crate) fn time_text(&self, ts_ns: i64, ns_per_px: f64) -> Option<String> {
        let Count { zero_ns, mut unit, is_signed, least_ns } = self.count?;
        while unit.ns % 10_i128.pow(unit.decimals + 1) == 0
            && unit.ns / 10_i128.pow(unit.decimals) > least_ns
            && unit.ns as f64 / 10_f64.powi(unit.decimals as i32) > ns_per_px
        {
            unit.decimals += 1;
        }
        Some(signed_label(i128::from(ts_ns) - zero_ns, unit, is_signed))
    }
}

/// Returns the ruler for a view, counting from `origin_ns`. A digit is `digit_px` wide.
#[must_use]
pub(crate) fn ruler(view: &Viewport, origin_ns: i64, digit_px: f64) -> Ruler {
    let (base_ns, ruler) = ticks_from(view, origin_ns, digit_px, LabelSigns::IfShifted);
    let base = if base_ns == 0 { String::new() } else { time_label(base_ns, base_unit(base_ns)) };
    Ruler { base, ..ruler }
}

/// Returns the ruler for a view of weights, which are drawn `ns_per_unit` wide each. Labels are numbers with a decimal
/// prefix, or bytes.
#[must_use]
pub(crate) fn weight_ruler(view: &Viewport, origin_ns: i64, digit_px: f64, unit: &str) -> Ruler {
    let least_ns = i128::from(drawn_ns_per_unit(unit));
    let texts = if unit == BYTES { ["TB", "GB", "MB", "kB", "B"] } else { ["T", "G", "M", "k", ""] };
    let mut units = [(0, ""); 5];
    for ((unit, text), power) in units.iter_mut().zip(texts).zip([12, 9, 6, 3, 0]) {
        *unit = (least_ns * 10_i128.pow(power), text);
    }
    labelled(view, origin_ns, 0, digit_px, LabelSigns::IfShifted, &units)
}

/// When positive labels have a plus sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LabelSigns {
    /// If labels count from another time than the origin.
    IfShifted,
    Always,
}

/// Returns the ticks of [`ruler`], and the offset of their zero from `origin_ns`.
pub(super) fn ticks_from(view: &Viewport, origin_ns: i64, digit_px: f64, signs: LabelSigns) -> (i128, Ruler) {
    let left_ns = i128::from(view.start_ns()) - i128::from(origin_ns);
    let base_ns = base_ns(left_ns, view.width_ns());
    (base_ns, labelled(view, origin_ns, base_ns, digit_px, signs, &UNITS))
}

/// Returns a ruler in some units, largest first, whose labels count from `base_ns` after `origin_ns`.
fn labelled(
    view: &Viewport,
    origin_ns: i64,
    base_ns: i128,
    digit_px: f64,
    signs: LabelSigns,
    units: &[(i128, &'static str)],
) -> Ruler {
    let least_ns = units.last().map_or(1, |(ns, _)| *ns);
    for (step_ns, parts) in steps().filter(|&(step_ns, _)| i128::from(step_ns) >= least_ns) {
        let step_px = step_ns as f64 / view.ns_per_px();
        // Even the shortest label, one digit with its unit, would not fit.
        if step_px < digit_px * (GAP_DIGITS + 4.0) {
            continue;
        }
        let is_signed = signs == LabelSigns::Always || base_ns != 0;
        let (unit, ticks) = ticks(view, origin_ns, base_ns, step_ns, is_signed, units);
        let longest = ticks.iter().map(|tick| tick.label.chars().count()).max().unwrap_or(0);
        if longest as f64 * digit_px + GAP_DIGITS * digit_px <= step_px {
            let count = Some(Count { zero_ns: i128::from(origin_ns) + base_ns, unit, is_signed, least_ns });
            return Ruler { ticks, step_ns, parts, count, ..Ruler::default() };
        }
    }
    Ruler::default()
}

/// Returns the time that labels count from: 0 while they stay short, else a round time before the view.
fn base_ns(left_ns: i128, width_ns: f64) -> i128 {
    let mut round_ns: i128 = 1;
    while (round_ns as f64) < width_ns {
        round_ns *= 10;
    }
    // Labels then have three digits more than the step needs.
    round_ns *= 10;
    if left_ns < round_ns { 0 } else { left_ns / round_ns * round_ns }
}

/// Iterates over 1, 2, 5, 10, ... ns, each with the number of parts that divides it into round steps again.
fn steps() -> impl Iterator<Item = (i64, i64)> {
    let powers = std::iter::successors(Some(1_i64), |power| power.checked_mul(10));
    powers.flat_map(|power| {
        [(1, 5), (2, 4), (5, 5)]
            .into_iter()
            .filter_map(move |(digit, parts)| power.checked_mul(digit).map(|step| (step, parts)))
    })
}

fn ticks(
    view: &Viewport,
    origin_ns: i64,
    base_ns: i128,
    step_ns: i64,
    is_signed: bool,
    units: &[(i128, &'static str)],
) -> (RulerUnit, Vec<Tick>) {
    let origin = i128::from(origin_ns);
    let step = i128::from(step_ns);
    // One to the left, whose label may reach into view.
    let first = (i128::from(view.start_ns()) - origin).div_euclid(step) - 1;
    let last = (i128::from(view.end_ns()) - origin).div_euclid(step) + 1;
    let farthest_ns = [first, last].into_iter().map(|tick| (tick * step - base_ns).abs()).max().unwrap_or(0);
    let unit = unit_for(farthest_ns, step, units);
    let ticks = (first..=last).filter_map(|tick| {
        let ts_ns = i64::try_from(tick * step + origin).ok()?;
        Some(Tick { ts_ns, label: signed_label(tick * step - base_ns, unit, is_signed) })
    });
    (unit, ticks.collect())
}

fn signed_label(ns: i128, unit: RulerUnit, is_signed: bool) -> String {
    let plus = if is_signed && ns >= 0 { "+" } else { "" };
    format!("{plus}{}", time_label(ns, unit))
}

/// A unit and the digits after its decimal point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct RulerUnit {
    ns: i128,
    text: &'static str,
    decimals: u32,
}

const UNITS: [(i128, &str); 4] = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "µs"), (1, "ns")];

/// Returns the unit in which labels are short, with enough digits to distinguish multiples of `step_ns`. `units` are
/// the candidates, largest first.
fn unit_for(farthest_ns: i128, step_ns: i128, units: &[(i128, &'static str)]) -> RulerUnit {
    // Whole numbers up to four digits are more readable than a fraction: 100 ns, not 0.1 µs.
    const WHOLE_MAX: i128 = 2_000;
    let units = || units.iter().copied();
    let whole = units().find(|(ns, _)| step_ns % ns == 0).filter(|(ns, _)| farthest_ns <= WHOLE_MAX * ns);
    let largest = units().find(|(ns, _)| farthest_ns >= *ns);
    let (ns, text) = whole.or(largest).or(units().last()).unwrap_or((1, "ns"));
    let mut decimals = 0;
    while ns % 10_i128.pow(decimals) == 0 && step_ns % (ns / 10_i128.pow(decimals)) != 0 {
        decimals += 1;
    }
    RulerUnit { ns, text, decimals }
}

/// Returns the unit that shows a base exactly.
fn base_unit(base_ns: i128) -> RulerUnit {
    let mut round_ns = 1;
    while base_ns % (round_ns * 10) == 0 {
        round_ns *= 10;
    }
    unit_for(base_ns, round_ns, &UNITS)
}

fn time_label(ns: i128, unit: RulerUnit) -> String {
    let sign = if ns < 0 { "-" } else { "" };
    let magnitude = ns.unsigned_abs();
    let unit_ns = unit.ns.unsigned_abs();
    let whole = u64::try_from(magnitude / unit_ns).unwrap_or(u64::MAX);
    let grouped = crate::base::time::grouped_digits(whole);
    let space = if unit.text.is_empty() { "" } else { " " };
    if unit.decimals == 0 {
        return format!("{sign}{grouped}{space}{}", unit.text);
    }
    let fraction = magnitude % unit_ns * 10_u128.pow(unit.decimals) / unit_ns;
    let width = unit.decimals as usize;
    format!("{sign}{grouped}.{fraction:0width$}{space}{}", unit.text)
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;
    use proptest::test_runner::TestCaseError;

    use super::*;

    /// Fails if two labels of a ruler overlap or are equal, or if there are too many.
    pub(crate) fn check_labels(ruler: &Ruler, view: &Viewport, digit_px: f64) -> Result<(), TestCaseError> {
        for pair in ruler.ticks.windows(2) {
            let label_px = pair[0].label.chars().count() as f64 * digit_px;
            prop_assert!(view.x_from_time(pair[0].ts_ns) + label_px < view.x_from_time(pair[1].ts_ns));
            prop_assert_ne!(&pair[0].label, &pair[1].label, "two ticks read alike");
        }
        prop_assert!(ruler.ticks.len() < 1000);
        Ok(())
    }

    proptest! {
        #[test]
        fn labels_never_overlap(
            epoch_ns in prop_oneof![Just(0_i64), Just(1_700_000_000_000_000_000), Just(-1_000_000)],
            length_ns in 1_i64..1_000_000_000_000_000_000,
            depth in 1.0..1e12,
            at in 0.0..1920.0,
            width in 60.0..4000.0,
            digit_px in 5.0..20.0,
        ) {
            let mut view = Viewport::covering(epoch_ns, epoch_ns.saturating_add(length_ns), width, 100.0);
            view.zoom(depth, at);
            let ruler = ruler(&view, epoch_ns, digit_px);
            check_labels(&ruler, &view, digit_px)?;
        }
    }

    fn labels(start_ns: i64, end_ns: i64) -> (String, Vec<String>) {
        let mut view = Viewport::covering(0, 100_000_000_000, 1000.0, 100.0);
        view.show_exactly(start_ns, end_ns);
        let ruler = ruler(&view, 0, 8.0);
        let inside = ruler.ticks.into_iter().filter(|tick| (start_ns..end_ns).contains(&tick.ts_ns));
        (ruler.base, inside.map(|tick| tick.label).collect())
    }

    #[test]
    fn a_time_has_the_unit_of_the_labels_and_digits_down_to_a_pixel() {
        let text = |start_ns: i64, end_ns: i64, ts_ns: i64| {
            let mut view = Viewport::covering(0, 100_000_000_000, 1000.0, 100.0);
            view.show_exactly(start_ns, end_ns);
            ruler(&view, 0, 8.0).time_text(ts_ns, view.ns_per_px()).unwrap()
        };
        // A pixel is 0.1 s, 5 us, 1 ns; the last ruler counts from 12.345678 s.
        assert_eq!(text(0, 100_000_000_000, 12_345_678_901), "12.3 s");
        assert_eq!(text(0, 5_000_000, 1_234_567), "1.234 ms");
        assert_eq!(text(0, 1000, 7), "7 ns");
        assert_eq!(text(12_345_678_901, 12_345_679_001, 12_345_678_950), "+950 ns");
    }

    #[test]
    fn weights_are_numbers_or_bytes_down_to_one() {
        let labels = |unit: &str, end: i64| {
            let end_ns = end * drawn_ns_per_unit(unit) as i64;
            let mut view = Viewport::covering(0, end_ns, 1000.0, 100.0);
            view.show_exactly(0, end_ns);
            let ruler = weight_ruler(&view, 0, 8.0, unit);
            let time = ruler.time_text(end_ns / 3, view.ns_per_px()).unwrap();
            let inside = ruler.ticks.into_iter().filter(|tick| (0..end_ns).contains(&tick.ts_ns));
            (ruler.base, inside.map(|tick| tick.label).take(3).collect::<Vec<_>>().join(", "), time)
        };
        let of = |labels: &str, time: &str| (String::new(), labels.to_owned(), time.to_owned());
        assert_eq!(labels("samples", 8_068_393), of("0 M, 1 M, 2 M", "2.689 M"));
        assert_eq!(labels("bytes", 197_080), of("0 kB, 20 kB, 40 kB", "65.6 kB"));
        assert_eq!(labels("samples", 50), of("0, 5, 10", "16"));
        assert_eq!(labels("samples", 2), of("0, 1", "0"), "no part of a sample");
    }

    #[test]
    fn units_follow_the_zoom() {
        assert_eq!(labels(0, 1000).1[..3], ["0 ns", "100 ns", "200 ns"]);
        assert_eq!(labels(0, 5_000_000).1[..2], ["0.0 ms", "0.5 ms"]);
        let (base, ticks) = labels(12_345_678_901, 12_345_679_001);
        assert_eq!((base.as_str(), ticks[0].as_str()), ("12.345678 s", "+910 ns"));
    }
}
