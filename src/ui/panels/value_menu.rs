//! The menu of a value: the same gestures in every panel. A right click copies the value or its key, or finds the spans
//! that have it, or adds up spans by its key; the code of a function is looked at.

use egui::Ui;

use crate::model::NameIdx;
use crate::query::filter::quoted;
use crate::query::groups::GroupBy;
use crate::ui::command::{AppCommand, Command, PanelCommand};
use crate::ui::questions::SampledFunction;

/// A value that a panel shows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct PanelValue {
    /// The column or the argument, such as `Duration` or `url`.
    pub(crate) key: String,
    /// The exact value as it is copied.
    pub(crate) text: String,
    /// The filter that the spans with this value pass; `None` where no filter can say it.
    pub(crate) filter: Option<String>,
    /// The name of spans, where the value is one.
    pub(crate) name: Option<NameIdx>,
    /// The function whose code can be looked at, where the value is one.
    pub(crate) function: Option<SampledFunction>,
    /// The keys of the groups whose values this is one of.
    pub(crate) group_by: Option<GroupBy>,
}

impl PanelValue {
    /// A value that no filter finds.
    #[must_use]
    pub(crate) fn new(key: &str, text: impl Into<String>) -> Self {
        Self { key: key.to_owned(), text: text.into(), ..Self::default() }
    }

    /// A value that spans have if they pass this filter.
    #[must_use]
    pub(crate) fn found_by(self, filter: String) -> Self {
        Self { filter: Some(filter), ..self }
    }

    /// A function of samples.
    #[must_use]
    pub(crate) fn of_function(self, function: Option<SampledFunction>) -> Self {
        Self { function, ..self }
    }

    /// A value of the key of groups.
    #[must_use]
    pub(crate) fn grouped_by(self, by: Option<GroupBy>) -> Self {
        Self { group_by: by, ..self }
    }

    /// The name of some spans, with the filter that finds them.
    #[must_use]
    pub(crate) fn from_name(text: &str, name: NameIdx) -> Self {
        Self { name: Some(name), ..Self::new("Name", text).found_by(quoted(text)) }
    }
}

/// Shows the entries in a menu that is open, and returns the one that was chosen.
pub(super) fn show(ui: &mut Ui, value: &PanelValue) -> Option<Command> {
    let mut chosen = None;
    let mut entry = |ui: &mut Ui, text: &str, command: Command| {
        if ui.button(text).clicked() {
            chosen = Some(command);
            ui.close();
        }
    };
    entry(ui, "Copy value", Command::App(AppCommand::CopyText(value.text.clone())));
    entry(ui, "Copy key", Command::App(AppCommand::CopyText(value.key.clone())));
    if let Some(filter) = &value.filter {
        entry(ui, "Find spans with this value", Command::Panel(PanelCommand::SearchFor(filter.clone())));
    }
    if let Some(by) = &value.group_by {
        entry(ui, "Group by this key", Command::Panel(PanelCommand::StatisticsBy(by.clone())));
    }
    if let Some(function) = &value.function {
        entry(ui, "Show code", Command::Panel(PanelCommand::ShowCode(Box::new(function.clone()))));
    }
    if let Some(name) = value.name {
        entry(ui, "Statistics of this name", Command::Panel(PanelCommand::StatisticsOf(name)));
        entry(ui, "Heat map of this name", Command::Panel(PanelCommand::HeatMapOf(name)));
    }
    chosen
}
