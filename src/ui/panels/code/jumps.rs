//! Draws jumps within a function as arrows beside its instructions. Inner jumps are closer to the text, and two jumps
//! in one column never overlap. A jump that fits in no column has no arrow, but the column of targets names its target.

use std::collections::BTreeMap;
use std::ops::Range;

use egui::{Color32, Painter, Shape, Stroke, pos2};

use crate::symbols::code::assembly::DecodedInstruction;
use crate::ui::panels::table::RowsInView;
use crate::ui::theme::Theme;

/// Maximum number of arrow columns.
const COLUMNS_MAX: usize = 12;

/// Only the first jumps of a function have arrows.
const JUMPS_MAX: usize = 16 * 1024;

/// Width of a column, of arrow heads, and of the gap before the text, in points.
const COLUMN_POINTS: f32 = 6.0;
const HEAD_POINTS: f32 = 9.0;
const MARGIN_POINTS: f32 = 3.0;

/// A jump from one row to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Jump {
    from: u64,
    to: u64,
}

/// The jumps of a function, by column and by their first rows.
#[derive(Debug, Default)]
pub(super) struct Jumps {
    columns: Vec<Vec<Jump>>,
}

impl Jump {
    fn first(self) -> u64 {
        self.from.min(self.to)
    }

    fn last(self) -> u64 {
        self.from.max(self.to)
    }
}

impl Jumps {
    /// Lays out the jumps of instructions, which are in address order.
    pub(super) fn new<'a>(instructions: impl ExactSizeIterator<Item = &'a DecodedInstruction> + Clone) -> Self {
        let starts: Vec<u64> = instructions.clone().map(|it| it.range.start).collect();
        let jump = |(from, it): (u64, &DecodedInstruction)| {
            let target = it.target.filter(|_| it.is_jump)?;
            Some(Jump { from, to: starts.binary_search(&target).ok()? as u64 })
        };
        Self::packed((0..).zip(instructions).filter_map(jump).take(JUMPS_MAX).collect())
    }

    /// Puts each jump, shortest first, into the first column where it fits.
    fn packed(mut jumps: Vec<Jump>) -> Self {
        jumps.sort_by_key(|jump| (jump.last() - jump.first(), jump.first(), jump.from));
        let mut columns: Vec<BTreeMap<u64, Jump>> = Vec::new();
        for jump in jumps {
            let has_room = |column: &BTreeMap<u64, Jump>| {
                column.range(..=jump.last()).next_back().is_none_or(|(_, before)| before.last() < jump.first())
            };
            if let Some(column) = columns.iter_mut().find(|column| has_room(column)) {
                column.insert(jump.first(), jump);
            } else if columns.len() < COLUMNS_MAX {
                columns.push(BTreeMap::from([(jump.first(), jump)]));
            }
        }
        Self { columns: columns.into_iter().map(|column| column.into_values().collect()).collect() }
    }

    /// Returns the width of the arrows, in points.
    pub(super) fn points(&self) -> f32 {
        if self.columns.is_empty() {
            0.0
        } else {
            self.columns.len() as f32 * COLUMN_POINTS + HEAD_POINTS + MARGIN_POINTS
        }
    }

    /// Iterates over the jumps that overlap some rows, with their columns.
    fn overlapping(&self, rows: &Range<u64>) -> impl Iterator<Item = (usize, Jump)> {
        let rows = rows.clone();
        self.columns.iter().enumerate().flat_map(move |(number, column)| {
            let first = column.partition_point(|jump| jump.last() < rows.start);
            let end = rows.end;
            column[first..].iter().take_while(move |jump| jump.first() < end).map(move |&jump| (number, jump))
        })
    }

    /// Paints the arrows of the rows in view, and highlights the arrows of the row or line under the pointer.
    pub(super) fn paint(&self, painter: &Painter, view: &RowsInView, theme: &Theme) {
        let right = view.cells.left() + self.points() - MARGIN_POINTS;
        let x_of = |column: usize| right - HEAD_POINTS - column as f32 * COLUMN_POINTS;
        let y_of = |row: u64| view.top + (row as f64 - view.rows.start as f64 + 0.5) as f32 * view.row_points;
        let pointer = view.pointer.filter(|at| view.cells.contains(*at));
        let is_pointed = |column: usize, jump: Jump| {
            pointer.is_some_and(|at| {
                let row = view.rows.start + ((at.y - view.top) / view.row_points).max(0.0) as u64;
                let is_on_line = (at.x - x_of(column)).abs() <= COLUMN_POINTS / 2.0;
                jump.from == row || jump.to == row || is_on_line && (jump.first()..=jump.last()).contains(&row)
            })
        };
        let painter = painter.with_clip_rect(view.cells.intersect(painter.clip_rect()));
        let mut pointed = Vec::new();
        for (column, jump) in self.overlapping(&view.rows) {
            if is_pointed(column, jump) {
                pointed.push((column, jump));
            } else {
                arrow(&painter, (x_of(column), right), (y_of(jump.from), y_of(jump.to)), theme.weak_text, 1.0);
            }
        }
        // Drawn last, above the others.
        for (column, jump) in pointed {
            arrow(&painter, (x_of(column), right), (y_of(jump.from), y_of(jump.to)), theme.accent, 2.0);
        }
    }
}

/// Draws an arrow from a row to another, along a line at the left.
fn arrow(painter: &Painter, (line, right): (f32, f32), (from, to): (f32, f32), color: Color32, width: f32) {
    const HALF: f32 = 3.0;
    let stroke = Stroke::new(width, color);
    // For a jump to itself, the line would have no length.
    let (from, to) = if from == to { (from - HALF, to + HALF) } else { (from, to) };
    let points = vec![pos2(right, from), pos2(line, from), pos2(line, to), pos2(right - HALF, to)];
    painter.add(Shape::line(points, stroke));
    let head = vec![pos2(right, to), pos2(right - HALF * 1.5, to - HALF), pos2(right - HALF * 1.5, to + HALF)];
    painter.add(Shape::convex_polygon(head, color, Stroke::NONE));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn packed(jumps: &[(u64, u64)]) -> Jumps {
        Jumps::packed(jumps.iter().map(|&(from, to)| Jump { from, to }).collect())
    }

    #[test]
    fn inner_jumps_are_closer_to_the_text() {
        let jumps = packed(&[(0, 9), (2, 5), (8, 6), (4, 3), (20, 30)]);
        let column =
            |from: u64| jumps.columns.iter().position(|column| column.iter().any(|jump| jump.from == from)).unwrap();
        assert_eq!([4, 2, 8, 0, 20].map(column), [0, 1, 0, 2, 0]);
        assert!(jumps.points() < 40.0 && packed(&[]).points() == 0.0);
    }

    #[test]
    fn calls_and_jumps_out_of_the_function_have_no_arrow() {
        let instruction = |start: u64, target: Option<u64>, is_jump: bool| DecodedInstruction {
            range: start..start + 2,
            text: String::new(),
            target,
            is_jump,
        };
        let all = [
            instruction(10, Some(14), true),
            instruction(12, Some(10), false),
            instruction(14, Some(15), true),
            instruction(16, Some(99), true),
            instruction(18, Some(18), true),
        ];
        let jumps = Jumps::new(all.iter());
        assert_eq!(jumps.columns, [[Jump { from: 0, to: 2 }, Jump { from: 4, to: 4 }]]);
    }

    proptest! {
        #[test]
        fn jumps_of_a_column_do_not_overlap_and_those_in_view_equal_a_scan(
            jumps in prop::collection::vec((0..60u64, 0..60u64), 0..50),
            start in 0..70u64,
            len in 0..30u64,
        ) {
            let packed = packed(&jumps);
            prop_assert!(packed.columns.len() <= COLUMNS_MAX);
            for column in &packed.columns {
                prop_assert!(column.windows(2).all(|pair| pair[0].last() < pair[1].first()), "{column:?}");
            }
            let rows = start..start + len;
            let overlapping: Vec<_> = packed.overlapping(&rows).collect();
            let mut scanned = Vec::new();
            for (number, column) in packed.columns.iter().enumerate() {
                for &jump in column {
                    if rows.clone().any(|row| (jump.first()..=jump.last()).contains(&row)) {
                        scanned.push((number, jump));
                    }
                }
            }
            prop_assert!(len == 0 || overlapping == scanned, "{overlapping:?} {scanned:?}");
            // At most one starts or ends at each row of a column, and one more passes all of them.
            prop_assert!(overlapping.len() as u64 <= COLUMNS_MAX as u64 * (len + 1));
            // A jump is left out only if all columns are full at one of its rows.
            let kept: usize = packed.columns.iter().map(Vec::len).sum();
            prop_assert!(kept == jumps.len() || packed.columns.len() == COLUMNS_MAX);
        }
    }
}
