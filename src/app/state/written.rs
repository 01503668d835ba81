//! Tables and pictures, and the files that are chosen for them and for exports. Each is written in the background, and
//! never over an open trace.

use std::path::{Path, PathBuf};

use super::App;
use crate::app::event::FileRequest;
use crate::app::offscreen::TimelinePicture;
use crate::app::tab::{RunningWrite, TabMessage};
use crate::app::tasks::{self, file_name};
use crate::base::csv::Cells;
use crate::export::ExportFormat;
use crate::export::flame::FlameFormat;
use crate::export::format::with_ending;
use crate::export::values::ValueFormat;
use crate::render::GpuError;
use crate::render::readback::Pixels;
use crate::ui::panel::DockTab;
use crate::ui::purpose::{PictureSize, Purpose};
use crate::ui::selected_scope::SelectedScope;

/// The message for a trace that is not sorted.
pub(super) const UNSORTED: &str = "Only a completely sorted trace can be exported.";

/// The message for a long file while another is written.
pub(super) const IS_WRITING: &str = "Another file of this trace is being written. Export it again when that is done.";

/// The message for a tab that was closed while its file was chosen.
const TAB_CLOSED: &str = "The tab was closed before its file was chosen. Open its trace and export it again.";

/// The message for a panel that was closed while its file was chosen.
const CLOSED: &str = "The panel was closed before its file was chosen. Open it and export it again.";

impl App {
    /// Opens the chosen files, searches the chosen folder, or writes to the chosen file, for the tab of the dialog. The
    /// extension of a file determines its format; a name without an extension gets the default.
    pub(in crate::app) fn use_chosen(&mut self, FileRequest { purpose, tab }: FileRequest, paths: &[PathBuf]) {
        let Some(path) = paths.first().cloned() else { return };
        let at = self.position_of(tab);
        let written = match (purpose, at) {
            (Purpose::Open, _) => {
                self.open_files(paths);
                Ok(())
            }
            (Purpose::Follow, _) => {
                self.follow_files(paths);
                Ok(())
            }
            (Purpose::SymbolFolder | Purpose::SymbolArchive, at) => {
                if let Some(at) = at {
                    self.tabs[at].panels.show_symbol_folder(&path);
                    self.locate_symbols(at, &path);
                }
                Ok(())
            }
            (_, None) => Err(TAB_CLOSED.to_owned()),
            (Purpose::Export(format), Some(at)) => self.export(at, (format, SelectedScope::default()), &path),
            (Purpose::ExportSelected, Some(at)) => {
                let trace = self.tabs[at].trace.as_ref();
                let scope = trace.map(|trace| trace.timeline.scope().clone()).unwrap_or_default();
                self.export(at, (ExportFormat::NATIVE, scope), &path)
            }
            (Purpose::Table(shown), Some(at)) => self.write_table(at, shown, &path),
            (Purpose::FlameGraph(shown), Some(at)) => self.write_flame(at, shown, &path),
            (Purpose::Picture(size), Some(at)) => {
                with_extension(path, "png", IMAGES).map(|path| self.draw(at, size, &path))
            }
            (Purpose::WindowPicture, Some(at)) => with_extension(path, "png", IMAGES).map(|path| {
                self.show_tab(at);
                self.set_note(format!("Drawing {}...", file_name(&path)));
                self.window_picture = Some(path);
            }),
        };
        if let Err(message) = written {
            let tab = &mut self.tabs[at.unwrap_or(self.shown_tab)];
            tab.show_message(TabMessage::for_tab("The file could not be written", message));
        }
    }

    /// Returns the preferred format of table cells.
    pub(in crate::app) fn cells(&self) -> Cells {
        Cells { spreadsheet_safe: self.preferences.csv_safe, ..Cells::default() }
    }

    /// Writes the table of a panel. A long table is written like an export, with progress and exclusively.
    fn write_table(&mut self, at: usize, shown: DockTab, path: &Path) -> Result<(), String> {
        /// Rows that are written almost instantly.
        const SHORT_ROWS_MAX: u64 = 200_000;
        let cells = self.cells();
        let is_special = is_special(path);
        let (named, format) = match ValueFormat::for_name(path.to_owned(), cells) {
            Err(_) | Ok(_) if is_special => (path.to_owned(), ValueFormat::Csv(cells)),
            named => named.map_err(|error| error.to_string())?,
        };
        check_free(path, &named)?;
        let id = self.next_task();
        let tab = &mut self.tabs[at];
        let Some(trace) = &tab.trace else { return Ok(()) };
        let snapshot = trace.timeline.snapshot().clone();
        let Some(table) = tab.panels.table_of(shown, &trace.timeline) else {
            let uncounted = "The table has no rows of this scope yet. Export it again when they are counted.";
            return Err(if tab.panels.is_closed(shown) { CLOSED } else { uncounted }.to_owned());
        };
        let is_long = table.rows() > SHORT_ROWS_MAX;
        if is_long && tab.writing.is_some() {
            return Err(IS_WRITING.to_owned());
        }
        if is_long && !tab.can_export() {
            return Err(UNSORTED.to_owned());
        }
        let task = tasks::write_table(id, (snapshot, trace.sources.clone()), table, (named, format), &tab.wake);
        if is_long {
            tab.writing = Some(RunningWrite { task, export: None });
        } else {
            tab.short_tables.push(task);
        }
        Ok(())
    }

    /// Writes the flame graph. Its tree is bounded, so this takes at most seconds.
    fn write_flame(&mut self, at: usize, shown: DockTab, path: &Path) -> Result<(), String> {
        let (named, format) = if is_special(path) {
            (path.to_owned(), FlameFormat::Folded)
        } else {
            FlameFormat::for_name(path.to_owned()).map_err(|error| error.to_string())?
        };
        check_free(path, &named)?;
        let tab = &mut self.tabs[at];
        let Some(trace) = &tab.trace else { return Ok(()) };
        let Some(source) = tab.panels.flame_source(shown, &trace.timeline) else {
            let uncounted = "The graph has no paths of this scope yet. Export it again when they are counted.";
            return Err(if tab.panels.is_closed(shown) { CLOSED } else { uncounted }.to_owned());
        };
        if format == FlameFormat::Pprof && source.is_inverted {
            return Err("pprof files have no direction: choose Top-down, or another format.".to_owned());
        }
        tasks::write_flame((named, format), source, trace.sources.clone(), &tab.wake);
        Ok(())
    }

    /// Returns the path for a picture of the next frame, once per request.
    pub(crate) fn take_window_picture(&mut self) -> Option<PathBuf> {
        self.window_picture.take()
    }

    /// Writes the requested picture of the window.
    pub(crate) fn write_window_picture(&mut self, path: PathBuf, drawn: Result<Pixels, GpuError>) {
        let sources = self.shown_sources();
        let tab = self.tab_mut();
        tab.notes.clear();
        match drawn {
            Ok(pixels) => tasks::write_picture(path, pixels, sources, &tab.wake),
            Err(error) => tab.show_message(TabMessage::for_tab("The image could not be rendered", error.to_string())),
        }
    }

    fn draw(&mut self, at: usize, size: PictureSize, path: &Path) {
        let theme = self.theme.clone();
        let tab = &mut self.tabs[at];
        if let Some(trace) = &tab.trace {
            let picture = TimelinePicture::from_timeline(&trace.timeline, theme, size);
            tasks::draw(path.to_owned(), picture, trace.sources.clone(), &tab.wake);
            tab.notes.set(format!("Drawing {}...", file_name(path)));
        }
    }
}

/// Returns whether a path is a device or a pipe, which is written under its exact name.
pub(super) fn is_special(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir())
}

const IMAGES: &str = "Images are written as PNG";

/// Adds `ending` to a name without an extension.
fn with_extension(path: PathBuf, ending: &str, format: &str) -> Result<PathBuf, String> {
    match path.extension() {
        Some(last) if last.eq_ignore_ascii_case(ending) => Ok(path),
        _ if is_special(&path) => Ok(path),
        Some(_) => Err(format!("{}: {format}: give a name that ends in .{ending}", path.display())),
        None => {
            let named = with_ending(path.clone(), ending);
            check_free(&path, &named)?;
            Ok(named)
        }
    }
}

/// Refuses to replace a file whose name was not typed: a dialog only asks about the typed name.
pub(super) fn check_free(typed: &Path, named: &Path) -> Result<(), String> {
    if typed != named && named.exists() {
        return Err(format!("{}: already exists; type its full name to replace it", named.display()));
    }
    Ok(())
}
