//! sRGB colours and their contrast. The colours of spans come from [`super::palette`].

/// A gamma-encoded colour: red, green, blue and opacity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Rgba(pub [u8; 4]);

/// Whether the theme is dark or light.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize, serde::Deserialize)]
pub enum Shade {
    /// Light text on a dark background.
    #[default]
    Dark,
    /// Dark text on a light background.
    Light,
}

impl Shade {
    /// Returns the background of the rows.
    #[must_use]
    pub(crate) const fn canvas(self) -> Rgba {
        match self {
            Self::Dark => Rgba::opaque(0x16, 0x18, 0x1d),
            Self::Light => Rgba::opaque(0xff, 0xff, 0xff),
        }
    }

    /// Returns the colour of text on the background.
    #[must_use]
    pub(crate) const fn text(self) -> Rgba {
        match self {
            Self::Dark => Rgba::opaque(0xdd, 0xe1, 0xe8),
            Self::Light => Rgba::opaque(0x20, 0x25, 0x2d),
        }
    }
}

impl Rgba {
    #[must_use]
    pub(crate) const fn opaque(red: u8, green: u8, blue: u8) -> Self {
        Self([red, green, blue, 255])
    }

    /// Returns the colour with another opacity.
    #[must_use]
    pub(crate) const fn with_opacity(self, opacity: u8) -> Self {
        Self([self.0[0], self.0[1], self.0[2], opacity])
    }

    /// Returns near-black or white, whichever has more contrast on this colour; black if neither reaches 4.5, the
    /// minimum of WCAG 2 for text.
    #[must_use]
    pub(crate) fn text_on(self) -> Self {
        const DARK: Rgba = Rgba::opaque(0x12, 0x14, 0x18);
        const LIGHT: Rgba = Rgba::opaque(0xff, 0xff, 0xff);
        const BLACK: Rgba = Rgba::opaque(0, 0, 0);
        let better = if contrast(self, DARK) >= contrast(self, LIGHT) { DARK } else { LIGHT };
        if contrast(self, better) >= 4.5 { better } else { BLACK }
    }

    /// Returns the relative luminance of WCAG 2: 0 for black, 1 for white.
    #[must_use]
    pub(crate) fn luminance(self) -> f64 {
        let linear = |channel: u8| {
            let value = f64::from(channel) / 255.0;
            if value <= 0.040_45 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        let [red, green, blue, _] = self.0;
        0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
    }
}

/// Returns the contrast ratio of WCAG 2 of two opaque colours: 1 for equal ones, 21 for black and white.
#[must_use]
pub(crate) fn contrast(a: Rgba, b: Rgba) -> f64 {
    let (a, b) = (a.luminance(), b.luminance());
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

/// Converts from OKLCH (B. Ottosson, 2020), in which equal lightness looks equally light in every hue.
pub(super) fn rgba_from_oklch(lightness: f64, chroma: f64, hue_degrees: f64) -> Rgba {
    let (sin, cos) = hue_degrees.to_radians().sin_cos();
    let (a, b) = (chroma * cos, chroma * sin);
    let long = (lightness + 0.396_337_777_4 * a + 0.215_803_757_3 * b).powi(3);
    let medium = (lightness - 0.105_561_345_8 * a - 0.063_854_172_8 * b).powi(3);
    let short = (lightness - 0.089_484_177_5 * a - 1.291_485_548 * b).powi(3);
    Rgba::opaque(
        byte_from_linear(4.076_741_662_1 * long - 3.307_711_591_3 * medium + 0.230_969_929_2 * short),
        byte_from_linear(-1.268_438_004_6 * long + 2.609_757_401_1 * medium - 0.341_319_396_5 * short),
        byte_from_linear(-0.004_196_086_3 * long - 0.703_418_614_7 * medium + 1.707_614_701 * short),
    )
}

fn byte_from_linear(value: f64) -> u8 {
    let value = value.clamp(0.0, 1.0);
    let coded = if value <= 0.003_130_8 { value * 12.92 } else { 1.055 * value.powf(1.0 / 2.4) - 0.055 };
    (coded * 255.0).round() as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_readable_on_every_colour() {
        // Every fifth value of each channel, with both ends.
        let channel = || (0..=255_u8).step_by(5);
        for (red, green, blue) in
            channel().flat_map(|red| channel().flat_map(move |green| channel().map(move |blue| (red, green, blue))))
        {
            let color = Rgba::opaque(red, green, blue);
            assert!(contrast(color, color.text_on()) >= 4.5, "{color:?}");
        }
    }

    #[test]
    fn oklch_converts_to_white_and_black() {
        assert_eq!(rgba_from_oklch(1.0, 0.0, 0.0), Rgba::opaque(255, 255, 255));
        assert_eq!(rgba_from_oklch(0.0, 0.0, 0.0), Rgba::opaque(0, 0, 0));
    }
}
