//! The system's own file dialogs. Where there are none, says so, and the window shows its picker instead.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::tasks::{TaskEvent, Wake};
use crate::ui::picker::Purpose;

/// How a dialog ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    /// With a file, or with several to be opened together.
    Chosen(Purpose, Vec<PathBuf>),
    /// With none.
    Dismissed,
    /// There was no dialog to show.
    NoDialog(Purpose),
}

/// Sooner than this nobody closes a dialog that opens; a system without one answers in 7 to 220 ms.
const NO_HAND_IS_FASTER: Duration = Duration::from_millis(400);

/// Shows a dialog over `window` and brings the choice to the loop. Must be called on the main thread; does not wait.
///
/// The dialog library reports a missing portal, a missing session bus and a press of Cancel alike, as no file; they are told
/// apart by the time that it took.
pub fn choose(
    window: &winit::window::Window,
    purpose: Purpose,
    suggested_name: &str,
    folder: Option<PathBuf>,
    wake: &Wake,
) {
    let wake = Arc::clone(wake);
    if !has_dialogs() {
        wake(TaskEvent::Chosen(Choice::NoDialog(purpose)));
        return;
    }
    let failed = Arc::clone(&wake);
    let mut dialog = rfd::AsyncFileDialog::new().set_parent(window).set_title(purpose.title());
    if let Some(folder) = folder {
        dialog = dialog.set_directory(folder);
    }
    let spawned = match purpose {
        Purpose::Open => wait(dialog.pick_files(), purpose, wake),
        Purpose::Export(_) | Purpose::Table | Purpose::Picture(_) | Purpose::WindowPicture => {
            let file = dialog.set_file_name(suggested_name).save_file();
            wait(async { file.await.map(|file| vec![file]) }, purpose, wake)
        }
    };
    if spawned.is_err() {
        failed(TaskEvent::Chosen(Choice::NoDialog(purpose)));
    }
}

fn wait(
    dialog: impl Future<Output = Option<Vec<rfd::FileHandle>>> + Send + 'static,
    purpose: Purpose,
    wake: Wake,
) -> std::io::Result<std::thread::JoinHandle<()>> {
    let asked = Instant::now();
    std::thread::Builder::new().name("dialog".to_owned()).spawn(move || {
        let choice = match pollster::block_on(dialog) {
            Some(files) => Choice::Chosen(purpose, files.iter().map(|file| file.path().to_owned()).collect()),
            None if cfg!(target_os = "linux") && asked.elapsed() < NO_HAND_IS_FASTER => Choice::NoDialog(purpose),
            None => Choice::Dismissed,
        };
        wake(TaskEvent::Chosen(choice));
    })
}

/// Whether it is worth asking: on Linux the dialog is a service on the session bus.
fn has_dialogs() -> bool {
    if !cfg!(target_os = "linux") {
        return true;
    }
    let bus_in_runtime_folder =
        || std::env::var_os("XDG_RUNTIME_DIR").is_some_and(|folder| PathBuf::from(folder).join("bus").exists());
    std::env::var_os("DBUS_SESSION_BUS_ADDRESS").is_some() || bus_in_runtime_folder()
}
