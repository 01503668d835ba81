//! Parses the files in a pasted text: absolute paths, quoted or not, or file URLs.

use std::path::PathBuf;

use crate::formats::sniff;

/// The files in a pasted text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pasted {
    /// Number of lines that are not blank.
    pub(super) lines: usize,
    /// Number of lines with an existing file or folder.
    pub(super) paths: usize,
    /// The missing files, each with the error of the system.
    pub(super) missing: Vec<String>,
    pub(super) chosen: Chosen,
}

impl Pasted {
    /// Parses a text, and checks its paths.
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

/// Paths to open together: possible files, and folders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Chosen {
    /// Paths that may be files.
    pub(crate) files: Vec<PathBuf>,
    /// Folders, which are ignored if there are files.
    pub(crate) folders: Vec<PathBuf>,
}

impl Chosen {
    /// Checks which of the paths are folders. Folders that are traces count as files.
    #[must_use]
    pub(crate) fn new(paths: Vec<PathBuf>) -> Self {
        let (folders, files) = paths.into_iter().partition(|path| path.is_dir() && !sniff::is_trace_folder(path));
        Self { files, folders }
    }
}

/// Returns the file in a line: an absolute path, quoted or not, or a URL. A relative path is rejected, because it could
/// start from any folder.
fn path_of(line: &str) -> Option<PathBuf> {
    let quoted = |mark: char| line.strip_prefix(mark)?.strip_suffix(mark);
    let line = quoted('"').or_else(|| quoted('\'')).unwrap_or(line);
    let path = match line.strip_prefix("file://") {
        // The slashes may be followed by the name of this host, or by none.
        Some(rest) => path_of_bytes(decoded(rest.strip_prefix("localhost").unwrap_or(rest))?),
        None => PathBuf::from(line),
    };
    path.is_absolute().then_some(path)
}

/// Decodes a URL path, in which a percent sign and two digits encode a byte.
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

/// A file name may be any bytes.
#[cfg(unix)]
fn path_of_bytes(bytes: Vec<u8>) -> PathBuf {
    let name: std::ffi::OsString = std::os::unix::ffi::OsStringExt::from_vec(bytes);
    name.into()
}

/// The URL of a file on a drive has a slash before the drive.
#[cfg(not(unix))]
fn path_of_bytes(bytes: Vec<u8>) -> PathBuf {
    let text = String::from_utf8_lossy(&bytes);
    text.strip_prefix('/').unwrap_or(&text).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_is_a_trace_counts_as_a_file() {
        let data = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
        let paths = ["uftrace", "people", "ugly.json"].map(|name| data.join(name));
        let chosen = Chosen::new(paths.to_vec());
        assert_eq!((chosen.files, chosen.folders), (vec![paths[0].clone(), paths[2].clone()], vec![paths[1].clone()]));
    }

    #[test]
    fn a_pasted_line_is_an_absolute_path_or_a_file_url() {
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
