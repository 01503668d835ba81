//! Random numbers that are the same on every machine and in every version: integers only, no library whose stream may
//! change, no platform-dependent logarithm. Not for secrets.

/// A stream of random numbers: `SplitMix64` (Steele, Lea, Flood 2014), which needs one word of state and passes the
/// usual tests.
#[derive(Debug, Clone)]
pub(super) struct Random(u64);

/// The spread of [`Random::log_normal`]: the standard deviation of the binary logarithm, in 1/256ths. With 256, two of
/// three values lie between half and double the median.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Spread(pub u32);

/// `2^(i/256)` for each `i`, in 1/2^32.
const EXP2: [u64; 256] = {
    // 2^(1/256) in 1/2^48; rounding errors of less than 2^-48 per step are negligible after 256 steps.
    const STEP: u128 = 282_238_132_792_268;
    let mut table = [0; 256];
    let mut value = 1u128 << 48;
    let mut i = 0;
    while i < 256 {
        table[i] = (value >> 16) as u64;
        value = (value * STEP) >> 48;
        i += 1;
    }
    table
};

impl Random {
    /// Creates the stream of `seed` and `stream`; different streams are independent.
    #[must_use]
    pub(super) fn new(seed: u64, stream: u64) -> Self {
        let mut random = Self(seed);
        Self(random.next().wrapping_add(stream.wrapping_mul(0xd1b5_4a32_d192_ed03)))
    }

    #[must_use]
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a uniform number below `limit`; 0 if `limit` is 0.
    #[must_use]
    pub(super) fn below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(limit)) >> 64) as u64
    }

    /// Returns a number below `limit`, small ones far likelier: half of all lie in the first eighth.
    #[must_use]
    pub(super) fn skewed_below(&mut self, limit: u64) -> u64 {
        let unit = u128::from(self.next() >> 32);
        ((((unit * unit * unit) >> 64) * u128::from(limit)) >> 32) as u64
    }

    /// Returns a positive log-normal number, like durations of real programs.
    ///
    /// The normal number is the sum of eight random bytes, which is bounded at five deviations.
    #[must_use]
    pub(super) fn log_normal(&mut self, median: u64, spread: Spread) -> u64 {
        /// Mean of the sum of eight bytes.
        const MEAN: i64 = 8 * 255 / 2;
        /// Standard deviation of the sum, 209.0.
        const DEVIATION: i64 = 209;
        const EVEN: u64 = 0x00ff_00ff_00ff_00ff;
        let bits = self.next();
        let pairs = (bits & EVEN) + (bits >> 8 & EVEN);
        let sum = (pairs.wrapping_mul(0x0001_0001_0001_0001) >> 48) as i64;
        let exponent = (sum - MEAN) * i64::from(spread.0) / DEVIATION;
        let (whole, part) = (exponent >> 8, (exponent & 255) as usize);
        let scaled = u128::from(median) * u128::from(EXP2[part]);
        let shifted = if whole >= 0 { scaled.checked_shl(whole as u32) } else { scaled.checked_shr(-whole as u32) };
        u64::try_from(shifted.unwrap_or(0) >> 32).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first numbers of seed 0, as given by the authors of `SplitMix64`.
    #[test]
    fn the_stream_is_that_of_the_paper() {
        let mut random = Random(0);
        assert_eq!([random.next(), random.next()], [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4]);
    }

    #[test]
    fn powers_of_two_double_after_256_steps() {
        assert_eq!(EXP2[0], 1 << 32);
        let root = 2f64.sqrt() * 2f64.powi(32);
        assert!((EXP2[128] as f64 - root).abs() < 2.0, "{} {root}", EXP2[128]);
    }

    #[test]
    fn log_normal_values_have_their_median_and_spread() {
        let mut random = Random::new(1, 2);
        let mut values: Vec<u64> = (0..100_001).map(|_| random.log_normal(10_000, Spread(256))).collect();
        values.sort_unstable();
        let at = |part: f64| values[(part * 100_000.0) as usize] as f64;
        assert!((at(0.5) / 10_000.0 - 1.0).abs() < 0.03, "median {}", at(0.5));
        assert!((at(0.8413) / 20_000.0 - 1.0).abs() < 0.05, "one deviation up {}", at(0.8413));
        assert!((at(0.1587) / 5_000.0 - 1.0).abs() < 0.05, "one deviation down {}", at(0.1587));
    }

    #[test]
    fn numbers_stay_below_their_limit_and_skewed_ones_are_mostly_small() {
        let mut random = Random::new(3, 4);
        assert!((0..10_000).all(|_| random.below(7) < 7));
        let small = (0..10_000).filter(|_| random.skewed_below(800) < 100).count();
        assert!((4_700..5_300).contains(&small), "{small}");
        assert_eq!((random.below(0), random.skewed_below(0)), (0, 0));
    }
}
