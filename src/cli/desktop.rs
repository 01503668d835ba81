//! `longspan --install-desktop`: makes this user's desktop open traces on a double click; can be undone. Writes only
//! below the user's data folder of freedesktop.org; needs no privileges.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::error::CliError;
use super::stdout::to_stdout;
use crate::base::disk::SystemDisk;
use crate::base::escape::escaped;
use crate::base::{folders, replace};

/// The icon of the program.
const ICON: &str = include_str!("../../assets/longspan.svg");

/// The icon of trace files.
const FILE_ICON: &str = include_str!("../../assets/longspan-trace.svg");

/// The desktop entry as in packages, where the program is found by its name.
const ENTRY: &str = include_str!("../../assets/longspan.desktop");

/// The line of [`ENTRY`] with the command.
const START: &str = "Exec=longspan %F";

/// MIME types of file types that no other program owns: by file extensions, and the native format by its magic.
const KINDS: &str = include_str!("../../assets/longspan.xml");

/// The folders and files that an installation writes.
struct InstalledFiles {
    desktop: PathBuf,
    mime: PathBuf,
    icon: PathBuf,
    file_icon: PathBuf,
    /// The list that the desktop builds from the entries of all programs.
    cache: PathBuf,
    data: PathBuf,
}

impl InstalledFiles {
    fn for_user() -> Result<Self, CliError> {
        let data = folders::data().filter(|_| cfg!(target_os = "linux"));
        let data = data.ok_or_else(|| CliError::Usage("file types can be registered on Linux desktops only".into()))?;
        Ok(Self {
            desktop: data.join("applications/longspan.desktop"),
            mime: data.join("mime/packages/longspan.xml"),
            icon: data.join("icons/hicolor/scalable/apps/longspan.svg"),
            file_icon: data.join("icons/hicolor/scalable/mimetypes/application-vnd.longspan.trace.svg"),
            cache: data.join("applications/mimeinfo.cache"),
            data,
        })
    }
}

/// Installs the icons, the file types and the menu entry for this user.
pub(super) fn install() -> Result<(), CliError> {
    let files = InstalledFiles::for_user()?;
    let program = std::env::current_exe()?;
    let defaults = offered_kinds().map(|kind| (kind, default_program(kind))).collect::<Vec<_>>();
    write(&files.icon, ICON)?;
    write(&files.file_icon, FILE_ICON)?;
    write(&files.mime, KINDS)?;
    write(&files.desktop, &desktop_entry(&program))?;
    let problem = refresh(&files, Registration::Added)?;
    for (kind, before) in defaults {
        if let Some(before) =
            before.filter(|before| before != PROGRAM && default_program(kind).as_ref() != Some(before))
        {
            // Without this tool there is no desktop whose default could be set.
            Command::new("xdg-mime").args(["default", &before, kind]).output().ok();
        }
    }
    to_stdout(|out| {
        let program = program.display().to_string();
        writeln!(out, "A double click now opens traces with {}", escaped(&program))?;
        Ok(problem.iter().try_for_each(|problem| {
            writeln!(out, "{MIME_TOOL} {problem}; some desktops need it to notice the change")
        })?)
    })
}

/// Removes the files written by [`install`].
pub(super) fn uninstall() -> Result<(), CliError> {
    let files = InstalledFiles::for_user()?;
    for path in [&files.desktop, &files.mime, &files.icon, &files.file_icon] {
        match fs::remove_file(path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                return Err(CliError::File { path: path.clone(), source });
            }
            _ => {}
        }
    }
    refresh(&files, Registration::Removed)?;
    to_stdout(|out| Ok(writeln!(out, "Longspan is no longer registered with the desktop")?))
}

/// The change of the list of programs by MIME type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Registration {
    Added,
    Removed,
}

/// The tool of the desktop that reads MIME types.
const MIME_TOOL: &str = "update-mime-database";

/// Runs the desktop's tools that read the changed files. Returns the problem of [`MIME_TOOL`], if any.
fn refresh(files: &InstalledFiles, registration: Registration) -> Result<Option<String>, CliError> {
    let problem = match Command::new(MIME_TOOL).arg(files.data.join("mime")).output() {
        Ok(done) if done.status.success() => None,
        Ok(done) => Some(format!("failed ({})", done.status)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Some("is not installed".to_owned()),
        Err(error) => Some(format!("failed ({error})")),
    };
    let built = Command::new("update-desktop-database").arg(files.data.join("applications")).output();
    if !built.is_ok_and(|done| done.status.success()) {
        // The tool would have written this list, which desktops read.
        let before = fs::read_to_string(&files.cache).unwrap_or_default();
        write(&files.cache, &with_program(&before, registration))?;
    }
    Ok(problem)
}

fn write(path: &Path, text: &str) -> Result<(), CliError> {
    let written = path
        .parent()
        .map_or(Ok(()), fs::create_dir_all)
        .and_then(|()| replace::write(path, text.as_bytes(), &SystemDisk));
    written.map_err(|source| CliError::File { path: path.to_owned(), source })
}

fn desktop_entry(program: &Path) -> String {
    ENTRY.replace(START, &format!("Exec={} %F", quoted(&program.to_string_lossy())))
}

/// The file name of the desktop entry.
const PROGRAM: &str = "longspan.desktop";

/// Iterates over MIME types of other programs' files: Longspan is offered for them, but does not become the default.
fn offered_kinds() -> impl Iterator<Item = &'static str> {
    kinds().filter(|kind| !kind.starts_with("application/vnd."))
}

/// Returns the default program for a MIME type, as reported by the desktop's tool.
fn default_program(kind: &str) -> Option<String> {
    let answer = Command::new("gio").args(["mime", kind]).env("LC_ALL", "C").output().ok()?;
    let text = String::from_utf8_lossy(&answer.stdout).into_owned();
    let entry = text.lines().next()?.rsplit(' ').next()?;
    entry.ends_with(".desktop").then(|| entry.to_owned())
}

/// Iterates over the MIME types that the program opens.
fn kinds() -> impl Iterator<Item = &'static str> {
    let line = ENTRY.lines().find_map(|line| line.strip_prefix("MimeType="));
    line.unwrap_or_default().split_terminator(';')
}

/// Quotes a word of a command for a desktop entry, where special characters are escaped twice.
fn quoted(word: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in word.chars() {
        match letter {
            '"' | '`' | '$' => quoted.extend(["\\\\", &letter.to_string()]),
            '\\' => quoted.push_str("\\\\\\\\"),
            '%' => quoted.push_str("%%"),
            plain => quoted.push(plain),
        }
    }
    quoted + "\""
}

/// Adds this program to the list of programs by MIME type, or removes it; other programs stay.
fn with_program(before: &str, registration: Registration) -> String {
    let mut lines: Vec<String> = before.lines().map(str::to_owned).collect();
    if lines.is_empty() {
        lines.push("[MIME Cache]".to_owned());
    }
    for line in &mut lines {
        if let Some((name, programs)) = line.clone().split_once('=') {
            let others: Vec<_> = programs.split(';').filter(|other| !other.is_empty() && *other != PROGRAM).collect();
            *line = if others.is_empty() { String::new() } else { format!("{name}={};", others.join(";")) };
        }
    }
    lines.retain(|line| !line.is_empty());
    for kind in kinds().filter(|_| registration == Registration::Added) {
        match lines.iter_mut().find(|line| line.starts_with(&format!("{kind}="))) {
            // The first entry is the default program.
            Some(line) if kind.starts_with("application/vnd.") => {
                *line = line.replacen('=', &format!("={PROGRAM};"), 1);
            }
            Some(line) => line.extend([PROGRAM, ";"]),
            None => lines.push(format!("{kind}={PROGRAM};")),
        }
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_programs_keeps_other_entries_and_uninstalling_restores_it() {
        let before = "[MIME Cache]\ntext/plain=editor.desktop;\napplication/vnd.spall.trace=other.desktop;\n";
        let installed = with_program(before, Registration::Added);
        assert!(installed.contains("application/vnd.spall.trace=longspan.desktop;other.desktop;\n"), "{installed}");
        assert!(installed.contains("application/vnd.longspan.trace=longspan.desktop;\n"), "{installed}");
        assert_eq!(with_program(&installed, Registration::Added), installed, "installing twice changes nothing");
        assert_eq!(with_program(&installed, Registration::Removed), before);
        assert!(with_program("", Registration::Added).starts_with("[MIME Cache]\n"));
    }

    #[test]
    fn a_path_with_signs_that_mean_something_is_one_word() {
        assert_eq!(quoted("/opt/a b/long$span"), r#""/opt/a b/long\\$span""#);
        assert_eq!(quoted("/100%/x"), "\"/100%%/x\"");
    }

    #[test]
    fn the_desktop_entry_starts_the_program_by_its_path_and_is_otherwise_unchanged() {
        let entry = desktop_entry(Path::new("/opt/a b/longspan"));
        assert!(entry.contains("\nExec=\"/opt/a b/longspan\" %F\n"), "{entry}");
        assert_eq!(entry.lines().count(), ENTRY.lines().count());
    }

    #[test]
    fn the_entry_the_kinds_of_files_and_the_table_for_packages_name_the_same() {
        let between = |text: &'static str, before: &'static str| {
            let parts = text.split(before).skip(1).filter_map(|rest| rest.split('"').next());
            parts.collect::<Vec<_>>()
        };
        let offered: Vec<_> = offered_kinds().collect();
        assert_eq!(offered, ["application/json", "application/gzip", "application/zstd"]);
        let entry: Vec<_> = kinds().filter(|kind| !offered.contains(kind)).collect();
        assert_eq!(between(KINDS, "<mime-type type=\""), entry);
        let manifest = include_str!("../../Cargo.toml");
        assert_eq!(between(manifest, "mime-type = \""), entry);
        assert_eq!(KINDS.matches("<icon name=\"application-vnd.longspan.trace\"/>").count(), entry.len());
        assert!(
            manifest.contains("mimetypes/application-vnd.longspan.trace.svg"),
            "the package lacks the icon of files"
        );
        for ending in between(manifest, "extensions = [\"") {
            assert!(KINDS.contains(&format!("<glob pattern=\"*.{ending}\"")), "{ending}");
        }
    }

    #[test]
    fn the_package_knows_how_the_native_format_begins() {
        let magic = crate::formats::native::wire::MAGIC;
        let escaped: String = magic
            .iter()
            .map(|&byte| match byte {
                b'\r' => "\\r".to_owned(),
                b'\n' => "\\n".to_owned(),
                letter if letter.is_ascii_graphic() => char::from(letter).to_string(),
                other => format!("\\x{other:02x}"),
            })
            .collect();
        assert!(KINDS.contains(&format!("value=\"{escaped}\"")), "{escaped}");
    }
}
