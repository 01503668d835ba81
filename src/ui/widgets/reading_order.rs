//! Reorders mixed left-to-right and right-to-left text for display. egui's text layout reverses the letters of a
//! right-to-left word, but sets words, numbers and punctuation left to right. So this module reorders the words first.
//! Text to copy or read aloud keeps its stored order.

use std::borrow::Cow;

use unicode_bidi::{BidiClass, BidiInfo, bidi_class};

/// First letter of the right-to-left scripts.
const FIRST_RIGHT_TO_LEFT: char = '\u{590}';

/// Returns the text in visual order, left to right; most text is already.
pub(crate) fn on_screen(text: &str) -> Cow<'_, str> {
    if text.chars().all(|letter| letter < FIRST_RIGHT_TO_LEFT || !is_right_to_left(letter)) {
        return Cow::Borrowed(text);
    }
    let bidi = BidiInfo::new(text, None);
    let mut ordered = String::with_capacity(text.len());
    for paragraph in &bidi.paragraphs {
        let (levels, runs) = bidi.visual_runs(paragraph, paragraph.range.clone());
        for run in runs {
            let part = &text[run.clone()];
            match levels.get(run.start) {
                Some(level) if level.is_rtl() => push_from_right(part, &mut ordered),
                _ => ordered.push_str(part),
            }
        }
    }
    Cow::Owned(ordered)
}

/// Appends the words of a part in reverse order. Each word stays as it is: the text layout reverses its letters.
fn push_from_right(part: &str, ordered: &mut String) {
    let mut rest = part;
    while let Some(last) = rest.chars().next_back() {
        let word = rest.char_indices().rev().take_while(|&(_, letter)| is_of_word(letter));
        let start = word.last().map_or(rest.len() - last.len_utf8(), |(start, _)| start);
        match &rest[start..] {
            word if is_of_word(last) => ordered.push_str(word),
            _ => ordered.push(mirrored(last)),
        }
        rest = &rest[..start];
    }
}

fn is_right_to_left(letter: char) -> bool {
    matches!(bidi_class(letter), BidiClass::R | BidiClass::AL)
}

/// Returns whether a letter, or a mark on one, is right-to-left.
fn is_of_word(letter: char) -> bool {
    is_right_to_left(letter) || (bidi_class(letter) == BidiClass::NSM && letter >= FIRST_RIGHT_TO_LEFT)
}

/// Mirrors an opening mark, which opens to the left in right-to-left text.
fn mirrored(letter: char) -> char {
    const PAIRS: [(char, char); 5] = [('(', ')'), ('[', ']'), ('{', '}'), ('<', '>'), ('«', '»')];
    let other = PAIRS.iter().find_map(|&(open, close)| match letter {
        found if found == open => Some(close),
        found if found == close => Some(open),
        _ => None,
    });
    other.unwrap_or(letter)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns the text as displayed, left to right, when the text layout reverses each word.
    fn laid_out(text: &str) -> String {
        let mut shown = String::new();
        let mut word = Vec::new();
        for letter in text.chars() {
            if is_of_word(letter) {
                word.push(letter);
            } else {
                shown.extend(word.drain(..).rev());
                shown.push(letter);
            }
        }
        shown.extend(word.drain(..).rev());
        shown
    }

    /// Returns the displayed text by the Unicode algorithm alone, which reverses whole parts letter by letter and
    /// mirrors brackets.
    fn expected(text: &str) -> String {
        let bidi = BidiInfo::new(text, None);
        let lines = bidi.paragraphs.iter().flat_map(|paragraph| {
            let (levels, runs) = bidi.visual_runs(paragraph, paragraph.range.clone());
            runs.into_iter().map(move |run| {
                if levels[run.start].is_rtl() {
                    text[run].chars().rev().map(mirrored).collect::<String>()
                } else {
                    text[run].to_owned()
                }
            })
        });
        lines.collect()
    }

    #[test]
    fn right_to_left_words_are_in_visual_order() {
        for (text, shown) in [
            ("plain: f(x) -> 10 %", "plain: f(x) -> 10 %"),
            ("名前 é", "名前 é"),
            // Hebrew letters from alef on; the layout also reverses each word.
            ("abc \u{5d0}\u{5d1} \u{5d2}\u{5d3} xyz", "abc \u{5d2}\u{5d3} \u{5d0}\u{5d1} xyz"),
            ("\u{5d0}\u{5d1} (12) \u{5d2}", "\u{5d2} (12) \u{5d0}\u{5d1}"),
            ("\u{5d0}\u{5d1} read(12)x", "read(12)x \u{5d0}\u{5d1}"),
            // Arabic with a mark on a letter.
            ("\u{628}\u{64e}\u{62a} 7 \u{62b}", "\u{62b} 7 \u{628}\u{64e}\u{62a}"),
            ("", ""),
        ] {
            assert_eq!(on_screen(text), shown, "{text:?}");
        }
        assert!(matches!(on_screen("plain"), Cow::Borrowed(_)));
    }

    proptest! {
        #[test]
        fn every_letter_is_where_the_unicode_bidirectional_algorithm_puts_it(
            // Hebrew letters with and without a point, Arabic letters, punctuation and Latin letters.
            text in "([a-c0-2 ().,/é]|[\u{5d0}-\u{5d3}]\u{5b0}?|[\u{628}-\u{62b}]){0,24}"
        ) {
            prop_assert_eq!(laid_out(&on_screen(&text)), expected(&text));
        }
    }
}
