//! Finds the end of a JSON value without parsing its content. The only state is the stack of open brackets.
//!
//! Damage inside the value is detected when it is parsed. Here it must not extend the value, so two rules resynchronise
//! after damage without affecting valid JSON. First, a quote that is not followed by a separator starts a string, even
//! if a string was open. Second, a closing bracket closes the innermost array and all objects within it, but a closing
//! brace closes only an object. So an object with a missing brace does not end its container.

/// Deeper brackets are counted without their kind.
const DEPTH_MAX: usize = 128;

/// Search for the end of a value, across any number of blocks.
#[derive(Debug, Default)]
pub(super) struct ResyncingSkipper {
    /// Whether each open bracket is an object, outermost first.
    open: Vec<bool>,
    /// Number of open brackets beyond `DEPTH_MAX`.
    deeper: u64,
    state: SkimState,
}

#[derive(Debug, Clone, Copy, Default)]
enum SkimState {
    #[default]
    Between,
    Text,
    /// After a backslash in a string.
    Escape,
    /// After a quote that ends a string if a separator follows.
    AfterText,
}

impl ResyncingSkipper {
    /// Continues with the next bytes. Returns the length of the value in them if it ends there. An object or
    /// an array ends after its closing bracket, and any other value at the separator after it.
    pub(super) fn skip(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut position = 0;
        while let Some(&byte) = bytes.get(position) {
            match (self.state, byte) {
                (SkimState::Text, _) => {
                    let distance = memchr::memchr2(b'"', b'\\', &bytes[position..])?;
                    position += distance;
                    self.state = if bytes[position] == b'"' { SkimState::AfterText } else { SkimState::Escape };
                }
                (SkimState::Escape, _) | (SkimState::Between, b'"') => self.state = SkimState::Text,
                (SkimState::AfterText, b' ' | b'\t' | b'\r' | b'\n') => {}
                (SkimState::AfterText, b',' | b':' | b'}' | b']') => {
                    self.state = SkimState::Between;
                    // Handled again in the new state.
                    continue;
                }
                (SkimState::AfterText, _) => {
                    self.state = SkimState::Text;
                    continue;
                }
                (SkimState::Between, b'{' | b'[') => self.open(byte == b'{'),
                (SkimState::Between, b'}' | b']' | b',') if self.open.is_empty() => return Some(position),
                (SkimState::Between, b'}' | b']') => {
                    self.close(byte == b'}');
                    if self.open.is_empty() {
                        return Some(position + 1);
                    }
                }
                (SkimState::Between, _) if self.open.is_empty() => {}
                (SkimState::Between, _) => {
                    position += plain_len(&bytes[position..]);
                    continue;
                }
            }
            position += 1;
        }
        None
    }

    fn open(&mut self, is_object: bool) {
        if self.open.len() < DEPTH_MAX {
            self.open.push(is_object);
        } else {
            self.deeper += 1;
        }
    }

    fn close(&mut self, is_object: bool) {
        if self.deeper > 0 {
            self.deeper -= 1;
        } else if is_object {
            self.open.pop_if(|innermost| *innermost);
        } else if let Some(innermost) = self.open.iter().rposition(|&is_object| !is_object) {
            self.open.truncate(innermost);
        }
    }
}

/// Returns the number of bytes before the next quote or bracket. Tests eight bytes at a time: most of a profile is
/// numbers.
fn plain_len(bytes: &[u8]) -> usize {
    let (words, rest) = bytes.as_chunks::<8>();
    for (index, &word) in words.iter().enumerate() {
        let marks = marks_in(u64::from_le_bytes(word));
        if marks != 0 {
            return 8 * index + marks.trailing_zeros() as usize / 8;
        }
    }
    let is_mark = |byte: &u8| matches!(byte, b'"' | b'[' | b']' | b'{' | b'}');
    8 * words.len() + rest.iter().position(is_mark).unwrap_or(rest.len())
}

/// Returns a word whose lowest set bit is in the first byte that is a quote or a bracket; 0 without any.
fn marks_in(word: u64) -> u64 {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGH_BITS: u64 = ONES << 7;
    // A byte of zero borrows into its own high bit, which was clear. It may also set the high bits of later bytes.
    let zeros = |word: u64| word.wrapping_sub(ONES) & !word & HIGH_BITS;
    let equal = |word: u64, byte: u8| zeros(word ^ (ONES * u64::from(byte)));
    // The bit of lower-case letters turns square brackets into braces.
    let lower = word | (ONES * 0x20);
    equal(word, b'"') | equal(lower, b'{') | equal(lower, b'}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn end_of(text: &str) -> Option<usize> {
        ResyncingSkipper::default().skip(text.as_bytes())
    }

    /// Any JSON, including strings that contain JSON syntax.
    fn json() -> impl Strategy<Value = serde_json::Value> {
        let text = r#"[a\[\]{}",:\\ ]{0,6}"#;
        let leaf =
            prop_oneof![Just(serde_json::Value::Null), any::<i32>().prop_map(Into::into), text.prop_map(Into::into)];
        leaf.prop_recursive(5, 40, 6, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Into::into),
                prop::collection::vec((text, inner), 0..6)
                    .prop_map(|members| serde_json::Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn a_value_ends_where_it_was_written_to_end_however_it_is_cut(
            value in json(), spaces in "[ \n]{0,2}", is_pretty in any::<bool>(), block_bytes in 1usize..9,
        ) {
            let written = if is_pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) };
            let written = written.expect("JSON");
            let text = format!("{written}{spaces},1]");
            let is_nested = value.is_array() || value.is_object();
            let expected = written.len() + if is_nested { 0 } else { spaces.len() };
            prop_assert_eq!(end_of(&text), Some(expected));
            let mut skim = ResyncingSkipper::default();
            let mut before = 0;
            let found = text.as_bytes().chunks(block_bytes).find_map(|block| {
                let found = skim.skip(block).map(|position| before + position);
                before += block.len();
                found
            });
            prop_assert_eq!(found, Some(expected));
        }
    }

    #[test]
    fn marks_are_found_at_each_position_of_a_block() {
        for digits in 0..40 {
            let number = "1".repeat(digits);
            for value in ["[]", "{}", "\"]\"", "[{},[]]"] {
                let text = format!("[{number},{value},{number}]");
                assert_eq!(end_of(&format!("{text}]")), Some(text.len()), "{text}");
            }
        }
    }

    #[test]
    fn damage_inside_of_a_value_does_not_move_its_end() {
        let whole = r#"[{"type":"O","at":1},{"type":"C","at":2}]"#;
        for (found, damaged) in [
            ("a quote is missing", r#"[{"type:"O","at":1},{"type":"C","at":2}]"#),
            ("another is missing", r#"[{"type":"O,"at":1},{"type":"C","at":2}]"#),
            ("one quote too many", r#"[{"ty"pe":"O","at":1},{"type":"C","at":2}]"#),
            ("a brace is missing", r#"[{"type":"O","at":1,{"type":"C","at":2}]"#),
            ("its other brace is missing", r#"[{"type":"O","at":1},"type":"C","at":2}]"#),
            ("a bracket is too many", r#"[{"type":"O","at":1]},{"type":"C","at":2}]"#),
            ("zeros", "[{\"type\":\"O\",\0\0\0\0\0\0\0},{\"type\":\"C\",\"at\":2}]"),
        ] {
            let text = format!("{damaged},{whole}]");
            let expected =
                if found == "a bracket is too many" { damaged.find(']').map(|at| at + 1) } else { Some(damaged.len()) };
            assert_eq!(end_of(&text), expected, "{found}");
        }
        assert_eq!(end_of(&"[".repeat(1000)), None);
        assert_eq!(end_of(&format!("{}{},", "[".repeat(1000), "]".repeat(1000))), Some(2000));
    }
}
