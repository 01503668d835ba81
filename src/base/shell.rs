//! Quotes words for a POSIX shell.

use std::path::Path;

/// Quotes a word of any content for a POSIX shell.
#[must_use]
pub(crate) fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Quotes the absolute path, which cannot be taken for an option.
pub(crate) fn quoted_path(path: &Path) -> String {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    path.to_str().map_or_else(|| quoted_bytes(&path), quoted)
}

/// Quotes a path that is not Unicode, byte by byte as `$'...'`.
#[cfg(unix)]
fn quoted_bytes(path: &Path) -> String {
    use std::os::unix::ffi::OsStrExt;
    let bytes = path.as_os_str().as_bytes().iter();
    let escapes = bytes.map(|byte| match byte {
        b'\\' | b'\'' => format!("\\{}", char::from(*byte)),
        b' '..=b'~' => char::from(*byte).to_string(),
        _ => format!("\\{byte:03o}"),
    });
    format!("$'{}'", escapes.collect::<String>())
}

#[cfg(not(unix))]
fn quoted_bytes(path: &Path) -> String {
    quoted(&path.to_string_lossy())
}
