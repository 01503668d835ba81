//! Colours from names: the same name has the same colour in every capture, every session and both themes' hue.

use xxhash_rust::xxh3::xxh3_64;

/// A colour as the screen takes it: gamma-coded red, green, blue, and opacity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Rgba(pub [u8; 4]);

/// Whether the surroundings are dark or light.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize, serde::Deserialize)]
pub enum Shade {
    /// Light text on a dark ground.
    #[default]
    Dark,
    /// Dark text on a light ground.
    Light,
}

/// The colours that names can take.
#[derive(Debug, Clone)]
pub struct Palette {
    colors: Vec<Rgba>,
}

/// 32 hues are as many as one tells apart side by side; each in three lightnesses.
const HUES: u32 = 32;
const LIGHTNESSES: u32 = 3;

impl Palette {
    /// The palette for a dark or a light ground.
    #[must_use]
    pub fn new(shade: Shade) -> Self {
        // All lightnesses are near each other, so that no span shouts; chroma is low enough that every hue is in sRGB.
        let (lightest, step, chroma) = match shade {
            Shade::Dark => (0.74, 0.065, 0.105),
            Shade::Light => (0.80, 0.055, 0.095),
        };
        let colors = (0..HUES * LIGHTNESSES)
            .map(|index| {
                let hue_degrees = f64::from(index % HUES) * 360.0 / f64::from(HUES);
                let lightness = lightest - step * f64::from(index / HUES);
                rgba_from_oklch(lightness, chroma, hue_degrees)
            })
            .collect();
        Self { colors }
    }

    /// The colour of a name.
    #[must_use]
    pub fn of_text(&self, text: &str) -> Rgba {
        let place = xxh3_64(text.as_bytes()) % self.colors.len() as u64;
        usize::try_from(place).ok().and_then(|place| self.colors.get(place)).copied().unwrap_or_default()
    }

    /// Every colour, for tests and legends.
    #[must_use]
    pub fn colors(&self) -> &[Rgba] {
        &self.colors
    }
}

impl Rgba {
    /// An opaque colour.
    #[must_use]
    pub const fn opaque(red: u8, green: u8, blue: u8) -> Self {
        Self([red, green, blue, 255])
    }

    /// The same colour with another opacity.
    #[must_use]
    pub const fn with_opacity(self, opacity: u8) -> Self {
        Self([self.0[0], self.0[1], self.0[2], opacity])
    }

    /// Near-black or white, whichever reads better on this colour.
    #[must_use]
    pub fn text_on(self) -> Self {
        const DARK: Rgba = Rgba::opaque(0x12, 0x14, 0x18);
        const LIGHT: Rgba = Rgba::opaque(0xff, 0xff, 0xff);
        if contrast(self, DARK) >= contrast(self, LIGHT) { DARK } else { LIGHT }
    }

    /// Relative luminance as WCAG 2 defines it: 0 for black, 1 for white.
    #[must_use]
    pub fn luminance(self) -> f64 {
        let linear = |channel: u8| {
            let value = f64::from(channel) / 255.0;
            if value <= 0.040_45 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        let [red, green, blue, _] = self.0;
        0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
    }
}

/// The contrast of two opaque colours as WCAG 2 defines it: 1 for equal ones, 21 for black and white.
#[must_use]
pub fn contrast(a: Rgba, b: Rgba) -> f64 {
    let (a, b) = (a.luminance(), b.luminance());
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

/// From OKLCH (B. Ottosson, 2020): equal lightness looks equally light in every hue.
fn rgba_from_oklch(lightness: f64, chroma: f64, hue_degrees: f64) -> Rgba {
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
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to 0..=255")]
    let byte = (coded * 255.0).round() as u8;
    byte
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_reads_on_every_colour() {
        for shade in [Shade::Dark, Shade::Light] {
            for &color in Palette::new(shade).colors() {
                assert!(contrast(color, color.text_on()) >= 4.5, "{color:?}");
            }
        }
    }

    #[test]
    fn no_colour_is_lost_in_its_ground() {
        for &color in Palette::new(Shade::Dark).colors() {
            assert!(contrast(color, Rgba::opaque(0x17, 0x19, 0x1e)) >= 3.0, "{color:?}");
        }
        for &color in Palette::new(Shade::Light).colors() {
            assert!(contrast(color, Rgba::opaque(0xff, 0xff, 0xff)) >= 1.4, "{color:?}");
        }
    }

    #[test]
    fn a_name_keeps_its_colour_and_names_differ() {
        let palette = Palette::new(Shade::Dark);
        assert_eq!(palette.of_text("parse"), palette.of_text("parse"));
        let distinct: std::collections::HashSet<_> = (0..100).map(|n| palette.of_text(&format!("name {n}"))).collect();
        assert!(distinct.len() > 50, "{}", distinct.len());
    }

    #[test]
    fn white_and_black_come_out_of_the_conversion() {
        assert_eq!(rgba_from_oklch(1.0, 0.0, 0.0), Rgba::opaque(255, 255, 255));
        assert_eq!(rgba_from_oklch(0.0, 0.0, 0.0), Rgba::opaque(0, 0, 0));
    }
}
