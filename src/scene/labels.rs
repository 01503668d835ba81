//! Selects the spans with room for their name, and shortens names to fit. Text is measured by a function of the caller.

use std::borrow::Cow;

use super::function_names::shorter_forms;
use super::rects::ColumnRun;
use super::viewport::Viewport;
/// A name that is safe to show on one line: unescaped bidirectional controls could make it look like another.
pub(crate) use crate::base::escape::escaped as shown;
use crate::model::names::NO_NAME;

const ELLIPSIS: char = '…';

/// Returns a name from the trace that is safe to show on one line, and never blank.
#[must_use]
pub(crate) fn shown_name(name: &str) -> Cow<'_, str> {
    if name.trim().is_empty() { Cow::Borrowed(NO_NAME) } else { shown(name) }
}

/// Returns the part of a run with room for text: in view, and off its edges.
#[must_use]
pub(crate) fn text_room(view: &Viewport, run: &ColumnRun, padding_px: f64) -> Option<(f64, f64)> {
    let x0 = run.x0.max(0.0) + padding_px;
    let x1 = run.x1.min(view.width_px()) - padding_px;
    // Fewer than three characters of a name are useless; a character is about twice the padding.
    (run.wide && x1 - x0 >= 6.0 * padding_px).then_some((x0, x1))
}

/// Shorter results drop the end instead of the middle: two halves of a few letters each are less readable than one
/// beginning.
const LETTERS_MIN: usize = 12;

/// Returns `text` if it fits `room_px`, else shortens it. First it drops the source location that some tracers append,
/// such as ` (main.js:12)`, then the parts around the name of a function: see [`shorter_forms`]. Then it drops the
/// middle, or the end if fewer than twelve letters fit. Returns `None` if not even two letters fit.
#[must_use]
pub(crate) fn shorten_label(text: &str, room_px: f32, mut advance_px: impl FnMut(char) -> f32) -> Option<Cow<'_, str>> {
    let short = shorten_middle(text, room_px, &mut advance_px)?;
    if matches!(short, Cow::Borrowed(_)) {
        return Some(short);
    }
    let named = without_location(text);
    let mut fits = |name: &str| {
        let mut used_px = 0.0;
        name.chars().all(|letter| {
            used_px += advance_px(letter);
            used_px <= room_px
        })
    };
    if named.len() < text.len() && fits(named) {
        return Some(Cow::Borrowed(named));
    }
    let mut forms = shorter_forms(named);
    if let Some(fitting) = forms.iter().position(|form| fits(form)) {
        return Some(Cow::Owned(forms.swap_remove(fitting)));
    }
    elide(forms.last().map_or(named, String::as_str), room_px, advance_px).map(Cow::Owned)
}

/// Drops the middle of a name that does not fit, or its end if few letters fit.
fn elide(name: &str, room_px: f32, mut advance_px: impl FnMut(char) -> f32) -> Option<String> {
    let short = shorten_middle(name, room_px, &mut advance_px)?;
    if short.chars().count() > LETTERS_MIN {
        return Some(short.into_owned());
    }
    let mut used_px = advance_px(ELLIPSIS);
    let end = name.char_indices().find(|&(_, letter)| {
        used_px += advance_px(letter);
        used_px > room_px
    });
    let (end, _) = end?;
    Some(format!("{}{ELLIPSIS}", &name[..end]))
}

/// Strips the source location at the end of a name, unless it is all of the name.
fn without_location(text: &str) -> &str {
    let Some((name, location)) = text.strip_suffix(')').and_then(|text| text.rsplit_once(" (")) else { return text };
    let line = location.rsplit_once(':').map_or("", |(_, line)| line);
    let is_location = !line.is_empty() && line.bytes().all(|byte| byte.is_ascii_digit());
    if is_location && !name.is_empty() { name } else { text }
}

/// Returns `text` if it fits `room_px`, else its start and its end around an ellipsis; `None` if not even that fits.
/// The middle is dropped, because names of one program start alike and names of one class end alike.
#[must_use]
pub(crate) fn shorten_middle(
    text: &str,
    room_px: f32,
    mut advance_px: impl FnMut(char) -> f32,
) -> Option<Cow<'_, str>> {
    let mut head_px = 0.0;
    // Finds where the text stops fitting; of a name of 64 KiB, only the fitting part is read.
    let overflow = text.char_indices().find(|&(_, letter)| {
        head_px += advance_px(letter);
        head_px > room_px
    });
    if overflow.is_none() {
        return Some(Cow::Borrowed(text));
    }
    let room_px = room_px - advance_px(ELLIPSIS);
    let mut used_px = 0.0;
    let (mut head, mut tail) = (0, text.len());
    let mut from_head = true;
    while head < tail {
        // Takes letters from both ends in turn, one more from the start.
        let middle = &text[head..tail];
        let letter = if from_head { middle.chars().next() } else { middle.chars().next_back() };
        let Some(letter) = letter else { break };
        used_px += advance_px(letter);
        if used_px > room_px {
            break;
        }
        if from_head {
            head += letter.len_utf8();
        } else {
            tail -= letter.len_utf8();
        }
        from_head = !from_head;
    }
    let kept = text[..head].chars().count() + text[tail..].chars().count();
    (kept >= 2).then(|| Cow::Owned(format!("{}{ELLIPSIS}{}", &text[..head], &text[tail..])))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shortened(text: &str, letters: f32) -> Option<String> {
        shorten_middle(text, letters, |_| 1.0).map(Cow::into_owned)
    }

    #[test]
    fn a_name_without_letters_says_so() {
        assert_eq!(["", " ", "\u{2003}\t"].map(shown_name), [NO_NAME; 3]);
        assert_eq!(shown_name(" a\n"), " a\\n");
    }

    #[test]
    fn the_middle_goes_first() {
        assert_eq!(shortened("parse_document", 14.0).as_deref(), Some("parse_document"));
        assert_eq!(shortened("parse_document", 7.0).as_deref(), Some("par…ent"));
        assert_eq!(shortened("parse_document", 3.0).as_deref(), Some("p…t"));
        assert_eq!(shortened("parse_document", 2.0), None);
    }

    #[test]
    fn a_narrow_label_keeps_the_beginning_and_a_wide_one_both_ends() {
        let label = |text, letters| shorten_label(text, letters, |_| 1.0).map(Cow::into_owned);
        assert_eq!(label("request", 7.0).as_deref(), Some("request"));
        assert_eq!(label("std::collections", 8.0).as_deref(), Some("std::co…"));
        assert_eq!(label("std::collections::hash_map", 15.0).as_deref(), Some("std::co…ash_map"));
        assert_eq!([label("", 3.0).as_deref(), label("request", 1.0).as_deref()], [Some(""), None]);
        assert_eq!(label("request", 2.0).as_deref(), None);
        assert_eq!(label("request", 3.0).as_deref(), Some("re…"));
    }

    #[test]
    fn the_source_location_is_dropped_before_any_letter_of_the_name() {
        let label = |text, letters| shorten_label(text, letters, |_| 1.0).map(Cow::into_owned);
        assert_eq!(label("run (main.js:12)", 16.0).as_deref(), Some("run (main.js:12)"));
        assert_eq!(label("run (main.js:12)", 15.0).as_deref(), Some("run"));
        assert_eq!(label("evaluate (main.js:12)", 5.0).as_deref(), Some("eval…"));
        for kept in ["f (int)", "operator()", " (a:1)", "f (a:1) g", "f (a:)"] {
            assert_eq!(without_location(kept), kept);
        }
    }

    #[test]
    fn the_name_of_a_function_is_shown_before_its_types() {
        let label = |text, letters| shorten_label(text, letters, |_| 1.0).map(Cow::into_owned);
        let name = "int* std::__unguarded_partition<int*>(int*, int*)";
        assert_eq!(label(name, 49.0).as_deref(), Some(name));
        assert_eq!(label(name, 48.0).as_deref(), Some("int* std::__unguarded_partition<int*>"));
        assert_eq!(label(name, 36.0).as_deref(), Some("int* std::__unguarded_partition"));
        assert_eq!(label(name, 30.0).as_deref(), Some("std::__unguarded_partition"));
        assert_eq!(label(name, 25.0).as_deref(), Some("std::__ungua…ed_partition"));
        assert_eq!(label("norm(V const&)", 3.0).as_deref(), Some("no…"));
        assert_eq!(label("work(int) (a.c:3)", 12.0).as_deref(), Some("work(int)"));
    }

    proptest! {
        #[test]
        fn a_shortened_label_fits(text in "(\\PC{0,40}|[a-z:<>() ]{0,40})( \\(a:[0-9]\\))?", room in 0.0_f32..50.0) {
            let advance = |letter: char| if letter.is_ascii() { 1.0 } else { 2.5 };
            if let Some(label) = shorten_label(&text, room, advance) {
                let width: f32 = label.chars().map(advance).sum();
                prop_assert!(width <= room + 1e-3 || label.is_empty());
            }
        }

        #[test]
        fn a_text_without_its_middle_fits(text in "\\PC{0,40}", room in 0.0_f32..50.0) {
            let advance = |letter: char| if letter.is_ascii() { 1.0 } else { 2.5 };
            if let Some(label) = shorten_middle(&text, room, advance) {
                let width: f32 = label.chars().map(advance).sum();
                prop_assert!(width <= room + 1e-3 || label.is_empty());
            }
        }
    }

    #[test]
    fn a_span_that_starts_out_of_view_has_its_name_in_view() {
        let mut view = Viewport::covering(0, 1_000_000, 1000.0, 100.0);
        view.show_exactly(0, 1000);
        let mut run = ColumnRun {
            x0: -8.0,
            x1: 300.0,
            name: crate::model::NameIdx::EMPTY,
            row: 0,
            dur_ns: 1,
            wide: true,
            unfinished: false,
            torn: false,
        };
        assert_eq!(text_room(&view, &run, 4.0), Some((4.0, 296.0)));
        run.x1 = 20.0;
        assert_eq!(text_room(&view, &run, 4.0), None);
    }
}
