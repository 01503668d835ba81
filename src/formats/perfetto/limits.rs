//! Limits of tables that grow with the trace. Entries beyond a limit are counted as lost by the caller.

use std::borrow::Borrow;
use std::hash::Hash;

use rustc_hash::FxHashMap;

/// Returns whether an entry can be inserted: the table has the key already, or fewer than `entries_max` entries.
pub(super) fn has_room<K, Q, V>(table: &FxHashMap<K, V>, key: &Q, entries_max: usize) -> bool
where
    K: Borrow<Q> + Eq + Hash,
    Q: Eq + Hash + ?Sized,
{
    table.len() < entries_max || table.contains_key(key)
}
