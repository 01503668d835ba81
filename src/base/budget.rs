//! The memory budget of imports. It counts the bytes that holders charge, and allocates nothing itself. Nothing waits
//! for memory: a holder whose charge is refused spills, so no import can block another.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Memory shared by imports. Clones refer to the same memory.
#[derive(Debug, Clone)]
pub struct Memory(Arc<Pool>);

#[derive(Debug)]
struct Pool {
    limit_bytes: AtomicU64,
    use_bytes: Use,
    /// Number of imports that share it.
    loads: AtomicU64,
}

/// The share of a [`Memory`] for one import, as a shared count of bytes in use. Holders charge what they keep and
/// release what they drop. The import counts as sharing until the last clone and the last charge are dropped.
#[derive(Debug, Clone)]
pub struct Budget(Arc<Account>);

#[derive(Debug)]
struct Account {
    memory: Memory,
    use_bytes: Use,
}

#[derive(Debug, Default)]
struct Use {
    now: AtomicU64,
    peak: AtomicU64,
}

/// Bytes charged to a [`Budget`]; released on drop.
#[derive(Debug)]
pub struct Charge {
    budget: Budget,
    bytes: u64,
}

impl Memory {
    /// Default limit of all imports together: 1 GiB, so that a laptop with 8 GiB stays usable.
    pub(crate) const DEFAULT_BYTES: u64 = 1 << 30;

    /// Bytes that an import may always hold, regardless of others: two chunks of 64 Ki events with their arguments.
    /// With less, it would spill each event that it processes. If the memory limit is below 256 MiB, it is a sixteenth
    /// of that.
    pub(crate) const LEAST_BYTES: u64 = 16 << 20;

    /// Creates memory with a limit of `limit_bytes`.
    #[must_use]
    pub fn new(limit_bytes: u64) -> Self {
        let limit_bytes = AtomicU64::new(limit_bytes);
        Self(Arc::new(Pool { limit_bytes, use_bytes: Use::default(), loads: AtomicU64::new(0) }))
    }

    /// Returns the limit in bytes of all imports together.
    #[must_use]
    pub(crate) fn limit_bytes(&self) -> u64 {
        self.0.limit_bytes.load(Ordering::Relaxed)
    }

    /// Sets another limit, also for running imports.
    pub(crate) fn set_limit_bytes(&self, limit_bytes: u64) {
        self.0.limit_bytes.store(limit_bytes, Ordering::Relaxed);
    }

    /// Returns the peak of bytes charged by all imports together.
    #[must_use]
    pub fn peak_bytes(&self) -> u64 {
        self.0.use_bytes.peak.load(Ordering::Relaxed)
    }

    /// Returns the budget of a new import. The shares of other imports shrink. They keep their memory, but get no more
    /// until they have spilled the excess.
    #[must_use]
    pub fn budget(&self) -> Budget {
        self.0.loads.fetch_add(1, Ordering::Relaxed);
        Budget(Arc::new(Account { memory: self.clone(), use_bytes: Use::default() }))
    }

    fn least_bytes(&self) -> u64 {
        Self::LEAST_BYTES.min(self.limit_bytes() / 16)
    }
}

impl Budget {
    /// Creates a budget of `limit_bytes` that is not shared.
    #[cfg(test)]
    #[must_use]
    pub(crate) fn new(limit_bytes: u64) -> Self {
        Memory::new(limit_bytes).budget()
    }

    /// Returns the limit in bytes: an equal share of the memory, which changes when imports start and end.
    #[must_use]
    pub(crate) fn limit_bytes(&self) -> u64 {
        let memory = &self.0.memory;
        let part = memory.limit_bytes() / memory.0.loads.load(Ordering::Relaxed).max(1);
        part.max(memory.least_bytes())
    }

    /// Returns the limit in bytes of all imports together, which other imports do not change.
    #[must_use]
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.0.memory.limit_bytes()
    }

    /// Returns the peak of charged bytes.
    #[must_use]
    pub(crate) fn peak_bytes(&self) -> u64 {
        self.0.use_bytes.peak.load(Ordering::Relaxed)
    }

    /// Charges `bytes` unconditionally, for memory that cannot be refused, such as the one chunk that the merge needs.
    #[must_use]
    pub fn charge(&self, bytes: u64) -> Charge {
        self.0.use_bytes.add(bytes);
        self.0.memory.0.use_bytes.add(bytes);
        Charge { budget: self.clone(), bytes }
    }

    /// Charges `bytes` if they fit in `share` (a fraction) of the limit, and in the memory that other imports have
    /// left. The guaranteed minimum always fits.
    #[must_use]
    pub(crate) fn try_charge(&self, bytes: u64, share: f64) -> Option<Charge> {
        let memory = &self.0.memory;
        let limit = (self.limit_bytes() as f64 * share) as u64;
        let used = self.0.use_bytes.try_add(bytes, limit)?;
        match memory.0.use_bytes.try_add(bytes, memory.limit_bytes()) {
            Some(used_of_all) => memory.0.use_bytes.raise_peak(used_of_all),
            None if used > memory.least_bytes() => {
                self.0.use_bytes.remove(bytes);
                return None;
            }
            None => memory.0.use_bytes.add(bytes),
        }
        self.0.use_bytes.raise_peak(used);
        Some(Charge { budget: self.clone(), bytes })
    }
}

impl Use {
    fn add(&self, bytes: u64) {
        let now = self.now.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.raise_peak(now);
    }

    fn raise_peak(&self, bytes: u64) {
        self.peak.fetch_max(bytes, Ordering::Relaxed);
    }

    /// Adds `bytes` if at most `limit` are in use afterwards, and returns the new total. The peak does not
    /// change, because the caller may still refuse the bytes.
    fn try_add(&self, bytes: u64, limit: u64) -> Option<u64> {
        let fits = |now: u64| now.checked_add(bytes).filter(|&sum| sum <= limit);
        let before = self.now.try_update(Ordering::Relaxed, Ordering::Relaxed, fits).ok()?;
        Some(before + bytes)
    }

    fn remove(&self, bytes: u64) {
        self.now.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl Charge {
    #[must_use]
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Default for Memory {
    fn default() -> Self {
        Self::new(Self::DEFAULT_BYTES)
    }
}

impl Default for Budget {
    fn default() -> Self {
        Memory::default().budget()
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        self.memory.0.loads.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.budget.0.use_bytes.remove(self.bytes);
        self.budget.0.memory.0.use_bytes.remove(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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

    #[test]
    fn a_load_that_comes_later_halves_the_part_of_the_first_until_it_goes() {
        let memory = Memory::new(100 << 20);
        let first = memory.budget();
        let held = first.try_charge(60 << 20, 1.0);
        let second = memory.budget();
        assert_eq!((first.limit_bytes(), second.limit_bytes()), (50 << 20, 50 << 20));
        assert!(first.try_charge(1, 1.0).is_none(), "it holds more than its part");
        assert!(second.try_charge(41 << 20, 1.0).is_none(), "so much is not left");
        assert_eq!(second.peak_bytes(), 0, "nothing was charged");
        let charge = second.try_charge(40 << 20, 1.0);
        assert!(charge.is_some());
        drop(held);
        assert!(first.try_charge(50 << 20, 1.0).is_some());
        drop(second);
        assert_eq!(first.limit_bytes(), 50 << 20, "a charge is still there");
        drop(charge);
        assert_eq!(first.limit_bytes(), 100 << 20);
    }

    #[test]
    fn a_load_gets_the_least_it_needs_whatever_others_hold() {
        let memory = Memory::new(Memory::LEAST_BYTES * 16);
        let first = memory.budget();
        let _all = first.try_charge(Memory::LEAST_BYTES * 16, 1.0).unwrap();
        let second = memory.budget();
        let least = second.try_charge(Memory::LEAST_BYTES, 1.0);
        assert!(least.is_some());
        assert!(second.try_charge(1, 1.0).is_none());
    }

    proptest! {
        #[test]
        fn loads_that_come_and_go_hold_no_more_than_the_memory_and_the_least_of_each(
            steps in prop::collection::vec((0usize..5, 0u64..40 << 20, 0u8..10), 1..200),
        ) {
            let memory = Memory::new(100 << 20);
            let mut loads: [Option<(Budget, Vec<Charge>)>; 5] = [const { None }; 5];
            for (load, bytes, what) in steps {
                match (&mut loads[load], what) {
                    (loaded, 0) => *loaded = None,
                    (loaded @ None, _) => *loaded = Some((memory.budget(), Vec::new())),
                    (Some((_, charges)), 1..4) => drop(charges.pop()),
                    (Some((budget, charges)), _) => charges.extend(budget.try_charge(bytes, 1.0)),
                }
                let held: u64 = loads.iter().flatten().flat_map(|(_, charges)| charges).map(Charge::bytes).sum();
                prop_assert!(held <= (100 << 20) + 4 * memory.least_bytes());
                prop_assert_eq!(held, memory.0.use_bytes.now.load(Ordering::Relaxed));
            }
            drop(loads);
            prop_assert_eq!(memory.0.use_bytes.now.load(Ordering::Relaxed), 0);
            prop_assert_eq!(memory.0.loads.load(Ordering::Relaxed), 0);
        }
    }
}
