//! The filter language: any text is a filter or an error with a reason. A quoted text matches itself, and a plain word
//! matches names that contain it.

use longspan::facade::query::filter::{Filter, Term, Test};

/// Names to match with every filter.
const NAMES: [&str; 4] = ["", "read", "std::vector<int>::push_back", "\u{1d11e} É\u{301} \"quoted\" \\"];

/// Returns the result of a filter with a single condition on names.
fn holds(text: &str, name: &str) -> Option<bool> {
    match Filter::parse(text).ok()?.terms.as_slice() {
        [Term { negated, test: Test::Name(test) }] => Some(test.holds(name) != *negated),
        _ => None,
    }
}

pub(super) fn check(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    match Filter::parse(&text) {
        Ok(filter) => {
            assert_eq!(filter.is_empty(), text.trim().is_empty(), "{filter:?}");
            for Term { test, .. } in &filter.terms {
                if let Test::Name(asked) | Test::Category(asked) | Test::Thread(asked) | Test::Process(asked) = test {
                    let _held = NAMES.map(|name| asked.holds(name));
                }
            }
            // White space around a filter has no effect.
            let again = Filter::parse(&format!(" \t{text}\n")).expect("as before");
            assert_eq!(format!("{again:?}"), format!("{filter:?}"));
        }
        Err(error) => assert!(!error.problem.is_empty() && !error.word.is_empty(), "{error:?}"),
    }
    let quoted = format!("\"{}\"", text.replace('\\', r"\\").replace('"', "\\\""));
    assert_eq!(holds(&quoted, &format!("before {text} behind")), Some(true), "{quoted}");
    assert_eq!(holds(&format!("-{quoted}"), &text), Some(false), "{quoted}");
    let is_plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if is_plain {
        for name in NAMES {
            let expected = name.to_ascii_lowercase().contains(&text.to_ascii_lowercase());
            assert_eq!(holds(&text, name), Some(expected), "{text} in {name}");
        }
    }
}
