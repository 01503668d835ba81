//! The code panel: one function with its samples by source line or by instruction. It is opened from lists of
//! functions. Source files are read only below configured folders, which can be added here.

mod jumps;
mod rows;

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use egui::{RichText, Role, Ui, WidgetInfo};

use self::rows::{CodeRows, columns};
use super::answer_state::show_progress;
use super::dock_panel::{DockPanel, PanelTools, PanelView};
use super::elided::elided;
use super::head::{StopTexts, close_button, show_unanswered, stop_button};
use super::panel_query::PanelQuery;
use super::table::{Rows, TableView};
use crate::base::csv::Cells;
use crate::export::code_table::{CodeSide, CodeTable};
use crate::export::values::TableSource;
use crate::query::Snapshot;
use crate::scene::labels::shown;
use crate::symbols::code::choice::NoFunction;
use crate::symbols::code::listing::{FunctionCode, SourceListing};
use crate::symbols::sources::{SourceMap, SourceProblem};
use crate::ui::command::{Command, PanelCommand};
use crate::ui::command_line::PanelCommandLine;
use crate::ui::panel::Panel;
use crate::ui::questions::{CodeAnswer, CodeRequest, Question, QuestionKind, SampledFunction};
use crate::ui::selected_scope::SelectedScope;
use crate::ui::widgets::field;
use crate::ui::widgets::reading_order::on_screen;
use crate::ui::widgets::tip_text::tip_text;

/// Names of the tables in the saved layouts.
const TABLES: [&str; 2] = ["source", "assembly"];

/// Height of a row, in points.
const ROW_POINTS: f32 = 17.0;

#[derive(Debug)]
pub(crate) struct CodePanel {
    function: Option<SampledFunction>,
    side: CodeSide,
    query: PanelQuery<CodeRequest>,
    /// The scope of the code's samples.
    answered: Option<SelectedScope>,
    code: Option<Arc<FunctionCode>>,
    rows: CodeRows,
    tables: [TableView; 2],
    /// Whether each table has scrolled to the row with the most samples, which it does once per function.
    is_revealed: [bool; 2],
    /// A source folder, as typed.
    folder: String,
    source_maps: Vec<(String, SourceMap)>,
    /// The source folders of the preferences, which come after the folders added here.
    preferred: Vec<(String, Option<SourceMap>)>,
    error: Option<String>,
    /// The reason why the function has no listing.
    no_function: Option<NoFunction>,
    /// Whether the request waits for the names of functions.
    lacks_names: bool,
}

impl Default for CodePanel {
    fn default() -> Self {
        Self {
            function: None,
            side: CodeSide::default(),
            query: PanelQuery::default(),
            answered: None,
            code: None,
            rows: CodeRows::default(),
            tables: TABLES.map(|name| TableView::new(name, ROW_POINTS, None)),
            is_revealed: [false; 2],
            folder: String::new(),
            source_maps: Vec::new(),
            preferred: Vec::new(),
            error: None,
            no_function: None,
            lacks_names: false,
        }
    }
}

impl CodePanel {
    /// Shows a function. The panel queries its code when it is shown next.
    pub(crate) fn show_function(&mut self, function: SampledFunction) {
        self.function = Some(function);
    }

    /// Sets the source folders of the preferences. If they change, the panel queries the code again when it is shown
    /// next.
    pub(crate) fn set_preferred(&mut self, folders: &[String]) {
        if !self.preferred.iter().map(|(text, _)| text).eq(folders) {
            // Invalid folders are kept too, so that they are parsed once.
            self.preferred = folders.iter().map(|text| (text.clone(), SourceMap::parse(text))).collect();
        }
    }

    /// Iterates over the source folders; the folders added here come first.
    fn all_maps(&self) -> impl Iterator<Item = (&str, &SourceMap)> {
        let added = self.source_maps.iter().map(|(text, map)| (&**text, map));
        added.chain(self.preferred.iter().filter_map(|(text, map)| Some((&**text, map.as_ref()?))))
    }

    /// Sets the listing of the function, or the reason for its absence.
    pub(crate) fn set_answer(&mut self, answer: &CodeAnswer) {
        self.query.end();
        self.answered = self.query.last().map(|request| request.scope.clone());
        match &answer.code {
            Ok(code) => {
                (self.code, self.no_function) = (Some(Arc::clone(code)), None);
                self.rows.set_code(code, self.side);
            }
            Err(reason) => {
                self.clear();
                self.no_function = Some(reason.clone());
            }
        }
    }

    /// Records that code cannot be listed yet, because it is found by the names of functions.
    pub(crate) fn wait_for_names(&mut self) {
        self.lacks_names = true;
    }

    fn clear(&mut self) {
        self.code = None;
        self.rows = CodeRows::default();
        self.is_revealed = [false; 2];
    }

    /// Scrolls to the row with the most samples when the table of a function is shown first.
    fn reveal_hottest(&mut self) {
        let side = self.side as usize;
        if self.rows.count() > 0 && !std::mem::replace(&mut self.is_revealed[side], true) {
            self.rows.hottest().into_iter().for_each(|row| self.tables[side].reveal(row));
        }
    }

    fn ask(&mut self, view: &PanelView<'_>) -> Option<Command> {
        let function = self.function.clone()?;
        let source_maps = self.all_maps().map(|(_, map)| map.clone()).collect();
        let request = CodeRequest { function, scope: view.scope().clone(), source_maps };
        let is_of_other = self.query.last().is_some_and(|last| last.function != request.function);
        if !self.query.begin(&request) {
            return None;
        }
        if is_of_other {
            self.clear();
        }
        (self.error, self.no_function, self.lacks_names) = (None, None, false);
        Some(Command::Panel(PanelCommand::AskCode(Box::new(request))))
    }

    fn show_head(&mut self, ui: &mut Ui, view: &PanelView<'_>) -> Vec<Command> {
        let theme = view.context.theme;
        let mut commands = Vec::new();
        ui.horizontal(|ui| {
            ui.label(RichText::new("Code").strong());
            for (side, title) in [(CodeSide::Source, "Source"), (CodeSide::Assembly, "Assembly")] {
                if ui.selectable_value(&mut self.side, side, title).changed()
                    && let Some(code) = &self.code
                {
                    self.rows.set_code(code, side);
                }
            }
            self.show_folder(ui, view);
            self.show_unopened(ui);
            if let Some(progress) = self.query.progress((view.progress)(QuestionKind::Code)) {
                show_progress(ui, progress, "reading the code", theme);
                commands.extend(stop_button(ui, Panel::Code));
            } else {
                let texts = StopTexts { stopped: "stopped: the code is not read", repeat: "Read" };
                show_unanswered(ui, &mut self.query, texts, theme);
            }
            ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                commands.extend(close_button(ui, Panel::Code));
                let (text, color) = match (&self.error, &self.function) {
                    // Of a folder that was typed.
                    (Some(error), _) => (error.clone(), theme.error),
                    (None, Some(function)) => (self.rows.title(&function.key.name, self.side), theme.weak_text),
                    (None, None) => (String::new(), theme.weak_text),
                };
                ui.add(egui::Label::new(RichText::new(on_screen(&shown(&text))).color(color)).truncate());
            });
        });
        commands
    }

    /// Shows the field that adds a source folder.
    fn show_folder(&mut self, ui: &mut Ui, view: &PanelView<'_>) {
        let color = view.context.theme.canvas;
        let response = field::add(ui, &mut self.folder, |field| {
            field.hint_text("Folder of sources, or FROM=FOLDER").desired_width(220.0).background_color(color)
        });
        response.widget_info(|| WidgetInfo::labeled(Role::TextInput, true, "Folder of sources"));
        let is_entered = response.lost_focus() && ui.input(|input| input.key_pressed(egui::Key::Enter));
        let hint =
            "Reads source files below this folder; FROM=FOLDER replaces the prefix FROM of paths in debug information";
        let is_clicked = ui.button("Add sources").on_hover_text(hint).clicked();
        let text = self.folder.trim();
        if is_entered {
            // For the next folder, or a correction.
            response.request_focus();
        }
        if is_entered || is_clicked {
            let text = text.to_owned();
            self.add_folder(text);
        }
    }

    /// Adds a source folder, unless there is no such folder.
    fn add_folder(&mut self, text: String) {
        let Some(map) = SourceMap::parse(&text) else { return };
        self.error = map.problem();
        if self.error.is_none() {
            self.source_maps.retain(|(_, known)| *known != map);
            self.source_maps.insert(0, (text, map));
        }
    }

    /// Shows a button that adds the folder of the first file that is below no source folder.
    fn show_unopened(&mut self, ui: &mut Ui) {
        /// Widths of the button, and of what follows it on the line.
        const BUTTON_POINTS: f32 = 260.0;
        const BUTTON_POINTS_MIN: f32 = 80.0;
        const REST_POINTS: f32 = 340.0;
        let width = BUTTON_POINTS.min(ui.available_width() - REST_POINTS);
        if width < BUTTON_POINTS_MIN {
            return;
        }
        let Some(folder) = self.code.as_ref().and_then(|code| unopened_folder(code)) else { return };
        let text = format!("Show sources below {folder}");
        let font = egui::TextStyle::Button.resolve(ui.style());
        let short = elided(ui.painter(), &shown(&text), width, &font).into_owned();
        let response = ui.button(on_screen(&short));
        response.widget_info(|| WidgetInfo::labeled(Role::Button, true, shown(&text)));
        if response.on_hover_text(tip_text(&text)).clicked() {
            self.add_folder(folder);
        }
    }

    /// Returns the reason for an empty table. `is_naming` is whether the names of functions are being looked up.
    fn absence(&self, snapshot: &Snapshot, is_naming: bool) -> Option<Cow<'static, str>> {
        let reason = self.fixed_absence(snapshot, is_naming).map(Cow::Borrowed);
        reason.or_else(|| Some(Cow::Owned(self.no_function_text(self.no_function.as_ref()?))))
    }

    /// Returns the reason why the function has no listing, and the one thing to do.
    fn no_function_text(&self, reason: &NoFunction) -> String {
        let module = self.function.as_ref().and_then(|function| function.key.module.as_deref());
        match (reason, module) {
            (NoFunction::Unsampled, _) => {
                "The function has no samples here: extend the scope in time, or choose other tracks.".to_owned()
            }
            (NoFunction::Unknown, Some(module)) if is_jit_map(module) => format!(
                "The code of this function was compiled at run time and is in no file ({module} has its names only). \
                 If the program writes jitdump files, perf inject --jit adds its code to the recording."
            ),
            (NoFunction::Unknown, Some(module)) => format!(
                "The file of this function was not found, or has no symbols ({module}). \
                 Analyze > Symbols has the command that gets it."
            ),
            (NoFunction::Unknown, None) => "The file of this function was not found, or has no symbols. \
                 Analyze > Symbols lists the files and the commands that get them."
                .to_owned(),
            (NoFunction::Several(_), _) => format!("The name is ambiguous: {reason}."),
        }
    }

    /// Returns the reasons that do not depend on the function.
    fn fixed_absence(&self, snapshot: &Snapshot, is_naming: bool) -> Option<&'static str> {
        if snapshot.tracks().modules.is_empty() {
            return Some("No frame of this trace has an address, so its code is unknown.");
        }
        if self.function.is_none() {
            return Some("Choose Show code in the context menu of a function, in a table, a flame graph or a sample.");
        }
        if self.lacks_names && is_naming {
            return Some("The names of the functions are being looked up.");
        }
        if self.lacks_names {
            return Some("The names of the functions are not looked up: Locate in Analyze > Symbols looks them up.");
        }
        let code = self.code.as_ref()?;
        match (self.side, &code.assembly) {
            (CodeSide::Source, _) if code.files.is_empty() => {
                Some("No debug information has source lines of the function.")
            }
            (CodeSide::Assembly, Err(reason)) => Some(reason.message()),
            _ => None,
        }
    }

    fn table(&self) -> &TableView {
        &self.tables[self.side as usize]
    }
}

impl DockPanel for CodePanel {
    fn show(&mut self, ui: &mut Ui, view: &PanelView<'_>) -> Vec<Command> {
        let mut commands = self.show_head(ui, view);
        if let Some(ask) = self.ask(view) {
            // The next frame shows what the query waits for.
            ui.ctx().request_repaint();
            commands.push(ask);
        }
        let side = self.side as usize;
        let is_running = self.query.progress((view.progress)(QuestionKind::Code)).is_some();
        let is_naming = (view.progress)(QuestionKind::Names).is_some();
        let absence = self
            .absence(view.snapshot(), is_naming)
            .filter(|_| !is_running && self.error.is_none() && self.query.stopped().is_none());
        if absence.is_some() && self.no_function == Some(NoFunction::Unknown) && ui.link("Open Symbols").clicked() {
            commands.push(Command::Panel(PanelCommand::Show(Panel::Symbols)));
        }
        let absence = absence.map(|absence| on_screen(&shown(&absence)).into_owned());
        let look = view.context.table(TABLES[side], absence.as_deref());
        self.reveal_hottest();
        let response = self.tables[side].show(ui, columns(self.side), &mut self.rows, &look);
        commands.extend(response.commands);
        if let Some(row) = response.clicked {
            self.rows.choose(row);
        }
        commands
    }

    fn tools(&self) -> PanelTools {
        let has_code = self.code.is_some();
        PanelTools { copies: has_code, exports: has_code, has_command: self.function.is_some() }
    }

    fn is_current(&self, scope: &SelectedScope) -> bool {
        self.answered.as_ref() == Some(scope)
    }

    fn copied(&self, _snapshot: &Snapshot, cells: Cells) -> Option<String> {
        Some(self.table().copied(columns(self.side), &self.rows, cells))
    }

    fn to_export(&self, _snapshot: &Snapshot) -> Option<Box<dyn TableSource>> {
        let code = Arc::clone(self.code.as_ref()?);
        Some(Box::new(CodeTable { code, side: self.side }))
    }

    fn command_line(&self) -> Option<PanelCommandLine> {
        let function = self.function.as_ref()?;
        let mut options = Vec::new();
        if self.side == CodeSide::Assembly {
            options.push("--assembly".to_owned());
        }
        let mut option = |name: &str, value: &str| options.extend([name.to_owned(), value.to_owned()]);
        if let Some(code) = &self.code {
            option("--module", &code.module);
            option("--event", &code.event.title());
        }
        self.all_maps().for_each(|(text, _)| option("--source-map", text));
        let query = Some(function.key.name.to_string());
        Some(PanelCommandLine { options, query, ..PanelCommandLine::new("annotate") })
    }

    fn forget(&mut self) -> Option<Question> {
        (self.query, self.error) = (PanelQuery::default(), None);
        (self.no_function, self.lacks_names) = (None, false);
        self.clear();
        None
    }

    fn renew(&mut self) -> Option<Question> {
        // The listing keeps its scroll position until the next one arrives.
        self.query.renew();
        None
    }

    fn stop(&mut self) -> &'static [QuestionKind] {
        self.query.stop();
        &[QuestionKind::Code]
    }

    fn fail(&mut self, _kind: QuestionKind, message: &str) {
        self.query.fail(message);
    }
}

/// Returns whether a module is a file in which a JIT lists the names of its code for perf, such as `/tmp/perf-7.map`.
fn is_jit_map(module: &str) -> bool {
    let name = module.rsplit('/').next().unwrap_or(module);
    let id = name.strip_prefix("perf-").and_then(|rest| rest.strip_suffix(".map"));
    id.is_some_and(|id| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Returns the folder of the first source file that is below no folder of the user. Returns `None` if there is no such
/// file, or if its path cannot be typed as a folder.
fn unopened_folder(code: &FunctionCode) -> Option<String> {
    let is_unnamed = |file: &&SourceListing| matches!(file.opened, Err(SourceProblem::NotNamed));
    let folder = Path::new(&code.files.iter().find(is_unnamed)?.recorded).parent()?.to_str()?;
    // An equals sign would separate a prefix from a folder.
    (folder.starts_with('/') && !folder.contains('=')).then(|| folder.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::flame::FunctionKey;
    use crate::symbols::code::test_code::{test_code, test_sums};

    #[test]
    fn a_table_scrolls_to_its_hottest_row_once_per_function() {
        let mut panel = CodePanel::default();
        panel.reveal_hottest();
        assert_eq!(panel.is_revealed, [false; 2], "there is no row yet");
        let code = CodeAnswer { code: Ok(test_code(test_sums(3, 4)).into()) };
        for _ in 0..2 {
            panel.set_answer(&code);
            panel.reveal_hottest();
            assert_eq!(panel.is_revealed, [true, false]);
            // The trace has grown, or the scope has changed.
            panel.renew();
            assert_eq!(panel.is_revealed, [true, false]);
        }
        panel.forget();
        assert_eq!(panel.is_revealed, [false; 2]);
    }

    #[test]
    fn a_function_without_a_file_says_what_gets_it() {
        let text = |module: Option<&str>, reason| {
            let key = FunctionKey { name: "0x38b".into(), module: module.map(Into::into) };
            let mut panel = CodePanel::default();
            panel.show_function(SampledFunction { key, event: None });
            panel.set_answer(&CodeAnswer { code: Err(reason) });
            panel.no_function_text(panel.no_function.as_ref().expect("a reason"))
        };
        let file = text(Some("/usr/lib/libc.so.6"), NoFunction::Unknown);
        assert!(file.contains("(/usr/lib/libc.so.6). Analyze > Symbols"), "{file}");
        let jit = text(Some("/tmp/perf-7177.map"), NoFunction::Unknown);
        assert!(jit.contains("/tmp/perf-7177.map") && jit.contains("perf inject --jit"), "{jit}");
        assert!(text(None, NoFunction::Unknown).contains("Analyze > Symbols"));
        assert!(text(None, NoFunction::Unsampled).contains("extend the scope"));
        assert!(["perf-.map", "perf-1x.map", "libperf-1.map", "perf-1.maps"].iter().all(|name| !is_jit_map(name)));
    }

    #[test]
    fn folders_of_the_preferences_are_parsed_once_even_if_one_is_wrong() {
        let mut panel = CodePanel::default();
        let folders = ["=/x".to_owned(), "/a".to_owned()];
        panel.set_preferred(&folders);
        let shown: Vec<&str> = panel.all_maps().map(|(text, _)| text).collect();
        assert_eq!(shown, ["/a"]);
        let parsed = panel.preferred.as_ptr();
        panel.set_preferred(&folders);
        assert_eq!(panel.preferred.as_ptr(), parsed);
    }
}
