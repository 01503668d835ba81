//! The modules of sampled code: the number of samples of each, whether its functions are resolved, and a command to
//! copy that installs missing symbols. Runs no programs.

use std::path::Path;
use std::sync::Arc;

use egui::{RichText, Role, Ui, WidgetInfo};

use super::answer_state::show_progress;
use super::dock_panel::{DockPanel, PanelTools, PanelView};
use super::head::{close_button, stop_button};
use super::number::TableNumber;
use super::table::{Rows, TABLE_ROW_POINTS, TableCell, TableView};
use super::table_column::{NUMBER_POINTS, TableColumn};
use crate::base::csv::Cells;
use crate::base::time::grouped_digits;
use crate::export::symbol_table::SymbolTable;
use crate::export::values::TableSource;
use crate::query::Snapshot;
use crate::scene::labels::shown;
use crate::symbols::report::ModuleReport;
use crate::symbols::state::NameState;
use crate::ui::command::{AppCommand, Command};
use crate::ui::command_line::PanelCommandLine;
use crate::ui::command_table::with_disabled_reason;
use crate::ui::panel::Panel;
use crate::ui::purpose::Purpose;
use crate::ui::questions::{NamedTrace, Question, QuestionKind};
use crate::ui::widgets::field;

/// Name of the table in the saved layouts.
const TABLE: &str = "symbols";

const MODULE: usize = 0;
const STATE: usize = 1;
const SAMPLES: usize = 2;
const FRAMES: usize = 3;
const NAMED: usize = 4;
const COMMAND: usize = 5;
const FILE: usize = 6;
const BUILD_ID: usize = 7;

const COLUMNS: [TableColumn; 8] = [
    TableColumn::text("File", 230.0),
    TableColumn::text("State", 96.0)
        .meaning("Whether the functions of the file have names, and the kind of file with these names."),
    TableColumn::number("Samples", NUMBER_POINTS),
    TableColumn::number("Frames", NUMBER_POINTS).meaning("Number of different addresses of the file in call stacks."),
    TableColumn::number("Frames named", 92.0).meaning("Number of these addresses whose functions have names."),
    TableColumn::text("Command", 260.0).meaning("A command that installs the missing debug file."),
    TableColumn::text("Found file", 230.0).meaning("The file that the names were read from."),
    TableColumn::text("Build-id", 120.0)
        .meaning("The identifier that the linker wrote into the file; it identifies the debug file."),
];

/// The modules of the trace, once symbols are resolved.
#[derive(Debug)]
pub(crate) struct SymbolsPanel {
    modules: Option<Arc<Vec<ModuleReport>>>,
    rows: ModuleRows,
    table: TableView,
    error: Option<String>,
    is_stopped: bool,
    /// The folder in the text field.
    folder: String,
}

impl Default for SymbolsPanel {
    fn default() -> Self {
        let table = TableView::new(TABLE, TABLE_ROW_POINTS, None);
        Self {
            modules: None,
            rows: ModuleRows::default(),
            table,
            error: None,
            is_stopped: false,
            folder: String::new(),
        }
    }
}

impl SymbolsPanel {
    /// Shows the modules of a trace.
    pub(crate) fn set_modules(&mut self, named: &NamedTrace, snapshot: &Snapshot) {
        self.rows.set_modules(&named.modules, snapshot);
        self.rows.without_module = named.without_module;
        let missing = named.missing_folder.as_ref().map(|(_, problem)| shown(problem).into_owned());
        let unused = named.unused_folder.as_ref().map(|folder| format!("nothing found in {}", folder.display()));
        self.error = missing.or_else(|| Some(shown(&unused?).into_owned()));
        (self.modules, self.is_stopped) = (Some(Arc::clone(&named.modules)), false);
    }

    /// Shows a folder in the text field.
    pub(crate) fn set_folder(&mut self, folder: &Path) {
        self.folder = folder.to_string_lossy().into_owned();
    }

    fn show_head(&mut self, ui: &mut Ui, view: &PanelView<'_>) -> Vec<Command> {
        let theme = view.context.theme;
        let mut commands = Vec::new();
        ui.horizontal(|ui| {
            ui.label(RichText::new("Symbols").strong());
            if let Some(progress) = (view.progress)(QuestionKind::Names) {
                show_progress(ui, progress, "looking up names", theme);
                commands.extend(stop_button(ui, Panel::Symbols));
            }
            let response = field::add(ui, &mut self.folder, |field| {
                let field = field.hint_text("Folder with symbols").desired_width(200.0).background_color(theme.canvas);
                // The id does not depend on the progress before it, so the field keeps the focus.
                field.id(egui::Id::unique("folder with symbols"))
            });
            response.widget_info(|| WidgetInfo::labeled(Role::TextInput, true, "Folder with symbols"));
            let is_entered = response.lost_focus() && ui.input(|input| input.key_pressed(egui::Key::Enter));
            let hint = "Searches this folder or archive first: debug files by build-id, copies of the recorded paths, plain files";
            let folder = self.folder.trim();
            let button = ui.add_enabled(!folder.is_empty(), egui::Button::new("Locate")).on_hover_text(hint);
            let disabled_reason = folder.is_empty().then_some("Type the path of a folder or an archive first, or browse");
            let is_clicked = disabled_reason.into_iter().fold(button, with_disabled_reason).clicked();
            if is_entered {
                // For the next folder.
                response.request_focus();
            }
            if (is_entered || is_clicked) && !folder.is_empty() {
                commands.push(AppCommand::LocateSymbols(folder.into()).into());
            }
            ui.menu_button("Browse", |ui| {
                let items = [("Folder...", Purpose::SymbolFolder), ("Archive...", Purpose::SymbolArchive)];
                let chosen = items.into_iter().filter(|(title, _)| ui.button(*title).clicked());
                commands.extend(chosen.map(|(_, purpose)| Command::App(AppCommand::Choose(purpose))));
            });
            ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                commands.extend(close_button(ui, Panel::Symbols));
                ui.add(egui::Label::new(RichText::new(self.rows.summary()).color(theme.weak_text)).truncate());
            });
        });
        // The error may contain a command to copy, so all of it is shown.
        if let Some(error) = &self.error {
            ui.add(egui::Label::new(RichText::new(error).color(theme.error)).wrap().selectable(true));
        }
        commands
    }

    /// Returns the reason for an empty table.
    fn absence(&self, snapshot: &Snapshot) -> Option<&'static str> {
        if snapshot.tracks().modules.is_empty() {
            return Some("No frame of this trace has an address whose name could be looked up.");
        }
        self.reason_without_names()
    }

    fn reason_without_names(&self) -> Option<&'static str> {
        match self.modules {
            Some(_) => None,
            None if self.is_stopped => Some("The lookup was stopped: functions are shown by their addresses."),
            None if self.error.is_some() => Some("The lookup has failed: functions are shown by their addresses."),
            None => Some("Names are not looked up: --no-symbols was given, or the trace is still loading."),
        }
    }
}

impl DockPanel for SymbolsPanel {
    fn show(&mut self, ui: &mut Ui, view: &PanelView<'_>) -> Vec<Command> {
        let mut commands = self.show_head(ui, view);
        let is_running = (view.progress)(QuestionKind::Names).is_some();
        let absence = self.absence(view.snapshot()).filter(|_| !is_running);
        let look = view.context.table(TABLE, absence);
        let response = self.table.show(ui, &COLUMNS, &mut self.rows, &look);
        commands.extend(response.commands);
        if let Some(row) = response.clicked {
            self.rows.chosen = Some(self.rows.line(row).report.module);
        }
        commands
    }

    fn tools(&self) -> PanelTools {
        PanelTools::ALL
    }

    fn copied(&self, _snapshot: &Snapshot, cells: Cells) -> Option<String> {
        Some(self.table.copied(&COLUMNS, &self.rows, cells))
    }

    fn to_export(&self, snapshot: &Snapshot) -> Option<Box<dyn TableSource>> {
        let modules = self.rows.lines.iter().map(|line| line.report.clone()).collect();
        Some(Box::new(SymbolTable { snapshot: snapshot.clone(), modules: Arc::new(modules) }))
    }

    fn command_line(&self) -> Option<PanelCommandLine> {
        Some(PanelCommandLine::new("symbols"))
    }

    fn forget(&mut self) -> Option<Question> {
        (self.modules, self.error, self.is_stopped) = (None, None, false);
        self.rows = ModuleRows { sorted_by: self.rows.sorted_by, ..ModuleRows::default() };
        None
    }

    fn stop(&mut self) -> &'static [QuestionKind] {
        self.is_stopped = true;
        &[QuestionKind::Names]
    }

    fn fail(&mut self, _kind: QuestionKind, message: &str) {
        if !message.is_empty() {
            (self.error, self.is_stopped) = (Some(message.to_owned()), false);
        }
    }
}

/// A module with its texts, which are computed once.
#[derive(Debug)]
struct ModuleLine {
    report: ModuleReport,
    name: String,
    state: String,
    build_id: String,
}

impl ModuleLine {
    fn new(report: &ModuleReport, snapshot: &Snapshot) -> Self {
        let module = &snapshot.tracks().modules[report.module];
        let unverified = if report.is_verified == Some(false) { ", unverified" } else { "" };
        Self {
            name: module.category.to_string(),
            state: format!("{}{unverified}", report.state.label()),
            build_id: module.build_id.as_ref().map(ToString::to_string).unwrap_or_default(),
            report: report.clone(),
        }
    }

    fn text(&self, column: usize) -> &str {
        let report = &self.report;
        match column {
            MODULE => &self.name,
            STATE => &self.state,
            COMMAND => report.command.as_deref().unwrap_or_default(),
            FILE => report.file.as_deref().unwrap_or_default(),
            BUILD_ID => &self.build_id,
            _ => "",
        }
    }

    fn number(&self, column: usize) -> Option<u64> {
        match column {
            SAMPLES => Some(self.report.samples),
            FRAMES => Some(self.report.frames),
            NAMED => Some(self.report.named),
            _ => None,
        }
    }
}

/// The rows of the table.
#[derive(Debug, Default)]
struct ModuleRows {
    lines: Vec<ModuleLine>,
    /// Number of functions that have no module.
    without_module: u64,
    sorted_by: Option<(usize, bool)>,
    /// The module of the clicked row.
    chosen: Option<usize>,
}

impl ModuleRows {
    fn set_modules(&mut self, modules: &[ModuleReport], snapshot: &Snapshot) {
        self.lines = modules.iter().map(|report| ModuleLine::new(report, snapshot)).collect();
        if let Some((column, ascending)) = self.sorted_by {
            self.sort(column, ascending);
        }
    }

    fn line(&self, row: u64) -> &ModuleLine {
        &self.lines[row as usize]
    }

    /// Returns a sentence with the number of addresses that have names, and of functions that have no address.
    fn summary(&self) -> String {
        let sum = |number: fn(&ModuleReport) -> u64| self.lines.iter().map(|line| number(&line.report)).sum::<u64>();
        let (named, frames) = (sum(|report| report.named), sum(|report| report.frames));
        if self.lines.is_empty() {
            return String::new();
        }
        let files = |is_meant: fn(&ModuleReport) -> bool, [one, more]: [&str; 2]| match self
            .lines
            .iter()
            .filter(|line| is_meant(&line.report))
            .count()
        {
            0 => String::new(),
            1 => format!("; 1 file {one}"),
            count => format!("; {count} files {more}"),
        };
        let lacking = files(|report| report.named < report.frames, ["lacks names", "lack names"]);
        let plain = files(
            |report| report.named == report.frames && report.state != NameState::Complete,
            ["has names without inlined functions", "have names without inlined functions"],
        );
        let without_module = match self.without_module {
            0 => String::new(),
            1 => "; 1 function has no file".to_owned(),
            count => format!("; {} functions have no file", grouped_digits(count)),
        };
        let replaced = match sum(|report| report.replaced) {
            0 => String::new(),
            1 => "; 1 address had several functions".to_owned(),
            count => format!("; {} addresses had several functions", grouped_digits(count)),
        };
        let [named, frames] = [named, frames].map(grouped_digits);
        format!("{named} of {frames} addresses have names{lacking}{plain}{replaced}{without_module}")
    }
}

impl Rows for ModuleRows {
    fn count(&self) -> u64 {
        self.lines.len() as u64
    }

    fn cell(&self, row: u64, column: usize) -> TableCell<'_> {
        let line = self.line(row);
        match line.number(column) {
            Some(count) => TableCell::Number(TableNumber::Count(count)),
            None if line.text(column).is_empty() => TableCell::Empty,
            None => TableCell::Text(shown(line.text(column))),
        }
    }

    fn spoken(&self, row: u64) -> String {
        let line = self.line(row);
        let command = line.report.command.as_ref().map(|command| format!(", {command}")).unwrap_or_default();
        format!("{}, {}, {} samples{command}", shown(&line.name), line.state, line.report.samples)
    }

    fn is_chosen(&self, row: u64) -> bool {
        self.chosen == Some(self.line(row).report.module)
    }

    fn sort(&mut self, column: usize, ascending: bool) {
        self.sorted_by = Some((column, ascending));
        self.lines.sort_by(|a, b| {
            let order = (a.number(column), a.text(column)).cmp(&(b.number(column), b.text(column)));
            let order = if ascending { order } else { order.reverse() };
            order.then(a.report.module.cmp(&b.report.module))
        });
    }

    fn copies_all(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_table_says_whether_the_lookup_was_stopped_or_has_failed() {
        let mut panel = SymbolsPanel::default();
        let reason = |panel: &SymbolsPanel| panel.reason_without_names().expect("a reason");
        assert!(reason(&panel).contains("not looked up"));
        panel.stop();
        panel.fail(QuestionKind::Names, "");
        assert!(reason(&panel).contains("was stopped"));
        panel.fail(QuestionKind::Names, "the disk is gone");
        assert!(reason(&panel).contains("has failed"));
        panel.forget();
        assert!(reason(&panel).contains("not looked up"));
    }
}
