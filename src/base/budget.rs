//! The bound on memory that a load may hold at once. Counts what is reported to it; it allocates nothing itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A shared count of bytes in use against a limit. Holders charge what they keep and release what they drop.
#[derive(Debug, Clone)]
pub struct Budget(Arc<Account>);

#[derive(Debug)]
#[expect(clippy::struct_field_names, reason = "units belong in names")]
struct Account {
    limit_bytes: u64,
    used_bytes: AtomicU64,
    peak_bytes: AtomicU64,
}

/// Bytes charged to a [`Budget`]; given back when this is dropped.
#[derive(Debug)]
pub struct Charge {
    budget: Budget,
    bytes: u64,
}

impl Budget {
    /// What a load may hold unless the user says otherwise: 1 GiB, so that a laptop with 8 GiB stays usable.
    pub const DEFAULT_BYTES: u64 = 1 << 30;

    /// A budget of `limit_bytes`.
    #[must_use]
    pub fn new(limit_bytes: u64) -> Self {
        Self(Arc::new(Account { limit_bytes, used_bytes: AtomicU64::new(0), peak_bytes: AtomicU64::new(0) }))
    }

    /// The limit in bytes.
    #[must_use]
    pub fn limit_bytes(&self) -> u64 {
        self.0.limit_bytes
    }

    /// The most bytes that were ever charged at once.
    #[must_use]
    pub fn peak_bytes(&self) -> u64 {
        self.0.peak_bytes.load(Ordering::Relaxed)
    }

    /// Charges `bytes` whether or not they fit: for what cannot be refused, such as the one chunk that the merge needs.
    #[must_use]
    pub fn charge(&self, bytes: u64) -> Charge {
        let used = self.0.used_bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.0.peak_bytes.fetch_max(used, Ordering::Relaxed);
        Charge { budget: self.clone(), bytes }
    }

    /// Charges `bytes` if they fit under `share` of the limit, a part of one.
    #[must_use]
    pub fn try_charge(&self, bytes: u64, share: f64) -> Option<Charge> {
        let limit = (self.0.limit_bytes as f64 * share) as u64;
        let fits = |used: u64| used.checked_add(bytes).filter(|&sum| sum <= limit);
        let before = self.0.used_bytes.try_update(Ordering::Relaxed, Ordering::Relaxed, fits).ok()?;
        self.0.peak_bytes.fetch_max(before + bytes, Ordering::Relaxed);
        Some(Charge { budget: self.clone(), bytes })
    }
}

impl Charge {
    /// How much is charged.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Default for Budget {
    fn default() -> Self {
        Self::new(Self::DEFAULT_BYTES)
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.budget.0.used_bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dropped_charge_makes_room_again_and_the_peak_stays() {
        let budget = Budget::new(100);
        let first = budget.try_charge(60, 1.0);
        assert!(first.is_some());
        assert!(budget.try_charge(60, 1.0).is_none());
        assert!(budget.try_charge(30, 0.5).is_none(), "90 is more than half of 100");
        drop(first);
        assert!(budget.try_charge(40, 0.5).is_some());
        assert_eq!(budget.peak_bytes(), 60);
    }
}
