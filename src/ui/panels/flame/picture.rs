//! Paints the bars of a flame graph that are in view.

use std::cell::Cell;
use std::sync::Arc;

use egui::{Align2, FontId, Painter, Rect, Response, Sense, Ui, pos2, vec2};

use super::amounts::{Amounts, others_text};
use super::state::{FlamePart, tree_of};
use crate::frame::lit::{Lit, LitNames, LitSpans};
use crate::query::Snapshot;
use crate::query::flame::{FlameNodeIdx, FlamePicture, FoundFunctions, FunctionIdx, Measure};
use crate::scene::color::Rgba;
use crate::scene::flame::{BarContent, BarOrder, FlameBar, FlameLayout, NamesOf};
use crate::scene::labels::{shorten_label, shown_name};
use crate::scene::palette::Palette;
use crate::ui::questions::PtrEq;
use crate::ui::theme::{LABEL_POINTS, Theme, color32};
use crate::ui::widgets::letters::letter_width;
use crate::ui::widgets::reading_order::on_screen;

/// Height of a bar, in points.
pub(super) const BAR_POINTS: f32 = 18.0;

/// Opacity of a bar that does not match the search.
const DIMMED: f32 = 0.25;

/// The property that determines the colour of a bar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum BarColor {
    /// The colours of the spans in the timeline.
    #[default]
    Name,
    Module,
    /// Its share of the whole.
    Share,
}

/// The layouts of both parts, computed again when their inputs change.
#[derive(Debug, Default)]
pub(super) struct LaidOut {
    key: Option<LayoutKey>,
    layouts: [FlameLayout; 2],
}

#[derive(Debug, Clone, PartialEq)]
struct LayoutKey {
    /// Kept alive: another picture could get its address.
    picture: PtrEq<FlamePicture>,
    roots: [FlameNodeIdx; 2],
    measure: Measure,
    order: BarOrder,
    width: f32,
}

/// The content of a picture, and how it is painted.
pub(super) struct FlameCanvas<'a> {
    pub(super) snapshot: &'a Snapshot,
    pub(super) picture: &'a Arc<FlamePicture>,
    pub(super) roots: [FlameNodeIdx; 2],
    pub(super) measure: Measure,
    pub(super) order: BarOrder,
    pub(super) color: BarColor,
    pub(super) found: Option<&'a FoundFunctions>,
    pub(super) amounts: &'a Amounts,
    pub(super) theme: &'a Theme,
    pub(super) palette: &'a Palette,
    /// Where the hovered bar puts its spans, to be lit on the tracks.
    pub(super) lit: &'a Cell<Option<Lit>>,
}

/// The bar under the pointer, and the response of the whole picture.
pub(super) struct FlameCanvasResponse {
    pub(super) response: Response,
    pub(super) pointed: Option<(FlamePart, BarContent)>,
}

impl LaidOut {
    /// Paints the bars in the available space, and returns the pointer's actions. `reveals` scrolls the function of a
    /// sandwich into view.
    pub(super) fn show(&mut self, ui: &mut Ui, canvas: &FlameCanvas<'_>, reveals: bool) -> FlameCanvasResponse {
        let width = ui.available_width();
        self.update(canvas, width);
        let rows = self.rows(canvas);
        let bars: usize = rows.iter().map(|&(part, level)| self.nodes_in(part, level)).sum();
        let (response, painter) = ui.allocate_painter(vec2(width, rows.len() as f32 * BAR_POINTS), Sense::click());
        let origin = response.rect.min;
        let row_rect = |row: usize| {
            let top = origin.y + row as f32 * BAR_POINTS;
            Rect::from_min_max(pos2(origin.x, top), pos2(origin.x + width, top + BAR_POINTS - 1.0))
        };
        if let Some(row) = rows.iter().position(|(part, _)| *part == FlamePart::Tree).filter(|_| reveals) {
            ui.scroll_to_rect(row_rect(row), Some(egui::Align::Center));
        }
        let clip = painter.clip_rect();
        let first = (((clip.top() - origin.y) / BAR_POINTS).floor().max(0.0) as usize).min(rows.len());
        let end = (((clip.bottom() - origin.y) / BAR_POINTS).ceil().max(0.0) as usize).clamp(first, rows.len());
        let mut pointed = None;
        let is_whole_sandwich =
            canvas.picture.callers.is_some() && canvas.roots[FlamePart::Tree as usize] == FlameNodeIdx::ROOT;
        for (row, &(part, level)) in rows.iter().enumerate().take(end).skip(first) {
            for bar in self.layouts[part as usize].level(level) {
                let row_area = row_rect(row);
                let left = origin.x + bar.left;
                let right = (origin.x + bar.right - 1.0).max(left + 1.0);
                let rect = Rect::from_x_y_ranges(left..=right, row_area.y_range());
                let is_pointed = response.hover_pos().is_some_and(|at| rect.contains(at));
                if is_pointed {
                    pointed = Some((part, bar.content));
                }
                canvas.paint(&painter, part, bar, rect, is_pointed);
                if (part, level) == (FlamePart::Tree, 1) && is_whole_sandwich {
                    let stroke = egui::Stroke::new(2.0, canvas.theme.text);
                    painter.rect_stroke(rect, 1.0, stroke, egui::StrokeKind::Inside);
                }
            }
        }
        response
            .widget_info(|| egui::WidgetInfo::labeled(egui::Role::Image, true, format!("Flame graph of {bars} bars")));
        if let Some(lit) = pointed.and_then(|(part, content)| canvas.lit_by(part, content)) {
            canvas.lit.set(Some(lit));
        }
        FlameCanvasResponse { response, pointed }
    }

    /// Returns whether the deepest levels were left out.
    pub(super) fn is_cut(&self) -> bool {
        self.layouts.iter().any(|layout| layout.is_cut)
    }

    fn update(&mut self, canvas: &FlameCanvas<'_>, width: f32) {
        let FlameCanvas { snapshot, picture, roots, measure, order, .. } = *canvas;
        let key = LayoutKey { picture: PtrEq(Arc::clone(picture)), roots, measure, order, width };
        if self.key.as_ref() == Some(&key) {
            return;
        }
        let text = |function: FunctionIdx| picture.functions.text(snapshot, function);
        let texts: Option<NamesOf<'_, '_>> = (order == BarOrder::ByName).then_some(&text);
        self.layouts = [FlamePart::Tree, FlamePart::Callers].map(|part| {
            let tree = tree_of(picture, part);
            tree.map(|tree| FlameLayout::new(tree, roots[part as usize], measure, width, texts)).unwrap_or_default()
        });
        self.key = Some(key);
    }

    /// Returns the part and level of each row, top to bottom: the furthest callers first. The root of a sandwich has no
    /// bar.
    fn rows(&self, canvas: &FlameCanvas<'_>) -> Vec<(FlamePart, usize)> {
        let levels = |part: FlamePart| self.layouts[part as usize].levels();
        let is_root = |part: FlamePart| canvas.roots[part as usize] == FlameNodeIdx::ROOT;
        let is_sandwich = canvas.picture.callers.is_some();
        // Below the root of the callers is the function itself, which is also in the other part.
        let first_caller = if is_root(FlamePart::Callers) { 2 } else { 0 };
        let callers = (first_caller..levels(FlamePart::Callers)).rev().map(|level| (FlamePart::Callers, level));
        let first = usize::from(is_sandwich && is_root(FlamePart::Tree));
        callers.chain((first..levels(FlamePart::Tree)).map(|level| (FlamePart::Tree, level))).collect()
    }

    /// Number of function bars in a row.
    fn nodes_in(&self, part: FlamePart, level: usize) -> usize {
        let is_function = |bar: &&FlameBar| match bar.content {
            BarContent::Node(node) => node != FlameNodeIdx::ROOT,
            BarContent::Others { .. } => false,
        };
        self.layouts[part as usize].level(level).iter().filter(is_function).count()
    }
}

impl FlameCanvas<'_> {
    /// Returns the spans of a bar's function.
    fn lit_by(&self, part: FlamePart, content: BarContent) -> Option<Lit> {
        let node = match content {
            BarContent::Node(node) if node != FlameNodeIdx::ROOT => node,
            BarContent::Node(_) | BarContent::Others { .. } => return None,
        };
        let function = tree_of(self.picture, part)?.node(node).function;
        let is_named = function != FunctionIdx::ROOT && function != FunctionIdx::OTHERS;
        let text = is_named.then(|| self.picture.functions.text(self.snapshot, function))?;
        Some(Lit::Spans(LitSpans::named(LitNames::Text(text.into()))))
    }

    fn paint(&self, painter: &Painter, part: FlamePart, bar: &FlameBar, rect: Rect, is_pointed: bool) {
        let theme = self.theme;
        let (fill, ink, text) = match (bar.content, tree_of(self.picture, part)) {
            (BarContent::Node(FlameNodeIdx::ROOT), Some(tree)) => {
                (theme.raised, theme.text, format!("all: {}", self.amounts.text(tree.node(FlameNodeIdx::ROOT).total)))
            }
            (BarContent::Node(node), Some(tree)) => {
                let function = tree.node(node).function;
                let color = self.color(function, self.measure.amount(tree.node(node).total));
                let name = shown_name(self.picture.functions.text(self.snapshot, function)).into_owned();
                let is_dim = self.found.is_some_and(|found| !found.has(function));
                let (fill, ink) = (color32(color), color32(color.text_on()));
                if is_dim {
                    (theme.canvas.lerp_to_gamma(fill, DIMMED), theme.weak_text, name)
                } else {
                    (fill, ink, name)
                }
            }
            (BarContent::Others { count, .. }, _) => (theme.header, theme.weak_text, others_text(count)),
            (BarContent::Node(_), None) => return,
        };
        painter.rect_filled(rect, 1.0, fill);
        if is_pointed {
            painter.rect_stroke(rect, 1.0, egui::Stroke::new(1.0, theme.selection), egui::StrokeKind::Inside);
        }
        let font = FontId::proportional(LABEL_POINTS);
        let room = rect.width() - 8.0;
        let cut = painter.fonts_mut(|fonts| {
            shorten_label(&text, room, |letter| letter_width(fonts, &font, letter)).map(std::borrow::Cow::into_owned)
        });
        if let Some(text) = cut {
            painter.text(pos2(rect.left() + 4.0, rect.center().y), Align2::LEFT_CENTER, on_screen(&text), font, ink);
        }
    }

    fn color(&self, function: FunctionIdx, weight: u64) -> Rgba {
        let functions = &self.picture.functions;
        match (self.color, functions.name(function)) {
            (BarColor::Name, Some(name)) => self.palette.name_color(self.snapshot.names().get(name)),
            (BarColor::Name, None) => self.palette.hashed_color(functions.text(self.snapshot, function)),
            (BarColor::Module, _) => self.palette.hashed_color(functions.module(function)),
            (BarColor::Share, _) => {
                let whole = self.measure.amount(self.picture.whole).max(1);
                let ramp = self.palette.durations();
                // The square root, so that a tenth and a hundredth look different.
                let part = (weight as f64 / whole as f64).clamp(0.0, 1.0).sqrt();
                ramp[(part * (ramp.len() - 1) as f64).round() as usize]
            }
        }
    }
}
