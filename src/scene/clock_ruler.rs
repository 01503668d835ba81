//! Ticks by wall-clock time in UTC: round times of day, and dates if a view spans several days. A view of few seconds
//! counts fractions from a whole second. Time zones are not supported, because traces do not record theirs.

use super::ruler::{GAP_DIGITS, LabelSigns, Ruler, Tick, ticks_from};
use super::viewport::Viewport;
use crate::base::time::{HOUR_NS, hours_text, utc_clock_text, utc_day_text};

const SECOND_NS: i64 = 1_000_000_000;
const DAY_NS: i64 = 86_400 * SECOND_NS;

/// Characters of a date, the longest label.
const LABEL_CHARS: f64 = 10.0;

/// Steps in seconds that divide a day, each with the number of parts that divides it into round steps again.
const STEPS_S: [(i64, i64); 17] = [
    (1, 5),
    (2, 4),
    (5, 5),
    (10, 5),
    (15, 3),
    (30, 3),
    (60, 4),
    (120, 4),
    (300, 5),
    (600, 5),
    (900, 3),
    (1800, 3),
    (3600, 4),
    (7200, 4),
    (10_800, 3),
    (21_600, 6),
    (43_200, 4),
];

/// Steps of a day or more, in days.
const STEPS_DAYS: [(i64, i64); 9] =
    [(1, 4), (2, 4), (5, 5), (10, 5), (50, 5), (100, 5), (500, 5), (1000, 5), (10_000, 5)];

/// Minimum width of a view with labels in whole seconds, so that at least two of them are visible.
const WHOLE_SECONDS_FROM_NS: f64 = 3e9;

/// Returns the ruler for a view of a trace, whose times plus `utc_offset_ns` are UTC. A digit is `digit_px` wide.
#[must_use]
pub(crate) fn clock_ruler(view: &Viewport, utc_offset_ns: i64, digit_px: f64) -> Ruler {
    let start_utc_ns = i128::from(view.start_ns()) + i128::from(utc_offset_ns);
    if view.width_ns() >= WHOLE_SECONDS_FROM_NS {
        let label = |utc_ns: i64| if utc_ns % DAY_NS == 0 { utc_day_text(utc_ns) } else { utc_clock_text(utc_ns, 0) };
        let Some(ruler) = whole_seconds(view, utc_offset_ns.into(), (digit_px, LABEL_CHARS), label) else {
            return Ruler::default();
        };
        let is_of_days = ruler.step_ns >= DAY_NS;
        let base = if is_of_days { "UTC".into() } else { format!("{} UTC", utc_day_text(clamped(start_utc_ns))) };
        return Ruler { base, ..ruler };
    }
    let second_utc_ns = start_utc_ns.div_euclid(SECOND_NS.into()) * i128::from(SECOND_NS);
    let origin_ns = clamped(second_utc_ns - i128::from(utc_offset_ns));
    let (base_ns, ruler) = ticks_from(view, origin_ns, digit_px, LabelSigns::Always);
    let base_utc_ns = clamped(second_utc_ns + base_ns);
    let clock = utc_clock_text(base_utc_ns, 9);
    // The base is round, so its trailing zeros carry no information.
    let clock = clock.trim_end_matches('0').trim_end_matches('.');
    let shortest = utc_clock_text(base_utc_ns, 0);
    let clock = if clock.len() < shortest.len() { &shortest } else { clock };
    Ruler { base: format!("{} {clock} UTC", utc_day_text(base_utc_ns)), ..ruler }
}

/// Returns the ruler in hours, minutes and seconds, for a view one hour or more from `origin_ns`. Returns `None` for a
/// nearer view, or if the view is so wide that no label fits.
#[must_use]
pub(crate) fn hours_ruler(view: &Viewport, origin_ns: i64, digit_px: f64) -> Option<Ruler> {
    let [start_ns, end_ns] = [view.start_ns(), view.end_ns()].map(|ts_ns| i128::from(ts_ns) - i128::from(origin_ns));
    let farthest_ns = start_ns.abs().max(end_ns.abs());
    if farthest_ns < HOUR_NS.into() {
        return None;
    }
    if view.width_ns() >= WHOLE_SECONDS_FROM_NS {
        // One more character, for the sign.
        let chars = hours_text(-farthest_ns).chars().count();
        let label = |elapsed_ns: i64| hours_text(elapsed_ns.into());
        return whole_seconds(view, -i128::from(origin_ns), (digit_px, chars as f64), label);
    }
    let second_ns = start_ns.div_euclid(SECOND_NS.into()) * i128::from(SECOND_NS);
    let (base_ns, ruler) = ticks_from(view, clamped(second_ns + i128::from(origin_ns)), digit_px, LabelSigns::Always);
    let base_ns = second_ns + base_ns;
    let fraction = format!(".{:09}", base_ns.rem_euclid(SECOND_NS.into()));
    let fraction = fraction.trim_end_matches('0').trim_end_matches('.');
    let whole_ns = base_ns.div_euclid(SECOND_NS.into()) * i128::from(SECOND_NS);
    Some(Ruler { base: format!("{}{fraction}", hours_text(whole_ns)), ..ruler })
}

/// Shortens the nine decimals of a time of day to as many as distinguish pixels.
#[must_use]
pub(crate) fn with_decimals_of_pixels(mut text: String, ns_per_px: f64) -> String {
    let decimals = (0..9).find(|decimals| 10_f64.powi(9 - decimals) <= ns_per_px).unwrap_or(9);
    if let Some(point) = text.find('.').filter(|_| decimals < 9) {
        let kept = if decimals == 0 { 0 } else { decimals as usize + 1 };
        text.truncate((point + kept).min(text.len()));
    }
    text
}

/// Returns a ruler with ticks at round times in whole seconds, offset by `offset_ns`. `None` if no label fits.
fn whole_seconds(
    view: &Viewport,
    offset_ns: i128,
    (digit_px, label_chars): (f64, f64),
    label: impl Fn(i64) -> String,
) -> Option<Ruler> {
    let fits = |step_ns: i64| (label_chars + GAP_DIGITS) * digit_px <= step_ns as f64 / view.ns_per_px();
    let seconds = STEPS_S.map(|(step, parts)| (step * SECOND_NS, parts));
    let days = STEPS_DAYS.map(|(step, parts)| (step * DAY_NS, parts));
    let (step_ns, parts) = seconds.into_iter().chain(days).find(|(step_ns, _)| fits(*step_ns))?;
    Some(Ruler { ticks: ticks(view, offset_ns, step_ns, label), step_ns, parts, ..Ruler::default() })
}

fn ticks(view: &Viewport, offset: i128, step_ns: i64, label: impl Fn(i64) -> String) -> Vec<Tick> {
    let step = i128::from(step_ns);
    // One tick to the left, whose label may reach into the view.
    let first = (i128::from(view.start_ns()) + offset).div_euclid(step) - 1;
    let last = (i128::from(view.end_ns()) + offset).div_euclid(step) + 1;
    (first..=last)
        .filter_map(|tick| {
            let ts_ns = i64::try_from(tick * step - offset).ok()?;
            Some(Tick { ts_ns, label: label(i64::try_from(tick * step).ok()?) })
        })
        .collect()
}

fn clamped(ns: i128) -> i64 {
    ns.clamp(i64::MIN.into(), i64::MAX.into()) as i64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::scene::ruler::tests::check_labels;

    /// 2026-11-21 14:02:03 UTC.
    const CLOCK_NS: i64 = 1_795_269_723 * SECOND_NS;

    #[test]
    fn a_time_of_day_has_the_decimals_that_distinguish_pixels() {
        for (ns_per_px, text) in [
            (5e9, "1:06:52"),
            (1e9, "1:06:52"),
            (9e8, "1:06:52.3"),
            (2e6, "1:06:52.330"),
            (1e6, "1:06:52.330"),
            (1.0, "1:06:52.330016583"),
            (1e-3, "1:06:52.330016583"),
        ] {
            assert_eq!(with_decimals_of_pixels("1:06:52.330016583".to_owned(), ns_per_px), text, "{ns_per_px}");
        }
        assert_eq!(with_decimals_of_pixels("1:06:52".to_owned(), 1e9), "1:06:52");
    }

    fn labels(start_ns: i64, end_ns: i64, utc_offset_ns: i64) -> (String, Vec<(i64, String)>) {
        let mut view = Viewport::covering(0, 1_000_000 * SECOND_NS, 1000.0, 100.0);
        view.show_exactly(start_ns, end_ns);
        let ruler = clock_ruler(&view, utc_offset_ns, 7.0);
        let inside = ruler.ticks.into_iter().filter(|tick| (start_ns..end_ns).contains(&tick.ts_ns));
        (ruler.base, inside.map(|tick| (tick.ts_ns, tick.label)).collect())
    }

    #[test]
    fn ticks_are_at_round_times_of_day_wherever_the_trace_starts() {
        // The trace starts a quarter of a second after a whole second.
        let (base, ticks) = labels(0, 8 * SECOND_NS, CLOCK_NS + SECOND_NS / 4);
        assert_eq!(base, "2026-11-21 UTC");
        assert_eq!(ticks[0], (SECOND_NS * 3 / 4, "14:02:04".to_owned()));
        assert_eq!(ticks[1], (SECOND_NS * 7 / 4, "14:02:05".to_owned()));
    }

    #[test]
    fn midnight_is_labelled_with_its_date() {
        let (_, ticks) = labels(0, 24 * 3600 * SECOND_NS, CLOCK_NS);
        assert!(ticks.iter().any(|(_, label)| label == "2026-11-22"), "{ticks:?}");
        assert!(ticks.iter().any(|(_, label)| label == "18:00:00"), "{ticks:?}");
    }

    #[test]
    fn fractions_of_a_second_count_from_the_base() {
        let (base, ticks) = labels(SECOND_NS, SECOND_NS + 500_000_000, CLOCK_NS);
        assert_eq!(base, "2026-11-21 14:02:04 UTC");
        assert_eq!(ticks[0], (SECOND_NS, "+0 ms".to_owned()));
        let (base, ticks) = labels(SECOND_NS + 123_456_789, SECOND_NS + 123_456_889, CLOCK_NS);
        assert_eq!(base, "2026-11-21 14:02:04.123456 UTC");
        assert_eq!(ticks[0].1, "+790 ns");
    }

    proptest! {
        #[test]
        fn labels_neither_overlap_nor_repeat(
            utc_offset_ns in any::<i64>(),
            start_ns in any::<i64>(),
            length_ns in 1_i64..i64::MAX,
            depth in 1.0..1e12,
            at in 0.0..1920.0,
            width in 60.0..4000.0,
            digit_px in 5.0..20.0,
        ) {
            let mut view = Viewport::covering(start_ns, start_ns.saturating_add(length_ns), width, 100.0);
            view.zoom(depth, at);
            let ruler = clock_ruler(&view, utc_offset_ns, digit_px);
            check_labels(&ruler, &view, digit_px)?;
        }
    }

    #[test]
    fn hours_from_the_start_have_no_more_than_one_unit() {
        let mut view = Viewport::covering(0, 1_000_000 * SECOND_NS, 1000.0, 100.0);
        let mut labels = |start_ns: i64, end_ns: i64| {
            view.show_exactly(start_ns, end_ns);
            let ruler = hours_ruler(&view, 0, 7.0)?;
            let within = ruler.ticks.iter().filter(|tick| (start_ns..end_ns).contains(&tick.ts_ns));
            Some((ruler.base.clone(), within.map(|tick| tick.label.clone()).collect::<Vec<_>>()))
        };
        assert_eq!(labels(0, 3599 * SECOND_NS), None);
        let (base, hours) = labels(0, 8 * 3600 * SECOND_NS).unwrap();
        assert_eq!((base.as_str(), &hours[..3]), ("", &["0:00:00".to_owned(), "1:00:00".into(), "2:00:00".into()][..]));
        let far_ns = 683_826 * SECOND_NS;
        let (base, seconds) = labels(far_ns, far_ns + 100 * SECOND_NS).unwrap();
        assert_eq!((base.as_str(), seconds[0].as_str()), ("", "189:57:10"));
        let (base, parts) = labels(far_ns + SECOND_NS / 2, far_ns + SECOND_NS).unwrap();
        assert_eq!(base, "189:57:06");
        assert!(parts.iter().all(|label| label.starts_with('+') && label.ends_with(" ms")), "{parts:?}");
    }

    proptest! {
        #[test]
        fn labels_of_hours_never_overlap(
            origin_ns in prop_oneof![Just(0_i64), Just(1_700_000_000_000_000_000), Just(-1_000_000)],
            length_ns in 1_i64..1_000_000_000_000_000_000,
            depth in 1.0..1e12,
            at in 0.0..1920.0,
            width in 60.0..4000.0,
            digit_px in 5.0..20.0,
        ) {
            let start_ns = origin_ns;
            let mut view = Viewport::covering(start_ns, start_ns.saturating_add(length_ns), width, 600.0);
            view.zoom(depth, at);
            if let Some(ruler) = hours_ruler(&view, origin_ns, digit_px) {
                check_labels(&ruler, &view, digit_px)?;
            }
        }
    }
}
