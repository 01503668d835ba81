//! How a view comes from one slice of time to another: a short flight, a glide after a drag, and the way back through
//! the views that were left. Time comes from the caller, so that tests need not wait.

use super::viewport::Viewport;

/// The duration of an animated zoom: long enough to follow, too short to wait for.
pub(crate) const FLIGHT_SECONDS: f64 = 0.12;

/// A flight from one slice of time to another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Flight {
    from: Viewport,
    to: Viewport,
    /// Set by the first frame that shows it, so that a slow frame before does not swallow it.
    began_s: Option<f64>,
}

impl Flight {
    /// A flight that begins when it is first asked.
    #[must_use]
    pub(crate) fn new(from: Viewport, to: Viewport) -> Self {
        Self { from, to, began_s: None }
    }

    #[must_use]
    pub(crate) fn to(&self) -> &Viewport {
        &self.to
    }

    /// The view at a time, and whether the flight goes on after it. The zoom changes by equal factors in equal times. A
    /// point that is in the same place at the end, such as the time under the pointer, keeps its place all the way.
    #[must_use]
    pub(crate) fn at(&mut self, now_s: f64) -> (Viewport, bool) {
        let began_s = *self.began_s.get_or_insert(now_s);
        let part = ((now_s - began_s) / FLIGHT_SECONDS).clamp(0.0, 1.0);
        if part >= 1.0 {
            return (self.to, false);
        }
        // Fast at first: the user sees at once that something happens.
        let eased = 1.0 - (1.0 - part).powi(3);
        (self.from.between(&self.to, eased), true)
    }
}

/// The movement after the release of a drag.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Glide {
    /// The velocity to the right and down, in pixels a second.
    velocity_px_s: [f64; 2],
}

impl Glide {
    /// Movement at this speed; `None` if it is too slow to be meant.
    #[must_use]
    pub(crate) fn new(velocity_px_s: [f64; 2]) -> Option<Self> {
        /// A pointer that stops before the release has a speed below this.
        const MEANT_PX_S: f64 = 200.0;
        let speed = velocity_px_s[0].hypot(velocity_px_s[1]);
        (speed.is_finite() && speed >= MEANT_PX_S).then_some(Self { velocity_px_s })
    }

    /// The distance of the next `seconds`, and whether the motion goes on after them.
    pub(crate) fn advance(&mut self, seconds: f64) -> ([f64; 2], bool) {
        /// The seconds in which the speed falls to a third.
        const SLOWING_S: f64 = 0.25;
        const STOPPED_PX_S: f64 = 15.0;
        let left = (-seconds.clamp(0.0, 1.0) / SLOWING_S).exp();
        let way = self.velocity_px_s.map(|velocity| velocity * SLOWING_S * (1.0 - left));
        self.velocity_px_s = self.velocity_px_s.map(|velocity| velocity * left);
        (way, self.velocity_px_s[0].hypot(self.velocity_px_s[1]) > STOPPED_PX_S)
    }
}

/// The places that were left, to go back to, and those that were gone back from. A place is a view,
/// and what belongs to it.
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
    /// The most views in the history.
    const LENGTH_MAX: usize = 200;
    /// Movements that follow each other within this are one.
    const PAUSE_S: f64 = 0.8;

    /// Whether there is nothing to go back to, nor forward.
    #[must_use]
    pub(crate) fn is_empty(&self) -> bool {
        self.past.is_empty() && self.future.is_empty()
    }

    /// Takes note that `before` is left by a jump.
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

    /// Notes that a drag leaves the view `before` at a time; one drag is many of these.
    pub(crate) fn moved(&mut self, before: P, now_s: f64) {
        if self.moved_s.is_none_or(|moved_s| now_s - moved_s > Self::PAUSE_S) {
            self.leave(before);
        }
        self.moved_s = Some(now_s);
    }

    /// The view before `now`, which can be gone forward to again.
    pub(crate) fn back(&mut self, now: P) -> Option<P> {
        let view = self.past.pop()?;
        self.future.push(now);
        self.moved_s = None;
        Some(view)
    }

    /// The view that was gone back from.
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
            // Where the end of the capture is reached, the pointer cannot keep its time.
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
        // Two movements without a pause are one, a third after a pause is another.
        history.moved(views[1], 10.0);
        history.moved(views[2], 10.5);
        history.moved(views[2], 12.0);
        assert_eq!(history.back(views[3]), Some(views[2]));
        assert_eq!(history.back(views[2]), Some(views[1]));
        assert_eq!(history.back(views[1]), Some(views[0]));
        assert_eq!(history.back(views[0]), None);
        assert_eq!(history.forward(views[0]), Some(views[1]));
        // A new way forgets the old one.
        history.leave(views[1]);
        assert_eq!(history.forward(views[0]), None);
    }
}
