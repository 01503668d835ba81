//! Which spans have room for their name, and how a name is cut to fit. Measures text through a function of its caller.

use std::borrow::Cow;

use super::rects::ColumnRun;
use super::viewport::Viewport;
/// A name as it is safe to show on one line: one that turns the direction of writing could pose as another.
pub(crate) use crate::base::escape::escaped as shown;

/// The part of a stretch with room for text: in view, and off its edges.
#[must_use]
pub(crate) fn text_room(view: &Viewport, run: &ColumnRun, padding_px: f64) -> Option<(f64, f64)> {
    let x0 = run.x0.max(0.0) + padding_px;
    let x1 = run.x1.min(view.width_px()) - padding_px;
    // Below three characters even a shortened name says nothing; a character is about twice the padding.
    (run.wide && x1 - x0 >= 6.0 * padding_px).then_some((x0, x1))
}

/// `text` if it fits `room_px`, else its start and its end around an ellipsis; `None` if not even that fits. The middle
/// goes, because names of one program start alike and names of one class end alike.
#[must_use]
pub(crate) fn shorten_middle(
    text: &str,
    room_px: f32,
    mut advance_px: impl FnMut(char) -> f32,
) -> Option<Cow<'_, str>> {
    const ELLIPSIS: char = '…';
    let mut head_px = 0.0;
    // Where the text stops fitting; of a name of 64 KiB only what fits is looked at.
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
        // Letters from both ends in turn, one more from the head.
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
    fn the_middle_goes_first() {
        assert_eq!(shortened("parse_document", 14.0).as_deref(), Some("parse_document"));
        assert_eq!(shortened("parse_document", 7.0).as_deref(), Some("par…ent"));
        assert_eq!(shortened("parse_document", 3.0).as_deref(), Some("p…t"));
        assert_eq!(shortened("parse_document", 2.0), None);
    }

    proptest! {
        #[test]
        fn what_is_shown_fits(text in "\\PC{0,40}", room in 0.0_f32..50.0) {
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
        };
        assert_eq!(text_room(&view, &run, 4.0), Some((4.0, 296.0)));
        run.x1 = 20.0;
        assert_eq!(text_room(&view, &run, 4.0), None);
    }
}
