//! Shortens names that are too long for their space, like labels. The tooltip has the whole name.

use std::borrow::Cow;

use egui::{FontId, Painter};

use crate::scene::labels::{shorten_label, shorten_middle, shown};
use crate::ui::widgets::letters::letter_width;
use crate::ui::widgets::reading_order::on_screen;

/// Limit for the letters of the scope of a pinned panel in its tab, and in a title with little room.
pub(super) const SCOPE_LETTERS: f32 = 36.0;

/// Room for the positions of letters, which are rounded to pixels.
const ROUNDING_POINTS: f32 = 1.0;

/// The separator of a label of two parts, such as a name and its category.
pub(super) const LABEL_SEPARATOR: &str = "  ·  ";

/// Returns the part of a text that fits in `points`.
pub(super) fn elided<'t>(painter: &Painter, text: &'t str, points: f32, font: &FontId) -> Cow<'t, str> {
    let elided = |points| painter.fonts_mut(|fonts| elide(text, points, |letter| letter_width(fonts, font, letter)));
    let cut = elided(points);
    let width = painter.layout_no_wrap(cut.to_string(), font.clone(), egui::Color32::PLACEHOLDER).size().x;
    if width <= points || cut.chars().count() <= 1 {
        return cut;
    }
    // Kerning makes the text wider than the sum of its letters, by about the same part everywhere.
    let sum: f32 = painter.fonts_mut(|fonts| cut.chars().map(|letter| letter_width(fonts, font, letter)).sum());
    elided(points * sum / width - ROUNDING_POINTS)
}

/// Shortens a text. Of a label of two parts, each keeps its share of the room, so that the separator stays.
fn elide(text: &str, room: f32, mut advance: impl FnMut(char) -> f32) -> Cow<'_, str> {
    let shorten = |text, room, advance: &mut dyn FnMut(char) -> f32| {
        shorten_label(text, room, advance).unwrap_or(Cow::Borrowed("…"))
    };
    let whole = shorten(text, room, &mut advance);
    let parts = text.rsplit_once(LABEL_SEPARATOR).filter(|_| whole.len() < text.len());
    let Some((one, other)) = parts else { return whole };
    let room = room - LABEL_SEPARATOR.chars().map(&mut advance).sum::<f32>();
    if room <= 0.0 {
        return whole;
    }
    let mut needed = |part: &str| {
        // Of a name of 64 KiB, only the fitting part is read.
        let mut points = 0.0;
        part.chars()
            .take_while(|&letter| {
                points <= room && {
                    points += advance(letter);
                    true
                }
            })
            .count();
        // A part that just fits must not be cut because of a rounded sum.
        points + 1.0
    };
    let (one_points, other_points) = (needed(one), needed(other));
    let other_room = other_points.min((room - one_points).max(room / 2.0));
    let one = shorten(one, room - other_room, &mut advance);
    Cow::Owned(format!("{one}{LABEL_SEPARATOR}{}", shorten(other, other_room, &mut advance)))
}

/// Returns the description of a scope for a title, with control characters escaped. A description of more than
/// `letters` lacks its middle.
#[must_use]
pub(super) fn short_scope(text: &str, letters: f32) -> String {
    on_screen(&shorten_middle(&shown(text), letters, |_| 1.0).unwrap_or_default()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_title_of_a_scope_is_short_and_has_no_control_characters() {
        let short_scope = |text: &str| short_scope(text, SCOPE_LETTERS);
        assert_eq!(short_scope("of the whole trace"), "of the whole trace");
        let long = short_scope(&format!("of {}end", "n".repeat(500)));
        assert!(long.starts_with("of nn") && long.ends_with("nend") && long.chars().count() == 36, "{long}");
        for control in ["\n", "\u{1b}", "\u{202e}"] {
            let text = short_scope(&format!("of a{control}b"));
            assert!(text.starts_with("of a\\") && !text.contains(control), "{text}");
        }
        let name = format!("of {}", "n".repeat(80));
        assert_eq!(super::short_scope(&name, 100.0), name, "where there is room");
    }

    #[test]
    fn a_name_with_kerning_fits_where_it_is_cut() {
        let ctx = egui::Context::default();
        ctx.begin_pass(egui::RawInput::default());
        let painter = ctx.layer_painter(egui::LayerId::background());
        for size in [9.0, 11.0, 13.0] {
            let font = FontId::proportional(size);
            for name in ["x", "v", "k", "AV", "o", "request "] {
                let cut = elided(&painter, &name.repeat(500), 300.0, &font).into_owned();
                let width = painter.layout_no_wrap(cut.clone(), font.clone(), egui::Color32::WHITE).size().x;
                assert!(width <= 300.0 && width > 200.0, "{name} at {size}: {width}, {cut}");
            }
        }
        // Nothing takes the glyph textures.
        ctx.end_pass().textures_delta.clear();
    }

    #[test]
    fn a_text_of_which_no_letter_fits_is_an_ellipsis() {
        assert_eq!(elide("request", 1.0, |_| 1.0), "…");
        assert_eq!(elide("", 3.0, |_| 1.0), "");
    }

    #[test]
    fn both_parts_of_a_label_stay_recognisable() {
        let (long, short) = ("n".repeat(40), "io");
        for (one, other) in [(&*long, short), (short, &*long), (&*long, &*long)] {
            let label = format!("{one}{LABEL_SEPARATOR}{other}");
            let cut = elide(&label, 25.7, |_| 1.0);
            let (cut_one, cut_other) = cut.split_once(LABEL_SEPARATOR).unwrap_or_else(|| panic!("{cut}"));
            assert!(cut.chars().count() <= 25, "{cut}");
            for (cut, part) in [(cut_one, one), (cut_other, other)] {
                assert!(cut == part || cut.contains('…') && part.len() > 9 && cut.chars().count() >= 9, "{cut}");
            }
            assert_eq!(elide(&label, 100.0, |_| 1.0), label);
        }
    }
}
