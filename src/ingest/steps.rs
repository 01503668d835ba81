//! Counts the elementary steps of nesting in tests: comparisons, lane probes, moves. Compiles to nothing otherwise.
//!
//! Unlike times, the counts are deterministic, so tests use them to bound the growth of the work.

#[cfg(test)]
thread_local! {
    static STEPS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// Adds to the number of steps, in tests.
#[inline(always)]
#[expect(clippy::inline_always, reason = "empty outside of tests, and part of the innermost loops")]
pub(super) fn add(steps: usize) {
    #[cfg(test)]
    STEPS.with(|count| count.set(count.get() + steps as u64));
    #[cfg(not(test))]
    let _ = steps;
}

/// Returns the number of steps of `work` on this thread.
#[cfg(test)]
pub(super) fn count(work: impl FnOnce()) -> u64 {
    let before = STEPS.with(std::cell::Cell::get);
    work();
    STEPS.with(std::cell::Cell::get) - before
}
