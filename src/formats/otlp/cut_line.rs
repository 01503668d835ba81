//! The whole spans of a request that was cut, as an interrupted copy leaves it at the end of a file.

/// Returns a request with the spans before the cut, closed by the brackets that are missing. Returns `None` if no span
/// is whole.
pub(super) fn whole_spans(text: &[u8]) -> Option<Vec<u8>> {
    /// Deeper texts are not requests; attributes may be nested a little.
    const DEPTH_MAX: usize = 128;
    let mut open: Vec<Bracket> = Vec::new();
    let (mut at, mut whole) = (0, None);
    while let Some(&byte) = text.get(at) {
        match byte {
            b'"' => match string_bytes(&text[at..]) {
                Some(len) => at += len - 1,
                None => break,
            },
            b'{' | b'[' if open.len() >= DEPTH_MAX => return None,
            b'{' => open.push(Bracket::Object),
            b'[' if is_value_of(&text[..at], b"\"spans\"") => open.push(Bracket::Spans),
            b'[' => open.push(Bracket::Array),
            b'}' | b']' => {
                open.pop()?;
                if byte == b'}' && open.last() == Some(&Bracket::Spans) {
                    let closing = open.iter().rev().map(|bracket| bracket.closing());
                    whole = Some((at + 1, closing.collect::<Vec<u8>>()));
                }
            }
            _ => {}
        }
        at += 1;
    }
    whole.map(|(end, closing)| [&text[..end], &closing].concat())
}

/// A bracket that is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bracket {
    Object,
    Array,
    /// The array of spans of a scope.
    Spans,
}

impl Bracket {
    fn closing(self) -> u8 {
        match self {
            Self::Object => b'}',
            Self::Array | Self::Spans => b']',
        }
    }
}

/// Returns the length of the string at the start of a text, with its quotes.
fn string_bytes(text: &[u8]) -> Option<usize> {
    let mut at = 1;
    loop {
        at += memchr::memchr2(b'"', b'\\', text.get(at..)?)?;
        if text[at] == b'"' {
            return Some(at + 1);
        }
        at += 2;
    }
}

/// Returns whether a text ends with a key, so that its value follows.
fn is_value_of(text: &[u8], key: &[u8]) -> bool {
    text.trim_ascii_end().strip_suffix(b":").is_some_and(|text| text.trim_ascii_end().ends_with(key))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::testing::read;
    use crate::model::Loss;

    #[test]
    fn a_request_is_closed_after_its_last_whole_span() {
        let whole = r#"{"resourceSpans":[{"scopeSpans":[{"spans": [{"name":"a\"}]","x":[{"y":1}]},{"name":"b"#;
        let closed = r#"{"resourceSpans":[{"scopeSpans":[{"spans": [{"name":"a\"}]","x":[{"y":1}]}]}]}]}"#;
        assert_eq!(whole_spans(whole.as_bytes()).as_deref(), Some(closed.as_bytes()));
        let end = closed.len() - "]}]}]}".len();
        for len in 0..whole.len() {
            assert_eq!(whole_spans(&whole.as_bytes()[..len]).is_some(), len >= end, "{len}");
        }
        assert_eq!(whole_spans(b"]}"), None);
        assert_eq!(whole_spans(&b"[".repeat(1000)), None);
    }

    #[test]
    fn spans_before_a_cut_are_shown_and_the_cut_is_a_loss() {
        let span = |number: u64| {
            format!(
                r#"{{"traceId":"5b8efff798038103d269b633813fc60c","spanId":"eee19b7ec3c1b1{number:02x}","name":"s",
                "startTimeUnixNano":"{number}","endTimeUnixNano":"{}"}}"#,
                number + 1
            )
            .replace('\n', "")
        };
        let spans: Vec<_> = (1..=20).map(span).collect();
        let line = format!(r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{}]}}]}}]}}"#, spans.join(","));
        let cut = &line[..line.len() - 30];
        let reading = read(cut);
        assert_eq!((reading.events.len(), reading.lost()), (19, vec![(Loss::Truncated, 1)]));
        let reading = read(&format!("{line}\n{cut}"));
        assert_eq!((reading.events.len(), reading.lost()), (39, vec![(Loss::Truncated, 1)]));
        // Damage within a file is not the cut of its end.
        let reading = read(&format!("{line}\n{cut}\n{line}\n"));
        assert_eq!((reading.events.len(), reading.lost()), (40, vec![(Loss::BadRecord, 1)]));
    }
}
