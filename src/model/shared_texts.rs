//! Shares equal texts that come close to each other: a million threads may have one of ten names.

use std::hash::BuildHasher;
use std::sync::Arc;

use rustc_hash::FxBuildHasher;

/// The last texts, by their hash. Constant memory, so a text that comes back late is stored again.
#[derive(Debug, Clone, Default)]
pub(super) struct SharedTexts(Vec<Arc<str>>);

impl SharedTexts {
    const COUNT: u64 = 256;

    /// Returns `text`, shared with an earlier equal one where that is known.
    pub(super) fn share(&mut self, text: &str) -> Arc<str> {
        let slot = (FxBuildHasher.hash_one(text) % Self::COUNT) as usize;
        if self.0.len() <= slot {
            self.0.resize(slot + 1, Arc::default());
        }
        if *self.0[slot] != *text {
            self.0[slot] = Arc::from(text);
        }
        Arc::clone(&self.0[slot])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_are_shared_and_others_never() {
        let mut texts = SharedTexts::default();
        let mut before: Vec<Arc<str>> = Vec::new();
        for round in 0..3 {
            for number in 0..1000 {
                let text = format!("worker {}", number % 10);
                let shared = texts.share(&text);
                assert_eq!(*shared, *text);
                match before.get(number % 10) {
                    Some(known) => assert!(Arc::ptr_eq(known, &shared), "round {round}: {text}"),
                    None => before.push(shared),
                }
            }
        }
        let many: Vec<_> = (0..10_000).map(|number| texts.share(&number.to_string())).collect();
        assert!(many.iter().zip(0..).all(|(text, number)| **text == number.to_string()));
        assert_eq!(*texts.share(""), *"");
    }
}
