//! `longspan --install-desktop`: has the desktop of this user open captures with a double click, and undoes it again. Writes
//! only below the user's own data folder, as freedesktop.org lays it out; needs no rights.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{CliError, to_stdout};

/// The picture that stands for the program.
const ICON: &str = include_str!("../../assets/longspan.svg");

/// A kind of file that is opened.
struct MimeType {
    name: &'static str,
    comment: &'static str,
    globs: &'static [&'static str],
    /// What it is besides; a file that is recognised as that by its content keeps this type by its name.
    parent: Option<&'static str>,
    /// How its files begin, escaped as in C.
    magic: Option<&'static str>,
}

/// The kinds of files that belong to nobody else. Plain JSON and gzip are left to what opens them.
const TYPES: &[MimeType] = &[
    MimeType {
        name: "application/vnd.longspan.trace",
        comment: "Longspan trace",
        globs: &["*.longspan"],
        parent: None,
        magic: Some("\\x89SPAN\\r\\n\\x1a"),
    },
    MimeType {
        name: "application/vnd.perfetto.trace",
        comment: "Perfetto trace",
        globs: &["*.pftrace", "*.perfetto-trace"],
        parent: None,
        magic: None,
    },
    MimeType {
        name: "application/vnd.chrome-trace+json",
        comment: "Chrome trace",
        globs: &["*.trace.json", "*.chrome.json"],
        parent: Some("application/json"),
        magic: None,
    },
    MimeType {
        name: "application/vnd.chrome-trace+gzip",
        comment: "Compressed Chrome trace",
        globs: &["*.trace.json.gz", "*.chrome.json.gz"],
        parent: Some("application/gzip"),
        magic: None,
    },
    MimeType {
        name: "application/vnd.speedscope+json",
        comment: "Speedscope profile",
        globs: &["*.speedscope.json"],
        parent: Some("application/json"),
        magic: None,
    },
    MimeType {
        name: "application/vnd.v8.cpuprofile+json",
        comment: "V8 profile",
        globs: &["*.cpuprofile"],
        parent: Some("application/json"),
        magic: None,
    },
    MimeType {
        name: "application/vnd.spall.trace",
        comment: "Spall trace",
        globs: &["*.spall"],
        parent: None,
        magic: None,
    },
];

/// Where everything goes.
struct Places {
    desktop: PathBuf,
    mime: PathBuf,
    icon: PathBuf,
    /// What the desktop has made of all programs.
    cache: PathBuf,
    data: PathBuf,
}

impl Places {
    fn of_user() -> Result<Self, CliError> {
        let data = dirs::data_dir().filter(|_| cfg!(target_os = "linux"));
        let data =
            data.ok_or_else(|| CliError::Usage("only desktops of Linux are told which program opens what".into()))?;
        Ok(Self {
            desktop: data.join("applications/longspan.desktop"),
            mime: data.join("mime/packages/longspan.xml"),
            icon: data.join("icons/hicolor/scalable/apps/longspan.svg"),
            cache: data.join("applications/mimeinfo.cache"),
            data,
        })
    }
}

/// Has the desktop open captures with this program.
pub fn install() -> Result<(), CliError> {
    let places = Places::of_user()?;
    let program = std::env::current_exe()?;
    write(&places.icon, ICON)?;
    write(&places.mime, &mime_package())?;
    write(&places.desktop, &desktop_entry(&program))?;
    let without = refresh(&places, true)?;
    to_stdout(|out| {
        writeln!(out, "Captures open with a double click now, by {}", program.display())?;
        Ok(without
            .iter()
            .try_for_each(|tool| writeln!(out, "{tool} is not installed; without it some desktops do not see it"))?)
    })
}

/// Undoes [`install`].
pub fn uninstall() -> Result<(), CliError> {
    let places = Places::of_user()?;
    for path in [&places.desktop, &places.mime, &places.icon] {
        match fs::remove_file(path) {
            Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
                return Err(CliError::File { path: path.clone(), source });
            }
            _ => {}
        }
    }
    refresh(&places, false)?;
    to_stdout(|out| Ok(writeln!(out, "The desktop no longer knows of Longspan")?))
}

/// Has the desktop look at what has changed; returns the tools that it lacks.
fn refresh(places: &Places, installed: bool) -> Result<Vec<&'static str>, CliError> {
    let mut without = Vec::new();
    let ran =
        |tool: &str, folder: &Path| Command::new(tool).arg(folder).output().is_ok_and(|done| done.status.success());
    if !ran("update-mime-database", &places.data.join("mime")) {
        without.push("update-mime-database");
    }
    if !ran("update-desktop-database", &places.data.join("applications")) {
        // It writes nothing but this list, which desktops read.
        let before = fs::read_to_string(&places.cache).unwrap_or_default();
        write(&places.cache, &with_program(&before, installed))?;
    }
    Ok(without)
}

fn write(path: &Path, text: &str) -> Result<(), CliError> {
    let written = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(path, text));
    written.map_err(|source| CliError::File { path: path.to_owned(), source })
}

fn desktop_entry(program: &Path) -> String {
    let types = TYPES.iter().map(|kind| kind.name).collect::<Vec<_>>().join(";");
    format!(
        "[Desktop Entry]\nType=Application\nName=Longspan\nGenericName=Trace Viewer\n\
         Comment=Timelines of traces with a billion spans\nExec={} %F\nIcon=longspan\nTerminal=false\n\
         Categories=Development;Profiling;\nMimeType={types};\nStartupWMClass=longspan\n",
        quoted(&program.to_string_lossy())
    )
}

/// A word of a command as desktop entries want it: in quotes, with what has a meaning there escaped twice.
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

fn mime_package() -> String {
    let mut xml = String::from(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<mime-info xmlns=\"http://www.freedesktop.org/standards/shared-mime-info\">\n",
    );
    for kind in TYPES {
        let MimeType { name, comment, globs, parent, magic } = kind;
        // Writing into a text never fails.
        writeln!(xml, "  <mime-type type=\"{name}\">\n    <comment>{comment}</comment>").ok();
        if let Some(parent) = parent {
            writeln!(xml, "    <sub-class-of type=\"{parent}\"/>").ok();
        }
        if let Some(magic) = magic {
            let found = format!("<match type=\"string\" offset=\"0\" value=\"{magic}\"/>");
            writeln!(xml, "    <magic priority=\"80\">{found}</magic>").ok();
        }
        for glob in *globs {
            // Above the weight of *.json and *.gz, which these end with as well.
            writeln!(xml, "    <glob pattern=\"{glob}\" weight=\"60\"/>").ok();
        }
        xml += "  </mime-type>\n";
    }
    xml + "</mime-info>\n"
}

/// The list of programs by type with or without this one; all else in it stays.
fn with_program(before: &str, installed: bool) -> String {
    const PROGRAM: &str = "longspan.desktop";
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
    for kind in TYPES.iter().filter(|_| installed) {
        match lines.iter_mut().find(|line| line.starts_with(&format!("{}=", kind.name))) {
            Some(line) => *line = line.replacen('=', &format!("={PROGRAM};"), 1),
            None => lines.push(format!("{}={PROGRAM};", kind.name)),
        }
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_programs_keeps_those_of_others_and_is_as_before_when_all_is_undone() {
        let before = "[MIME Cache]\ntext/plain=editor.desktop;\napplication/vnd.spall.trace=other.desktop;\n";
        let installed = with_program(before, true);
        assert!(installed.contains("application/vnd.spall.trace=longspan.desktop;other.desktop;\n"), "{installed}");
        assert!(installed.contains("application/vnd.longspan.trace=longspan.desktop;\n"), "{installed}");
        assert_eq!(with_program(&installed, true), installed, "installing twice changes nothing");
        assert_eq!(with_program(&installed, false), before);
        assert!(with_program("", true).starts_with("[MIME Cache]\n"));
    }

    #[test]
    fn a_path_with_signs_that_mean_something_is_one_word() {
        assert_eq!(quoted("/opt/a b/long$span"), r#""/opt/a b/long\\$span""#);
        assert_eq!(quoted("/100%/x"), "\"/100%%/x\"");
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
        assert_eq!(TYPES[0].magic, Some(escaped.as_str()));
        assert!(mime_package().contains(&escaped));
    }
}
