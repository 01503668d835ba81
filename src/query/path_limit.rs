//! The limit for the call paths of an answer, whose tables are the largest part of its memory.

/// Limit with enough memory. Paths beyond it are merged into the others of their callers.
pub(crate) const PATHS_MAX: usize = 1 << 20;

/// Least limit: far more paths than a picture can show.
const PATHS_MIN: usize = 1 << 15;

/// Bytes of a path in all tables of a flame graph: some 400, and room for tables that double.
const PATH_BYTES: u64 = 512;

/// Returns the limit for an answer within a memory limit.
pub(super) fn paths_within(memory_bytes: u64) -> usize {
    usize::try_from(memory_bytes / PATH_BYTES).unwrap_or(PATHS_MAX).clamp(PATHS_MIN, PATHS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::budget::Memory;

    #[test]
    fn the_default_memory_has_all_paths_and_the_least_has_the_smallest_limit() {
        let mib = |count: u64| paths_within(count << 20);
        assert_eq!(paths_within(Memory::DEFAULT_BYTES), PATHS_MAX);
        assert_eq!([mib(0), mib(8), mib(64), mib(256), mib(1 << 20)], [1 << 15, 1 << 15, 1 << 17, 1 << 19, 1 << 20]);
    }
}
