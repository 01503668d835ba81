//! The heat map of the scope, or of the spans of one name in it: durations by time, with colour by count. It shows the
//! part of the scope in view. A click or a drag selects cells as the scope, and the map stays the same while these
//! cells are the scope. Partial counts are shown; the previous view is shown until the next view is counted.

mod cursor;
mod picture;
mod scope;

use std::sync::Arc;

use egui::{Label, RichText, Ui};

use self::cursor::CellHand;
use self::picture::{HeatLayout, HeatPicture};
use self::scope::CellBounds;
use super::answer_state::{Exactness, show_cut, show_exactness};
use super::dock_panel::{DockPanel, PanelTools, PanelView};
use super::head::{StopTexts, close_button, show_query_state, show_title_in};
use super::no_spans::{SpanView, no_spans_in_trace};
use super::panel_query::PanelQuery;
use crate::base::csv::Cells;
use crate::base::time::{counted, duration_text, grouped_digits};
use crate::export::heat_map_table::HeatMapTable;
use crate::export::values::TableSource;
use crate::query::Snapshot;
use crate::query::filter::name_word;
use crate::query::heat_map::{HeatMap, HeatMapAxis};
use crate::scene::clock_ruler::clock_ruler;
use crate::scene::heat_map::COLUMN_POINTS;
use crate::scene::labels::{shorten_middle, shown};
use crate::scene::ruler::ruler;
use crate::scene::viewport::Viewport;
use crate::ui::command::{COPY_BYTES_MAX, Command, PanelCommand, ScopeCommand, TimelineCommand};
use crate::ui::command_line::PanelCommandLine;
use crate::ui::panel::Panel;
use crate::ui::questions::{HeatMapQuestion, Question, QuestionKind};
use crate::ui::selected_scope::SelectedScope;
use crate::ui::theme::Theme;
use crate::ui::timeline::state::Timeline;
use crate::ui::widgets::reading_order::on_screen;
use crate::ui::widgets::tip_text::tip_text;

/// Maximum number of columns in view: beyond a few hundred, cells are too narrow to click.
const COLUMNS_MAX: f32 = 400.0;

/// If counting takes longer, a moving view is counted again once it has been still for this many seconds.
const STILL_S: f64 = 0.15;

/// Length of a name before it is shortened, in letters.
const LETTERS_MAX: f32 = 48.0;

/// Below this width the toolbar is reduced.
const NARROW_POINTS: f32 = 700.0;

/// A name to show alone.
#[derive(Debug, Clone)]
struct ChosenName {
    text: String,
    filter: Arc<str>,
}

/// Cells that were selected as the scope.
#[derive(Debug)]
struct SelectedCells {
    bounds: CellBounds,
    /// The scope of these cells.
    scope: SelectedScope,
    /// The scope of their map.
    map_scope: SelectedScope,
}

/// The map, its query, and its selection.
#[derive(Debug, Default)]
pub(crate) struct HeatMapPanel {
    name: Option<ChosenName>,
    query: PanelQuery<HeatMapQuestion>,
    /// The query of the last frame, and when it last changed.
    pending_question: Option<(HeatMapQuestion, f64)>,
    map: Option<Arc<HeatMap>>,
    /// The scope and the filter of the map.
    map_of: Option<(SelectedScope, Arc<str>)>,
    picture: HeatPicture,
    hand: CellHand,
    selected: Option<SelectedCells>,
}

impl HeatMapPanel {
    /// Shows only the spans of a name.
    pub(crate) fn choose(&mut self, name: &str) {
        self.name = Some(ChosenName { text: name.to_owned(), filter: name_word(name).into() });
        self.selected = None;
    }

    /// Returns a panel without a map that shows the spans of the same name.
    #[must_use]
    pub(crate) fn with_same_settings(&self) -> Self {
        Self { name: self.name.clone(), ..Self::default() }
    }

    pub(crate) fn set_map(&mut self, map: Arc<HeatMap>) {
        self.query.end();
        self.map = Some(map);
    }

    /// Sets a coarse map, unless the current map covers it and is at least as precise.
    pub(crate) fn set_sketch(&mut self, map: Arc<HeatMap>) {
        let has_better = self.map.as_ref().is_some_and(|known| {
            known.blur_ns <= map.blur_ns
                && known.estimated_by <= map.estimated_by
                && known.axis.start_ns() <= map.axis.start_ns()
                && known.axis.end_ns() >= map.axis.end_ns()
        });
        if !has_better {
            self.map = Some(map);
        }
    }

    /// Returns the scope of the map's spans: while cells are the scope, the scope that they were selected from.
    fn scope_of_map(&mut self, scope: &SelectedScope) -> SelectedScope {
        if self.selected.as_ref().is_some_and(|selected| selected.scope != *scope) {
            self.selected = None;
        }
        self.selected.as_ref().map_or(scope, |selected| &selected.map_scope).clone()
    }

    /// Queries the part of the scope in view, unless it was queried already. While a long query of another view runs,
    /// the view must be still first.
    fn ask(&mut self, ui: &Ui, question: HeatMapQuestion, view: &PanelView<'_>) -> Vec<Command> {
        if !self.query.must_begin(&question) {
            return Vec::new();
        }
        let now_s = ui.input(|input| input.time);
        let since_s = match &self.pending_question {
            Some((pending_question, since_s)) if *pending_question == question => *since_s,
            _ => {
                self.pending_question = Some((question.clone(), now_s));
                now_s
            }
        };
        let is_of_same =
            self.map_of.as_ref().is_some_and(|(of, more)| (of, more) == (&question.scope, &question.filter));
        if is_of_same && (view.progress)(QuestionKind::HeatMap).is_some() && now_s - since_s < STILL_S {
            ui.ctx().request_repaint_after(std::time::Duration::from_secs_f64(STILL_S));
            return Vec::new();
        }
        if !is_of_same {
            self.map = None;
            self.picture.clear();
            self.hand.forget();
            self.map_of = Some((question.scope.clone(), Arc::clone(&question.filter)));
        }
        self.query.begin(&question);
        let coarse = Question::HeatMapSketch(Box::new(question.clone()));
        [coarse, Question::HeatMap(Box::new(question))].map(Command::from).to_vec()
    }

    fn show_head(&mut self, ui: &mut Ui, view: &PanelView<'_>, scope: &SelectedScope, commands: &mut Vec<Command>) {
        let theme = view.context.theme;
        // The view of a trace that grows moves on, and its map is counted again and again.
        let is_renewed = view.timeline.is_live() && self.map.is_some() && self.is_of(scope);
        let progress = (view.progress)(QuestionKind::HeatMap).filter(|_| !is_renewed);
        show_title_in(ui, "Heat map", view, NARROW_POINTS, |spare| {
            format!("{}, the part in view", view.title_of(scope, spare))
        });
        if let Some(name) = &self.name {
            let text = shown(&name.text);
            let short = shorten_middle(&text, LETTERS_MAX, |_| 1.0).unwrap_or_default();
            ui.label(RichText::new(format!("of {}", on_screen(&short)))).on_hover_text(tip_text(&name.text));
            if ui.small_button("All names").on_hover_text("Shows the spans of every name again").clicked() {
                (self.name, self.selected) = (None, None);
            }
        }
        let texts = StopTexts { stopped: "stopped: not every span is counted", ..StopTexts::COUNT };
        commands.extend(show_query_state(ui, Panel::HeatMap, &mut self.query, progress, texts, theme));
        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
            commands.extend(close_button(ui, Panel::HeatMap));
            if let Some(map) = self.map.clone().filter(|_| self.is_of(scope)) {
                if map.blur_ns > 0 || map.estimated_by > 1 {
                    show_inexactness(ui, &map, theme);
                } else if progress.is_none() && self.query.stopped().is_none() {
                    show_exactness(ui, Exactness::Exact, view);
                }
                ui.add(Label::new(RichText::new(counted_text(&map)).color(theme.text)).truncate());
            }
        });
    }

    /// Returns the reason for an empty map, once all is counted.
    fn absence(&self, snapshot: &Snapshot) -> Option<&'static str> {
        let map = self.map.as_ref().filter(|map| map.spans == 0 && map.is_exact())?;
        let summary = snapshot.summary();
        Some(match (&self.name, summary.spans) {
            (_, 0) => no_spans_in_trace(summary, SpanView::HeatMap),
            _ if map.counted.len() < map.axis.columns() => return None,
            (Some(_), _) => "No span of this name starts here: zoom out, or take more into the scope.",
            (None, _) => "No span starts here: zoom out, or take more time, other tracks or another filter.",
        })
    }

    fn show_map(&mut self, ui: &mut Ui, view: &PanelView<'_>, scope: &SelectedScope) -> Vec<Command> {
        let (timeline, theme) = (view.timeline, view.context.theme);
        let room = ui.available_rect_before_wrap();
        let window = ui.ctx().content_rect();
        let canvas = window.left() + timeline.gutter_points()..=window.right();
        let layout = HeatLayout::new(room, *canvas.start());
        let columns = (layout.plot.width() / COLUMN_POINTS).clamp(1.0, COLUMNS_MAX) as usize;
        let in_view = times_over(timeline, &layout, &canvas);
        let axis = axis_in_view(timeline, scope, in_view, columns);
        // Cells are aligned to their time on the canvas, unless the scope is a part of the view.
        let is_part = scope.range.is_some_and(|(from_ns, to_ns)| from_ns > in_view.0 || to_ns < in_view.1);
        let screen = if is_part { axis } else { HeatMapAxis::new(in_view.0, in_view.1, columns) };
        let filter = self.name.as_ref().map_or_else(Arc::default, |name| Arc::clone(&name.filter));
        let question = HeatMapQuestion { scope: scope.clone(), filter, axis };
        let mut commands = self.ask(ui, question, view);
        let painter = ui.painter_at(room);
        picture::paint_times(&painter, &layout, &time_ticks(ui, timeline, &screen, &layout), theme);
        if let Some(absence) = self.absence(view.snapshot()) {
            let font = egui::FontId::proportional(12.0);
            painter.text(layout.plot.center(), egui::Align2::CENTER_CENTER, absence, font, theme.weak_text);
            ui.interact(layout.plot, ui.scope_id().with("no cells"), egui::Sense::hover())
                .widget_info(|| egui::WidgetInfo::labeled(egui::Role::Label, true, absence));
            return commands;
        }
        let Some(map) = self.map.clone() else { return commands };
        self.picture.update(ui, &map, &layout, theme);
        self.picture.paint(&painter, &layout, &map, &screen, theme);
        self.picture.paint_key(&painter, &layout, theme);
        let stroke = egui::Stroke::new(2.0, theme.accent);
        let selected = self.selected.as_ref().and_then(|it| self.picture.bounds_rect(&layout, &screen, &it.bounds));
        if let Some(rect) = selected {
            let clipped = painter.with_clip_rect(layout.plot.expand(2.0));
            clipped.rect_stroke(rect, 1.0, stroke, egui::StrokeKind::Outside);
        }
        let hand = self.hand.show(
            ui,
            &cursor::HandContext {
                picture: &self.picture,
                layout: &layout,
                map: &map,
                axis: &screen,
                name: self.name.as_ref().map_or("", |name| &name.text),
                timeline,
                theme,
            },
        );
        if let Some(chosen) = hand {
            commands.extend(self.select(chosen, &map, scope, timeline));
        }
        commands
    }

    /// Makes cells the scope, and performs the chosen action.
    fn select(
        &mut self,
        chosen: cursor::ChosenCells,
        map: &HeatMap,
        map_scope: &SelectedScope,
        timeline: &Timeline,
    ) -> Vec<Command> {
        let cells = &self.picture.cells;
        let (columns, rows) = (chosen.columns, chosen.rows);
        let has_all_times = columns == (0, map.axis.columns() - 1) && is_all_of(&map.axis, map_scope, timeline);
        let times_ns = (map.axis.start_of(columns.0), map.axis.start_of(columns.1 + 1));
        let durations_ns = (cells.durations(rows.0).0, cells.durations(rows.1).1);
        let bounds = CellBounds {
            times_ns: (!has_all_times).then_some(times_ns),
            durations_ns: (rows != (0, cells.rows() - 1)).then_some(durations_ns),
        };
        let more = self.name.as_ref().map_or("", |name| &name.filter);
        let scope = bounds.scope(map_scope, more, &map.axis);
        let command = Command::Timeline(TimelineCommand::Scope(ScopeCommand::Set(Box::new(scope.clone()))));
        self.selected = Some(SelectedCells { bounds, scope, map_scope: map_scope.clone() });
        let zoom = TimelineCommand::ShowSlice(times_ns.0, times_ns.1);
        let then = match chosen.action {
            cursor::CellAction::Select => None,
            cursor::CellAction::Show(panel) => Some(Command::Panel(PanelCommand::Show(panel))),
            cursor::CellAction::Zoom => return vec![Command::Timeline(zoom)],
        };
        [command].into_iter().chain(then).collect()
    }
}

/// Shows that a map is a sketch or an estimate, and how coarse it is.
fn show_inexactness(ui: &mut Ui, map: &HeatMap, theme: &Theme) {
    let (text, hint) = if map.blur_ns > 0 {
        (
            format!("coarse: starts to within {}", duration_text(map.blur_ns)),
            "From sketches: counts and durations are exact to the cell, starts to a slice of time. All spans are being \
             counted.",
        )
    } else {
        (
            format!("estimated from 1 of {} spans", grouped_digits(map.estimated_by)),
            "A sample of the rows: their times and durations are exact, and counts are scaled up. All spans are being \
             counted.",
        )
    };
    show_cut(ui, &text, theme.warning, hint);
}

/// Formats the count of a map.
fn counted_text(map: &HeatMap) -> String {
    let about = if map.is_exact() { "" } else { "about " };
    let text = format!("{about}{}", counted(map.spans, "span"));
    if map.unfinished == 0 { text } else { format!("{text}, {} without an end", grouped_digits(map.unfinished)) }
}

/// Returns the time of a scope, from its first nanosecond to the first after it.
fn times_of(scope: &SelectedScope, timeline: &Timeline) -> (i64, i64) {
    let snapshot = timeline.snapshot();
    scope.range.unwrap_or((snapshot.start_ns(), snapshot.end_ns().saturating_add(1)))
}

/// Returns the time of the canvas above the cells: its first nanosecond, and the first after it.
fn times_over(timeline: &Timeline, layout: &HeatLayout, canvas: &std::ops::RangeInclusive<f32>) -> (i64, i64) {
    let view = timeline.view();
    let px = view.width_px() / f64::from(canvas.end() - canvas.start()).max(1.0);
    let time_at = |x: f32| view.time_from_x(f64::from(x - canvas.start()) * px);
    (time_at(layout.plot.left()), time_at(layout.plot.right()).saturating_add(1))
}

/// Returns the part of a scope in view as columns; the whole scope if none of it is in view.
fn axis_in_view(timeline: &Timeline, scope: &SelectedScope, in_view: (i64, i64), columns: usize) -> HeatMapAxis {
    let (first_ns, end_ns) = times_of(scope, timeline);
    let (from_ns, to_ns) = (in_view.0.max(first_ns), in_view.1.min(end_ns));
    if from_ns < to_ns {
        HeatMapAxis::new(from_ns, to_ns, columns)
    } else {
        HeatMapAxis::new(first_ns, end_ns, columns)
    }
}

/// Returns whether an axis covers the whole scope.
fn is_all_of(axis: &HeatMapAxis, scope: &SelectedScope, timeline: &Timeline) -> bool {
    let (first_ns, end_ns) = times_of(scope, timeline);
    axis.start_ns() <= first_ns && axis.end_ns() >= end_ns
}

/// Returns the ruler ticks of an axis: x and label of each.
fn time_ticks(ui: &Ui, timeline: &Timeline, axis: &HeatMapAxis, layout: &HeatLayout) -> Vec<(f32, String)> {
    let digit = ui.fonts_mut(|fonts| fonts.glyph_width(&egui::FontId::proportional(11.0), '0'));
    let mut view = Viewport::covering(axis.start_ns(), axis.end_ns(), f64::from(layout.plot.width()), 100.0);
    view.show_exactly(axis.start_ns(), axis.end_ns());
    let ruler = match timeline.ruler_utc_offset_ns() {
        Some(offset_ns) => clock_ruler(&view, offset_ns, digit.into()),
        None => ruler(&view, timeline.origin_ns(), digit.into()),
    };
    let base = (!ruler.base.is_empty()).then(|| (layout.plot.left(), ruler.base.clone()));
    let ticks = ruler.ticks.into_iter().map(|tick| (layout.x_of(axis, tick.ts_ns), tick.label));
    base.into_iter().chain(ticks).collect()
}

impl DockPanel for HeatMapPanel {
    fn show(&mut self, ui: &mut Ui, view: &PanelView<'_>) -> Vec<Command> {
        let mut commands = Vec::new();
        let scope = self.scope_of_map(view.scope());
        ui.horizontal(|ui| self.show_head(ui, view, &scope, &mut commands));
        commands.extend(self.show_map(ui, view, &scope));
        commands
    }

    fn tools(&self) -> PanelTools {
        let has_cells = self.map.as_ref().is_some_and(|map| map.is_exact());
        PanelTools { copies: has_cells, exports: has_cells, has_command: has_cells }
    }

    fn is_current(&self, scope: &SelectedScope) -> bool {
        let selected = self.selected.as_ref().filter(|selected| selected.scope == *scope);
        self.is_of(selected.map_or(scope, |selected| &selected.map_scope))
    }

    fn copied(&self, _snapshot: &Snapshot, cells: Cells) -> Option<String> {
        // Numbers contain neither blanks nor commas.
        Some(self.table()?.to_csv(cells, COPY_BYTES_MAX).replace(',', "\t"))
    }

    fn to_export(&self, _snapshot: &Snapshot) -> Option<Box<dyn TableSource>> {
        Some(Box::new(self.table()?))
    }

    fn command_line(&self) -> Option<PanelCommandLine> {
        let (map, question) = (self.map.as_ref()?, self.query.last()?);
        let rows = 1 << self.picture.cells.octave_log2();
        let range = Some((map.axis.start_ns(), map.axis.end_ns()));
        let scope = Some(SelectedScope { range, ..question.scope.with_more(&question.filter) });
        let options = vec![format!("--heat-map={}x{rows}", map.axis.columns())];
        Some(PanelCommandLine { options, scope, ..PanelCommandLine::new("stats") })
    }

    fn forget(&mut self) -> Option<Question> {
        *self = self.with_same_settings();
        None
    }

    fn renew(&mut self) -> Option<Question> {
        self.query.renew();
        self.pending_question = None;
        None
    }

    fn stop(&mut self) -> &'static [QuestionKind] {
        self.query.stop();
        &[QuestionKind::HeatMap, QuestionKind::HeatMapSketch]
    }

    fn fail(&mut self, kind: QuestionKind, message: &str) {
        if kind == QuestionKind::HeatMap {
            self.query.fail(message);
        }
    }
}

impl HeatMapPanel {
    /// Returns whether the map is of a scope and of the chosen name.
    fn is_of(&self, map_scope: &SelectedScope) -> bool {
        let name = self.name.as_ref().map_or("", |name| &*name.filter);
        self.map_of.as_ref().is_some_and(|(of, more)| of == map_scope && **more == *name)
    }

    fn table(&self) -> Option<HeatMapTable> {
        let map = self.map.clone().filter(|map| map.is_exact())?;
        Some(HeatMapTable { map, cells: Arc::clone(&self.picture.cells) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reopened_map_is_of_the_name_of_the_pinned_one() {
        let mut panel = HeatMapPanel::default();
        panel.choose("draw");
        panel.set_map(Arc::new(HeatMap::empty(HeatMapAxis::new(0, 100, 10))));
        let reopened = panel.with_same_settings();
        assert!(reopened.map.is_none());
        assert_eq!(reopened.name.map(|name| name.text), Some("draw".to_owned()));
    }

    #[test]
    fn a_map_survives_the_growth_of_its_trace_but_not_another_trace() {
        let mut panel = HeatMapPanel::default();
        panel.choose("draw");
        panel.set_map(Arc::new(HeatMap::empty(HeatMapAxis::new(0, 100, 10))));
        assert_eq!(panel.renew(), None);
        assert!(panel.map.is_some());
        assert_eq!(panel.forget(), None);
        assert!(panel.map.is_none());
        assert_eq!(panel.name.as_ref().map(|name| &*name.text), Some("draw"), "a setting of the panel");
    }
}
