//! Texts and scales of derived tracks: title, range of the curve, value of a column.

use std::borrow::Cow;

use super::counters::{Scale, computed_value_text, value_text};
use crate::base::time::duration_text;
use crate::query::CounterCell;
use crate::query::derived::DerivedKind;

/// Returns the number of a derived track, as in its title.
#[must_use]
pub(crate) fn kind_title(kind: &DerivedKind) -> String {
    match kind {
        DerivedKind::Count => "Count".to_owned(),
        DerivedKind::Rate => "Rate".to_owned(),
        DerivedKind::Concurrency => "Concurrency".to_owned(),
        DerivedKind::Busy => "Busy".to_owned(),
        DerivedKind::MaxDuration => "Longest duration".to_owned(),
        DerivedKind::Quantile(percent) => format!("p{percent} of durations"),
        DerivedKind::Sum(path) => format!("Sum of {}", path.dotted()),
        DerivedKind::CounterSum(name) => format!("Sum of counters {name}"),
    }
}

/// Returns the scale for the value range of columns. Its ends are round if the range changes with the zoom.
#[must_use]
pub(crate) fn scale(kind: &DerivedKind, (least, most): (f64, f64)) -> Scale {
    match kind {
        DerivedKind::Concurrency | DerivedKind::Busy | DerivedKind::MaxDuration | DerivedKind::CounterSum(_) => {
            Scale::for_values(least, most)
        }
        DerivedKind::Count | DerivedKind::Rate | DerivedKind::Quantile(_) | DerivedKind::Sum(_) => {
            // Subtracted, because a negated zero would be shown as -0.
            Scale::for_values(0.0 - rounded_up(-least), rounded_up(most))
        }
    }
}

/// Returns whether the values of a derived track may have a logarithmic scale: durations.
#[must_use]
pub(crate) fn can_be_logarithmic(kind: &DerivedKind) -> bool {
    matches!(kind, DerivedKind::MaxDuration | DerivedKind::Quantile(_))
}

/// Returns the logarithmic scale of columns, up to the value `most` around them, in powers of ten. Its ends are whole,
/// so that it stays while the view moves.
#[must_use]
pub(crate) fn logarithmic_scale(cells: &[CounterCell], most: f64) -> Scale {
    let powers = logarithmic_cells(cells).into_iter().map(|cell| cell.max).filter(|power| power.is_finite());
    let most = power_of(most);
    // The shortest bar has a height, too.
    let bottom = (powers.fold(most, f64::min).ceil() - 1.0).max(0.0);
    Scale { bottom, top: most.ceil().max(bottom + 1.0) }
}

/// Returns columns of durations as bars of their powers of ten. A duration of zero has a bar without a height.
#[must_use]
pub(crate) fn logarithmic_cells(cells: &[CounterCell]) -> Vec<CounterCell> {
    let bar = |cell: &CounterCell| {
        if cell.max.is_finite() { CounterCell { min: 0.0, max: power_of(cell.max), ..*cell } } else { *cell }
    };
    cells.iter().map(bar).collect()
}

/// Returns the power of ten of a duration; 0 for durations below a nanosecond.
fn power_of(dur_ns: f64) -> f64 {
    dur_ns.max(1.0).log10()
}

/// Returns the text of the range of a logarithmic scale.
#[must_use]
pub(crate) fn logarithmic_range_text(scale: Scale) -> String {
    let [bottom, top] = [scale.bottom, scale.top].map(|power| duration_text(10f64.powf(power).round() as u64));
    format!("{bottom} to {top}, log")
}

/// Returns columns as drawn: levels as a curve; counts and sums as bars from 0, because they are valid for one column
/// only.
pub(crate) fn drawn_cells<'a>(kind: &DerivedKind, cells: &'a [CounterCell]) -> Cow<'a, [CounterCell]> {
    if matches!(kind, DerivedKind::Concurrency | DerivedKind::CounterSum(_)) {
        return Cow::Borrowed(cells);
    }
    cells.iter().map(|cell| CounterCell { min: cell.min.min(0.0), max: cell.max.max(0.0), ..*cell }).collect()
}

/// Rounds a value up to 1, 2 or 5 times a power of ten; 0 for values up to 0.
fn rounded_up(value: f64) -> f64 {
    if value.is_nan() || value <= 0.0 {
        return 0.0;
    }
    let power = 10f64.powi(value.log10().floor() as i32);
    let rounded = [1.0, 2.0, 5.0, 10.0].map(|digit| digit * power);
    rounded.into_iter().find(|&rounded| rounded >= value).unwrap_or(value)
}

/// Returns the text of a scale's range, for columns of a width.
#[must_use]
pub(crate) fn range_text(kind: &DerivedKind, scale: Scale, width_ns: u64) -> String {
    let Scale { bottom, top } = scale;
    match kind {
        DerivedKind::MaxDuration | DerivedKind::Quantile(_) => format!("0 to {}", duration_text(top as u64)),
        DerivedKind::Busy => format!("{} to {} %", value_text(bottom), value_text(top)),
        DerivedKind::Rate => format!("{} to {}/s", value_text(bottom), value_text(top)),
        DerivedKind::Concurrency | DerivedKind::CounterSum(_) => {
            format!("{} to {}", value_text(bottom), value_text(top))
        }
        DerivedKind::Count | DerivedKind::Sum(_) => {
            format!("{} to {} in {}", value_text(bottom), value_text(top), duration_text(width_ns))
        }
    }
}

/// Returns the text of a column's value. `cell` is `None` for a column without a value.
#[must_use]
pub(crate) fn column_text(kind: &DerivedKind, cell: Option<&CounterCell>, width_ns: u64) -> String {
    let width = duration_text(width_ns);
    let Some(cell) = cell.filter(|cell| cell.max.is_finite()) else {
        return format!("nothing starts in these {width}");
    };
    let value = computed_value_text(cell.max);
    match kind {
        DerivedKind::MaxDuration => format!("the longest of these {width} takes {}", duration_text(cell.max as u64)),
        DerivedKind::Quantile(percent) if cell.min < cell.max => {
            let [least, most] = [cell.min, cell.max].map(|bound| duration_text(bound as u64));
            format!("p{percent} of these {width} is about {most}: from a sketch, {least} to {most}")
        }
        DerivedKind::Quantile(percent) => format!("p{percent} of these {width} is {}", duration_text(cell.max as u64)),
        DerivedKind::Busy => format!("busy for {:.1} % of these {width}", cell.max),
        DerivedKind::CounterSum(_) if cell.min == cell.max => value,
        DerivedKind::CounterSum(_) => format!("{} to {value} in these {width}", computed_value_text(cell.min)),
        DerivedKind::Rate => format!("{value}/s in these {width}"),
        DerivedKind::Concurrency if cell.min == cell.max => format!("{value} open"),
        DerivedKind::Concurrency => format!("{} to {value} open in these {width}", computed_value_text(cell.min)),
        DerivedKind::Count if cell.max == 1.0 => format!("1 starts in these {width}"),
        DerivedKind::Count => format!("{value} start in these {width}"),
        DerivedKind::Sum(_) => format!("{value} in these {width}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::argument_path::ArgumentPath;

    fn cell(min: f64, max: f64) -> CounterCell {
        CounterCell { first_bucket: 0, bucket_count: 1, sampled_ns: None, min, max, last: max }
    }

    #[test]
    fn a_scale_of_columns_has_round_ends_and_one_of_levels_its_own() {
        assert_eq!(scale(&DerivedKind::Count, (-0.3, 41.0)), Scale { bottom: -0.5, top: 50.0 });
        assert_eq!(scale(&DerivedKind::Concurrency, (0.0, 7.0)), Scale { bottom: 0.0, top: 7.0 });
        assert_eq!(scale(&DerivedKind::CounterSum(String::new()), (-3.0, 7.0)), Scale { bottom: -3.0, top: 7.0 });
        assert_eq!(scale(&DerivedKind::Rate, (0.0, 0.0)), Scale { bottom: 0.0, top: 1.0 });
        assert_eq!([0.0, 1.0, 1.1, 5.0, 5.1, 9e5, f64::NAN].map(rounded_up), [0.0, 1.0, 2.0, 5.0, 10.0, 1e6, 0.0]);
    }

    #[test]
    fn a_logarithmic_scale_has_whole_powers_of_ten_around_its_values() {
        let cells = [cell(0.0, 2_500.0), cell(0.0, 0.0), cell(0.0, f64::NAN), cell(0.0, 30e6)];
        let of_some = logarithmic_scale(&[cells[0], cells[2], cells[3]], 450e6);
        assert_eq!(of_some, Scale { bottom: 3.0, top: 9.0 });
        assert_eq!(logarithmic_range_text(of_some), "1 µs to 1 s, log");
        assert_eq!(logarithmic_scale(&cells, 450e6).bottom, 0.0, "a duration of zero");
        assert_eq!(logarithmic_scale(&[], 0.0), Scale { bottom: 0.0, top: 1.0 });
        assert_eq!(logarithmic_scale(&[cell(0.0, 1000.0)], 1000.0), Scale { bottom: 2.0, top: 3.0 });
        let powers: Vec<f64> = logarithmic_cells(&[cell(5.0, 1e6), cell(0.0, 0.0)]).iter().map(|it| it.max).collect();
        assert_eq!(powers, [6.0, 0.0]);
        assert!(logarithmic_cells(&cells)[2].max.is_nan(), "a gap stays");
        let kinds = [DerivedKind::MaxDuration, DerivedKind::Quantile(99), DerivedKind::Count];
        assert_eq!(kinds.map(|kind| can_be_logarithmic(&kind)), [true, true, false]);
    }

    #[test]
    fn numbers_of_a_column_are_bars_from_zero_and_levels_a_curve() {
        let cells = [cell(3.0, 4.0), cell(-2.0, -1.0)];
        let drawn = |kind| drawn_cells(&kind, &cells).iter().map(|cell| (cell.min, cell.max)).collect::<Vec<_>>();
        assert_eq!(drawn(DerivedKind::Sum(ArgumentPath::default())), [(0.0, 4.0), (-2.0, 0.0)]);
        assert_eq!(drawn(DerivedKind::Concurrency), [(3.0, 4.0), (-2.0, -1.0)]);
    }

    #[test]
    fn values_have_their_units_and_the_width_that_they_are_of() {
        let texts = [
            (DerivedKind::Count, "2 start in these 1.024 µs"),
            (DerivedKind::Rate, "2/s in these 1.024 µs"),
            (DerivedKind::Concurrency, "1 to 2 open in these 1.024 µs"),
            (DerivedKind::Busy, "busy for 2.0 % of these 1.024 µs"),
            (DerivedKind::Quantile(99), "p99 of these 1.024 µs is about 2 ns: from a sketch, 1 ns to 2 ns"),
            (DerivedKind::MaxDuration, "the longest of these 1.024 µs takes 2 ns"),
        ];
        for (kind, text) in texts {
            assert_eq!(column_text(&kind, Some(&cell(1.0, 2.0)), 1024), text);
            assert_eq!(column_text(&kind, None, 1024), "nothing starts in these 1.024 µs");
        }
        let range = |kind, top| range_text(&kind, Scale { bottom: 0.0, top }, 1_000_000);
        assert_eq!(range(DerivedKind::Rate, 2e6), "0 to 2M/s");
        assert_eq!(range(DerivedKind::MaxDuration, 2.5e6), "0 to 2.5 ms");
        assert_eq!(range(DerivedKind::Sum(ArgumentPath::from_parts(["bytes"])), 5e4), "0 to 50k in 1 ms");
    }
}
