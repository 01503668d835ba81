//! Counts the elementary steps of nesting in tests: comparisons, lane probes, moves. Compiles to nothing elsewhere.
//!
//! Counts repeat exactly where times do not, so tests hold the growth of the work by them.

#[cfg(test)]
thread_local! {
    static STEPS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// Counts `steps` in a test.
#[inline(always)]
#[expect(clippy::inline_always, reason = "empty outside of tests, and part of the innermost loops")]
pub(super) fn add(steps: usize) {
    #[cfg(test)]
    STEPS.with(|count| count.set(count.get() + steps as u64));
    #[cfg(not(test))]
    let _ = steps;
}

/// The steps that `work` takes on this thread.
#[cfg(test)]
pub(super) fn count(work: impl FnOnce()) -> u64 {
    let before = STEPS.with(std::cell::Cell::get);
    work();
    STEPS.with(std::cell::Cell::get) - before
}
