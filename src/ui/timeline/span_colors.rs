//! The colours of spans: the scheme that the user has chosen, in the shade of the theme.

use crate::scene::color::Shade;
use crate::scene::palette::{Colors, Palette};

/// A scheme and a shade, with their palette.
pub(super) struct SpanColors {
    colors: Colors,
    shade: Shade,
    palette: Palette,
}

impl SpanColors {
    pub(super) fn new(colors: Colors, shade: Shade) -> Self {
        Self { colors, shade, palette: Palette::from_colors(colors, shade) }
    }

    pub(super) fn colors(&self) -> Colors {
        self.colors
    }

    pub(super) fn shade(&self) -> Shade {
        self.shade
    }

    pub(super) fn palette(&self) -> &Palette {
        &self.palette
    }
}
