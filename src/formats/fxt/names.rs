//! The tables of a provider: texts and threads by index, and the tick rate.

use rustc_hash::FxHashMap;

use super::wire::{TextRef, Words};

/// A thread, identified by the kernel ids of its process and itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct ThreadId {
    pub(super) process: u64,
    pub(super) thread: u64,
}

/// The result of resolving a thread reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FxtThread {
    Present(ThreadId),
    /// No record has defined the index.
    Missing,
}

impl FxtThread {
    /// Returns the thread, or thread 0 of process 0 if it is missing.
    pub(super) fn or_nobody(self) -> ThreadId {
        match self {
            Self::Present(thread) => thread,
            Self::Missing => ThreadId::default(),
        }
    }
}

/// A program that wrote records, with its current tables.
#[derive(Debug)]
pub(super) struct Provider {
    texts: FxHashMap<u16, Box<[u8]>>,
    pub(super) threads: FxHashMap<u8, ThreadId>,
    pub(super) ticks_per_second: u64,
}

impl Default for Provider {
    fn default() -> Self {
        // The default until an initialization record.
        Self { texts: FxHashMap::default(), threads: FxHashMap::default(), ticks_per_second: 1_000_000_000 }
    }
}

/// The result of resolving a string reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FxtText<'a> {
    Present(&'a [u8]),
    /// No record has defined the index.
    Missing,
}

impl Provider {
    /// Sets a text, and returns the length of the replaced text. The caller bounds the bytes of all providers.
    pub(super) fn set_text(&mut self, number: u16, text: &[u8]) -> usize {
        self.texts.insert(number, text.into()).map_or(0, |earlier| earlier.len())
    }

    /// Removes a text, and returns its length.
    pub(super) fn remove_text(&mut self, number: u16) -> usize {
        self.texts.remove(&number).map_or(0, |earlier| earlier.len())
    }

    /// Resolves a text that is inline or in the table. `None` if the record ends within it.
    pub(super) fn text<'a>(&'a self, reference: TextRef, words: &mut Words<'a>) -> Option<FxtText<'a>> {
        Some(match reference {
            TextRef::Empty => FxtText::Present(b""),
            TextRef::Indexed(number) => self.texts.get(&number).map_or(FxtText::Missing, |text| FxtText::Present(text)),
            TextRef::Inline(len) => FxtText::Present(words.text(len)?),
        })
    }

    /// Resolves a thread that is inline or in the table. `None` if the record ends within it.
    pub(super) fn thread(&self, reference: u8, words: &mut Words<'_>) -> Option<FxtThread> {
        if reference == 0 {
            return Some(FxtThread::Present(ThreadId { process: words.word()?, thread: words.word()? }));
        }
        Some(self.threads.get(&reference).map_or(FxtThread::Missing, |&thread| FxtThread::Present(thread)))
    }

    /// Converts ticks to nanoseconds, rounded. `None` if the result exceeds 64 bits.
    pub(super) fn nanos(&self, ticks: u64) -> Option<i64> {
        let per_second = u128::from(self.ticks_per_second.max(1));
        i64::try_from((u128::from(ticks) * 1_000_000_000 + per_second / 2) / per_second).ok()
    }
}
