//! Three-way merges of saved state: what one window has changed since it read the state, applied to what another window
//! has saved since. Of two changes of the same item, the last merged change stays.

use std::collections::HashSet;
use std::hash::{BuildHasher, Hash};

/// Returns `now` if it differs from `before`, and `saved` otherwise.
pub(crate) fn merged_value<T: PartialEq + Clone>(saved: T, before: &T, now: &T) -> T {
    if before == now { saved } else { now.clone() }
}

/// Returns `saved` without the items that were removed from `before`, and with the items that were added or changed.
/// `is_same` recognises an item after a change.
pub(crate) fn merged_list<T: PartialEq + Clone>(
    mut saved: Vec<T>,
    before: &[T],
    now: &[T],
    is_same: impl Fn(&T, &T) -> bool,
) -> Vec<T> {
    if saved == before {
        // No other window has changed the list, so its order is the order of this window.
        return now.to_vec();
    }
    let has = |list: &[T], item: &T| list.iter().any(|other| is_same(other, item));
    saved.retain(|item| !has(before, item) || has(now, item));
    for changed in now.iter().filter(|item| !before.contains(item)) {
        match saved.iter_mut().find(|item| is_same(item, changed)) {
            Some(item) => changed.clone_into(item),
            None => saved.push(changed.clone()),
        }
    }
    saved
}

/// Returns `saved` without the items that were removed from `before`, and with the items that were added.
pub(crate) fn merged_set<T: Eq + Hash + Copy, S: BuildHasher>(
    mut saved: HashSet<T, S>,
    before: &HashSet<T, S>,
    now: &HashSet<T, S>,
) -> HashSet<T, S> {
    saved.retain(|item| !before.contains(item) || now.contains(item));
    saved.extend(now.difference(before));
    saved
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The oracle decides for each key alone: a change by this window wins, else the other's state stays.
        #[test]
        fn each_item_is_that_of_the_window_that_changed_it(
            [saved, before, now] in prop::array::uniform3(prop::collection::btree_map(0_u8..8, 0_u8..3, 0..8)),
        ) {
            let list = |map: &BTreeMap<u8, u8>| map.iter().map(|(&key, &value)| (key, value)).collect::<Vec<_>>();
            let merged = merged_list(list(&saved), &list(&before), &list(&now), |a, b| a.0 == b.0);
            let expected: BTreeMap<u8, u8> = (0..8)
                .filter_map(|key| {
                    let source = if before.get(&key) == now.get(&key) { &saved } else { &now };
                    Some((key, *source.get(&key)?))
                })
                .collect();
            prop_assert_eq!(merged.len(), expected.len());
            prop_assert_eq!(merged.into_iter().collect::<BTreeMap<_, _>>(), expected);
            let set = |map: &BTreeMap<u8, u8>| map.keys().copied().collect::<HashSet<_>>();
            let merged = merged_set(set(&saved), &set(&before), &set(&now));
            for key in 0..8 {
                let source = if before.contains_key(&key) == now.contains_key(&key) { &saved } else { &now };
                prop_assert_eq!(merged.contains(&key), source.contains_key(&key));
            }
        }
    }
}
