//! The system's file dialogs. If there are none, the window shows its own picker.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::app::event::{DialogChoice, FileRequest, TaskEvent, Wake};
use crate::export::ExportFormat;
use crate::ui::purpose::Purpose;

/// No user closes a dialog this soon after it opens; a system without dialogs responds within 7 to 220 ms.
const NO_HAND_IS_FASTER: Duration = Duration::from_millis(400);

/// Shows a dialog over `window`, and sends the choice to the event loop. Must be called on the main thread; does not
/// block. The dialog library returns no file for a missing portal, a missing session bus and for Cancel; the response
/// time distinguishes them.
pub(crate) fn choose(
    window: &winit::window::Window,
    request: FileRequest,
    suggested_name: &str,
    folder: Option<PathBuf>,
    wake: &Wake,
) {
    let wake = Arc::clone(wake);
    if !has_dialogs() {
        wake(TaskEvent::Chosen(DialogChoice::NoDialog(request)));
        return;
    }
    let purpose = request.purpose;
    let failed = Arc::clone(&wake);
    let mut dialog = rfd::AsyncFileDialog::new().set_parent(window).set_title(purpose.title());
    if let Some(folder) = folder {
        dialog = dialog.set_directory(folder);
    }
    for (name, endings) in filters(purpose) {
        dialog = dialog.add_filter(name, &endings);
    }
    let spawned = match purpose {
        Purpose::Open | Purpose::Follow => wait(dialog.pick_files(), request, wake),
        Purpose::SymbolFolder => {
            let folder = dialog.pick_folder();
            wait(async { folder.await.map(|folder| vec![folder]) }, request, wake)
        }
        Purpose::SymbolArchive => {
            let file = dialog.pick_file();
            wait(async { file.await.map(|file| vec![file]) }, request, wake)
        }
        Purpose::Export(_)
        | Purpose::ExportSelected
        | Purpose::Table(_)
        | Purpose::FlameGraph(_)
        | Purpose::Picture(_)
        | Purpose::WindowPicture => {
            let file = dialog.set_file_name(suggested_name).save_file();
            wait(async { file.await.map(|file| vec![file]) }, request, wake)
        }
    };
    if spawned.is_err() {
        failed(TaskEvent::Chosen(DialogChoice::NoDialog(request)));
    }
}

/// Returns the file types that a dialog offers, each with its extensions: the selected one first.
fn filters(purpose: Purpose) -> Vec<(&'static str, Vec<&'static str>)> {
    const FORMATS: [(&str, ExportFormat); 6] = [
        ("Longspan trace", ExportFormat::NATIVE),
        ("Chrome JSON", ExportFormat::ChromeJson { gzip: false }),
        ("Compressed Chrome JSON", ExportFormat::ChromeJson { gzip: true }),
        ("Perfetto trace", ExportFormat::Perfetto),
        ("Spans as CSV", ExportFormat::CSV),
        ("Tables as Parquet", ExportFormat::Parquet { by_process: false }),
    ];
    let of_export = |chosen: ExportFormat| {
        let mut filters = FORMATS.map(|(name, format)| (name, format.endings().collect::<Vec<_>>()));
        // A stable sort: the others keep their order.
        filters.sort_by_key(|(_, endings)| endings.first() != Some(&chosen.ending()));
        filters.to_vec()
    };
    let mut filters = match purpose {
        Purpose::Open | Purpose::Follow | Purpose::SymbolFolder => return Vec::new(),
        // The last part of the extension is what all systems compare.
        Purpose::SymbolArchive => vec![("Archives", vec!["tar", "gz", "tgz", "bz2", "tbz2", "zst"])],
        Purpose::Export(format) => of_export(format),
        Purpose::ExportSelected => of_export(ExportFormat::NATIVE),
        Purpose::Table(_) => {
            vec![("Comma-separated text", vec!["csv"]), ("JSON", vec!["json"]), ("JSON lines", vec!["jsonl"])]
        }
        Purpose::FlameGraph(_) => vec![
            ("SVG image", vec!["svg"]),
            ("Folded stacks", vec!["folded"]),
            ("JSON", vec!["json"]),
            ("Profile of pprof", vec!["pb.gz", "pprof"]),
        ],
        Purpose::Picture(_) | Purpose::WindowPicture => vec![("PNG image", vec!["png"])],
    };
    filters.push(("All files", vec!["*"]));
    filters
}

fn wait(
    dialog: impl Future<Output = Option<Vec<rfd::FileHandle>>> + Send + 'static,
    request: FileRequest,
    wake: Wake,
) -> std::io::Result<std::thread::JoinHandle<()>> {
    let asked = Instant::now();
    std::thread::Builder::new().name("dialog".to_owned()).spawn(move || {
        let choice = match pollster::block_on(dialog) {
            Some(files) => DialogChoice::Chosen(request, files.iter().map(|file| file.path().to_owned()).collect()),
            None if cfg!(target_os = "linux") && asked.elapsed() < NO_HAND_IS_FASTER => DialogChoice::NoDialog(request),
            None => DialogChoice::Dismissed,
        };
        wake(TaskEvent::Chosen(choice));
    })
}

/// Returns whether dialogs may exist: on Linux they are a service on the session bus.
fn has_dialogs() -> bool {
    if !cfg!(target_os = "linux") {
        return true;
    }
    let bus_in_runtime_folder =
        || std::env::var_os("XDG_RUNTIME_DIR").is_some_and(|folder| PathBuf::from(folder).join("bus").exists());
    std::env::var_os("DBUS_SESSION_BUS_ADDRESS").is_some() || bus_in_runtime_folder()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dialog_lists_the_chosen_format_first_and_then_every_other_one() {
        let names = |purpose| filters(purpose).into_iter().map(|(name, _)| name).collect::<Vec<_>>();
        let perfetto = names(Purpose::Export(ExportFormat::Perfetto));
        assert_eq!((perfetto[0], perfetto[1], perfetto.len()), ("Perfetto trace", "Longspan trace", 7));
        let compact = filters(Purpose::Export(ExportFormat::Native { compact: true }));
        assert_eq!(compact[0], ("Longspan trace", vec!["longspan"]));
        assert_eq!(names(Purpose::WindowPicture), ["PNG image", "All files"]);
    }
}
