//! Where a timeline goes when a command or a panel asks for it: to a time, to a span, to a row. What hands do is in
//! `input` and `navigation`.

use egui::Pos2;

use super::places::Places;
use super::rows::Arranging;
use super::timeline::Timeline;
use crate::store::lane::RowIdx;

impl Timeline {
    /// Selects a row, unfolds what hides it, and brings it into view. A filter that leaves it out is given up.
    #[must_use]
    pub(crate) fn reveal(&mut self, row: RowIdx) -> Option<Arranging> {
        self.selected = Some(row);
        let span = self.snapshot.row(row);
        let mut to = *self.target();
        to.reveal(span.start_ns, span.end_ns());
        self.jump(to);
        if self.uncover(self.snapshot.lane(row.lane).track) {
            self.scroll_to_row(row);
            return None;
        }
        self.to_reveal = Some(row);
        self.arrangement.filter.clear();
        self.arrange()
    }

    /// Fills the view with the selected slice of time, or else with the selected span.
    #[must_use]
    pub(crate) fn show_selection(&mut self) -> Option<Arranging> {
        let mut to = *self.target();
        if let Some((from_ns, to_ns)) = self.range {
            to.show_range(from_ns, to_ns);
            self.jump(to);
            return None;
        }
        self.show_span()
    }

    /// Fills the view with the selected span.
    #[must_use]
    pub(crate) fn show_span(&mut self) -> Option<Arranging> {
        let mut to = *self.target();
        let row = self.selected?;
        let span = self.snapshot.row(row);
        to.show_range(span.start_ns, span.end_ns());
        self.jump(to);
        self.reveal(row)
    }

    /// Shows the whole capture.
    pub(crate) fn show_all(&mut self) {
        let mut to = *self.target();
        to.show_all();
        self.jump(to);
    }

    /// Shows exactly `[start_ns, end_ns)`, at once.
    pub(crate) fn show_exactly(&mut self, start_ns: i64, end_ns: i64) {
        self.view.show_exactly(start_ns, end_ns);
    }

    /// Brings a time into view.
    pub(crate) fn show_time(&mut self, ts_ns: i64) {
        let mut to = *self.target();
        to.reveal(ts_ns, ts_ns);
        self.jump(to);
    }

    /// Fills the view with a slice of time.
    pub(crate) fn show_slice(&mut self, from_ns: i64, to_ns: i64) {
        let mut to = *self.target();
        to.show_exactly(from_ns, to_ns);
        self.jump(to);
    }

    /// Zooms around the middle.
    pub(crate) fn zoom(&mut self, factor: f64) {
        let mut to = *self.target();
        to.zoom(factor, to.width_px() / 2.0);
        self.history.moved(*self.target(), self.now_s);
        self.fly(Some(to));
    }

    pub(super) fn scroll(&mut self, down_px: f64) {
        #[expect(clippy::cast_precision_loss, reason = "below 2^53")]
        self.view.scroll(down_px, self.rows.layout.height_px() as f64);
    }

    pub(super) fn scroll_to(&mut self, top_px: f64) {
        #[expect(clippy::cast_precision_loss, reason = "below 2^53")]
        self.view.scroll_to(top_px, self.rows.layout.height_px() as f64);
    }

    /// Scrolls the rows that are under a point of the window.
    pub(super) fn scroll_at(&mut self, places: &Places, at: Pos2, down_px: f64) {
        if at.y < places.canvas.top() {
            let view = self.pinned_view(places);
            #[expect(clippy::cast_precision_loss, reason = "below 2^53")]
            let free_px = (self.pinned.layout.height_px() as f64 - view.height_px()).max(0.0);
            self.pinned_scroll_px = (view.scroll_px() + down_px).clamp(0.0, free_px);
        } else {
            self.scroll(down_px);
        }
    }

    pub(super) fn scroll_to_row(&mut self, row: RowIdx) {
        let Some(place) = self.rows.layout.row_of(row.lane, self.snapshot.lane(row.lane).track) else { return };
        let (first_px, end_px) = self.view.pixels_in_view();
        if place.top_px < first_px || place.top_px + u64::from(place.height_px) > end_px {
            #[expect(clippy::cast_precision_loss, reason = "below 2^53")]
            self.scroll_to(place.top_px as f64 - self.view.height_px() / 2.0);
        }
    }

    /// Scrolls the selected row up by what hides it now and did not before: the details open over the rows at the bottom.
    pub(super) fn keep_selected_in_view(&mut self, end_px_before: u64) {
        let Some(row) = self.selected else { return };
        let Some(place) = self.rows.layout.row_of(row.lane, self.snapshot.lane(row.lane).track) else { return };
        let (_, end_px) = self.view.pixels_in_view();
        let row_end_px = place.top_px + u64::from(place.height_px);
        if place.top_px < end_px_before && row_end_px > end_px {
            #[expect(clippy::cast_precision_loss, reason = "below 2^53")]
            self.scroll((row_end_px - end_px) as f64 + f64::from(place.height_px));
        }
    }
}
