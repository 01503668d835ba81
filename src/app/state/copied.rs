//! What goes to the clipboard as text, and the paths that come from it.

use std::path::PathBuf;

use super::App;
use crate::app::tasks;

impl App {
    /// The selected span as text; `None` where none is selected.
    pub(super) fn selected_span_text(&self) -> Option<String> {
        Some(self.tab().capture.as_ref()?.details.as_ref()?.as_text())
    }

    /// The table of statistics as CSV.
    pub(super) fn statistics_csv(&self) -> String {
        self.tab().panels.statistics_csv(self.cells())
    }

    /// Opens the files whose paths a text holds, a path or the address of a file on each line, as one capture. The text may
    /// be long and its files far away: it is read in the background.
    pub(crate) fn paste(&mut self, text: String) {
        tasks::read_pasted(text, &self.wake);
    }

    /// Opens what a pasted text names. Lines that name no file are left out, and that is said.
    pub(super) fn open_pasted(&mut self, pasted: Pasted) {
        let Pasted { lines, paths, missing, chosen } = pasted;
        if paths == 0 {
            self.set_note("What was copied is no path of a file.".to_owned());
            return;
        }
        self.open_chosen(chosen);
        if !missing.is_empty() {
            self.tab_mut().message = Some(("Not every file can be opened", missing.join("\n")));
        }
        if paths < lines {
            self.set_note(format!("Of {lines} lines that were copied, {paths} name a file; the others were left out."));
        }
    }
}

/// The files that a pasted text names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pasted {
    /// How many lines it has that are not blank.
    lines: usize,
    /// How many of them name a file or a folder.
    paths: usize,
    /// The files that are not there, each with what the system says.
    missing: Vec<String>,
    chosen: Chosen,
}

impl Pasted {
    /// Reads a text, and looks up what its paths lead to.
    #[must_use]
    pub(crate) fn read(text: &str) -> Self {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let (mut there, mut missing) = (Vec::new(), Vec::new());
        for path in lines.clone().filter_map(path_of) {
            match path.metadata() {
                Ok(_) => there.push(path),
                Err(error) => missing.push(format!("{}: {error}", path.display())),
            }
        }
        Self { lines: lines.count(), paths: there.len() + missing.len(), missing, chosen: Chosen::new(there) }
    }
}

/// Paths that are to be opened together: files, or what may be one, and folders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Chosen {
    /// Paths that may be files.
    pub(crate) files: Vec<PathBuf>,
    /// Folders, which are left out where there are files.
    pub(crate) folders: Vec<PathBuf>,
}

impl Chosen {
    /// Looks up which of the paths are folders.
    #[must_use]
    pub(crate) fn new(paths: Vec<PathBuf>) -> Self {
        let (folders, files) = paths.into_iter().partition(|path| path.is_dir());
        Self { files, folders }
    }
}

/// The file that a line names: by its whole path, also in quotes, or by its address. A path from a folder could be meant
/// from any folder, and is none.
fn path_of(line: &str) -> Option<PathBuf> {
    let quoted = |mark: char| line.strip_prefix(mark)?.strip_suffix(mark);
    let line = quoted('"').or_else(|| quoted('\'')).unwrap_or(line);
    let path = match line.strip_prefix("file://") {
        // After the slashes may stand the name of a host: that of this one, or nothing.
        Some(rest) => path_of_bytes(decoded(rest.strip_prefix("localhost").unwrap_or(rest))?),
        None => PathBuf::from(line),
    };
    path.is_absolute().then_some(path)
}

/// The path of an address, in which a byte may stand as a percent sign and two digits.
fn decoded(address: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(address.len());
    let mut rest = address.as_bytes();
    while let [first, tail @ ..] = rest {
        (bytes, rest) = match (first, tail) {
            (b'%', [high, low, after @ ..]) => {
                let digit = |byte: &u8| char::from(*byte).to_digit(16);
                let byte = digit(high)? * 16 + digit(low)?;
                bytes.push(u8::try_from(byte).ok()?);
                (bytes, after)
            }
            (b'%', _) => return None,
            _ => {
                bytes.push(*first);
                (bytes, tail)
            }
        };
    }
    Some(bytes)
}

/// A file's name is any bytes.
#[cfg(unix)]
fn path_of_bytes(bytes: Vec<u8>) -> PathBuf {
    let name: std::ffi::OsString = std::os::unix::ffi::OsStringExt::from_vec(bytes);
    name.into()
}

/// The address of a file on a drive has a slash before the drive.
#[cfg(not(unix))]
fn path_of_bytes(bytes: Vec<u8>) -> PathBuf {
    let text = String::from_utf8_lossy(&bytes);
    text.strip_prefix('/').unwrap_or(&text).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_names_a_file_by_its_whole_path_or_its_address() {
        for (line, path) in [
            ("/a/b c.json", "/a/b c.json"),
            ("\"/a/b c.json\"", "/a/b c.json"),
            ("'/a/b.json'", "/a/b.json"),
            ("file:///a/b%20c%25.json", "/a/b c%.json"),
            ("file://localhost/a/%C3%A9.json", "/a/\u{e9}.json"),
        ] {
            assert_eq!(path_of(line), Some(PathBuf::from(path)), "{line}");
        }
        for line in
            ["b.json", "~/b.json", "https://a/b.json", "file://host/b.json", "file:///a%2", "file:///a%zz", "\""]
        {
            assert_eq!(path_of(line), None, "{line}");
        }
    }
}
