//! The view of a timeline: the viewport, its animations, and the history of views with their scopes.

use egui::Ui;

use crate::scene::motion::{Flight, Glide, History};
use crate::scene::viewport::Viewport;
use crate::ui::selected_scope::SelectedScope;
use crate::ui::settings::Navigation;

/// The viewport of the scrolling rows, with everything that moves it.
pub(super) struct ViewState {
    now: Viewport,
    navigation: Navigation,
    flight: Option<Flight>,
    glide: Option<Glide>,
    /// Views with their selected scopes.
    history: History<(Viewport, SelectedScope)>,
    /// The scope of the present view.
    scope: SelectedScope,
    /// Time of the frame, in seconds.
    frame_s: f64,
    /// The range to show once the width of the canvas is known.
    to_show: Option<(i64, i64)>,
}

impl ViewState {
    pub(super) fn new(now: Viewport, navigation: Navigation) -> Self {
        let (history, scope) = (History::default(), SelectedScope::default());
        Self { now, navigation, flight: None, glide: None, history, scope, frame_s: 0.0, to_show: None }
    }

    pub(super) fn now(&self) -> &Viewport {
        &self.now
    }

    /// Returns the viewport at the end of the flight.
    pub(super) fn target(&self) -> &Viewport {
        self.flight.as_ref().map_or(&self.now, Flight::to)
    }

    pub(super) fn navigation(&self) -> Navigation {
        self.navigation
    }

    pub(super) fn set_navigation(&mut self, navigation: Navigation) {
        self.navigation = navigation;
    }

    pub(super) fn frame_s(&self) -> f64 {
        self.frame_s
    }

    /// Returns whether the view was never moved.
    pub(super) fn is_untouched(&self) -> bool {
        self.history.is_empty()
    }

    /// Returns whether there is a previous view in the history.
    pub(super) fn has_past(&self) -> bool {
        self.history.has_past()
    }

    /// Returns whether there is a next view in the history.
    pub(super) fn has_future(&self) -> bool {
        self.history.has_future()
    }

    /// Flies to a view, and records the previous one in the history. Returns whether it is another view.
    pub(super) fn jump(&mut self, to: Viewport) -> bool {
        let moves = to != *self.target();
        if moves {
            self.leave();
            self.fly(to);
        }
        moves
    }

    /// Records the present view in the history, before a jump to other rows.
    pub(super) fn leave(&mut self) {
        self.history.leave(self.history_entry());
    }

    /// Flies to a view within a longer movement, such as repeated zooming.
    pub(super) fn nudge(&mut self, to: Viewport) {
        self.history.moved(self.history_entry(), self.frame_s);
        self.fly(to);
    }

    /// Returns the view that is shown or flown to, over the present rows, with its scope.
    fn history_entry(&self) -> (Viewport, SelectedScope) {
        (self.now.with_time_of(self.target()), self.scope.clone())
    }

    /// Records a change of the scope: the previous scope enters the history with its view; successive changes are one
    /// step.
    pub(super) fn note_scope(&mut self, scope: &SelectedScope) {
        if self.scope != *scope {
            self.history.moved(self.history_entry(), self.frame_s);
            self.scope = scope.clone();
        }
    }

    /// Flies to the previous view, and returns its scroll offset and scope, if there is one.
    pub(super) fn back(&mut self) -> Option<(f64, SelectedScope)> {
        let entry = self.history.back(self.history_entry());
        self.return_to(entry)
    }

    /// Flies to the next view, and returns its scroll offset and scope, if there is one.
    pub(super) fn forward(&mut self) -> Option<(f64, SelectedScope)> {
        let entry = self.history.forward(self.history_entry());
        self.return_to(entry)
    }

    fn return_to(&mut self, entry: Option<(Viewport, SelectedScope)>) -> Option<(f64, SelectedScope)> {
        let (view, scope) = entry?;
        self.fly(view);
        self.scope = scope.clone();
        Some((view.scroll_px(), scope))
    }

    /// Follows the pointer, without an animation.
    pub(super) fn move_to(&mut self, to: Viewport, ui: &Ui) {
        if to != self.now {
            self.finish_flight();
            self.glide = None;
            self.history.moved((self.now, self.scope.clone()), self.frame_s);
            self.now = to;
            ui.ctx().request_repaint();
        }
    }

    /// Ends the flight at its target.
    pub(super) fn finish_flight(&mut self) {
        if let Some(flight) = self.flight.take() {
            self.now = self.now.with_time_of(flight.to());
        }
    }

    /// Starts kinetic panning at a velocity in pixels per second, unless it is turned off.
    pub(super) fn glide(&mut self, velocity_px: [f64; 2]) {
        if self.navigation.inertia {
            self.glide = Glide::new(velocity_px);
        }
    }

    pub(super) fn stop_glide(&mut self) {
        self.glide = None;
    }

    /// Advances animations before a frame. Returns the distance to scroll, in pixels.
    pub(super) fn advance(&mut self, ui: &Ui) -> Option<f64> {
        let (now_s, frame_s) = ui.input(|input| (input.time, f64::from(input.stable_dt)));
        self.frame_s = now_s;
        if let Some(flight) = &mut self.flight {
            let (view, goes_on) = flight.at(now_s);
            self.now = self.now.with_time_of(&view);
            if !goes_on {
                self.flight = None;
            }
            ui.ctx().request_repaint();
        }
        let glide = self.glide.as_mut()?;
        let ([right_px, down_px], goes_on) = glide.advance(frame_s.min(0.05));
        if !goes_on || ui.input(|input| input.pointer.any_down()) {
            self.glide = None;
        }
        self.now.pan(right_px);
        ui.ctx().request_repaint();
        Some(down_px)
    }

    /// Moves to a view, animated if the settings say so.
    fn fly(&mut self, to: Viewport) {
        let to = self.now.with_time_of(&to);
        self.glide = None;
        self.flight = self.navigation.animation.then(|| Flight::new(self.now, to));
        if self.flight.is_none() {
            self.now = to;
        }
    }

    /// Shows exactly `[start_ns, end_ns)`, at once.
    pub(super) fn show_exactly(&mut self, start_ns: i64, end_ns: i64) {
        self.now.show_exactly(start_ns, end_ns);
    }

    /// Shows exactly `[start_ns, end_ns)`, at once, also beyond the trace.
    pub(super) fn show_beyond(&mut self, start_ns: i64, end_ns: i64) {
        self.now.allow(start_ns, end_ns);
        self.now.show_exactly(start_ns, end_ns);
    }

    /// Shows a range once the width of the canvas is known; ignores an empty range.
    pub(super) fn show_when_sized(&mut self, start_ns: i64, end_ns: i64) {
        self.to_show = Some((start_ns, end_ns)).filter(|(start_ns, end_ns)| start_ns < end_ns);
    }

    /// Shows the range that waited for the width of the canvas.
    pub(super) fn show_waiting(&mut self) {
        if let Some((start_ns, end_ns)) = self.to_show.take() {
            self.now.show_exactly(start_ns, end_ns);
        }
    }

    /// Shows the whole trace, at once.
    pub(super) fn show_all(&mut self) {
        self.now.show_all();
    }

    /// Moves the end of the trace to the right edge, minus the margin, without animation and with the same zoom.
    pub(super) fn end_at_edge(&mut self, end_ns: i64) {
        self.glide = None;
        // The start is clamped, which puts the end at the right edge.
        self.now.start_at(end_ns);
    }

    pub(super) fn scroll(&mut self, down_px: f64, content_px: f64) {
        self.now.scroll(down_px, content_px);
    }

    pub(super) fn scroll_to(&mut self, top_px: f64, content_px: f64) {
        self.now.scroll_to(top_px, content_px);
    }

    pub(super) fn resize(&mut self, width_px: f64, height_px: f64) {
        self.now.resize(width_px, height_px);
    }

    /// Sets other bounds of the trace.
    pub(super) fn set_bounds(&mut self, start_ns: i64, end_ns: i64) {
        self.now.set_trace(start_ns, end_ns);
    }
}
