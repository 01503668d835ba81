//! The values of options that take a whole number, each in its range.

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

pub(super) fn made_threads(text: &str) -> Result<u32, String> {
    whole_number(text, 1..=1_000_000)
}

pub(super) fn made_depth(text: &str) -> Result<u16, String> {
    whole_number(text, 1..=1000)
}

pub(super) fn frames(text: &str) -> Result<u32, String> {
    whole_number(text, 2..=1_000_000)
}
