//! Neumaier's compensated summation of floating-point numbers.

/// A sum with its rounding error: millions of small terms are not lost against a large sum, and changes up and down
/// cancel out.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct CompensatedSum {
    sum: f64,
    correction: f64,
}

impl CompensatedSum {
    pub(super) fn add(&mut self, value: f64) {
        let sum = self.sum + value;
        let (large, small) = if self.sum.abs() >= value.abs() { (self.sum, value) } else { (value, self.sum) };
        self.correction += (large - sum) + small;
        self.sum = sum;
    }

    /// Returns the sum of terms that are all multiplied by a power of two, which is exact.
    pub(super) fn scaled(self, factor: f64) -> Self {
        Self { sum: self.sum * factor, correction: self.correction * factor }
    }

    pub(super) fn value(self) -> f64 {
        self.sum + self.correction
    }
}
