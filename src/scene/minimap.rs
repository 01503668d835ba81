//! The whole trace on one line, with the view as a window that can be dragged and resized.

use super::viewport::Viewport;

/// The whole trace, `width_px` pixels wide.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Minimap {
    start_ns: i64,
    end_ns: i64,
    width_px: f64,
}

/// The part of the minimap's window that a drag moves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Grip {
    /// The window, gripped at this distance from its left edge.
    Window(f64),
    /// The left edge of the window.
    Left,
    Right,
}

impl Minimap {
    /// Minimum visible width of the window: enough to see and to grip it.
    pub(crate) const WINDOW_MIN_PX: f64 = 6.0;
    /// Distance within which a drag grips an edge.
    const EDGE_PX: f64 = 5.0;

    /// Creates the minimap of a trace.
    #[must_use]
    pub(crate) fn new(start_ns: i64, end_ns: i64, width_px: f64) -> Self {
        Self { start_ns, end_ns: end_ns.max(start_ns.saturating_add(1)), width_px: width_px.max(1.0) }
    }

    /// Converts a time to x; times beyond the trace are beyond the map.
    #[must_use]
    pub(crate) fn x_from_time(&self, ts_ns: i64) -> f64 {
        let from_start = i128::from(ts_ns) - i128::from(self.start_ns);
        from_start as f64 / self.whole_ns() * self.width_px
    }

    /// Converts x to a time; saturates at the ends of the trace.
    #[must_use]
    pub(crate) fn time_from_x(&self, x_px: f64) -> i64 {
        let offset_ns = (x_px / self.width_px).clamp(0.0, 1.0) * self.whole_ns();
        let ts_ns = i128::from(self.start_ns) + offset_ns as i128;
        i64::try_from(ts_ns).unwrap_or(self.end_ns).clamp(self.start_ns, self.end_ns)
    }

    /// Returns the edges of the window within the map, at least the minimum width apart.
    #[must_use]
    pub(crate) fn window(&self, view: &Viewport) -> (f64, f64) {
        let (x0, x1) = (self.x_from_time(view.start_ns()), self.x_from_time(view.end_ns()));
        let widen = ((Self::WINDOW_MIN_PX - (x1 - x0)) / 2.0).max(0.0);
        let x0 = (x0 - widen).clamp(0.0, (self.width_px - Self::WINDOW_MIN_PX).max(0.0));
        (x0, (x1 + widen).clamp(x0 + Self::WINDOW_MIN_PX.min(self.width_px), self.width_px))
    }

    /// Returns the part gripped by a press at x; `None` outside of the window, which is then moved there first.
    #[must_use]
    pub(crate) fn grip(&self, view: &Viewport, x_px: f64) -> Option<Grip> {
        let (x0, x1) = self.window(view);
        // An edge at the end of the map cannot be pulled outwards, and a narrow window is gripped in the middle.
        let edges = x1 - x0 > 4.0 * Self::EDGE_PX;
        match x_px {
            x if edges && (x - x0).abs() <= Self::EDGE_PX => Some(Grip::Left),
            x if edges && (x - x1).abs() <= Self::EDGE_PX => Some(Grip::Right),
            x if x >= x0 && x <= x1 => Some(Grip::Window(x - x0)),
            _ => None,
        }
    }

    /// Returns the view after the gripped part is dragged to x.
    #[must_use]
    pub(crate) fn dragged(&self, view: &Viewport, grip: Grip, x_px: f64) -> Viewport {
        let mut moved = *view;
        match grip {
            Grip::Window(offset_px) => moved.start_at(self.unclamped_time(x_px - offset_px)),
            Grip::Left => moved.show_exactly(self.time_from_x(x_px).min(view.end_ns() - 1), view.end_ns()),
            Grip::Right => {
                moved.show_exactly(view.start_ns(), self.time_from_x(x_px).max(view.start_ns().saturating_add(1)));
            }
        }
        moved
    }

    /// Returns the view centred at x.
    #[must_use]
    pub(crate) fn centered(&self, view: &Viewport, x_px: f64) -> Viewport {
        let mut moved = *view;
        let ts_ns = self.time_from_x(x_px);
        moved.pan(moved.x_from_time(ts_ns) - moved.width_px() / 2.0);
        moved
    }

    fn unclamped_time(&self, x_px: f64) -> i64 {
        let ts_ns = i128::from(self.start_ns) + (x_px / self.width_px * self.whole_ns()) as i128;
        i64::try_from(ts_ns).unwrap_or(if ts_ns < 0 { i64::MIN } else { i64::MAX })
    }

    fn whole_ns(&self) -> f64 {
        (i128::from(self.end_ns) - i128::from(self.start_ns)) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: i64 = 1_700_000_000_000_000_000;

    fn parts() -> (Minimap, Viewport) {
        let mut view = Viewport::covering(START, START + 1_000_000, 500.0, 100.0);
        view.show_exactly(START + 200_000, START + 400_000);
        (Minimap::new(START, START + 1_000_000, 1000.0), view)
    }

    #[test]
    fn the_window_is_where_the_view_is_and_never_vanishes() {
        let (map, mut view) = parts();
        let (x0, x1) = map.window(&view);
        assert!((x0 - 200.0).abs() < 0.1 && (x1 - 400.0).abs() < 0.1, "{x0} {x1}");
        for (start, end) in [(0, 10), (500_000, 500_010), (999_990, 1_000_000)] {
            view.show_exactly(START + start, START + end);
            let (x0, x1) = map.window(&view);
            assert!(x1 - x0 >= Minimap::WINDOW_MIN_PX - 1e-9 && x0 >= 0.0 && x1 <= 1000.0, "{x0} {x1}");
        }
    }

    #[test]
    fn a_dragged_window_keeps_its_zoom_and_a_dragged_edge_leaves_the_other_in_place() {
        let (map, view) = parts();
        let grip = map.grip(&view, 300.0).unwrap();
        let moved = map.dragged(&view, grip, 500.0);
        assert_eq!((moved.start_ns(), moved.ns_per_px()), (START + 400_000, view.ns_per_px()));
        assert_eq!(map.grip(&view, 202.0), Some(Grip::Left));
        let wider = map.dragged(&view, Grip::Left, 100.0);
        assert!((map.window(&wider).0 - 100.0).abs() < 0.1 && (map.window(&wider).1 - 400.0).abs() < 0.1);
        assert_eq!(map.grip(&view, 398.0), Some(Grip::Right));
        let narrower = map.dragged(&view, Grip::Right, 300.0);
        assert!((map.window(&narrower).0 - 200.0).abs() < 0.1 && (map.window(&narrower).1 - 300.0).abs() < 0.1);
        // Dragging an edge over the other leaves a visible window.
        assert!(map.dragged(&view, Grip::Left, 900.0).width_ns() > 0.0);
    }

    #[test]
    fn a_press_beside_the_window_brings_its_middle_there() {
        let (map, view) = parts();
        assert_eq!(map.grip(&view, 700.0), None);
        let (x0, x1) = map.window(&map.centered(&view, 700.0));
        assert!((f64::midpoint(x0, x1) - 700.0).abs() < 0.5, "{x0} {x1}");
    }

    #[test]
    fn a_trace_of_one_instant_has_a_minimap() {
        let map = Minimap::new(5, 5, 100.0);
        let view = Viewport::covering(5, 5, 100.0, 100.0);
        let (x0, x1) = map.window(&view);
        assert!(x0 >= 0.0 && x1 <= 100.0 && x0 < x1);
    }
}
