//! A heat map as pixels, and the ticks of its scales: one pixel per cell, longest durations at the top. The work grows
//! with the cells, not with the spans.

use super::color::Rgba;
use crate::base::time::{duration_text, grouped_digits};
use crate::query::heat_map::HeatCells;

/// Minimum height of a row, in points.
pub(crate) const ROW_POINTS: f32 = 3.5;

/// Minimum width of a column, in points.
pub(crate) const COLUMN_POINTS: f32 = 3.0;

/// A labelled position on a scale.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ScaleTick {
    /// Position from 0 at the lower end of the scale to 1 at the upper end.
    pub(crate) part: f64,
    pub(crate) label: String,
}

/// Returns the logarithmic colour step of a count, out of `steps`: one span has the first, the largest count the last.
#[must_use]
pub(crate) fn density_step(count: u64, most: u64, steps: usize) -> usize {
    let last = steps.saturating_sub(1);
    if most <= 1 || count >= most {
        return last;
    }
    let part = (count.max(1) as f64).ln() / (most as f64).ln();
    ((part * last as f64).round() as usize).min(last)
}

/// Returns a pixel per cell, row by row from the top, transparent for empty cells. Zero-length spans, if any, are the
/// bottom row.
#[must_use]
pub(crate) fn pixels(cells: &HeatCells, ramp: &[Rgba]) -> Vec<Rgba> {
    let color = |&count: &u64| match count {
        0 => Rgba::default(),
        count => ramp[density_step(count, cells.most, ramp.len())],
    };
    (0..cells.rows()).rev().flat_map(|row| cells.row(row).iter().map(color)).collect()
}

/// Returns ticks of durations on a scale of `points`: powers of ten first, then multiples of five and two if there is
/// room. A scale with fewer than two such ticks has its ends too, so that its steps can be read.
#[must_use]
pub(crate) fn duration_ticks(cells: &HeatCells, points: f64, gap_points: f64) -> Vec<ScaleTick> {
    let rows = cells.scale_rows() as f64;
    let mut ticks: Vec<ScaleTick> = Vec::new();
    for digit in [1, 5, 2] {
        for power in (0..20).map(|power| 10_u64.pow(power)) {
            let Some(dur_ns) = power.checked_mul(digit) else { continue };
            let part = cells.scale_position(dur_ns) / rows;
            let is_free = |tick: &ScaleTick| (tick.part - part).abs() * points >= gap_points;
            if rows > 0.0 && (0.0..=1.0).contains(&part) && ticks.iter().all(is_free) {
                ticks.push(ScaleTick { part, label: duration_text(dur_ns) });
            }
        }
    }
    if ticks.len() < 2 && rows > 0.0 {
        let least_ns = cells.durations(usize::from(cells.has_zero)).0;
        let most_ns = cells.durations(cells.rows() - 1).1;
        for (part, dur_ns) in [(0.0, least_ns), (1.0, most_ns)] {
            let is_free = |tick: &ScaleTick| (tick.part - part).abs() * points >= gap_points;
            if (part == 0.0 || least_ns < most_ns) && ticks.iter().all(is_free) {
                ticks.push(ScaleTick { part, label: duration_text(dur_ns) });
            }
        }
    }
    ticks.sort_by(|one, other| one.part.total_cmp(&other.part));
    ticks
}

/// Returns ticks of counts on the colour scale: one, powers of ten, and the largest.
#[must_use]
pub(crate) fn count_ticks(most: u64, points: f64, gap_points: f64) -> Vec<ScaleTick> {
    let tick = |count: u64| {
        let part = if most <= 1 { 1.0 } else { (count as f64).ln() / (most as f64).ln() };
        ScaleTick { part, label: grouped_digits(count) }
    };
    let mut ticks = if most == 0 { Vec::new() } else { vec![tick(most)] };
    for count in (0..20).map(|power| 10_u64.pow(power)).take_while(|&count| count < most) {
        let tick = tick(count);
        if ticks.iter().all(|other| (other.part - tick.part).abs() * points >= gap_points) {
            ticks.push(tick);
        }
    }
    ticks.sort_by(|one, other| one.part.total_cmp(&other.part));
    ticks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::cancel::Cancel;
    use crate::base::progress::Progress;
    use crate::query::heat_map::{HeatMapAxis, heat_map};
    use crate::query::scope::Scope;

    #[test]
    fn one_span_has_the_first_colour_and_the_fullest_cell_the_last() {
        assert_eq!([1, 10, 100, 1000].map(|count| density_step(count, 1000, 31)), [0, 10, 20, 30]);
        assert_eq!([density_step(1, 1, 31), density_step(u64::MAX, u64::MAX, 31), density_step(5, 9, 1)], [30, 30, 0]);
        let steps: Vec<_> = (1..5000).map(|count| density_step(count, 5000, 31)).collect();
        assert!(steps.is_sorted());
    }

    #[test]
    fn a_scale_without_round_durations_has_its_ends() {
        let span = |ts: u32, dur: f64| format!(r#"{{"ph":"X","name":"a","pid":1,"tid":1,"ts":{ts},"dur":{dur}}}"#);
        let ticks = |durations: &[f64]| {
            let spans = (0..).zip(durations).map(|(number, &dur)| span(number * 10, dur));
            let json = format!("[{}]", spans.collect::<Vec<_>>().join(","));
            let snapshot = crate::scene::tests::snapshot(&json);
            let axis = HeatMapAxis::new(snapshot.start_ns(), snapshot.end_ns() + 1, 10);
            let map = heat_map(&snapshot, &Scope::default(), axis, &Cancel::default(), &Progress::default()).unwrap();
            let ticks = duration_ticks(&map.cells_in(64), 200.0, 15.0);
            ticks.into_iter().map(|tick| (tick.part, tick.label)).collect::<Vec<_>>()
        };
        let one_row = ticks(&[4.096, 4.096, 0.0]);
        assert_eq!(one_row, [(0.0, "4.096 µs".to_owned()), (1.0, "4.223 µs".to_owned())]);
        assert!(ticks(&[0.0]).is_empty());
        assert!(ticks(&[9.0, 11.0]).iter().any(|(_, label)| label == "10 µs"));
        let labels = |durations| ticks(durations).into_iter().map(|(_, label)| label).collect::<Vec<_>>();
        let from_one = labels(&[50_000.0, 90_000.0]);
        assert_eq!((from_one.len(), &*from_one[0]), (2, "50 ms"), "one round duration does not tell the scale");
    }

    #[test]
    fn counts_are_labelled_by_powers_of_ten_and_the_largest() {
        let labels = |most, points| -> Vec<String> {
            count_ticks(most, points, 12.0).into_iter().map(|tick| tick.label).collect()
        };
        assert_eq!(labels(0, 100.0), Vec::<String>::new());
        assert_eq!(labels(1, 100.0), ["1"]);
        assert_eq!(labels(3_456, 100.0), ["1", "10", "100", "1\u{2009}000", "3\u{2009}456"]);
        assert_eq!(labels(1_000_000, 60.0).len(), 4, "no label covers another");
        assert_eq!(labels(u64::MAX, 400.0).len(), 20);
    }
}
