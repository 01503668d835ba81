//! Words as a POSIX shell takes them, whatever is in them.

use std::path::Path;

/// A word as a POSIX shell takes it for one, whatever is in it.
#[must_use]
pub(crate) fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// The path from the root, which no option can be taken for.
pub(crate) fn quoted_path(path: &Path) -> String {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    path.to_str().map_or_else(|| quoted_bytes(&path), quoted)
}

/// A path that is no Unicode: each byte as the shell's `$'...'` has it.
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
