//! The flame graph of the selected time, or of all: call paths as bars on each other, as wide as their part of the
//! time. A click on a bar fills the width with it; the line above leads back.

use std::borrow::Cow;
use std::sync::Arc;

use egui::{Align2, ComboBox, FontId, Rect, RichText, ScrollArea, Sense, Ui, pos2, vec2};

use super::answer_state::{Exactness, show_counting, show_exactness};
use super::dock_panel::{DockPanel, PanelView};
use super::elided::{elided, tip};
use crate::base::time::{duration_text, grouped_digits};
use crate::model::sample_measure::NANOSECONDS;
use crate::query::Snapshot;
use crate::query::filter::quoted;
use crate::query::samples::SampleEvent;
use crate::query::stacks::{CallPaths, CallTree, NodeIdx};
use crate::scene::labels::{shorten_middle, shown};
use crate::scene::palette::Palette;
use crate::ui::command::{Command, PanelCommand};
use crate::ui::panel::Panel;
use crate::ui::questions::{PathsOf, Question, QuestionKind, SelectedScope};
use crate::ui::theme::{Theme, color32};
use crate::ui::widgets::reading_order::on_screen;

/// The height of a bar, in points.
const BAR_POINTS: f32 = 18.0;

/// The widest name on the way back, in points.
const STEP_POINTS: f32 = 160.0;

/// Bars narrower than this are not drawn; zooming in shows them.
const WIDTH_MIN: f32 = 1.0;

/// A flame graph of the spans or the samples of a slice of time.
#[derive(Debug, Default)]
pub(crate) struct FlamePanel {
    samples: bool,
    /// The event that the user has chosen; `None`: the default one.
    event: Option<SampleEvent>,
    /// The question that the paths answer or will answer.
    asked: Option<(SelectedScope, PathsOf)>,
    paths: Option<Arc<CallPaths>>,
    children: Vec<Vec<NodeIdx>>,
    /// The bar that fills the width.
    root: Option<NodeIdx>,
}

struct Bar {
    node: NodeIdx,
    level: usize,
    left: f32,
    right: f32,
}

impl FlamePanel {
    pub(crate) fn set_paths(&mut self, paths: &Arc<CallPaths>) {
        self.children = paths.tree.children();
        (self.paths, self.root) = (Some(Arc::clone(paths)), None);
    }

    /// Shows the graph of the selected time.
    fn show_all(&mut self, ui: &mut Ui, view: &PanelView<'_>) -> Vec<Command> {
        let (snapshot, scope, theme) = (view.snapshot(), view.scope(), view.context.theme);
        let (palette, progress) = (view.timeline.palette(), (view.progress)(QuestionKind::Paths));
        let mut commands = Vec::new();
        let has_samples = snapshot.summary().samples > 0;
        if self.asked.is_none() {
            // Who sampled wants to see that.
            self.samples = has_samples && (self.samples || snapshot.summary().spans == 0);
        }
        let of = if self.samples { PathsOf::Samples(self.event.clone()) } else { PathsOf::Spans };
        if self.asked.as_ref().is_none_or(|(asked, asked_of)| (asked, asked_of) != (scope, &of)) {
            self.asked = Some((scope.clone(), of.clone()));
            commands.push(Command::Panel(PanelCommand::Ask(Question::Paths(scope.clone(), of))));
        }
        ui.horizontal(|ui| {
            ui.label(RichText::new("Flame graph").strong());
            let filter = if scope.filter.is_empty() { "" } else { ", its filter aside" };
            let of = scope.title() + filter;
            ui.label(RichText::new(of).color(theme.weak_text));
            if has_samples {
                ui.selectable_value(&mut self.samples, false, "Spans");
                ui.selectable_value(&mut self.samples, true, "Samples");
                self.show_events(ui);
            }
            self.show_way(ui, snapshot);
            if let Some(progress) = progress {
                show_counting(ui, progress, theme);
            }
            if let Some(folded) = self.paths.as_ref().map(|paths| paths.tree.folded).filter(|folded| *folded > 0) {
                let text = format!("{} spans in paths that are too many", grouped_digits(folded));
                ui.label(RichText::new(text).color(theme.warning));
            }
            ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                if ui.button("Close").clicked() {
                    commands.push(Command::Panel(PanelCommand::Toggle(Panel::Flame)));
                }
                if progress.is_none() && self.paths.as_ref().is_some_and(|paths| paths.tree.folded == 0) {
                    show_exactness(ui, Exactness::Exact, snapshot, theme);
                }
            });
        });
        ScrollArea::vertical().id_salt("flame").auto_shrink(false).show(ui, |ui| {
            self.show_bars(ui, snapshot, (theme, palette), &mut commands);
        });
        commands
    }

    /// The choice of an event, where the samples have several: two of them are never added up.
    fn show_events(&mut self, ui: &mut Ui) {
        let Some(paths) = self.paths.as_ref().filter(|paths| self.samples && paths.events.len() > 1) else { return };
        let title = |event: &SampleEvent| on_screen(&shown(&event.title())).into_owned();
        let current = paths.event.and_then(|event| paths.events.get(event));
        let chosen = ComboBox::from_id_salt("event").selected_text(current.map(title).unwrap_or_default());
        chosen.show_ui(ui, |ui| {
            for event in &paths.events {
                if ui.selectable_label(Some(event) == current, title(event)).clicked() {
                    self.event = Some(event.clone());
                }
            }
        });
    }

    /// The bars that hold the one that fills the width: the way back.
    fn show_way(&mut self, ui: &mut Ui, snapshot: &Snapshot) {
        let (Some(paths), Some(root)) = (&self.paths, self.root) else { return };
        let tree = &paths.tree;
        let mut way = Vec::new();
        let mut node = root;
        while node != NodeIdx::ROOT {
            node = tree.nodes()[node.index()].parent;
            way.push(node);
        }
        for node in way.into_iter().rev().take(6) {
            let text = match node {
                NodeIdx::ROOT => "All".to_owned(),
                _ => shown(snapshot.names().get(tree.nodes()[node.index()].name).text).into_owned(),
            };
            let font = egui::TextStyle::Small.resolve(ui.style());
            let short = elided(ui.painter(), &text, STEP_POINTS, &font).into_owned();
            if ui.small_button(short).on_hover_text(tip(&text)).clicked() {
                self.root = Some(node).filter(|node| *node != NodeIdx::ROOT);
            }
        }
    }

    fn show_bars(
        &mut self,
        ui: &mut Ui,
        snapshot: &Snapshot,
        (theme, palette): (&Theme, &Palette),
        commands: &mut Vec<Command>,
    ) {
        let Some(paths) = self.paths.clone() else { return };
        let tree = &paths.tree;
        let width = ui.available_width();
        let bars = bars_of(tree, &self.children, self.root.unwrap_or(NodeIdx::ROOT), width);
        if bars.is_empty() {
            ui.label(RichText::new("Nothing runs here.").color(theme.weak_text));
        }
        let levels = bars.iter().map(|bar| bar.level + 1).max().unwrap_or(0);
        let (response, painter) = ui.allocate_painter(vec2(width, levels as f32 * BAR_POINTS), Sense::click());
        let origin = response.rect.min;
        let mut pointed = None;
        for bar in &bars {
            let top = origin.y + bar.level as f32 * BAR_POINTS;
            let (left, right) = (origin.x + bar.left, origin.x + (bar.right - 1.0).max(bar.left + WIDTH_MIN));
            let rect = Rect::from_min_max(pos2(left, top), pos2(right, top + BAR_POINTS - 1.0));
            let named = snapshot.names().get(tree.nodes()[bar.node.index()].name);
            let (name, color) = (shown(named.text), palette.name_color(named));
            painter.rect_filled(rect, 1.0, color32(color));
            if response.hover_pos().is_some_and(|at| rect.contains(at)) {
                pointed = Some(bar.node);
                painter.rect_stroke(rect, 1.0, egui::Stroke::new(1.0, theme.selection), egui::StrokeKind::Inside);
            }
            let font = FontId::proportional(12.0);
            let room = rect.width() - 8.0;
            let cut = painter.fonts_mut(|fonts| {
                shorten_middle(&name, room, |letter| fonts.glyph_width(&font, letter)).map(Cow::into_owned)
            });
            if let Some(text) = cut {
                let at = pos2(rect.left() + 4.0, rect.center().y);
                painter.text(at, Align2::LEFT_CENTER, on_screen(&text), font, color32(color.text_on()));
            }
        }
        response.widget_info(|| {
            egui::WidgetInfo::labeled(egui::Role::Image, true, format!("Flame graph of {} bars", bars.len()))
        });
        let Some(node) = pointed else { return };
        if response.clicked() {
            self.root = Some(node);
        }
        if response.secondary_clicked() {
            let text = snapshot.names().get(tree.nodes()[node.index()].name).text;
            commands.push(Command::Panel(PanelCommand::SearchFor(quoted(text))));
        }
        response.on_hover_text_at_pointer(describe(&paths, node, snapshot));
    }
}

impl DockPanel for FlamePanel {
    /// Drops the tree, so that the next frame asks for another.
    fn forget(&mut self) -> Option<Question> {
        *self = Self { samples: self.samples, event: self.event.take(), ..Self::default() };
        None
    }

    fn show(&mut self, ui: &mut Ui, view: &PanelView<'_>) -> Vec<Command> {
        self.show_all(ui, view)
    }
}

fn describe(paths: &CallPaths, node: NodeIdx, snapshot: &Snapshot) -> String {
    let tree = &paths.tree;
    let entry = tree.nodes()[node.index()];
    let event = paths.event.and_then(|event| paths.events.get(event));
    let amount = |weight: u64| match event.map(|event| &*event.unit) {
        None | Some(NANOSECONDS) => duration_text(weight),
        Some(unit) => format!("{} {}", grouped_digits(weight), on_screen(&shown(unit))),
    };
    let whole = tree.nodes()[0].total.max(1);
    let percent = entry.total as f64 * 100.0 / whole as f64;
    let name = shown(snapshot.names().get(entry.name).text);
    let name = on_screen(&name);
    let things = if event.is_some() { "samples end here" } else { "spans" };
    format!(
        "{name}\n{} ({percent:.1} %), by itself {}\n{} {things}\nRight click: search",
        amount(entry.total),
        amount(entry.own),
        grouped_digits(entry.count)
    )
}

/// The bars that are wide enough to be visible, from `root` downwards. The work grows with the number of these bars.
fn bars_of(tree: &CallTree, children: &[Vec<NodeIdx>], root: NodeIdx, width: f32) -> Vec<Bar> {
    let total = tree.nodes()[root.index()].total;
    if total == 0 {
        return Vec::new();
    }
    let per_weight = f64::from(width) / total as f64;
    let mut bars = Vec::new();
    let mut left = vec![(root, 0usize, 0.0f64)];
    while let Some((node, level, at)) = left.pop() {
        let wide = tree.nodes()[node.index()].total as f64 * per_weight;
        // The root of all has no name and no bar.
        let below = if node == NodeIdx::ROOT { level } else { level + 1 };
        if node != NodeIdx::ROOT {
            bars.push(Bar { node, level, left: at as f32, right: (at + wide) as f32 });
        }
        let mut at = at;
        for &child in &children[node.index()] {
            let wide = tree.nodes()[child.index()].total as f64 * per_weight;
            // From the heaviest: what follows is narrower still.
            if wide < f64::from(WIDTH_MIN) {
                break;
            }
            left.push((child, below, at));
            at += wide;
        }
    }
    bars
}
