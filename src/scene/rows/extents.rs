//! The pixels that a row takes together with all rows below its header.

use std::ops::Range;

use super::{GroupKind, RowLayout};

impl RowLayout {
    /// Returns the pixels of a visible track, or of a header with all rows below it. Takes O(log n).
    #[must_use]
    pub(crate) fn extent_px(&self, kind: GroupKind) -> Option<Range<u64>> {
        let row = self.group_of(kind)?;
        let height_px = match kind {
            GroupKind::Custom(_) | GroupKind::Process(_) => {
                self.section_sums.height(self.index_of_section(kind)?).into()
            }
            GroupKind::Tracks(group) => {
                let (index, head) = self.head_of(group)?;
                self.row_sums.before(head.members(index).end) - self.row_sums.before(index)
            }
            GroupKind::Track(_) => row.height_px.into(),
        };
        Some(row.top_px..row.top_px + height_px)
    }
}
