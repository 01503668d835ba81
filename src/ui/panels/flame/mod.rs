//! The flame graph of the scope: call paths as stacked bars, as wide as their share of the whole. Top down, bottom up,
//! or a sandwich of one function; with search, edits and history.

mod amounts;
mod menu;
mod picture;
mod sandwich;
mod state;
#[cfg(test)]
mod tests;
mod tools;

use std::sync::Arc;

use egui::{RichText, ScrollArea, Ui};

use super::answer_state::{Exactness, show_exactness, show_folded, show_merged};
use super::dock_panel::{DockPanel, PanelTools, PanelView};
use super::head::{StopTexts, close_button, show_events, show_query_state, show_title_in};
use super::no_spans::{SpanView, no_spans_in_trace};
use super::panel_query::PanelQuery;
use crate::base::bounded_text::BoundedText;
use crate::base::csv::Cells;
use crate::export::flame::{FlameSource, write_folded};
use crate::model::sample_measure::{NANOSECONDS, SAMPLES};
use crate::query::Snapshot;
use crate::query::flame::{FlameNodeIdx, FlameShape, FoundFunctions, FunctionKey, Measure};
use crate::query::samples::{SampleEvent, SampleSum};
use crate::scene::flame::BarContent;
use crate::store::Summary;
use crate::ui::chrome::menu_bar;
use crate::ui::command::{COPY_BYTES_MAX, Command};
use crate::ui::command_line::PanelCommandLine;
use crate::ui::panel::Panel;
use crate::ui::questions::{FlameAnswer, PathsOf, PathsQuestion, PtrEq, Question, QuestionKind, SampledFunction};
use crate::ui::selected_scope::SelectedScope;
use crate::ui::theme::Theme;
use crate::ui::widgets::context_menu::context_menu;
pub(crate) use amounts::Amounts;
use amounts::share_text;
use menu::BarLook;
use picture::{FlameCanvas, LaidOut};
pub(crate) use sandwich::{Sandwich, SandwichResponse};
use state::{FlameHistory, FlamePart, keys_of, node_of, tree_of};

/// Below this width the toolbar is reduced.
const NARROW_POINTS: f32 = 760.0;

/// The flame graph of the spans or samples of a scope.
#[expect(clippy::struct_excessive_bools, reason = "each is a state of its own")]
#[derive(Debug, Default)]
pub(crate) struct FlamePanel {
    samples: bool,
    /// Whether the user chose samples or spans.
    chosen: Option<bool>,
    /// Whether `flame` has samples by default, so that a copied command must ask for spans.
    needs_spans_option: bool,
    /// The event chosen by the user; `None` for the default.
    event: Option<SampleEvent>,
    history: FlameHistory,
    look: BarLook,
    /// The last query, without the known paths that it was given.
    query: PanelQuery<PathsQuestion>,
    /// Whether the answer to the last query has arrived, and whether that query counts small paths too.
    is_answered: bool,
    is_exact: bool,
    answer: Option<Arc<FlameAnswer>>,
    /// Maximum width in points that a bar of the last frame may lack; `None` before the answer is drawn.
    missing_points: Option<f64>,
    /// The scope and the source of the answered paths.
    counted: Option<(SelectedScope, PathsOf)>,
    /// The scope and the source of the shown paths, perhaps of an earlier part of the trace.
    answered: Option<(SelectedScope, PathsOf)>,
    /// The shape of the answer.
    answered_shape: FlameShape,
    words: String,
    found: Option<FoundFunctions>,
    laid_out: LaidOut,
    /// The bar whose menu is open.
    menu: Option<(FlamePart, FlameNodeIdx)>,
    /// Whether to scroll the function of a sandwich into view.
    reveals: bool,
    /// Height of the bars in view in the last frame.
    height: Option<f32>,
    /// Whether functions may have other names than in the view. The next final answer decides.
    checks_names: bool,
}

impl FlamePanel {
    pub(crate) fn set_answer(&mut self, answer: &Arc<FlameAnswer>, snapshot: &Snapshot) {
        self.counted = self.query.last().map(|question| (question.scope.clone(), question.of.clone()));
        self.answered.clone_from(&self.counted);
        self.answered_shape = self.query.last().map(|question| question.view.shape.clone()).unwrap_or_default();
        (self.answer, self.is_answered, self.missing_points) = (Some(Arc::clone(answer)), true, None);
        self.menu = None;
        self.query.end();
        self.reveals = answer.picture.callers.is_some();
        if self.checks_names && answer.paths.is_final() {
            self.checks_names = false;
            self.history.current.retain_known(snapshot, answer);
        }
        self.search(snapshot);
    }

    /// Returns a panel without an answer that shows the same kind of paths in the same view.
    #[must_use]
    pub(crate) fn with_same_settings(&self) -> Self {
        let Self { samples, chosen, event, look, words, .. } = self;
        let history = FlameHistory::at(self.history.current.clone());
        let (event, words) = (event.clone(), words.clone());
        Self { samples: *samples, chosen: *chosen, event, history, look: *look, words, ..Self::default() }
    }

    /// Shows a function of samples between its callers and callees, in all paths.
    pub(crate) fn show_sandwich(&mut self, function: SampledFunction) {
        (self.samples, self.chosen, self.event) = (true, Some(true), function.event);
        self.history.set_unedited_sandwich(function.key);
    }

    /// Returns the shown graph, to be copied or exported; `None` without paths, and for a sandwich, which is two trees.
    #[must_use]
    pub(crate) fn to_export(&self, snapshot: &Snapshot) -> Option<FlameSource> {
        let FlameAnswer { paths, picture, .. } = &**self.answer.as_ref()?;
        let measure = picture.measure;
        if matches!(self.answered_shape, FlameShape::Sandwich(_)) || measure.amount(picture.tree.nodes()[0].total) == 0
        {
            return None;
        }
        let event = paths.event.and_then(|event| paths.events.get(event));
        let is_of_samples = matches!(self.answered, Some((_, PathsOf::Samples(_))));
        Some(FlameSource {
            snapshot: snapshot.clone(),
            picture: Arc::clone(picture),
            event: event.map(|event| event.name.clone()).unwrap_or_default(),
            unit: event.map_or_else(|| NANOSECONDS.into(), |event| event.unit.clone()),
            things: if is_of_samples { SAMPLES } else { "spans" },
            missing: paths.missing,
            is_inverted: self.answered_shape == FlameShape::Inverted,
        })
    }

    /// Returns the source of the paths that are to be shown.
    fn source(&self) -> PathsOf {
        if self.samples { PathsOf::Samples(self.event.clone()) } else { PathsOf::Spans }
    }

    /// Drops a graph of an earlier question, because the answer to the last question does not arrive.
    fn drop_expired(&mut self) {
        let asked = self.query.last().map(|question| (&question.scope, &question.of));
        if self.answered.as_ref().map(|(scope, of)| (scope, of)) != asked {
            (self.answer, self.counted, self.answered, self.found) = (None, None, None, None);
        }
    }

    fn search(&mut self, snapshot: &Snapshot) {
        let picture = self.answer.as_ref().map(|answer| &answer.picture);
        self.found = picture.and_then(|picture| picture.find(snapshot, &self.words));
    }

    /// Queries the paths and their view unless they are answered, and then small paths, if the answer lacks them.
    fn ask(&mut self, scope: &SelectedScope) -> Option<Command> {
        let (of, view) = (self.source(), self.history.current.view.clone());
        let question = PathsQuestion { scope: scope.clone(), of, view, known: None, is_exact: false };
        let begins = self.query.begin(&question);
        let is_pruned = self.answer.as_ref().is_some_and(|answer| !answer.paths.is_final());
        let lacks_paths = self.is_answered && is_pruned && !self.is_exact && self.query.stopped().is_none();
        if !begins && !lacks_paths {
            return None;
        }
        (self.is_answered, self.is_exact) = (false, !begins);
        let is_counted = self.counted.as_ref().is_some_and(|(known, of)| (known, of) == (scope, &question.of));
        let known = self.answer.as_ref().filter(|_| begins && is_counted);
        let known = known.map(|answer| PtrEq(Arc::clone(&answer.paths)));
        Some(Question::Paths(Box::new(PathsQuestion { known, is_exact: self.is_exact, ..question })).into())
    }

    /// Shows the graph of the scope.
    fn show_all(&mut self, ui: &mut Ui, view: &PanelView<'_>) -> Vec<Command> {
        let snapshot = view.snapshot();
        let has_samples = snapshot.summary().samples > 0;
        let mut commands = Vec::new();
        if self.query.begins_any() {
            // A trace without spans shows its samples. A trace with samples and no spans but thread states shows
            // samples first.
            let shows_samples = self.chosen.unwrap_or(self.samples || snapshot.shows_samples_first());
            self.samples = has_samples && (shows_samples || snapshot.summary().spans == 0);
            self.needs_spans_option = snapshot.shows_samples_first();
        }
        commands.extend(self.ask(view.scope()));
        ui.horizontal(|ui| self.show_head(ui, view, has_samples, &mut commands));
        // In a narrow window, the edits and the breadcrumbs take another line.
        ui.horizontal_wrapped(|ui| {
            ui.style_mut().wrap_mode = Some(egui::TextWrapMode::Extend);
            self.show_tools(ui, view, &mut commands);
        });
        // A sandwich scrolls to its function again when the panel is maximised or restored.
        let height = ui.available_height();
        if self.height.replace(height).is_some_and(|before| before != height) {
            self.reveals |= self.answer.as_ref().is_some_and(|answer| answer.picture.callers.is_some());
        }
        // A dock too low for the bars scrolls; otherwise they would be cut at the top. Each view has its own position.
        let id = ("flame", &self.history.current.view.shape);
        ScrollArea::vertical().id_salt(id).auto_shrink(false).min_scrolled_height(0.0).show(ui, |ui| {
            self.show_bars(ui, view, &mut commands);
        });
        commands
    }

    /// Shows the line with the source of the paths and the progress.
    fn show_head(&mut self, ui: &mut Ui, view: &PanelView<'_>, has_samples: bool, commands: &mut Vec<Command>) {
        let (snapshot, scope, theme) = (view.snapshot(), view.scope(), view.context.theme);
        let progress = self.query.progress((view.progress)(QuestionKind::Paths));
        show_title_in(ui, "Flame graph", view, NARROW_POINTS, |spare| view.scope_title(spare));
        if has_samples && (snapshot.summary().spans > 0 || !self.samples) {
            for (samples, title) in [(false, "Spans"), (true, "Samples")] {
                if ui.selectable_value(&mut self.samples, samples, title).clicked() {
                    self.chosen = Some(samples);
                }
            }
        }
        if let Some(answer) = self.answer.as_ref().filter(|_| has_samples && self.samples) {
            show_events(ui, &answer.paths, &mut self.event);
        }
        let stopped = if self.is_exact { "stopped: small paths are merged" } else { "stopped: not counted" };
        let texts = StopTexts { stopped, ..StopTexts::COUNT };
        commands.extend(show_query_state(ui, Panel::Flame, &mut self.query, progress, texts, theme));
        if self.is_current(scope) {
            self.show_missing(ui, theme);
        }
        let folded = self.answer.as_ref().map_or(0, |answer| answer.picture.folded.paths);
        show_folded(ui, folded, theme);
        if self.laid_out.is_cut() {
            let text = RichText::new("zoom in for deeper levels").color(theme.warning);
            ui.label(text).on_hover_text("The graph is full: zoom to a bar to see all that is below it");
        }
        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
            commands.extend(close_button(ui, Panel::Flame));
            let is_exact = self.answer.as_ref().is_some_and(|answer| answer.paths.is_exact());
            let is_stopped = self.query.stopped().is_some();
            if progress.is_none() && folded == 0 && is_exact && self.is_current(scope) && !is_stopped {
                let exactness = if self.samples { Exactness::Exact } else { Exactness::ExactPaths };
                show_exactness(ui, exactness, view);
            }
        });
    }

    /// Shows the maximum that bars may lack while small paths are not counted.
    fn show_missing(&self, ui: &mut Ui, theme: &Theme) {
        let Some(answer) = self.answer.as_ref().filter(|answer| !answer.paths.is_exact()) else { return };
        let picture = &answer.picture;
        let text = if picture.is_path_by_path {
            let Some(points) = self.missing_points else { return };
            format!("bars within {} px", points_text(points))
        } else {
            let measure = self.history.current.view.measure;
            format!("{} in merged paths", share_text(measure.amount(picture.others), measure.amount(picture.whole)))
        };
        show_merged(ui, &text, &answer.paths, "bar", theme);
    }

    /// Returns the path of the bar that fills the width. It ends with the deepest bar in the answer. Another scope may
    /// lack the rest of the path, which stays in the history for scopes that have it.
    fn root_path(&self, snapshot: &Snapshot, part: FlamePart) -> &[FunctionKey] {
        let path = &self.history.current.roots[part as usize];
        let tree = self.answer.as_ref().and_then(|answer| Some((&answer.picture, tree_of(&answer.picture, part)?)));
        let depth = tree.map(|(picture, tree)| tree.path(node_of(snapshot, picture, tree, path)).len());
        &path[..depth.unwrap_or(path.len())]
    }

    fn show_bars(&mut self, ui: &mut Ui, view: &PanelView<'_>, commands: &mut Vec<Command>) {
        let Some(answer) = self.answer.clone() else { return };
        let (snapshot, theme, picture) = (view.snapshot(), view.context.theme, &answer.picture);
        // Bars stay sorted by the measure of the answer until the next answer arrives.
        let measure = picture.measure;
        let amounts = Amounts::new(&answer.paths);
        if measure.amount(picture.tree.node(FlameNodeIdx::ROOT).total) == 0 {
            let absence = self.absence(picture.counted, &amounts, snapshot.summary(), view.scope().is_whole());
            ui.label(RichText::new(absence).color(theme.weak_text));
            return;
        }
        let roots = [FlamePart::Tree, FlamePart::Callers].map(|part| {
            let path = &self.history.current.roots[part as usize];
            tree_of(picture, part).map_or(FlameNodeIdx::ROOT, |tree| node_of(snapshot, picture, tree, path))
        });
        let root = measure.amount(picture.tree.node(roots[FlamePart::Tree as usize]).total);
        let missing = measure.amount(answer.paths.missing) as f64;
        self.missing_points = Some(missing * f64::from(ui.available_width()) / root.max(1) as f64);
        let canvas = FlameCanvas {
            snapshot,
            picture,
            roots,
            measure,
            order: self.look.order,
            color: self.look.color,
            found: self.found.as_ref(),
            amounts: &amounts,
            theme,
            palette: view.timeline.palette(),
            lit: view.context.lit,
        };
        let reveals = std::mem::take(&mut self.reveals);
        let shown = self.laid_out.show(ui, &canvas, reveals);
        let node_at = |(part, content): (FlamePart, BarContent)| match content {
            BarContent::Node(node) => (part, node),
            BarContent::Others { parent, .. } => (part, parent),
        };
        let pointed = shown.pointed.map(node_at);
        if let Some((part, node)) = pointed.filter(|_| shown.response.clicked()) {
            let tree = tree_of(picture, part);
            self.history.zoom(part, tree.map(|tree| keys_of(snapshot, picture, tree, node)).unwrap_or_default());
        }
        if shown.response.secondary_clicked() {
            self.menu = pointed.filter(|(_, node)| *node != FlameNodeIdx::ROOT);
        }
        if let Some(bar) = self.menu {
            context_menu(&shown.response).show(|ui| {
                let of = self.source();
                let history = &mut self.history;
                menu_bar::scrolled(ui, |ui| commands.extend(menu::bar_menu(ui, snapshot, picture, bar, &of, history)));
            });
        }
        if let Some(pointed) = shown.pointed {
            shown.response.on_hover_text_at_pointer(amounts.describe(snapshot, picture, measure, pointed));
        }
    }

    /// Returns the reason for an empty graph, and the one thing to do. `counted` is the sum before the edits.
    fn absence(&self, counted: SampleSum, amounts: &Amounts, summary: &Summary, is_whole: bool) -> &'static str {
        if counted.is_empty() {
            return match (self.samples, summary.spans) {
                (true, _) if is_whole => "This event has no samples.",
                (true, _) => "No samples here: extend the scope in time, or choose other tracks.",
                (false, 0) => no_spans_in_trace(summary, SpanView::FlameGraph),
                (false, _) if is_whole => "No span of the trace has a path.",
                (false, _) => "Nothing runs here: extend the scope in time, or choose other tracks.",
            };
        }
        let view = &self.history.current.view;
        if view.measure == Measure::Weight && counted.weight == 0 && amounts.has_weight() {
            return if self.samples {
                "The samples have no weight. Options > Widths: count shows how many there are."
            } else {
                "The spans take no time. Options > Widths: count shows how many there are."
            };
        }
        match view.shape {
            FlameShape::Sandwich(_) => "The function is in no path here. Back returns to the previous view.",
            FlameShape::TopDown | FlameShape::Inverted => "All paths are hidden. Back returns to the previous view.",
        }
    }
}

/// Formats points, rounded up to two significant digits.
fn points_text(points: f64) -> String {
    let hundredths = (points * 100.0).ceil();
    if hundredths < 100.0 { format!("{:.2}", hundredths / 100.0) } else { format!("{:.0}", points.ceil()) }
}

impl DockPanel for FlamePanel {
    /// Drops the answer, so that the next frame starts a query.
    fn forget(&mut self) -> Option<Question> {
        let Self { samples, chosen, event, history, look, words, .. } = std::mem::take(self);
        *self = Self { samples, chosen, event, history, look, words, checks_names: true, ..Self::default() };
        None
    }

    fn renew(&mut self) -> Option<Question> {
        // The answer lacks rows received since.
        self.counted = None;
        self.query.renew();
        None
    }

    fn stop(&mut self) -> &'static [QuestionKind] {
        self.fail(QuestionKind::Paths, "");
        &[QuestionKind::Paths]
    }

    fn fail(&mut self, _kind: QuestionKind, message: &str) {
        self.drop_expired();
        self.query.fail(message);
    }

    fn show(&mut self, ui: &mut Ui, view: &PanelView<'_>) -> Vec<Command> {
        self.show_all(ui, view)
    }

    fn tools(&self) -> PanelTools {
        let has_command = !matches!(self.history.current.view.shape, FlameShape::Sandwich(_));
        let has_paths = self.answer.is_some() && !matches!(self.answered_shape, FlameShape::Sandwich(_));
        PanelTools { copies: has_paths, exports: has_paths, has_command }
    }

    fn is_current(&self, scope: &SelectedScope) -> bool {
        self.answered.as_ref().is_some_and(|(known, of)| known == scope && *of == self.source())
    }

    fn copied(&self, snapshot: &Snapshot, _: Cells) -> Option<String> {
        let source = self.to_export(snapshot)?;
        let mut text = BoundedText::new(COPY_BYTES_MAX);
        // Writing fails only when the text is too long to be copied, which the application then says.
        write_folded(&source.graph(), &mut text).ok();
        Some(text.into_text())
    }

    fn command_line(&self) -> Option<PanelCommandLine> {
        let mut options = state::options(&self.history.current.view)?;
        if self.samples {
            options.push("--samples".to_owned());
            let event = self.answer.as_ref().and_then(|answer| answer.paths.events.get(answer.paths.event?));
            options.extend(event.into_iter().flat_map(|event| ["--event".to_owned(), event.title()]));
        } else if self.needs_spans_option {
            options.push("--spans".to_owned());
        }
        Some(PanelCommandLine { options, ..PanelCommandLine::new("flame") })
    }
}
