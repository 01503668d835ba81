//! Animates views: a short flight to another view, kinetic panning after a drag, and the history of views. The caller
//! passes the time, so that tests need not wait.

use super::viewport::Viewport;

/// Duration of an animated zoom: long enough to follow, too short to wait for.
pub(crate) const FLIGHT_SECONDS: f64 = 0.12;

/// An animation from one view to another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Flight {
    from: Viewport,
    to: Viewport,
    /// Set by the first frame that shows it, so that a slow frame before does not skip it.
    began_s: Option<f64>,
}

impl Flight {
    /// Creates a flight that starts at its first frame.
    #[must_use]
    pub(crate) fn new(from: Viewport, to: Viewport) -> Self {
        Self { from, to, began_s: None }
    }

    #[must_use]
    pub(crate) fn to(&self) -> &Viewport {
        &self.to
    }

    /// Returns the view at a time, and whether the flight continues. The zoom changes by equal factors in equal times.
    /// A time with the same x in both views, such as the time under the pointer, keeps its x during the flight.
    #[must_use]
    pub(crate) fn at(&mut self, now_s: f64) -> (Viewport, bool) {
        let began_s = *self.began_s.get_or_insert(now_s);
        let part = ((now_s - began_s) / FLIGHT_SECONDS).clamp(0.0, 1.0);
        if part >= 1.0 {
            return (self.to, false);
        }
        // Fast at first, so that the user sees a reaction at once.
        let eased = 1.0 - (1.0 - part).powi(3);
        (self.from.between(&self.to, eased), true)
    }
}

/// Kinetic panning after the release of a drag.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Glide {
    /// Velocity to the right and down, in pixels per second.
    velocity_px_s: [f64; 2],
}

impl Glide {
    /// Starts panning at this velocity; `None` if it is too slow.
    #[must_use]
    pub(crate) fn new(velocity_px_s: [f64; 2]) -> Option<Self> {
        /// A pointer that the user stops before the release is slower than this.
        const MEANT_PX_S: f64 = 200.0;
        let speed = velocity_px_s[0].hypot(velocity_px_s[1]);
        (speed.is_finite() && speed >= MEANT_PX_S).then_some(Self { velocity_px_s })
    }

    /// Returns the distance moved in the next `seconds`, and whether the motion continues.
    pub(crate) fn advance(&mut self, seconds: f64) -> ([f64; 2], bool) {
        /// Time in which the speed falls to a third.
        const SLOWING_S: f64 = 0.25;
        /// A quarter of a pixel per frame at 60 frames per second, which is not visible as motion.
        const STOPPED_PX_S: f64 = 15.0;
        let left = (-seconds.clamp(0.0, 1.0) / SLOWING_S).exp();
        let way = self.velocity_px_s.map(|velocity| velocity * SLOWING_S * (1.0 - left));
        self.velocity_px_s = self.velocity_px_s.map(|velocity| velocity * left);
        (way, self.velocity_px_s[0].hypot(self.velocity_px_s[1]) > STOPPED_PX_S)
    }
}

/// The navigation history, backward and forward. An entry is a view and the state that belongs to it.
#[derive(Debug, Clone)]
pub(crate) struct History<P> {
    past: Vec<P>,
    future: Vec<P>,
    moved_s: Option<f64>,
}

impl<P> Default for History<P> {
    fn default() -> Self {
        Self { past: Vec::new(), future: Vec::new(), moved_s: None }
    }
}

impl<P: PartialEq> History<P> {
    /// Limit for the steps of the history; the oldest is dropped.
    const LENGTH_MAX: usize = 200;
    /// Movements that follow each other within this time are one step.
    const PAUSE_S: f64 = 0.8;

    /// Returns whether there is no step backward or forward.
    #[must_use]
    pub(crate) fn is_empty(&self) -> bool {
        !self.has_past() && !self.has_future()
    }

    /// Returns whether there is a step backward.
    #[must_use]
    pub(crate) fn has_past(&self) -> bool {
        !self.past.is_empty()
    }

    /// Returns whether there is a step forward.
    #[must_use]
    pub(crate) fn has_future(&self) -> bool {
        !self.future.is_empty()
    }

    /// Records that a jump leaves `before`.
    pub(crate) fn leave(&mut self, before: P) {
        if self.past.last() == Some(&before) {
            return;
        }
        if self.past.len() == Self::LENGTH_MAX {
            self.past.remove(0);
        }
        self.past.push(before);
        self.future.clear();
        self.moved_s = None;
    }

    /// Records that a movement leaves `before` at a time; one drag is many movements.
    pub(crate) fn moved(&mut self, before: P, now_s: f64) {
        if self.moved_s.is_none_or(|moved_s| now_s - moved_s > Self::PAUSE_S) {
            self.leave(before);
        }
        self.moved_s = Some(now_s);
    }

    /// Returns the entry before `now`, which becomes the next forward step.
    pub(crate) fn back(&mut self, now: P) -> Option<P> {
        let view = self.past.pop()?;
        self.future.push(now);
        self.moved_s = None;
        Some(view)
    }

    /// Returns the next forward entry.
    pub(crate) fn forward(&mut self, now: P) -> Option<P> {
        let view = self.future.pop()?;
        self.past.push(now);
        self.moved_s = None;
        Some(view)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn view(start_ns: i64, end_ns: i64) -> Viewport {
        let mut view = Viewport::covering(1_700_000_000_000_000_000, 1_700_000_100_000_000_000, 1000.0, 100.0);
        view.show_exactly(1_700_000_000_000_000_000 + start_ns, 1_700_000_000_000_000_000 + end_ns);
        view
    }

    proptest! {
        #[test]
        fn the_time_under_the_pointer_stays_there_all_the_way(
            start_ns in 20_000_000_000_i64..50_000_000_000,
            width_log2 in 12_u32..34,
            factor in prop_oneof![0.2_f64..0.9, 1.1..50.0],
            pointer_px in 0.0_f64..1000.0,
        ) {
            let from = view(start_ns, start_ns + (1 << width_log2));
            let mut to = from;
            to.zoom(factor, pointer_px);
            let ts_ns = from.time_from_x(pointer_px);
            // At the end of the trace, the pointer cannot keep its time.
            prop_assume!((to.x_from_time(ts_ns) - from.x_from_time(ts_ns)).abs() < 0.5);
            let mut flight = Flight::new(from, to);
            let tolerance_px = 0.6 + 2.0 / from.ns_per_px().min(to.ns_per_px());
            for step in 0..=10 {
                let (now, goes_on) = flight.at(7.0 + f64::from(step) * FLIGHT_SECONDS / 10.0);
                prop_assert!((now.x_from_time(ts_ns) - pointer_px).abs() < tolerance_px, "{step}: {now:?}");
                prop_assert_eq!(goes_on, step < 10);
            }
            prop_assert_eq!(flight.at(8.0).0, to);
        }
    }

    #[test]
    fn a_flight_to_the_same_zoom_moves_evenly_and_does_not_zoom() {
        let (from, to) = (view(10_000_000, 20_000_000), view(60_000_000, 70_000_000));
        let mut flight = Flight::new(from, to);
        let starts: Vec<_> = (0..5).map(|step| flight.at(f64::from(step) * 0.03).0).collect();
        assert!(starts.windows(2).all(|pair| pair[0].start_ns() < pair[1].start_ns()), "{starts:?}");
        assert!(starts.iter().all(|view| (view.ns_per_px() - from.ns_per_px()).abs() < 1e-6), "{starts:?}");
    }

    #[test]
    fn a_glide_slows_down_and_ends_and_goes_as_far_in_small_steps_as_in_large_ones() {
        assert_eq!(Glide::new([20.0, 30.0]), None);
        let way = |step_s: f64| {
            let (mut glide, mut way, mut steps) = (Glide::new([-1000.0, 0.0]).unwrap(), 0.0, 0);
            loop {
                let ([x, _], goes_on) = glide.advance(step_s);
                (way, steps) = (way + x, steps + 1);
                if !goes_on {
                    return (way, f64::from(steps) * step_s);
                }
            }
        };
        let ((fine_px, fine_s), (coarse_px, _)) = (way(0.004), way(0.05));
        assert!(fine_px < -200.0 && (fine_px - coarse_px).abs() < 5.0, "{fine_px} {coarse_px}");
        assert!(fine_s < 1.5, "{fine_s}");
    }

    #[test]
    fn one_can_go_back_through_the_views_that_were_left_and_forward_again() {
        let views: Vec<_> = (1..5).map(|n| view(n * 1000, n * 1000 + 500)).collect();
        let mut history = History::default();
        history.leave(views[0]);
        // Two movements without a pause are one step; a third after a pause is another.
        history.moved(views[1], 10.0);
        history.moved(views[2], 10.5);
        history.moved(views[2], 12.0);
        assert_eq!(history.back(views[3]), Some(views[2]));
        assert_eq!(history.back(views[2]), Some(views[1]));
        assert_eq!(history.back(views[1]), Some(views[0]));
        assert_eq!(history.back(views[0]), None);
        assert_eq!(history.forward(views[0]), Some(views[1]));
        // A new jump clears the forward steps.
        history.leave(views[1]);
        assert_eq!(history.forward(views[0]), None);
    }
}
