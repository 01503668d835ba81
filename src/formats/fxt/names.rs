//! The tables of a provider: texts and threads by number, and the length of a tick.

use rustc_hash::FxHashMap;

use super::wire::{TextRef, Words};

/// A thread by the kernel's ids of its process and itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct ThreadId {
    pub(super) process: u64,
    pub(super) thread: u64,
}

/// The thread that a reference points to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FxtThread {
    Present(ThreadId),
    /// No record has defined the number.
    Missing,
}

impl FxtThread {
    /// The thread, or thread 0 of process 0 for one that is missing.
    pub(super) fn or_nobody(self) -> ThreadId {
        match self {
            Self::Present(thread) => thread,
            Self::Missing => ThreadId::default(),
        }
    }
}

/// A program that wrote records, with its tables so far.
#[derive(Debug)]
pub(super) struct Provider {
    texts: FxHashMap<u16, Box<[u8]>>,
    pub(super) threads: FxHashMap<u8, ThreadId>,
    pub(super) ticks_per_second: u64,
}

impl Default for Provider {
    fn default() -> Self {
        // Until an initialization record says otherwise.
        Self { texts: FxHashMap::default(), threads: FxHashMap::default(), ticks_per_second: 1_000_000_000 }
    }
}

/// The text that a reference points to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FxtText<'a> {
    Present(&'a [u8]),
    /// No record has defined the number.
    Missing,
}

impl Provider {
    pub(super) fn set_text(&mut self, number: u16, text: &[u8]) {
        // There are 2^15 numbers, and a text has 2^15 bytes at most.
        self.texts.insert(number, text.into());
    }

    /// A text, either inline in the record or by a number from before. `None` if the record ends inside of it.
    pub(super) fn text<'a>(&'a self, reference: TextRef, words: &mut Words<'a>) -> Option<FxtText<'a>> {
        Some(match reference {
            TextRef::Empty => FxtText::Present(b""),
            TextRef::Indexed(number) => self.texts.get(&number).map_or(FxtText::Missing, |text| FxtText::Present(text)),
            TextRef::Inline(len) => FxtText::Present(words.text(len)?),
        })
    }

    /// A thread, either inline in the record or by a number from before. `None` if the record ends inside of it.
    pub(super) fn thread(&self, reference: u8, words: &mut Words<'_>) -> Option<FxtThread> {
        if reference == 0 {
            return Some(FxtThread::Present(ThreadId { process: words.word()?, thread: words.word()? }));
        }
        Some(self.threads.get(&reference).map_or(FxtThread::Missing, |&thread| FxtThread::Present(thread)))
    }

    /// A time in nanoseconds, rounded; `None` beyond 64 bits.
    pub(super) fn nanos(&self, ticks: u64) -> Option<i64> {
        let per_second = u128::from(self.ticks_per_second.max(1));
        i64::try_from((u128::from(ticks) * 1_000_000_000 + per_second / 2) / per_second).ok()
    }
}
