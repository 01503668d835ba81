//! A bit set of tracks: the tracks that a query selects. Membership is a single bit test.

use std::sync::Arc;

use super::TrackIdx;

/// A subset of the tracks of a trace, or all of them. Cloning is cheap.
#[derive(Debug, Clone, Default)]
pub(crate) struct TrackSet {
    /// One bit per track; `None` for all tracks.
    words: Option<Arc<[u64]>>,
}

impl TrackSet {
    /// All tracks, including ones that are added later.
    pub(crate) const ALL: Self = Self { words: None };

    /// Returns the set of tracks below `count` for which `is_member` returns true.
    #[must_use]
    pub(crate) fn from_fn(count: usize, mut is_member: impl FnMut(TrackIdx) -> bool) -> Self {
        let mut words = vec![0u64; count.div_ceil(64)];
        for track in 0..count {
            words[track / 64] |= u64::from(is_member(TrackIdx(track as u32))) << (track % 64);
        }
        Self { words: Some(words.into()) }
    }

    /// Returns the set of tracks below `count` in some runs of neighbours, both ends included.
    #[must_use]
    pub(crate) fn from_runs(count: usize, runs: &[(u32, u32)]) -> Self {
        let end_of_all = u32::try_from(count).unwrap_or(u32::MAX);
        // Runs that overlap are visited once.
        let mut next = 0;
        let tracks = runs.iter().flat_map(move |&(first, last)| {
            let run = first.max(next)..last.saturating_add(1).min(end_of_all);
            next = next.max(run.end);
            run
        });
        tracks.map(TrackIdx).collect()
    }

    /// Returns the members as runs of neighbours, both ends included; none for the set of all tracks.
    #[must_use]
    pub(crate) fn runs(&self) -> Vec<(u32, u32)> {
        let mut runs: Vec<(u32, u32)> = Vec::new();
        for (&word, index) in self.words.iter().flat_map(|words| words.iter()).zip(0u32..) {
            let (mut left, mut from) = (word, index * 64);
            while left != 0 {
                let skipped = left.trailing_zeros();
                let run = (left >> skipped).trailing_ones();
                let first = from + skipped;
                match runs.last_mut() {
                    Some((_, last)) if *last + 1 == first => *last = first + run - 1,
                    Some(_) | None => runs.push((first, first + run - 1)),
                }
                from = first + run;
                left = left.checked_shr(skipped + run).unwrap_or(0);
            }
        }
        runs
    }

    /// Returns whether this is the set of all tracks.
    #[must_use]
    pub(crate) fn is_all(&self) -> bool {
        self.words.is_none()
    }

    /// Counts the members word by word; 0 for the set of all tracks.
    #[must_use]
    pub(crate) fn count(&self) -> u64 {
        self.words.iter().flat_map(|words| words.iter()).map(|word| u64::from(word.count_ones())).sum()
    }

    /// Returns whether the set is empty.
    #[must_use]
    pub(crate) fn is_empty(&self) -> bool {
        self.words.as_ref().is_some_and(|words| words.iter().all(|&word| word == 0))
    }

    #[must_use]
    pub(crate) fn contains(&self, track: TrackIdx) -> bool {
        let word = |words: &Arc<[u64]>| words.get(track.index() / 64).copied().unwrap_or(0);
        self.words.as_ref().is_none_or(|words| word(words) >> (track.index() % 64) & 1 != 0)
    }

    /// Returns the intersection of both sets.
    #[must_use]
    pub(crate) fn intersection(&self, other: &Self) -> Self {
        let words = match (&self.words, &other.words) {
            (None, words) | (words, None) => words.clone(),
            (Some(these), Some(those)) => {
                Some(these.iter().zip(&**those).map(|(these, those)| these & those).collect())
            }
        };
        Self { words }
    }

    /// Returns the members of this set that are not in the other; none if this is the set of all tracks.
    #[must_use]
    pub(crate) fn without(&self, other: &Self) -> Self {
        self.iter().filter(|&track| !other.contains(track)).collect()
    }

    /// Returns whether a track is in both sets.
    #[must_use]
    pub(crate) fn intersects(&self, other: &Self) -> bool {
        match (&self.words, &other.words) {
            (None, _) => !other.is_empty(),
            (_, None) => !self.is_empty(),
            (Some(these), Some(those)) => these.iter().zip(&**those).any(|(these, those)| these & those != 0),
        }
    }

    /// Iterates over the members in order; empty for the set of all tracks.
    pub(crate) fn iter(&self) -> impl Iterator<Item = TrackIdx> + '_ {
        let words = self.words.iter().flat_map(|words| words.iter());
        let some = |word: u64| (word != 0).then_some(word);
        words.zip(0u32..).flat_map(move |(&word, index)| {
            let rests = std::iter::successors(some(word), move |rest| some(rest & (rest - 1)));
            rests.map(move |rest| TrackIdx(index * 64 + rest.trailing_zeros()))
        })
    }
}

/// Sets are equal if they have the same members, regardless of the number of bits.
impl PartialEq for TrackSet {
    fn eq(&self, other: &Self) -> bool {
        let (Some(these), Some(those)) = (&self.words, &other.words) else { return self.is_all() == other.is_all() };
        if Arc::ptr_eq(these, those) {
            return true;
        }
        let shared = these.len().min(those.len());
        let rest = these[shared..].iter().chain(&those[shared..]);
        these[..shared] == those[..shared] && rest.copied().all(|word| word == 0)
    }
}

impl Eq for TrackSet {}

impl FromIterator<TrackIdx> for TrackSet {
    fn from_iter<T: IntoIterator<Item = TrackIdx>>(tracks: T) -> Self {
        let mut words = Vec::new();
        for track in tracks {
            let word = track.index() / 64;
            if word >= words.len() {
                words.resize(word + 1, 0u64);
            }
            words[word] |= 1 << (track.index() % 64);
        }
        Self { words: Some(words.into()) }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_the_set_of_its_tracks(
            these in proptest::collection::btree_set(0u32..300, 0..40),
            those in proptest::collection::btree_set(0u32..300, 0..40),
        ) {
            let set = |tracks: &BTreeSet<u32>| tracks.iter().copied().map(TrackIdx).collect::<TrackSet>();
            let (first, second) = (set(&these), set(&those));
            prop_assert!(first.iter().map(|track| track.0).eq(these.iter().copied()));
            prop_assert_eq!((first.is_empty(), first.count()), (these.is_empty(), these.len() as u64));
            prop_assert_eq!(first == second, these == those);
            prop_assert!((0..320).all(|track| first.contains(TrackIdx(track)) == these.contains(&track)));
            let many: TrackSet = these.iter().copied().map(TrackIdx).collect();
            prop_assert_eq!(TrackSet::from_fn(1000, |track| these.contains(&track.0)), many);
            prop_assert_eq!(first.intersection(&second), set(&these.intersection(&those).copied().collect()));
            prop_assert_eq!(TrackSet::from_fn(300, |track| these.contains(&track.0)), first.clone());
            prop_assert_eq!(first.intersects(&second), these.intersection(&those).next().is_some());
            prop_assert_eq!(first.without(&second), set(&these.difference(&those).copied().collect()));
            prop_assert_eq!(TrackSet::from_runs(300, &first.runs()), first.clone());
            let below = these.iter().copied().filter(|&track| track < 100).collect();
            prop_assert_eq!(TrackSet::from_runs(100, &first.runs()), set(&below));
            prop_assert_eq!(TrackSet::ALL.intersection(&first), first);
        }
    }

    #[test]
    fn all_tracks_are_more_than_any_list_of_them() {
        assert!(TrackSet::ALL.is_all() && TrackSet::ALL.contains(TrackIdx(u32::MAX)) && !TrackSet::ALL.is_empty());
        assert_ne!(TrackSet::ALL, TrackSet::from_fn(3, |_| true));
    }
}
