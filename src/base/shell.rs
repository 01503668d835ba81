//! Quotes words for a POSIX shell.

use std::path::Path;

use super::escape::is_control;

/// Quotes a word of any content for a POSIX shell. A word with control or bidi characters is escaped as `$'...'`, which
/// shells support since POSIX 2024. So a pasted name cannot send keys to the terminal.
#[must_use]
pub(crate) fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    if word.chars().any(is_control) {
        return quoted_bytes(word.as_bytes());
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Quotes the absolute path, which cannot be taken for an option.
pub(crate) fn quoted_path(path: &Path) -> String {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    path.to_str().map_or_else(|| quoted_bytes(path.as_os_str().as_encoded_bytes()), quoted)
}

/// Quotes bytes as `$'...'`, with escapes for control characters and for bytes that are not Unicode.
fn quoted_bytes(bytes: &[u8]) -> String {
    let mut word = "$'".to_owned();
    let octal = |byte: &u8| format!("\\{byte:03o}");
    for part in bytes.utf8_chunks() {
        for letter in part.valid().chars() {
            match letter {
                '\\' | '\'' => word.extend(['\\', letter]),
                _ if is_control(letter) => word.extend(letter.encode_utf8(&mut [0; 4]).as_bytes().iter().map(octal)),
                _ => word.push(letter),
            }
        }
        word.extend(part.invalid().iter().map(octal));
    }
    word.push('\'');
    word
}
