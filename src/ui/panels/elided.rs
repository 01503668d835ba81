//! Shortens names that are too long for their space, like labels. The tooltip has the whole name.

use std::borrow::Cow;

use egui::{FontId, Painter};

use crate::scene::labels::{shorten_label, shown};
use crate::ui::widgets::letters::letter_width;
use crate::ui::widgets::reading_order::on_screen;

/// Limit for the bytes of a tooltip, which must fit on the screen. Copies have the rest.
const TIP_BYTES_MAX: usize = 4096;

/// Returns the part of a text that fits in `points`.
pub(super) fn elided<'t>(painter: &Painter, text: &'t str, points: f32, font: &FontId) -> Cow<'t, str> {
    painter.fonts_mut(|fonts| elide(text, points, |letter| letter_width(fonts, font, letter)))
}

fn elide(text: &str, room: f32, advance: impl FnMut(char) -> f32) -> Cow<'_, str> {
    shorten_label(text, room, advance).unwrap_or(Cow::Borrowed("…"))
}

/// Returns a whole name for a tooltip, with control characters escaped.
#[must_use]
pub(super) fn tip(text: &str) -> String {
    let end = text.floor_char_boundary(TIP_BYTES_MAX);
    let mut tip = on_screen(&shown(&text[..end])).into_owned();
    if end < text.len() {
        tip.push('…');
    }
    tip
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_which_no_letter_fits_is_an_ellipsis() {
        assert_eq!(elide("request", 1.0, |_| 1.0), "…");
        assert_eq!(elide("", 3.0, |_| 1.0), "");
    }

    #[test]
    fn a_tooltip_shows_five_hundred_letters_and_cuts_a_megabyte() {
        let name = "n".repeat(500);
        assert_eq!(tip(&name), name);
        let book = "é".repeat(1 << 20);
        assert!(tip(&book).ends_with('…') && tip(&book).len() < 2 * TIP_BYTES_MAX);
    }
}
