//! A function between its callers and callees, as other panels show it. A click on a bar selects its function.

use std::sync::Arc;

use egui::{RichText, Ui};

use super::amounts::Amounts;
use super::picture::{FlameCanvas, LaidOut};
use super::state::tree_of;
use crate::query::flame::{FlameNodeIdx, FunctionKey, Measure};
use crate::scene::flame::{BarContent, BarOrder};
use crate::ui::panels::answer_state::{show_folded, show_stopped};
use crate::ui::panels::dock_panel::PanelView;
use crate::ui::questions::FlameAnswer;

/// The picture of a function's callers and callees.
#[derive(Debug, Default)]
pub(crate) struct Sandwich {
    /// The function of the last query, and of the picture.
    function: Option<FunctionKey>,
    answer: Option<Arc<FlameAnswer>>,
    /// The message of a failed query; empty if it was cancelled.
    error: Option<String>,
    laid_out: LaidOut,
    /// Whether to scroll the function into view.
    reveals: bool,
}

/// The response of the picture to one frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SandwichResponse {
    Nothing,
    Chosen(FunctionKey),
}

impl Sandwich {
    pub(crate) fn set_answer(&mut self, answer: Arc<FlameAnswer>) {
        (self.answer, self.error, self.reveals) = (Some(answer), None, true);
    }

    /// Records a query. The picture stays until the answer if it is of the same function.
    pub(crate) fn begin(&mut self, function: &FunctionKey) {
        if self.function.as_ref() != Some(function) {
            (self.function, self.answer) = (Some(function.clone()), None);
        }
        self.error = None;
    }

    /// Shows why there is no picture.
    pub(crate) fn fail(&mut self, message: &str) {
        (self.answer, self.error) = (None, Some(message.to_owned()));
    }

    /// Shows the callers and callees of a function, or that they are queried.
    pub(crate) fn show(&mut self, ui: &mut Ui, view: &PanelView<'_>, function: &FunctionKey) -> SandwichResponse {
        // A function that was just chosen is queried in the next frame.
        let is_asked = self.function.as_ref() == Some(function);
        let Some(answer) = self.answer.clone().filter(|_| is_asked) else {
            match self.error.as_ref().filter(|_| is_asked) {
                Some(error) => {
                    let error = Some(error.as_str()).filter(|error| !error.is_empty());
                    show_stopped(ui, "stopped: click the function to count it", error, view.context.theme);
                }
                None => _ = ui.spinner(),
            }
            return SandwichResponse::Nothing;
        };
        let (snapshot, theme, picture) = (view.snapshot(), view.context.theme, &answer.picture);
        let (measure, amounts) = (Measure::Weight, Amounts::new(&answer.paths));
        show_folded(ui, picture.folded.paths, theme);
        if picture.tree.nodes()[0].total.weight == 0 {
            ui.label(RichText::new("The function has no weight here.").color(theme.weak_text));
            return SandwichResponse::Nothing;
        }
        let canvas = FlameCanvas {
            snapshot,
            picture,
            roots: [FlameNodeIdx::ROOT; 2],
            measure,
            order: BarOrder::HeaviestFirst,
            color: super::picture::BarColor::Name,
            found: None,
            amounts: &amounts,
            theme,
            palette: view.timeline.palette(),
            lit: view.context.lit,
        };
        let shown = self.laid_out.show(ui, &canvas, std::mem::take(&mut self.reveals));
        let Some((part, content)) = shown.pointed else { return SandwichResponse::Nothing };
        let function = match (content, tree_of(picture, part)) {
            (BarContent::Node(node), Some(tree)) if node != FlameNodeIdx::ROOT => Some(tree.node(node).function),
            _ => None,
        };
        let is_clicked = shown.response.clicked();
        shown.response.on_hover_text_at_pointer(amounts.describe(snapshot, picture, measure, (part, content)));
        match function.filter(|_| is_clicked) {
            Some(function) => SandwichResponse::Chosen(picture.functions.key(snapshot, function)),
            None => SandwichResponse::Nothing,
        }
    }
}
