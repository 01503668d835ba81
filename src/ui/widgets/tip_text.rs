//! The text of a name in a tooltip.

use super::reading_order::on_screen;
use crate::scene::labels::{shorten_middle, shown};

/// Limit for the letters of a name in a tooltip: some fifteen lines. Copies have the rest.
const LETTERS_MAX: f32 = 1200.0;

/// Returns a name for a tooltip, with control characters escaped. A very long name lacks its middle.
#[must_use]
pub(crate) fn tip_text(name: &str) -> String {
    on_screen(&shown(&shorten_middle(name, LETTERS_MAX, |_| 1.0).unwrap_or_default())).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tooltip_shows_five_hundred_letters_and_cuts_a_megabyte() {
        let name = "n".repeat(500);
        assert_eq!(tip_text(&name), name);
        let book = format!("{}.end", "é".repeat(1 << 20));
        let tip = tip_text(&book);
        assert!(tip.starts_with("éé") && tip.ends_with("end") && tip.contains('…'));
        assert_eq!(tip.chars().count(), LETTERS_MAX as usize);
    }
}
