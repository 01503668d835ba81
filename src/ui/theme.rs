//! Colours, fonts and spacing of the window, dark and light. The colours of spans come from the palette.

use egui::{Color32, CornerRadius, Margin, Stroke, Visuals};

use crate::scene::color::{Rgba, Shade};

/// The colours of the canvas and its surroundings.
#[derive(Debug, Clone, PartialEq)]
#[expect(missing_docs, reason = "each field is the colour of what it names")]
pub struct Theme {
    pub shade: Shade,
    pub(crate) canvas: Color32,
    pub(crate) gutter: Color32,
    pub(crate) header: Color32,
    pub(crate) panel: Color32,
    pub(crate) raised: Color32,
    pub(crate) line: Color32,
    /// The outline of buttons and fields; transparent if their background is distinct.
    pub(crate) outline: Color32,
    pub(crate) grid: Color32,
    pub(crate) text: Color32,
    pub(crate) weak_text: Color32,
    pub(crate) accent: Color32,
    pub(crate) warning: Color32,
    pub(crate) error: Color32,
    /// Outline of the selected span, visible on every span and on the canvas.
    pub(crate) selection: Color32,
    pub(crate) hover: Color32,
}

/// Default font size, in points.
pub(crate) const TEXT_POINTS: f32 = 13.0;
/// Font size of names on spans and in the gutter, in points.
pub(crate) const LABEL_POINTS: f32 = 12.0;

impl Theme {
    /// Returns the dark or light theme.
    #[must_use]
    pub fn new(shade: Shade) -> Self {
        let rgb = Color32::from_rgb;
        match shade {
            Shade::Dark => Self {
                shade,
                canvas: color32(shade.canvas()),
                gutter: rgb(0x1b, 0x1e, 0x24),
                header: rgb(0x24, 0x28, 0x30),
                panel: rgb(0x1b, 0x1e, 0x24),
                raised: rgb(0x2a, 0x2f, 0x38),
                line: rgb(0x2c, 0x31, 0x3a),
                outline: Color32::TRANSPARENT,
                grid: rgb(0x22, 0x26, 0x2d),
                text: color32(shade.text()),
                weak_text: rgb(0x93, 0x9b, 0xa8),
                accent: rgb(0x5b, 0xa4, 0xf5),
                warning: rgb(0xf2, 0xb1, 0x4a),
                error: rgb(0xf2, 0x6d, 0x6d),
                selection: rgb(0xff, 0xff, 0xff),
                hover: Color32::from_white_alpha(140),
            },
            Shade::Light => Self {
                shade,
                canvas: color32(shade.canvas()),
                gutter: rgb(0xf6, 0xf7, 0xf9),
                header: rgb(0xe9, 0xec, 0xf1),
                panel: rgb(0xf6, 0xf7, 0xf9),
                raised: rgb(0xe4, 0xe8, 0xee),
                line: rgb(0xdb, 0xdf, 0xe6),
                outline: Color32::TRANSPARENT,
                grid: rgb(0xee, 0xf0, 0xf3),
                text: color32(shade.text()),
                weak_text: rgb(0x60, 0x68, 0x75),
                accent: rgb(0x15, 0x62, 0xc0),
                warning: rgb(0x8f, 0x58, 0x00),
                error: rgb(0xc0, 0x2f, 0x2f),
                selection: rgb(0x10, 0x14, 0x1a),
                hover: Color32::from_black_alpha(140),
            },
        }
    }

    /// Returns the high-contrast theme: text contrast of at least 7 to 1, and strong lines.
    #[must_use]
    pub(crate) fn with_high_contrast(shade: Shade) -> Self {
        let rgb = Color32::from_rgb;
        let usual = Self::new(shade);
        match shade {
            Shade::Dark => Self {
                canvas: rgb(0x00, 0x00, 0x00),
                gutter: rgb(0x08, 0x09, 0x0b),
                panel: rgb(0x08, 0x09, 0x0b),
                line: rgb(0x8a, 0x93, 0xa1),
                grid: rgb(0x62, 0x6b, 0x78),
                outline: rgb(0x8a, 0x93, 0xa1),
                text: rgb(0xff, 0xff, 0xff),
                weak_text: rgb(0xcf, 0xd5, 0xde),
                accent: rgb(0x8f, 0xc3, 0xff),
                warning: rgb(0xff, 0xc6, 0x66),
                error: rgb(0xff, 0xa3, 0xa3),
                ..usual
            },
            Shade::Light => Self {
                gutter: rgb(0xff, 0xff, 0xff),
                panel: rgb(0xff, 0xff, 0xff),
                line: rgb(0x6b, 0x74, 0x82),
                grid: rgb(0x8a, 0x93, 0xa1),
                outline: rgb(0x6b, 0x74, 0x82),
                text: rgb(0x00, 0x00, 0x00),
                weak_text: rgb(0x3a, 0x40, 0x4a),
                accent: rgb(0x00, 0x43, 0x8f),
                warning: rgb(0x62, 0x3c, 0x00),
                error: rgb(0x8f, 0x10, 0x10),
                ..usual
            },
        }
    }

    /// Applies the theme to egui's widgets.
    pub(crate) fn apply(&self, ctx: &egui::Context) {
        let egui_theme = match self.shade {
            Shade::Dark => egui::Theme::Dark,
            Shade::Light => egui::Theme::Light,
        };
        ctx.set_theme(egui_theme);
        ctx.style_mut_of(egui_theme, |style| {
            style.visuals = self.visuals();
            style.spacing.item_spacing = egui::vec2(8.0, 5.0);
            style.spacing.button_padding = egui::vec2(9.0, 4.0);
            style.spacing.menu_margin = Margin::same(6);
            style.spacing.interact_size.y = 24.0;
            style.spacing.window_margin = Margin::same(14);
            style.spacing.scroll = egui::style::ScrollStyle::thin();
            style.interaction.selectable_labels = false;
            for (text_style, font) in &mut style.text_styles {
                font.size = match text_style {
                    egui::TextStyle::Heading => 20.0,
                    egui::TextStyle::Small => 11.0,
                    _ => TEXT_POINTS,
                };
            }
        });
    }

    fn visuals(&self) -> Visuals {
        let mut visuals = match self.shade {
            Shade::Dark => Visuals::dark(),
            Shade::Light => Visuals::light(),
        };
        // A blinking cursor would redraw the window twice a second.
        visuals.text_cursor.blink = false;
        visuals.panel_fill = self.panel;
        visuals.window_fill = self.panel;
        visuals.window_stroke = Stroke::new(1.0, self.line);
        visuals.window_corner_radius = CornerRadius::same(8);
        visuals.menu_corner_radius = CornerRadius::same(6);
        visuals.extreme_bg_color = self.canvas;
        visuals.faint_bg_color = self.header;
        visuals.hyperlink_color = self.accent;
        visuals.warn_fg_color = self.warning;
        visuals.error_fg_color = self.error;
        visuals.weak_text_color = Some(self.weak_text);
        visuals.selection.bg_fill = self.accent.gamma_multiply(0.35);
        visuals.selection.stroke = Stroke::new(1.0, self.text);
        let widgets = &mut visuals.widgets;
        widgets.noninteractive.bg_stroke = Stroke::new(1.0, self.line);
        widgets.noninteractive.fg_stroke.color = self.text;
        widgets.noninteractive.bg_fill = self.panel;
        widgets.noninteractive.weak_bg_fill = self.panel;
        for state in [&mut widgets.inactive, &mut widgets.open] {
            state.weak_bg_fill = self.raised;
            state.bg_fill = self.raised;
            let is_outlined = self.outline != Color32::TRANSPARENT;
            state.bg_stroke = if is_outlined { Stroke::new(1.0, self.outline) } else { Stroke::NONE };
            state.fg_stroke.color = self.text;
        }
        for state in [&mut widgets.hovered, &mut widgets.active] {
            state.weak_bg_fill = mixed(self.raised, self.accent, 0.25);
            state.bg_fill = mixed(self.raised, self.accent, 0.25);
            state.bg_stroke = Stroke::new(1.0, mixed(self.raised, self.accent, 0.6));
            state.fg_stroke.color = self.text;
        }
        for state in [
            &mut widgets.noninteractive,
            &mut widgets.inactive,
            &mut widgets.hovered,
            &mut widgets.active,
            &mut widgets.open,
        ] {
            state.corner_radius = CornerRadius::same(5);
        }
        visuals
    }
}

/// Converts a scene colour to egui's type.
#[must_use]
pub(crate) fn color32(color: Rgba) -> Color32 {
    let [red, green, blue, opacity] = color.0;
    Color32::from_rgba_unmultiplied(red, green, blue, opacity)
}

/// Mixes two colours; `part` is the share of the second.
fn mixed(from: Color32, to: Color32, part: f32) -> Color32 {
    from.lerp_to_gamma(to, part)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::color::contrast;

    #[test]
    fn text_has_enough_contrast_on_every_background() {
        let usual = [Shade::Dark, Shade::Light].map(|shade| (Theme::new(shade), 4.5, 1.0));
        let high = [Shade::Dark, Shade::Light].map(|shade| (Theme::with_high_contrast(shade), 7.0, 4.0));
        for (theme, weak_min, line_min) in usual.iter().chain(&high) {
            let opaque = |color: Color32| Rgba::opaque(color.r(), color.g(), color.b());
            for ground in [theme.canvas, theme.gutter, theme.header, theme.panel, theme.raised] {
                assert!(contrast(opaque(theme.text), opaque(ground)) >= 7.0);
                for color in [theme.weak_text, theme.accent, theme.warning, theme.error] {
                    let contrast = contrast(opaque(color), opaque(ground));
                    assert!(contrast >= *weak_min, "{color:?} on {ground:?}: {contrast}");
                }
                let line = contrast(opaque(theme.line), opaque(theme.canvas));
                assert!(line >= *line_min, "a line on the canvas: {line}");
            }
        }
        for theme in high.map(|(theme, ..)| theme) {
            let opaque = |color: Color32| Rgba::opaque(color.r(), color.g(), color.b());
            for (line, ground) in
                [(theme.grid, theme.canvas), (theme.outline, theme.panel), (theme.outline, theme.raised)]
            {
                let contrast = contrast(opaque(line), opaque(ground));
                assert!(contrast >= 3.0, "{line:?} on {ground:?}: {contrast}");
            }
        }
    }
}
