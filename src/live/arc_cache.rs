//! A bounded cache keyed by the address of a shared key: no key is hashed or compared. On a miss, the caller looks the
//! key up elsewhere and inserts it.

use std::sync::Arc;

const SLOTS_LOG2: u32 = 10;

/// Cached values by their keys. A key is kept alive with its value, so that its address is not reused.
#[derive(Debug)]
pub(super) struct ArcCache<K, V> {
    slots: Vec<Option<(Arc<K>, V)>>,
}

impl<K, V: Copy> ArcCache<K, V> {
    pub(super) fn new() -> Self {
        Self { slots: std::iter::repeat_with(|| None).take(1 << SLOTS_LOG2).collect() }
    }

    /// Returns the value of a key, if it is cached.
    pub(super) fn get(&self, key: &Arc<K>) -> Option<V> {
        let (cached_key, value) = self.slots[slot(key)].as_ref()?;
        Arc::ptr_eq(cached_key, key).then_some(*value)
    }

    /// Inserts a value, and replaces the one in its slot.
    pub(super) fn insert(&mut self, key: &Arc<K>, value: V) {
        self.slots[slot(key)] = Some((Arc::clone(key), value));
    }
}

/// Spreads addresses over the slots: the addresses of one type differ by multiples of its size.
fn slot<K>(key: &Arc<K>) -> usize {
    let address = Arc::as_ptr(key).addr() as u64;
    (address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - SLOTS_LOG2)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_its_own_value_or_none_however_many_there_are() {
        let mut cache = ArcCache::new();
        let keys: Vec<Arc<u32>> = (0..5000).map(Arc::new).collect();
        for key in keys.iter().chain(&keys) {
            assert!(cache.get(key).is_none_or(|value| value == **key));
            cache.insert(key, **key);
            assert_eq!(cache.get(key), Some(**key));
        }
        let held = keys.iter().filter(|key| cache.get(key) == Some(***key)).count();
        assert!(held > 300 && held <= 1 << SLOTS_LOG2, "{held}");
        // An equal key at another address is a different key.
        cache.insert(&keys[7], 7);
        assert_eq!(cache.get(&Arc::new(7)), None);
    }
}
