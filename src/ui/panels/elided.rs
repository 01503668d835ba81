//! Names too long for their place: cut at the end where fewer than twelve letters fit, in the middle where more do. The
//! whole name is in the tooltip.

use std::borrow::Cow;

use egui::{FontId, Painter};

use crate::scene::labels::{shorten_middle, shown};
use crate::ui::widgets::reading_order::on_screen;

/// Below this many letters the end goes: two halves of a few letters each say less than one beginning.
const LETTERS_MIN: usize = 12;

/// A tooltip of more bytes would be higher than the screen. Copies have the rest.
const TIP_BYTES_MAX: usize = 4096;

/// The part of a text that fits `points`.
pub(super) fn elided<'t>(painter: &Painter, text: &'t str, points: f32, font: &FontId) -> Cow<'t, str> {
    painter.fonts_mut(|fonts| elide(text, points, |letter| fonts.glyph_width(font, letter)))
}

fn elide(text: &str, room: f32, mut advance: impl FnMut(char) -> f32) -> Cow<'_, str> {
    let short = shorten_middle(text, room, &mut advance).unwrap_or_default();
    if matches!(short, Cow::Borrowed(whole) if !whole.is_empty()) || short.chars().count() > LETTERS_MIN {
        return short;
    }
    let mut used = advance('…');
    let end = text.char_indices().find(|&(_, letter)| {
        used += advance(letter);
        used > room
    });
    let end = end.map_or(text.len(), |(end, _)| end);
    if end == text.len() { Cow::Borrowed(text) } else { Cow::Owned(format!("{}…", &text[..end])) }
}

/// A whole name for a tooltip, with escapes for control characters.
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

    fn elided(text: &str, letters: f32) -> String {
        elide(text, letters, |_| 1.0).into_owned()
    }

    #[test]
    fn short_places_keep_the_beginning_and_long_ones_both_ends() {
        assert_eq!(elided("request", 7.0), "request");
        assert_eq!(elided("std::collections", 8.0), "std::co…");
        assert_eq!(elided("std::collections::hash_map", 15.0), "std::co…ash_map");
        assert_eq!(elided("", 3.0), "");
        assert_eq!(elided("request", 1.0), "…");
    }

    #[test]
    fn a_tip_has_five_hundred_letters_whole_and_a_book_in_part() {
        let name = "n".repeat(500);
        assert_eq!(tip(&name), name);
        let book = "é".repeat(1 << 20);
        assert!(tip(&book).ends_with('…') && tip(&book).len() < 2 * TIP_BYTES_MAX);
    }
}
