//! Skips a JSON value of any size in pieces, in constant memory. Validates nothing but strings and brackets.

/// The state of skipping one value, between two pieces of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ValueSkipper {
    depth: u64,
    state: SkipState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum SkipState {
    /// Before the value, or between the tokens of an array or object.
    #[default]
    Between,
    /// In a number or literal that is the value itself.
    Scalar,
    Text,
    /// After a backslash in a text.
    Escape,
}

impl ValueSkipper {
    /// Continues through `bytes`; returns the position where the value ends, or `None` if it continues after them.
    pub(crate) fn advance(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut pos = 0;
        while let Some(&byte) = bytes.get(pos) {
            match self.state {
                SkipState::Escape => self.state = SkipState::Text,
                SkipState::Text => {
                    pos += memchr::memchr2(b'"', b'\\', &bytes[pos..])?;
                    let is_end = bytes[pos] == b'"';
                    self.state = if is_end { SkipState::Between } else { SkipState::Escape };
                    if is_end && self.depth == 0 {
                        return Some(pos + 1);
                    }
                }
                SkipState::Between | SkipState::Scalar => match byte {
                    b' ' | b'\n' | b'\r' | b'\t' | b'"' | b'{' | b'[' if self.state == SkipState::Scalar => {
                        return Some(pos);
                    }
                    b',' | b'}' | b']' if self.depth == 0 => return Some(pos),
                    b'"' => self.state = SkipState::Text,
                    b'{' | b'[' => self.depth += 1,
                    b'}' | b']' => {
                        self.depth -= 1;
                        if self.depth == 0 {
                            return Some(pos + 1);
                        }
                    }
                    b' ' | b'\n' | b'\r' | b'\t' => {}
                    _ if self.depth == 0 => self.state = SkipState::Scalar,
                    _ => {}
                },
            }
            pos += 1;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_ends_at_the_same_byte_however_it_is_cut() {
        let values: [&[u8]; 7] =
            [br#""a\"]\\" ,"#, b"12 ,", b"null}", br#"{"a":[1,"}"],"b":{}},"#, b"[[[]]]]", br#" "x""#, b"tr\"x\""];
        let ends = [8, 2, 4, 20, 6, 4, 2];
        for (value, end) in values.into_iter().zip(ends) {
            for cut in 0..=value.len() {
                let mut skip = ValueSkipper::default();
                let found = skip.advance(&value[..cut]).or_else(|| Some(cut + skip.advance(&value[cut..])?));
                assert_eq!(found, Some(end), "{} cut at {cut}", String::from_utf8_lossy(value));
            }
        }
    }
}
