//! Pictures of the window, drawn without one, show the expected content in the right places.

use super::*;
use crate::app::offscreen::TimelinePicture;
use crate::app::tests::{Session, TWO_SPANS, snapshot};
use crate::scene::palette::{ColorBy, Hues, Palette};
use crate::ui::command::{Command, NavigationStep, PanelCommand, SettingCommand, TimelineCommand};
use crate::ui::purpose::PictureSize;

/// Draws the picture of a trace. A machine that cannot draw fails the test instead of skipping it.
#[track_caller]
fn picture(json: &str, options: &PictureOptions) -> Pixels {
    render(snapshot(json), options).unwrap_or_else(|error| panic!("{error}; `.ci/setup` installs what is missing"))
}

fn options(scale: f32) -> PictureOptions {
    PictureOptions { size_px: [1000, 400], scale, ..PictureOptions::default() }
}

/// Returns the range of columns with a pixel of exactly the colour of a name.
fn columns_of(pixels: &Pixels, name: &str) -> (u32, u32) {
    let color = Palette::new(Shade::Dark).hashed_color(name).0;
    let has = |x: &u32| (0..pixels.height).any(|y| pixels.at(*x, y) == color);
    let first = (0..pixels.width).find(has).expect("the span is drawn");
    let last = (0..pixels.width).rev().find(has).expect("the span is drawn");
    (first, last + 1)
}

#[test]
fn the_picture_shows_spans_in_their_colours_at_their_times() {
    let pixels = picture(TWO_SPANS, &options(1.0));
    let (alpha, omega) = (columns_of(&pixels, "alpha"), columns_of(&pixels, "omega"));
    // The trace takes nine tenths of the canvas of 770 pixels; edges take a pixel or two.
    let expected = 770.0 * 0.9 * 0.4;
    for (first, end) in [alpha, omega] {
        let width = f64::from(end - first);
        assert!((width - expected).abs() <= 4.0, "{width} is not {expected}");
    }
    let gap = f64::from(omega.0 - alpha.1);
    assert!((gap - expected / 2.0).abs() <= 4.0, "{gap}");
}

#[test]
fn the_timeline_alone_fills_the_picture_and_has_the_range_and_the_filter() {
    let drawn = |options: &PictureOptions| render_timeline(snapshot(TWO_SPANS), options).expect("a picture");
    let whole = drawn(&options(1.0));
    let in_window = picture(TWO_SPANS, &options(1.0));
    let row_of = |pixels: &Pixels, name: &str| {
        let color = Palette::new(Shade::Dark).hashed_color(name).0;
        (0..pixels.height).find(|&y| (0..pixels.width).any(|x| pixels.at(x, y) == color)).expect("the span is drawn")
    };
    assert_eq!([whole.width, whole.height], [1000, 400]);
    assert!(row_of(&whole, "alpha") < row_of(&in_window, "alpha"), "no menu bar is above it");
    let (alpha, in_window) = (columns_of(&whole, "alpha"), columns_of(&in_window, "alpha"));
    assert!((alpha.1 - alpha.0).abs_diff(in_window.1 - in_window.0) <= 20, "{alpha:?} {in_window:?}");
    // The first half of the trace.
    let scope = Scope { from_ns: Some(0), to_ns: Some(snapshot(TWO_SPANS).end_ns() / 2), ..Scope::default() };
    let half = drawn(&PictureOptions { scope, ..options(1.0) });
    let wide = columns_of(&half, "alpha");
    assert!(wide.1 - wide.0 > (alpha.1 - alpha.0) * 3 / 2, "{wide:?} {alpha:?}");
}

#[test]
fn a_range_beyond_the_trace_is_drawn_unclamped() {
    let end_ns = snapshot(TWO_SPANS).end_ns();
    let range = |from_ns, to_ns| {
        let scope = Scope { from_ns: Some(from_ns), to_ns: Some(to_ns), ..Scope::default() };
        picture(TWO_SPANS, &PictureOptions { scope, ..options(1.0) })
    };
    // The trace takes the first third of the canvas, then the last.
    let (first, _) = columns_of(&range(0, 3 * end_ns), "alpha");
    let (_, end) = columns_of(&range(0, 3 * end_ns), "omega");
    assert!((230..=231).contains(&first) && (first + 254..=first + 259).contains(&end), "{first} to {end}");
    let (first, _) = columns_of(&range(-2 * end_ns, end_ns), "alpha");
    let (_, end) = columns_of(&range(-2 * end_ns, end_ns), "omega");
    assert!((742..=746).contains(&first) && (998..=1000).contains(&end), "{first} to {end}");
    let after = range(2 * end_ns, 3 * end_ns);
    let color = Palette::new(Shade::Dark).hashed_color("omega").0;
    assert!((0..after.width).all(|x| (0..after.height).all(|y| after.at(x, y) != color)), "nothing is there");
}

#[test]
fn at_twice_the_scale_the_rectangles_grow_with_the_text() {
    let single = picture(TWO_SPANS, &options(1.0));
    let double = picture(TWO_SPANS, &options(2.0));
    let height = |pixels: &Pixels| {
        let color = Palette::new(Shade::Dark).hashed_color("alpha").0;
        // Near the right end, where there is no text.
        let (_, end) = columns_of(pixels, "alpha");
        (0..pixels.height).filter(|&y| pixels.at(end - 12, y) == color).count()
    };
    let (single, double) = (height(&single), height(&double));
    assert!(double.abs_diff(single * 2) <= 3, "{single} and {double}");
}

#[test]
fn pictures_are_reproducible() {
    assert!(picture(TWO_SPANS, &options(1.0)) == picture(TWO_SPANS, &options(1.0)));
}

/// Draws the timeline of the two spans as a window of 1000 x 600 points, after a `change`.
fn timeline_picture(change: impl FnOnce(&mut Session), size: PictureSize) -> Pixels {
    let mut session = Session::new();
    session.app.show_trace(snapshot(TWO_SPANS), "two".into(), false);
    session.frame(Vec::new());
    change(&mut session);
    (0..4).for_each(|_| session.frame(Vec::new()));
    let theme = session.app.theme().clone();
    let timeline = session.app.timeline_mut().unwrap();
    let (points, _) = timeline.shown_size();
    let pixels = TimelinePicture::from_timeline(timeline, theme, size).draw().unwrap();
    let times = if size == PictureSize::Doubled { 2.0 } else { 1.0 };
    assert_eq!([pixels.width, pixels.height], [points.x, points.y].map(|points| (points * times) as u32));
    pixels
}

#[test]
fn a_picture_of_the_timeline_has_what_the_window_shows_of_it_and_no_more() {
    let whole = timeline_picture(|_| {}, PictureSize::AsShown);
    let (alpha, omega) = (columns_of(&whole, "alpha"), columns_of(&whole, "omega"));
    let expected = 770.0 * 0.9 * 0.4;
    for (first, end) in [alpha, omega] {
        let width = f64::from(end - first);
        assert!((width - expected).abs() <= 4.0, "{width} is not {expected}");
    }
    // The menu above and the line below are not part of the timeline.
    assert!(whole.height < 600 - 40, "{}", whole.height);
    let double = timeline_picture(|_| {}, PictureSize::Doubled);
    let doubled = columns_of(&double, "omega");
    assert!(doubled.0.abs_diff(2 * omega.0) <= 2 && doubled.1.abs_diff(2 * omega.1) <= 2, "{doubled:?} {omega:?}");
}

#[test]
fn a_picture_of_the_timeline_has_its_zoom_its_selection_and_its_theme() {
    let zoomed = |session: &mut Session| {
        let row = crate::store::RowIdx { lane: crate::store::LaneIdx(0), row: 1 };
        session.app.act(Command::Timeline(TimelineCommand::Select(Some(row))));
        session.app.act(Command::Timeline(TimelineCommand::Step(NavigationStep::Selection)));
        (0..10).for_each(|_| session.frame(Vec::new()));
    };
    let pixels = timeline_picture(zoomed, PictureSize::AsShown);
    let (first, end) = columns_of(&pixels, "omega");
    assert!(end - first > 600, "the view is filled with the span: {first} to {end}");
    let count = |pixels: &Pixels, color: [u8; 4]| {
        (0..pixels.height)
            .flat_map(|y| (0..pixels.width).map(move |x| pixels.at(x, y)))
            .filter(|at| *at == color)
            .count()
    };
    let selection = [255; 4];
    assert!(count(&pixels, selection) > 1000, "the outline of the selected span");
    let plain = timeline_picture(|_| {}, PictureSize::AsShown);
    assert!(count(&plain, selection) < 10);
    let light = timeline_picture(
        |session| drop(session.app.act(Command::Setting(SettingCommand::Shade(Some(Shade::Light))))),
        PictureSize::AsShown,
    );
    assert!(count(&light, selection) > 100_000, "a white canvas");
}

#[test]
fn a_filter_dims_in_a_picture_of_the_timeline_what_it_dims_in_the_window() {
    let filtered = |session: &mut Session| {
        session.app.act(Command::Panel(PanelCommand::SearchFor("omega".to_owned())));
        session.until("the hits", |session| {
            session
                .app
                .timeline_mut()
                .unwrap()
                .last_frame()
                .is_some_and(|frame| frame.rects.iter().any(|rect| rect.color.0[3] < u8::MAX))
        });
    };
    let pixels = timeline_picture(filtered, PictureSize::AsShown);
    let alpha = Palette::new(Shade::Dark).hashed_color("alpha").0;
    let rows = 62..pixels.height;
    assert!(rows.clone().all(|y| (0..pixels.width).all(|x| pixels.at(x, y) != alpha)), "what does not match is dimmed");
    let (first, end) = columns_of(&pixels, "omega");
    assert!(end - first > 100, "what matches is not");
}

#[test]
fn a_picture_too_large_for_the_card_is_refused_with_its_limit() {
    let huge = PictureOptions { size_px: [1_000_000, 10], ..PictureOptions::default() };
    match render(snapshot(TWO_SPANS), &huge) {
        Err(GpuError::TooLarge { width: 1_000_000, limit, .. }) => assert!(limit >= 2048),
        other => panic!("{other:?}"),
    }
}

#[test]
fn spans_are_coloured_by_duration_with_a_key_below_them() {
    let colors = Colors { by: ColorBy::Duration, hues: Hues::ColorBlind };
    let palette = Palette::from_colors(colors, Shade::Dark);
    let pixels = picture(TWO_SPANS, &PictureOptions { colors, ..options(1.0) });
    let of_400_us = palette.durations()[crate::scene::palette::duration_step(400_000)].0;
    let count = |color: [u8; 4], rows: std::ops::Range<u32>| {
        rows.flat_map(|y| (0..pixels.width).map(move |x| (x, y))).filter(|&(x, y)| pixels.at(x, y) == color).count()
    };
    assert!(count(of_400_us, 0..370) > 2 * 250 * 10, "both spans");
    assert_eq!(count(Palette::new(Shade::Dark).hashed_color("alpha").0, 0..400), 0);
    for color in palette.durations() {
        assert!(count(color.0, 376..400) >= 20, "{color:?} is in the bar at the bottom");
    }
}
