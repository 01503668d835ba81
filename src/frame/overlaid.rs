//! Draws the counters of one row: overlaid curves with one scale per unit, or a stack of their sums.

use crate::query::{Buckets, CounterCell};
use crate::scene::counter_form::{CounterForm, range_in};
use crate::scene::counter_overlay::{OverlaidRow, stack};
use crate::scene::counters::{self, CounterBand, Scale};
use crate::scene::palette::Palette;
use crate::scene::rects::Rect;
use crate::scene::viewport::Viewport;
use crate::store::LaneKind;
use crate::tiles::{TileOwner, Tiles};

/// Returns the lanes that rows of several counters need in addition to the visible ones.
pub(crate) fn other_lanes(in_view: &[(TileOwner, LaneKind)], rows: &[OverlaidRow]) -> Vec<(TileOwner, LaneKind)> {
    let is_in_view = |owner: TileOwner| in_view.iter().any(|&(known, _)| known == owner);
    let shown = rows.iter().filter(|row| is_in_view(TileOwner::Lane(row.lead)));
    let lanes = shown.flat_map(|row| row.curves.iter().map(|curve| TileOwner::Lane(curve.lane)));
    lanes.filter(|&owner| !is_in_view(owner)).map(|owner| (owner, LaneKind::Counter)).collect()
}

/// Appends the rectangles of a row between two heights. Returns the minimum and maximum in view of each unit, for a
/// stack of its sums.
pub(super) fn push_overlaid(
    rects: &mut Vec<Rect>,
    (tiles, buckets): (&Tiles, Buckets),
    view: &Viewport,
    row: &OverlaidRow,
    (y0, y1): (f32, f32),
    (palette, pixels_per_point): (&Palette, f32),
) -> Vec<(f64, f64)> {
    /// Areas of a stack do not overlap, so they need not be translucent.
    const STACK_OPACITY: u8 = 170;
    let curves: Vec<(Vec<CounterCell>, (f64, f64))> = row
        .curves
        .iter()
        .map(|curve| {
            let owner = TileOwner::Lane(curve.lane);
            let mut cells = Vec::new();
            tiles.counter(owner, buckets, &mut cells);
            let range = if row.form == CounterForm::Value {
                tiles.counter_range(owner)
            } else {
                cells = row.form.cells(&cells);
                range_in(&cells, buckets)
            };
            (cells, range.unwrap_or_default())
        })
        .collect();
    let band = |index: usize, fill_opacity| CounterBand {
        y0: y0 + (2.0 * pixels_per_point).round(),
        y1,
        color: palette.series_color(index),
        line_px: (if row.is_stacked { 1.0 } else { 1.5 } * pixels_per_point).round().max(1.0),
        fill_opacity,
    };
    if row.is_stacked {
        let cells: Vec<_> = curves.into_iter().map(|(cells, _)| cells).collect();
        let stack = stack(&cells);
        let (min, max) = stack.range_of_levels(buckets);
        for (index, level) in stack.levels.iter().enumerate() {
            let (band, scale) = (band(index, STACK_OPACITY), Scale::for_values(min, max));
            counters::rects_above(view, buckets, (&level.cells, &level.base), scale, &band, rects);
        }
        return vec![stack.range_of_sums(buckets)];
    }
    let ranges = ranges(row, curves.iter().map(|(_, range)| *range));
    for (index, ((cells, _), curve)) in curves.iter().zip(&row.curves).enumerate() {
        let (min, max) = ranges.get(curve.unit).copied().unwrap_or_default();
        counters::rects(view, buckets, cells, row.form.scale(min, max), &band(index, 0), rects);
    }
    ranges
}

/// Returns the range of each unit of a row of curves.
fn ranges(row: &OverlaidRow, curves: impl Iterator<Item = (f64, f64)>) -> Vec<(f64, f64)> {
    let mut ranges: Vec<Option<(f64, f64)>> = vec![None; row.units.len()];
    for ((least, most), curve) in curves.zip(&row.curves) {
        let Some(range) = ranges.get_mut(curve.unit) else { continue };
        *range = Some(range.map_or((least, most), |(min, max)| (min.min(least), max.max(most))));
    }
    ranges.into_iter().map(Option::unwrap_or_default).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::TrackIdx;
    use crate::scene::counter_overlay::OverlaidCurve;
    use crate::store::lane::LaneIdx;

    fn row(units: &[usize]) -> OverlaidRow {
        let curve = |(index, &unit): (usize, &usize)| {
            let number = index as u32;
            OverlaidCurve { track: TrackIdx(number), lane: LaneIdx(number), unit }
        };
        OverlaidRow {
            lead: LaneIdx(0),
            curves: units.iter().enumerate().map(curve).collect(),
            units: (0..=units.iter().copied().max().unwrap_or(0)).map(|unit| unit.to_string()).collect(),
            is_stacked: false,
            form: CounterForm::Value,
        }
    }

    #[test]
    fn curves_of_one_unit_have_one_scale() {
        let curves = [(2.0, 6.0), (0.5, 1.0), (-3.0, 4.0)];
        assert_eq!(ranges(&row(&[0, 1, 0]), curves.into_iter()), [(-3.0, 6.0), (0.5, 1.0)]);
    }

    #[test]
    fn the_lanes_of_a_row_are_loaded_while_its_lead_is_in_view() {
        let lane = |number| (TileOwner::Lane(LaneIdx(number)), LaneKind::Counter);
        let rows = [row(&[0, 0, 0])];
        assert_eq!(other_lanes(&[lane(0), lane(2)], &rows), [lane(1)]);
        assert_eq!(other_lanes(&[lane(1), lane(2)], &rows), []);
    }
}
