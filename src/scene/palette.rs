//! The colours of spans by name, category, track or duration, in the usual or the colour-blind-safe palette. A name or
//! a duration has the same colour in every trace and session. Colours are computed for the spans of a frame only.

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::color::{Rgba, Shade, contrast, rgba_from_oklch};
use crate::model::NameRow;

/// The property of a span that determines its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum ColorBy {
    /// The name of the span.
    #[default]
    Name,
    /// The category of the span; spans without a category are grey.
    Category,
    /// The thread or other track.
    Track,
    /// The duration, by powers of ten.
    Duration,
}

/// The set of hues for spans.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum Hues {
    /// Many hues, for users without a colour vision deficiency.
    #[default]
    Usual,
    /// Fewer hues, distinguishable without red, green or blue cones.
    ColorBlind,
}

/// The colour scheme of spans.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Colors {
    /// The property that determines a span's colour.
    pub by: ColorBy,
    /// The set of hues to choose from.
    pub hues: Hues,
}

/// The colours of spans on one background.
#[derive(Debug, Clone)]
pub struct Palette {
    by: ColorBy,
    named: Vec<Rgba>,
    ramp: [Rgba; DURATION_STEPS],
    /// The colour of spans without a category.
    grey: Rgba,
    states: StateColors,
    series: [Rgba; SERIES],
    canvas: Rgba,
    /// The colour of text on the background.
    canvas_text: Rgba,
}

/// Opacity of a span after the last event of its track: visible on dark and light backgrounds. Dimmed spans have a
/// lower opacity.
pub(crate) const OPEN_END_OPACITY: u8 = 0x48;

/// Opacity, from 0 to 1, of the veil over spans outside the scope. It has the colour of the background.
pub(crate) const VEIL_OPACITY: f32 = 0.45;

/// Number of curves of one row with distinct colours.
const SERIES: usize = 8;

/// The colours of thread states by meaning: running is bright, and waiting for a CPU or a disk is a warning. Sleeping
/// is close to the background, since most threads sleep most of the time.
#[derive(Debug, Clone, Copy)]
struct StateColors {
    running: Rgba,
    runnable: Rgba,
    uninterruptible: Rgba,
    asleep: Rgba,
}

/// Durations have a colour per quarter of a power of ten. Such colours can still be distinguished, and neighbouring
/// columns of nearly equal durations are one rectangle.
const STEPS_PER_DECADE: usize = 4;

/// From 100 ns, below which clocks are inaccurate, to 10 s. The range is the same in all traces, so that colours are
/// comparable.
const DECADES: usize = 8;

/// Shorter durations have the first colour, longer ones the last.
const SHORTEST_NS: u64 = 100;

/// Number of colours for durations.
pub(crate) const DURATION_STEPS: usize = DECADES * STEPS_PER_DECADE;

impl Palette {
    /// Creates the usual palette by name.
    #[must_use]
    pub fn new(shade: Shade) -> Self {
        Self::from_colors(Colors::default(), shade)
    }

    /// Creates a palette for a theme.
    #[must_use]
    pub fn from_colors(colors: Colors, shade: Shade) -> Self {
        let named = match colors.hues {
            Hues::Usual => usual(shade),
            Hues::ColorBlind => rgba(color_blind(shade)).collect(),
        };
        let grey = rgba_from_oklch(if shade == Shade::Dark { 0.66 } else { 0.76 }, 0.0, 0.0);
        Self {
            by: colors.by,
            named,
            ramp: ramp(colors.hues, shade),
            grey,
            states: StateColors::on(shade),
            series: series(shade),
            canvas: shade.canvas(),
            canvas_text: shade.text(),
        }
    }

    /// Returns the colour of text on the background, and on spans of [`OPEN_END_OPACITY`].
    #[must_use]
    pub(crate) fn canvas_text(&self) -> Rgba {
        self.canvas_text
    }

    /// Returns the colour of a name above the veil, on a span of colour `fill`. `text` is the colour of the name
    /// without the veil. The name is as dim as the span where that is readable.
    #[must_use]
    pub(crate) fn veiled_text(&self, fill: Rgba, text: Rgba) -> Rgba {
        /// WCAG 2 asks for 3; the background may be darker than the palette's.
        const CONTRAST_MIN: f64 = 3.5;
        let veil = f64::from(VEIL_OPACITY);
        let fill = mixed(self.canvas, fill, f64::from(fill.0[3]) / 255.0);
        let fill = mixed(fill, self.canvas, veil);
        let bright = fill.text_on();
        let dim = [mixed(text, self.canvas, veil), mixed(bright, fill, veil)];
        dim.into_iter().find(|text| contrast(*text, fill) >= CONTRAST_MIN).unwrap_or(bright)
    }

    /// Returns the fill colour that stands for a text, chosen by its hash.
    #[must_use]
    pub fn hashed_color(&self, text: &str) -> Rgba {
        let index = xxh3_64(text.as_bytes()) % self.named.len() as u64;
        usize::try_from(index).ok().and_then(|index| self.named.get(index)).copied().unwrap_or_default()
    }

    /// Returns the colour of a name without a span: by category if that determines colours, else by the text.
    #[must_use]
    pub(crate) fn name_color(&self, name: NameRow<&str>) -> Rgba {
        match (self.by, name.category) {
            (ColorBy::Category, None | Some("")) => self.grey,
            (ColorBy::Category, Some(category)) => self.hashed_color(category),
            _ => self.hashed_color(name.text),
        }
    }

    /// Returns the colour of a span. `of_track` is the colour of its track, for colouring by track.
    #[must_use]
    pub(crate) fn span_color(&self, name: NameRow<&str>, dur_ns: u64, of_track: Rgba) -> Rgba {
        match self.by {
            ColorBy::Name | ColorBy::Category => self.name_color(name),
            ColorBy::Track => of_track,
            ColorBy::Duration => self.ramp[duration_step(dur_ns)],
        }
    }

    /// Returns the colour of a thread state, by its name, which is the same in every format.
    #[must_use]
    pub(crate) fn state_color(&self, state: &str) -> Rgba {
        match state {
            "Running" => self.states.running,
            state if state.starts_with("Runnable") => self.states.runnable,
            state if state.starts_with("Uninterruptible") => self.states.uninterruptible,
            _ => self.states.asleep,
        }
    }

    /// Returns the colour of a curve in a row of several, distinguishable by all viewers.
    #[must_use]
    pub(crate) fn series_color(&self, index: usize) -> Rgba {
        self.series[index % SERIES]
    }

    /// Returns the property that determines the colours.
    #[must_use]
    pub(crate) fn by(&self) -> ColorBy {
        self.by
    }

    /// Returns whether spans with the same name have the same colour with both durations.
    #[must_use]
    pub(crate) fn is_same(&self, dur_ns: u64, other_ns: u64) -> bool {
        self.by != ColorBy::Duration || duration_step(dur_ns) == duration_step(other_ns)
    }

    /// Returns the colours of durations, short to long.
    #[must_use]
    pub(crate) fn durations(&self) -> &[Rgba; DURATION_STEPS] {
        &self.ramp
    }
}

impl StateColors {
    /// Returns the state colours, in hues of Okabe and Ito (2008), which are safe for any colour vision.
    #[expect(clippy::unreadable_literal, reason = "colours are written so")]
    fn on(shade: Shade) -> Self {
        let [running, runnable, uninterruptible, asleep] = match shade {
            Shade::Dark => [0x16a479, 0xc3b704, 0xd2691e, 0x363c46],
            Shade::Light => [0x4fd0a0, 0xe6da34, 0xe07b3a, 0xdfe3e9],
        };
        let [running, runnable, uninterruptible, asleep] = [running, runnable, uninterruptible, asleep].map(rgb);
        Self { running, runnable, uninterruptible, asleep }
    }
}

/// Returns the colour step of a duration.
#[must_use]
pub(crate) fn duration_step(dur_ns: u64) -> usize {
    let decades = (dur_ns.max(SHORTEST_NS) as f64 / SHORTEST_NS as f64).log10();
    ((decades * STEPS_PER_DECADE as f64) as usize).min(DURATION_STEPS - 1)
}

/// Iterates over the shortest duration of each coloured power of ten, and the end of the last.
pub(crate) fn decades_ns() -> impl Iterator<Item = u64> {
    (0..=DECADES as u32).map(|decade| SHORTEST_NS * 10_u64.pow(decade))
}

/// Returns 32 hues, the most that can be distinguished side by side, each in three lightnesses.
fn usual(shade: Shade) -> Vec<Rgba> {
    const HUES: u32 = 32;
    const LIGHTNESSES: u32 = 3;
    // Lightnesses are close to each other, so that no span stands out; chroma is low enough that every hue is in sRGB.
    let (lightest, step, chroma) = match shade {
        Shade::Dark => (0.74, 0.065, 0.105),
        Shade::Light => (0.80, 0.055, 0.095),
    };
    let color = |index: u32| {
        let hue_degrees = f64::from(index % HUES) * 360.0 / f64::from(HUES);
        rgba_from_oklch(lightest - step * f64::from(index / HUES), chroma, hue_degrees)
    };
    (0..HUES * LIGHTNESSES).map(color).collect()
}

/// Returns the hues of Okabe and Ito (2008), each twice. The lightnesses were found by search: they keep all fourteen
/// farthest apart for each kind of colour blindness, which a test checks.
#[expect(clippy::unreadable_literal, reason = "colours are written so")]
fn color_blind(shade: Shade) -> &'static [u32] {
    match shade {
        Shade::Dark => &[
            0xb77e09, 0x70c9fe, 0x16a479, 0xfdf153, 0x0774b5, 0xb75105, 0xd682b0, //
            0xfecf89, 0xd7efff, 0x7bf4c5, 0xc3b704, 0x50aaee, 0xfea77b, 0xa75885,
        ],
        Shade::Light => &[
            0xd79509, 0x3597ca, 0x72ecbc, 0xe6da34, 0x50aaee, 0xfeaa7f, 0xa95986, //
            0x845a05, 0x69c6fc, 0x007655, 0xccc008, 0xb8defe, 0xd15e0c, 0xc3719f,
        ],
    }
}

/// Returns the colours of curves. They are the most distinct ones of a grid for each kind of colour blindness, and
/// contrast with the background. A test checks the distances. The first colours are the most distinct.
#[expect(clippy::unreadable_literal, reason = "colours are written so")]
fn series(shade: Shade) -> [Rgba; SERIES] {
    let colors: [u32; SERIES] = match shade {
        Shade::Dark => [0xf0a50f, 0x87ffff, 0xb478ff, 0xe10f0f, 0xffff87, 0x4b8796, 0x961ee1, 0x87c3d2],
        Shade::Light => [0x0f5aff, 0xa59600, 0xb4005a, 0x0f0000, 0xf05aa5, 0x0f00b4, 0x5a0f00, 0x00005a],
    };
    colors.map(rgb)
}

/// Returns the colours of counts, few to many, safe for any colour vision.
#[must_use]
pub(crate) fn densities(shade: Shade) -> [Rgba; DURATION_STEPS] {
    ramp(Hues::ColorBlind, shade)
}

/// Returns colours from short to long: viridis, or cividis for colour-blind users, without the end that blends into the
/// background.
#[expect(clippy::unreadable_literal, reason = "colours are written so")]
fn ramp(hues: Hues, shade: Shade) -> [Rgba; DURATION_STEPS] {
    /// Nine of the colours of viridis (S. van der Walt and N. Smith, 2015), evenly spaced.
    const VIRIDIS: &[u32] = &[0x440154, 0x472d7b, 0x3b528b, 0x2c728e, 0x21908c, 0x27ad81, 0x5dc863, 0xaadc32, 0xfde725];
    /// Ten of the colours of cividis (J. Nuñez, C. Anderton and R. Renslow, 2018), evenly spaced.
    const CIVIDIS: &[u32] =
        &[0x00204d, 0x00336f, 0x39486b, 0x575c6d, 0x707173, 0x8a8779, 0xa69d75, 0xc4b56c, 0xe4cf5b, 0xffea46];
    let stops: Vec<Rgba> = rgba(if hues == Hues::Usual { VIRIDIS } else { CIVIDIS }).collect();
    let (shortest, longest) = match (shade, hues) {
        (Shade::Dark, Hues::Usual) => (0.36, 1.0),
        (Shade::Dark, Hues::ColorBlind) => (0.40, 1.0),
        (Shade::Light, _) => (0.84, 0.0),
    };
    std::array::from_fn(|step| {
        let part = step as f64 / (DURATION_STEPS - 1) as f64;
        let at = (shortest + (longest - shortest) * part) * (stops.len() - 1) as f64;
        let below = (at as usize).min(stops.len() - 2);
        mixed(stops[below], stops[below + 1], at - below as f64)
    })
}

/// Mixes two similar colours; `part` is the share of the second.
fn mixed(from: Rgba, to: Rgba, part: f64) -> Rgba {
    let channel = |channel: usize| {
        let (from, to) = (f64::from(from.0[channel]), f64::from(to.0[channel]));
        (from + (to - from) * part).round() as u8
    };
    Rgba::opaque(channel(0), channel(1), channel(2))
}

fn rgba(colors: &[u32]) -> impl Iterator<Item = Rgba> {
    colors.iter().copied().map(rgb)
}

fn rgb(color: u32) -> Rgba {
    let [_, red, green, blue] = color.to_be_bytes();
    Rgba::opaque(red, green, blue)
}

#[cfg(test)]
mod tests;
