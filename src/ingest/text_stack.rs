//! A stack of texts that can be popped to the last entry of a text, as named ends do with begins. Each call takes
//! amortized constant time.
//!
//! A scan from the top would be linear, but is the fastest for the short stacks that are common. So only entries below
//! the top `SCANNED` are indexed.

use rustc_hash::FxHashMap;

use super::steps;
use crate::model::StrIdx;

/// Maximum number of entries that a scan visits.
const SCANNED: usize = 16;

#[derive(Debug, Default)]
pub(super) struct TextStack {
    texts: Vec<StrIdx>,
    /// By indexed entry: the previous entry with the same text.
    below: Vec<Option<usize>>,
    /// The last indexed entry of each text.
    last: FxHashMap<StrIdx, usize>,
}

impl TextStack {
    pub(super) fn push(&mut self, text: StrIdx) {
        self.texts.push(text);
    }

    pub(super) fn pop(&mut self) -> Option<StrIdx> {
        self.cut(self.texts.len().checked_sub(1)?).next_back()
    }

    /// Removes the last entry of `text` and all above it. Returns false, and removes nothing, if there is none.
    pub(super) fn pop_to(&mut self, text: StrIdx) -> bool {
        while self.below.len() + SCANNED < self.texts.len() {
            steps::add(1);
            let entry = self.below.len();
            self.below.push(self.last.insert(self.texts[entry], entry));
        }
        let scanned = self.texts[self.below.len()..].iter().rposition(|&other| {
            steps::add(1);
            other == text
        });
        let entry = scanned.map(|entry| self.below.len() + entry).or_else(|| self.last.get(&text).copied());
        entry.map(|entry| self.cut(entry)).is_some()
    }

    /// Removes the entries from `entry` on.
    fn cut(&mut self, entry: usize) -> std::vec::Drain<'_, StrIdx> {
        while self.below.len() > entry
            && let Some(below) = self.below.pop()
        {
            steps::add(1);
            let text = self.texts[self.below.len()];
            match below {
                Some(below) => self.last.insert(text, below),
                None => self.last.remove(&text),
            };
        }
        self.texts.drain(entry..)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_stack_of_texts_is_cut_where_a_scan_finds_the_text(
            calls in proptest::collection::vec((0u32..12, 0..10), 0..400),
        ) {
            let (mut stack, mut oracle) = (TextStack::default(), Vec::new());
            for (text, call) in calls {
                let text = StrIdx(text * text);
                match call {
                    0 => prop_assert_eq!(stack.pop(), oracle.pop()),
                    1 => {
                        let position = oracle.iter().rposition(|&other| other == text);
                        oracle.truncate(position.unwrap_or(oracle.len()));
                        prop_assert_eq!(stack.pop_to(text), position.is_some());
                    }
                    _ => {
                        stack.push(text);
                        oracle.push(text);
                    }
                }
            }
            prop_assert_eq!(stack.texts, oracle);
        }
    }
}
