//! Converts clock ticks to nanoseconds, exactly: the tick length is a float or a frequency. Multiplies in 128-bit
//! integers and rounds once, half away from zero.

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct TickLength {
    /// Length in units of `unit_ns`, as `mantissa` times 2 to the `exponent`.
    mantissa: u64,
    exponent: i32,
    unit_ns: u128,
}

const NANO_NS: u128 = 1;
const MICRO_NS: u128 = 1000;

impl TickLength {
    /// Creates the length of a tick in microseconds; returns `None` unless it is finite and positive.
    pub(crate) fn from_micros(micros: f64) -> Option<Self> {
        Self::new(micros, MICRO_NS)
    }

    /// Creates the length of a tick in nanoseconds; returns `None` unless it is finite and positive.
    pub(crate) fn from_nanos(nanos: f64) -> Option<Self> {
        Self::new(nanos, NANO_NS)
    }

    fn new(length: f64, unit_ns: u128) -> Option<Self> {
        let (mantissa, exponent) = parts(length)?;
        (mantissa > 0 && length > 0.0).then_some(Self { mantissa, exponent, unit_ns })
    }

    /// Converts ticks to nanoseconds; returns `None` on overflow.
    pub(crate) fn nanos(self, ticks: u64) -> Option<i64> {
        // 64, 53 and 10 bits: 127.
        let product = u128::from(ticks) * u128::from(self.mantissa) * self.unit_ns;
        i64::try_from(scaled(product, self.exponent)?).ok()
    }

    /// Converts fractional ticks to nanoseconds; returns `None` on overflow and for NaN and infinities.
    pub(crate) fn nanos_from_float(self, ticks: f64) -> Option<i64> {
        let (mantissa, exponent) = parts(ticks)?;
        let product = u128::from(mantissa) * u128::from(self.mantissa) * self.unit_ns;
        let magnitude = scaled(product, exponent + self.exponent)?;
        let magnitude = i64::try_from(magnitude).ok()?;
        Some(if ticks < 0.0 { -magnitude } else { magnitude })
    }
}

/// Returns mantissa and exponent of the magnitude of a finite number.
fn parts(value: f64) -> Option<(u64, i32)> {
    let bits = value.to_bits();
    let (stored, fraction) = ((bits >> 52) as i32 & 0x7ff, bits & ((1 << 52) - 1));
    match stored {
        0x7ff => None,
        0 => Some((fraction, -1074)),
        _ => Some((fraction | 1 << 52, stored - 1075)),
    }
}

/// Returns `value` times 2 to the `exponent`, rounded.
fn scaled(value: u128, exponent: i32) -> Option<u128> {
    if value == 0 {
        return Some(0);
    }
    if exponent >= 0 {
        let shift = exponent.unsigned_abs();
        return (shift < value.leading_zeros()).then(|| value << shift);
    }
    match exponent.unsigned_abs() {
        shift @ 1..=127 => Some((value >> shift) + (value >> (shift - 1) & 1)),
        128 => Some(value >> 127),
        _ => Some(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Converts by exact division, as a reference.
    fn slow(ticks: u64, micros: f64) -> Option<i64> {
        // These lengths have negative exponents, so the divisor is a power of two.
        let (mantissa, exponent) = parts(micros)?;
        let product = u128::from(ticks) * u128::from(mantissa) * 1000;
        let divisor = 1u128 << u32::try_from(-exponent).ok()?;
        let (whole, rest) = (product / divisor, product % divisor);
        i64::try_from(whole + u128::from(rest * 2 >= divisor)).ok()
    }

    proptest! {
        #[test]
        fn whole_ticks_and_floats_of_them_agree_with_division(ticks in 0u64..1 << 50, micros in 0.0001f64..2.0) {
            let tick = TickLength::from_micros(micros).expect("a length");
            prop_assert_eq!(tick.nanos(ticks), slow(ticks, micros));
            prop_assert_eq!(tick.nanos_from_float(ticks as f64), tick.nanos(ticks));
            prop_assert_eq!(tick.nanos_from_float(-(ticks as f64)), tick.nanos(ticks).map(|ns| -ns));
        }

        #[test]
        fn any_numbers_give_an_answer(ticks: u64, micros: u64, float: u64) {
            if let Some(tick) = TickLength::from_micros(f64::from_bits(micros)) {
                let _ = (tick.nanos(ticks), tick.nanos_from_float(f64::from_bits(float)));
            }
        }
    }

    #[test]
    fn a_thousandth_of_a_microsecond_is_a_nanosecond_for_a_hundred_days() {
        let tick = TickLength::from_micros(0.001).expect("a length");
        for ns in [0, 1, 999_999_999, 1 << 52, 8_640_000_000_000_000] {
            assert_eq!(tick.nanos(ns), Some(ns as i64));
        }
        assert_eq!(TickLength::from_micros(1.0).and_then(|tick| tick.nanos_from_float(1.5)), Some(1500));
        assert_eq!(tick.nanos(u64::MAX), None);
        for micros in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(TickLength::from_micros(micros), None);
        }
    }
}
