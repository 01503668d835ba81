//! What is written at the user's request: exports, tables, pictures. Each in the background, and none over a capture that is
//! open.

use std::path::{Path, PathBuf};

use super::App;
use crate::app::picture::TimelinePicture;
use crate::app::tasks::{self, file_name};
use crate::model::Sources;
use crate::render::GpuError;
use crate::render::readback::Pixels;
use crate::ui::picker::Purpose;
use crate::ui::{ExportFormat, PictureSize};

impl App {
    /// Writes what a file was chosen for.
    pub(super) fn write(&mut self, purpose: Purpose, path: PathBuf) {
        self.picker = None;
        match purpose {
            Purpose::Open => self.open(Sources::from(&path)),
            Purpose::Export(format) => self.export(format, path),
            Purpose::Table => {
                let tab = self.tab();
                tasks::write_text(path, tab.panels.statistics_csv(), self.shown_sources(), &tab.wake);
            }
            Purpose::Picture(size) => self.draw(size, &path),
            Purpose::WindowPicture => {
                self.set_note(format!("Drawing {}...", file_name(&path)));
                self.window_picture = Some(path);
            }
        }
    }

    fn export(&mut self, format: ExportFormat, path: PathBuf) {
        let id = self.next_task();
        let tab = &mut self.tabs[self.shown_tab];
        if let Some(capture) = &tab.capture {
            let (snapshot, sources) = (capture.timeline.snapshot().clone(), capture.sources.clone());
            let range = capture.timeline.range();
            tab.running = Some(tasks::export(id, snapshot, sources, format, range, path, &tab.wake));
        }
    }

    /// Where the frame that comes is to be written as a picture, if that was asked for; it is asked for once.
    pub fn take_window_picture(&mut self) -> Option<PathBuf> {
        self.window_picture.take()
    }

    /// Takes the picture of the window that was asked for.
    pub fn write_window_picture(&mut self, path: PathBuf, drawn: Result<Pixels, GpuError>) {
        let sources = self.shown_sources();
        let tab = self.tab_mut();
        tab.note.clear();
        match drawn {
            Ok(pixels) => tasks::write_picture(path, pixels, sources, &tab.wake),
            Err(error) => tab.message = Some(("The picture could not be drawn", error.to_string())),
        }
    }

    fn draw(&mut self, size: PictureSize, path: &Path) {
        let theme = self.theme.clone();
        let tab = self.tab_mut();
        if let Some(capture) = &tab.capture {
            let picture = TimelinePicture::of(&capture.timeline, theme, size);
            tasks::draw(path.to_owned(), picture, capture.sources.clone(), &tab.wake);
            tab.note = format!("Drawing {}...", file_name(path));
        }
    }
}
