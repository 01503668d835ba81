//! The selection: the span under the pointer, the selected span, the selected range.

use crate::store::lane::RowIdx;

/// Three layers that never mix.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Selection {
    hovered: Option<RowIdx>,
    span: Option<RowIdx>,
    /// The first nanosecond, and the first after it.
    range: Option<(i64, i64)>,
}

impl Selection {
    pub(super) fn hovered(&self) -> Option<RowIdx> {
        self.hovered
    }

    pub(super) fn span(&self) -> Option<RowIdx> {
        self.span
    }

    pub(super) fn range(&self) -> Option<(i64, i64)> {
        self.range
    }

    /// Takes the span under the pointer; returns whether it is another one than before.
    pub(super) fn hover(&mut self, row: Option<RowIdx>) -> bool {
        std::mem::replace(&mut self.hovered, row) != row
    }

    pub(super) fn select(&mut self, row: Option<RowIdx>) {
        self.span = row;
    }

    pub(super) fn select_range(&mut self, range: Option<(i64, i64)>) {
        self.range = range;
    }

    /// Clears the range, or else the span.
    pub(super) fn clear_one(&mut self) {
        if self.range.take().is_none() {
            self.span = None;
        }
    }
}
