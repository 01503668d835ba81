//! A minimal Rust lexer: distinguishes code from comments, strings and tests, and finds words and paths. It does not
//! resolve names.

/// Returns the positions of `word` in `code` where it is not a part of a longer word.
pub(crate) fn words<'a>(code: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    code.match_indices(word).map(|(at, _)| at).filter(move |&at| {
        let before = code[..at].chars().next_back();
        let after = code[at + word.len()..].chars().next();
        let ends_later = word.ends_with(is_word) && after.is_some_and(is_word);
        !ends_later && !before.is_some_and(is_word)
    })
}

pub(crate) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Returns `code` with its test modules blanked.
pub(crate) fn without_tests(path: &str, code: &str) -> String {
    if path.ends_with("/tests.rs") || path.contains("/tests/") {
        return String::new();
    }
    let mut kept = code.to_owned();
    for (start, mark) in code.match_indices("#[cfg(test)]") {
        let after = start + mark.len();
        let Some(open) = code[after..].find(['{', ';']).map(|length| after + length) else { continue };
        let mut depth = 0;
        let end = code[open..].char_indices().find_map(|(at, c)| {
            depth += i32::from(c == '{') - i32::from(c == '}');
            (depth == 0).then_some(open + at)
        });
        let end = end.map_or(code.len(), |end| end + 1);
        kept.replace_range(start..end, &blank(&code[start..end]));
    }
    kept
}

/// Returns `text` with comments, strings and characters blanked. Line breaks stay, so that line numbers do not change.
pub(crate) fn code_of(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let (length, is_code) = token(rest, c);
        let (piece, tail) = rest.split_at(length);
        if is_code {
            code.push_str(piece);
        } else {
            code.push_str(&blank(piece));
        }
        rest = tail;
    }
    code
}

/// Returns the length in bytes of the first token, and whether it is code.
fn token(rest: &str, first: char) -> (usize, bool) {
    let length_to = |from: usize, end: &str| rest[from..].find(end).map_or(rest.len(), |at| from + at + end.len());
    if rest.starts_with("//") {
        return (rest.find('\n').unwrap_or(rest.len()), false);
    }
    if rest.starts_with("/*") {
        return (block_comment_length(rest), false);
    }
    if is_word(first) {
        let length = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
        let tail = rest[length..].trim_start_matches('#');
        if matches!(&rest[..length], "r" | "br" | "cr") && tail.starts_with('"') {
            let open = rest.len() - tail.len() + 1;
            let end = format!("\"{}", "#".repeat(open - 1 - length));
            return (length_to(open, &end), false);
        }
        return (length, true);
    }
    match first {
        '"' => (quoted_length(rest, '"'), false),
        // A character literal; a lifetime has no quote after its first letter.
        '\'' if rest.starts_with("'\\") || rest.chars().nth(2) == Some('\'') => (quoted_length(rest, '\''), false),
        _ => (first.len_utf8(), true),
    }
}

/// Returns the length of a block comment, which may be nested.
fn block_comment_length(rest: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    loop {
        if rest[at..].starts_with("/*") {
            depth += 1;
        } else if rest[at..].starts_with("*/") {
            depth -= 1;
        } else {
            match rest[at..].chars().next() {
                Some(c) => at += c.len_utf8(),
                None => return at,
            }
            continue;
        }
        at += 2;
        if depth == 0 {
            return at;
        }
    }
}

/// Returns the length of quoted text, in which a backslash escapes the next character.
fn quoted_length(rest: &str, quote: char) -> usize {
    let mut chars = rest.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        if c == '\\' {
            chars.next();
        } else if c == quote {
            return at + 1;
        }
    }
    rest.len()
}

/// Returns spaces of the same length in bytes, with the same line breaks.
fn blank(piece: &str) -> String {
    piece.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }).collect()
}
