//! Colours must be visible on their background, carry text, and be distinguishable, even without one kind of cone.

use super::*;

const SHADES: [Shade; 2] = [Shade::Dark, Shade::Light];
const HUES: [Hues; 2] = [Hues::Usual, Hues::ColorBlind];

/// The matrix that maps linear RGB to what remains visible (G. Machado, M. Oliveira and L. Fernandes, 2009, severity
/// 1).
type Blindness = [[f64; 3]; 3];

const NONE: Blindness = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
const PROTANOPIA: Blindness =
    [[0.152_286, 1.052_583, -0.204_868], [0.114_503, 0.786_281, 0.099_216], [-0.003_882, -0.048_116, 1.051_998]];
const DEUTERANOPIA: Blindness =
    [[0.367_322, 0.860_646, -0.227_968], [0.280_085, 0.672_501, 0.047_413], [-0.011_820, 0.042_940, 0.968_881]];
const TRITANOPIA: Blindness =
    [[1.255_528, -0.076_749, -0.178_779], [-0.078_411, 0.930_809, 0.147_602], [0.004_733, 0.691_367, 0.303_900]];
const ALL: [Blindness; 4] = [NONE, PROTANOPIA, DEUTERANOPIA, TRITANOPIA];

/// Returns the `OKLab` position of a colour as seen with that blindness. Two colours at a distance of 0.02 are just
/// distinguishable side by side.
fn seen(Rgba([red, green, blue, _]): Rgba, blindness: Blindness) -> [f64; 3] {
    let linear = [red, green, blue].map(|channel| {
        let value = f64::from(channel) / 255.0;
        if value <= 0.040_45 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
    });
    let product = |matrix: Blindness, of: [f64; 3]| matrix.map(|row| row[0] * of[0] + row[1] * of[1] + row[2] * of[2]);
    let left = product(blindness, linear).map(|value| value.clamp(0.0, 1.0));
    let cones = product(
        [
            [0.412_221_470_8, 0.536_332_536_3, 0.051_445_992_9],
            [0.211_903_498_2, 0.680_699_545_1, 0.107_396_956_6],
            [0.088_302_461_9, 0.281_718_837_6, 0.629_978_700_5],
        ],
        left,
    );
    product(
        [
            [0.210_454_255_3, 0.793_617_785_0, -0.004_072_046_8],
            [1.977_998_495_1, -2.428_592_205_0, 0.450_593_709_9],
            [0.025_904_037_1, 0.782_771_766_2, -0.808_675_766_0],
        ],
        cones.map(f64::cbrt),
    )
}

fn distance(a: Rgba, b: Rgba, blindness: Blindness) -> f64 {
    let (a, b) = (seen(a, blindness), seen(b, blindness));
    a.into_iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
}

fn palette(hues: Hues, by: ColorBy, shade: Shade) -> Palette {
    Palette::from_colors(Colors { by, hues }, shade)
}

/// Iterates over every colour of every palette, with its background.
fn every_color() -> impl Iterator<Item = (Rgba, Shade)> {
    let palettes = SHADES.into_iter().flat_map(|shade| HUES.map(|hues| (palette(hues, ColorBy::Name, shade), shade)));
    palettes.flat_map(|(palette, shade)| {
        let all = palette.named.iter().copied().chain(palette.ramp).chain([palette.grey]);
        all.map(|color| (color, shade)).collect::<Vec<_>>()
    })
}

#[test]
fn text_is_readable_on_every_span_colour() {
    assert!(every_color().count() > 300);
    for (color, _) in every_color() {
        assert!(contrast(color, color.text_on()) >= 4.5, "{color:?}");
    }
}

#[test]
fn names_of_spans_without_an_end_are_readable_on_every_pale_colour() {
    for (color, shade) in every_color() {
        let fill = mixed(shade.canvas(), color, f64::from(OPEN_END_OPACITY) / 255.0);
        let contrast = contrast(fill, Palette::new(shade).canvas_text());
        assert!(contrast >= 4.5, "{color:?} on {shade:?}: {contrast}");
    }
}

#[test]
fn names_outside_the_scope_are_readable_on_every_veiled_colour() {
    let black = Rgba::opaque(0, 0, 0);
    let veil = f64::from(VEIL_OPACITY);
    for (color, shade) in every_color() {
        let pale = color.with_opacity(OPEN_END_OPACITY);
        let pale_fill = mixed(shade.canvas(), color, f64::from(OPEN_END_OPACITY) / 255.0);
        let palette = Palette::new(shade);
        let names = [(color, color, color.text_on()), (pale, pale_fill, palette.canvas_text())];
        let grounds = [shade.canvas()].into_iter().chain((shade == Shade::Dark).then_some(black));
        for (ground, (fill, drawn, text)) in grounds.flat_map(|ground| names.map(|name| (ground, name))) {
            let contrast = contrast(mixed(drawn, ground, veil), palette.veiled_text(fill, text));
            assert!(contrast >= 3.0, "{fill:?} on {ground:?}: {contrast}");
        }
    }
}

#[test]
fn every_colour_is_visible_on_its_background() {
    for (color, shade) in every_color() {
        let least = match shade {
            Shade::Dark => 3.0,
            Shade::Light => 1.4,
        };
        assert!(contrast(color, shade.canvas()) >= least, "{color:?} {}", contrast(color, shade.canvas()));
    }
}

#[test]
fn thread_states_are_distinguishable_by_all_viewers_and_sleep_is_closest_to_the_background() {
    const STATES: [&str; 4] = ["Sleeping", "Running", "Runnable (preempted)", "Uninterruptible sleep"];
    for (shade, ground) in SHADES.map(|shade| (shade, shade.canvas())) {
        let palette = Palette::new(shade);
        let colors = STATES.map(|state| palette.state_color(state));
        for (index, &color) in colors.iter().enumerate() {
            assert!(contrast(color, color.text_on()) >= 4.5, "{color:?}");
            for (&other, blindness) in
                colors[index + 1..].iter().flat_map(|other| ALL.map(|blindness| (other, blindness)))
            {
                let distance = distance(color, other, blindness);
                assert!(distance >= 0.065, "{color:?} {other:?} {distance} {blindness:?}");
            }
        }
        let contrasts = colors.map(|color| contrast(color, ground));
        assert!(contrasts[1..].iter().all(|&of_other| of_other > contrasts[0]), "{contrasts:?}");
        assert!(contrasts[0] > 1.2, "sleep is drawn: {contrasts:?}");
    }
}

#[test]
fn colours_of_the_colour_blind_safe_palette_are_distinguishable_by_all_viewers() {
    for shade in SHADES {
        let colors = palette(Hues::ColorBlind, ColorBy::Name, shade).named;
        for blindness in ALL {
            for (index, &color) in colors.iter().enumerate() {
                for &other in &colors[index + 1..] {
                    let distance = distance(color, other, blindness);
                    assert!(distance >= 0.065, "{color:?} {other:?} {distance} {blindness:?}");
                }
            }
        }
    }
}

/// Shows that the simulation can fail: it finds the usual name colours too close.
#[test]
fn the_usual_colours_of_names_are_too_close_for_colour_blind_viewers() {
    let colors = palette(Hues::Usual, ColorBy::Name, Shade::Dark).named;
    let of_one_lightness = &colors[..32];
    let nearest = |blindness: Blindness| {
        let pairs = of_one_lightness.iter().enumerate().flat_map(|(index, color)| {
            of_one_lightness[index + 1..].iter().map(move |other| distance(*color, *other, blindness))
        });
        pairs.fold(f64::MAX, f64::min)
    };
    assert!(nearest(NONE) > 0.015 && nearest(DEUTERANOPIA) < 0.005, "{} {}", nearest(NONE), nearest(DEUTERANOPIA));
}

#[test]
fn a_duration_ten_times_as_long_is_distinguishable_and_longer_has_more_contrast() {
    for (shade, hues) in SHADES.into_iter().flat_map(|shade| HUES.map(|hues| (shade, hues))) {
        let ramp = palette(hues, ColorBy::Duration, shade).ramp;
        for blindness in ALL {
            for pair in ramp.windows(STEPS_PER_DECADE + 1) {
                let distance = distance(pair[0], pair[STEPS_PER_DECADE], blindness);
                assert!(distance >= 0.035, "{hues:?} {shade:?} {distance} {pair:?}");
            }
        }
        let lightness: Vec<f64> = ramp.iter().map(|&color| seen(color, NONE)[0]).collect();
        for pair in lightness.windows(2) {
            assert!(if shade == Shade::Dark { pair[0] < pair[1] } else { pair[0] > pair[1] }, "{pair:?}");
        }
    }
}

#[test]
fn a_name_keeps_its_colour_and_names_differ() {
    let palette = Palette::new(Shade::Dark);
    assert_eq!(palette.hashed_color("parse"), palette.hashed_color("parse"));
    let distinct: std::collections::HashSet<_> = (0..100).map(|n| palette.hashed_color(&format!("name {n}"))).collect();
    assert!(distinct.len() > 50, "{}", distinct.len());
}

#[test]
fn each_power_of_ten_has_its_own_steps_and_longer_durations_have_the_last() {
    let steps: Vec<usize> = decades_ns().map(duration_step).collect();
    assert_eq!(steps, [0, 4, 8, 12, 16, 20, 24, 28, 31]);
    assert_eq!((duration_step(0), duration_step(99), duration_step(u64::MAX)), (0, 0, 31));
    assert_eq!((duration_step(999), duration_step(1000)), (3, 4));
}

#[test]
fn a_span_has_the_colour_of_the_chosen_property_only() {
    let name = |text, category| NameRow::new(text, category);
    let (red, blue) = (Rgba::opaque(255, 0, 0), Rgba::opaque(0, 0, 255));
    let color = |by, name, dur_ns, track| palette(Hues::Usual, by, Shade::Dark).span_color(name, dur_ns, track);
    let (a, b) = (name("a", Some("io")), name("b", Some("io")));
    assert_eq!(color(ColorBy::Category, a, 1, red), color(ColorBy::Category, b, 1_000_000, blue));
    assert_ne!(color(ColorBy::Category, a, 1, red), color(ColorBy::Category, name("a", None), 1, red));
    assert_eq!(
        color(ColorBy::Category, name("a", None), 1, red),
        color(ColorBy::Category, name("b", Some("")), 1, red)
    );
    assert_eq!(color(ColorBy::Name, a, 1, red), color(ColorBy::Name, name("a", None), 1_000_000, blue));
    assert_ne!(color(ColorBy::Name, a, 1, red), color(ColorBy::Name, b, 1, red));
    assert_eq!((color(ColorBy::Track, a, 1, red), color(ColorBy::Track, b, 9, blue)), (red, blue));
    assert_eq!(color(ColorBy::Duration, a, 5000, red), color(ColorBy::Duration, b, 5000, blue));
    assert_ne!(color(ColorBy::Duration, a, 5000, red), color(ColorBy::Duration, a, 50_000, red));
}

#[test]
fn curves_of_one_row_are_distinguishable_by_all_viewers_and_contrast_with_the_background() {
    for (shade, ground) in SHADES.map(|shade| (shade, shade.canvas())) {
        let series = palette(Hues::Usual, ColorBy::Name, shade).series;
        assert_eq!(series.len(), crate::scene::counter_overlay::OVERLAID_MAX);
        for (index, &color) in series.iter().enumerate() {
            assert!(contrast(color, ground) >= 3.0, "{color:?} on {shade:?}");
            for &other in &series[..index] {
                let apart = ALL.map(|blindness| distance(color, other, blindness)).into_iter().fold(1.0, f64::min);
                assert!(apart >= 0.14, "{color:?} and {other:?} on {shade:?}: {apart}");
            }
        }
    }
}
