//! Moves the times of a source to the clock of the sources before it, as the final sort moves files: by a clock sync or
//! a time of day that both know. A source is moved before its first event or not at all: rows that are shown keep their
//! times until the sort.

use std::time::Duration;

use crate::base::units::signed_time_text;
use crate::formats::multi::clock_sync::{Alignment, ClockSyncs, KnownSyncs};

/// Time after the start in which sources wait for the clocks of the sources before them. A trace states its clock in
/// its first batch.
pub(super) const CLOCK_WAIT: Duration = Duration::from_millis(500);

/// The clock of one source.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SourceClock {
    /// Added to its times.
    pub(super) offset_ns: i64,
    /// Whether it has sent events, or stated its clock.
    pub(super) is_decided: bool,
}

/// The clocks of the sources so far.
#[derive(Debug, Default)]
pub(super) struct SourceClocks {
    known: KnownSyncs,
}

impl SourceClocks {
    /// Moves a source to the clock of the earlier ones. Returns the sentence for the user if its times change.
    pub(super) fn align(&mut self, name: &str, clock: &mut SourceClock, syncs: ClockSyncs) -> Option<String> {
        let mut sentence = None;
        if !std::mem::replace(&mut clock.is_decided, true)
            && let Some((by_ns, alignment)) = self.known.offset_ns(&syncs).filter(|(by_ns, _)| *by_ns != 0)
        {
            clock.offset_ns = by_ns;
            let by = signed_time_text(by_ns);
            sentence = Some(match alignment {
                Alignment::Sync(id) => format!("{name} is moved by {by}, to where its clock sync {id} is before"),
                Alignment::Utc => format!("{name} is moved by {by}, to its time of day on the clock before it"),
            });
        }
        self.known.add_file(syncs, clock.offset_ns);
        sentence
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn utc(offset_ns: i64) -> ClockSyncs {
        let mut syncs = ClockSyncs::default();
        syncs.add_utc(offset_ns);
        syncs
    }

    #[test]
    fn a_source_is_moved_once_and_never_after_its_first_event() {
        let (mut clocks, mut all) = (SourceClocks::default(), [SourceClock::default(); 3]);
        assert_eq!(clocks.align("a", &mut all[0], utc(1_000_000_000)), None);
        assert_eq!(clocks.align("the same", &mut SourceClock::default(), utc(1_000_000_000)), None);
        let sentence = clocks.align("b", &mut all[1], utc(3_000_000_000)).expect("another clock");
        assert!(sentence.starts_with("b is moved by 2s"), "{sentence}");
        assert_eq!(clocks.align("b", &mut all[1], utc(9_000_000_000)), None);
        all[2].is_decided = true;
        assert_eq!(clocks.align("c", &mut all[2], utc(3_000_000_000)), None);
        assert_eq!(all.map(|clock| clock.offset_ns), [0, 2_000_000_000, 0]);
    }
}
