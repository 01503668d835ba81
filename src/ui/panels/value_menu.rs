//! The context menu of a value, the same in every panel. It copies the value or the key of an argument, or searches
//! for spans with the value. It also groups by the key, and shows the code of a function.

use egui::Ui;

use crate::model::NameIdx;
use crate::query::derived::DerivedKind;
use crate::query::filter::name_word;
use crate::query::groups::GroupBy;
use crate::ui::command::{AppCommand, Command, DerivedCommand, PanelCommand, ScopeCommand, TimelineCommand};
use crate::ui::panel::Panel;
use crate::ui::questions::SampledFunction;
use crate::ui::widgets::field::FIELD_BYTES_MAX;

/// A value shown by a panel.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct PanelValue {
    /// The key of an argument, such as `url`; `None` for other values.
    pub(crate) key: Option<String>,
    /// The exact value, for copying.
    pub(crate) text: String,
    /// The filter that matches spans with this value, if there is one.
    pub(crate) filter: Option<String>,
    /// The span name that is the value, or the name of the value's row.
    pub(crate) name: Option<NameIdx>,
    /// The filter that matches spans of that name in a row of a list.
    pub(crate) named: Option<String>,
    /// The function whose code can be shown, if the value is a function.
    pub(crate) function: Option<SampledFunction>,
    /// The grouping key that the value belongs to.
    pub(crate) group_by: Option<GroupBy>,
    /// The track of its sums that can be derived, if it is a number.
    pub(crate) sum: Option<DerivedKind>,
}

impl PanelValue {
    /// Creates a value without a filter.
    #[must_use]
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// Sets the key of an argument, for copying.
    #[must_use]
    pub(crate) fn with_argument(self, key: &str) -> Self {
        Self { key: Some(key.to_owned()), ..self }
    }

    /// Sets the filter that matches spans with the value.
    #[must_use]
    pub(crate) fn found_by(self, filter: String) -> Self {
        Self { filter: Some(filter), ..self }
    }

    /// Sets the function whose code can be shown.
    #[must_use]
    pub(crate) fn with_function(self, function: Option<SampledFunction>) -> Self {
        Self { function, ..self }
    }

    /// Sets the grouping key that the value belongs to.
    #[must_use]
    pub(crate) fn grouped_by(self, by: Option<GroupBy>) -> Self {
        Self { group_by: by, ..self }
    }

    /// Sets the span name of the row that the value is in.
    #[must_use]
    pub(crate) fn in_row_of(self, text: &str, name: NameIdx) -> Self {
        Self { name: Some(name), named: Some(name_word(text)), ..self }
    }

    /// Creates the value of a span name, with its filter.
    #[must_use]
    pub(crate) fn from_name(text: &str, name: NameIdx) -> Self {
        Self::new(text).found_by(name_word(text)).in_row_of(text, name)
    }
}

/// Shows the entries in an open menu, and returns the chosen commands.
pub(super) fn show(ui: &mut Ui, value: &PanelValue) -> Vec<Command> {
    let mut chosen = Vec::new();
    let mut all = |ui: &mut Ui, text: &str, commands: Vec<Command>| {
        if ui.button(text).clicked() {
            chosen = commands;
            ui.close();
        }
    };
    let mut entry = |ui: &mut Ui, text: &str, command: Command| all(ui, text, vec![command]);
    let is_name = value.function.is_some() || value.filter.is_some() && value.filter == value.named;
    let [copy, find] =
        if is_name { ["Copy name", "Search for this name"] } else { ["Copy value", "Find spans with this value"] };
    entry(ui, copy, Command::App(AppCommand::CopyText(value.text.clone())));
    if let Some(key) = &value.key {
        entry(ui, "Copy key", Command::App(AppCommand::CopyText(key.clone())));
    }
    // The field of the search would cut a longer filter.
    if let Some(filter) = value.filter.as_ref().filter(|filter| filter.len() <= FIELD_BYTES_MAX) {
        entry(ui, find, Command::Panel(PanelCommand::SearchFor(filter.clone())));
    }
    if let Some(by) = &value.group_by {
        entry(ui, "Group by this key", Command::Panel(PanelCommand::StatisticsBy(by.clone())));
    }
    if let Some(sum) = &value.sum {
        let derived = TimelineCommand::Derived(DerivedCommand::AddOfScope(sum.clone()));
        entry(ui, "Derive sum", Command::Timeline(derived));
    }
    if let Some(function) = &value.function {
        entry(ui, "Show code", Command::Panel(PanelCommand::ShowCode(Box::new(function.clone()))));
    }
    // Sampled functions have no spans to add up.
    if let Some(name) = value.name.filter(|_| value.function.is_none()) {
        entry(ui, "Statistics of this name", Command::Panel(PanelCommand::StatisticsOf(name)));
        entry(ui, "Heat map of this name", Command::Panel(PanelCommand::HeatMapOf(name)));
    }
    let is_short = |filter: &&String| value.function.is_none() && filter.len() <= FIELD_BYTES_MAX;
    if let Some(filter) = value.named.as_ref().filter(is_short) {
        let only = Command::Timeline(TimelineCommand::Scope(ScopeCommand::Filter(filter.clone())));
        all(ui, "Flame graph of this name", vec![only, Command::Panel(PanelCommand::Show(Panel::Flame))]);
    }
    chosen
}
