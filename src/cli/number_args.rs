//! The values of options that take a number, each in its range.

use crate::base::units::whole_number;

pub(super) fn any_number(text: &str) -> Result<u64, String> {
    whole_number(text, 0..=u64::MAX)
}

pub(super) fn threads(text: &str) -> Result<u16, String> {
    whole_number(text, 1..=u16::MAX.into())
}

pub(super) fn port(text: &str) -> Result<u16, String> {
    whole_number(text, 0..=u16::MAX.into())
}

pub(super) fn synth_threads(text: &str) -> Result<u32, String> {
    whole_number(text, 1..=1_000_000)
}

pub(super) fn synth_depth(text: &str) -> Result<u16, String> {
    whole_number(text, 1..=1000)
}

pub(super) fn frames(text: &str) -> Result<u32, String> {
    whole_number(text, 2..=1_000_000)
}

pub(super) fn part(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(part) if (0.0..=1.0).contains(&part) => Ok(part),
        _ => Err("expected a fraction between 0 and 1".to_owned()),
    }
}

/// Parses the pixels per point of a picture.
pub(super) fn scale(text: &str) -> Result<f32, String> {
    match text.parse() {
        Ok(scale) if (0.5..=8.0).contains(&scale) => Ok(scale),
        _ => Err("expected a number, 0.5 to 8".to_owned()),
    }
}
