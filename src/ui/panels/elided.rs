//! Shortens names that are too long for their space, like labels. The tooltip has the whole name.

use std::borrow::Cow;

use egui::{FontId, Painter};

use crate::scene::labels::{shorten_label, shorten_middle, shown};
use crate::ui::widgets::letters::letter_width;
use crate::ui::widgets::reading_order::on_screen;

/// Limit for the letters of a name in a tooltip: some fifteen lines. Copies have the rest.
const TIP_LETTERS_MAX: f32 = 1200.0;

/// Returns the part of a text that fits in `points`.
pub(super) fn elided<'t>(painter: &Painter, text: &'t str, points: f32, font: &FontId) -> Cow<'t, str> {
    painter.fonts_mut(|fonts| elide(text, points, |letter| letter_width(fonts, font, letter)))
}

fn elide(text: &str, room: f32, advance: impl FnMut(char) -> f32) -> Cow<'_, str> {
    shorten_label(text, room, advance).unwrap_or(Cow::Borrowed("…"))
}

/// Returns a name for a tooltip, with control characters escaped. A very long one lacks its middle.
#[must_use]
pub(super) fn tip(text: &str) -> String {
    on_screen(&shown(&shorten_middle(text, TIP_LETTERS_MAX, |_| 1.0).unwrap_or_default())).into_owned()
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
        let book = format!("{}.end", "é".repeat(1 << 20));
        assert!(tip(&book).starts_with("éé") && tip(&book).ends_with("end") && tip(&book).contains('…'));
        assert_eq!(tip(&book).chars().count(), TIP_LETTERS_MAX as usize);
    }
}
