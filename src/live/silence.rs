//! The time since the newest event of a live trace, on the clock of the trace. A thread that hangs is silent, and its
//! open spans grow meanwhile.
//!
//! Times advance with the wall clock only if the sources have done so. An old file that is read at once does not
//! advance.

use std::time::{Duration, Instant};

/// The first silence that is shown, and the factor between shown ones: a silent hour is shown in 37 steps.
const SHOWN_FROM: Duration = Duration::from_secs(1);
const STEP: f64 = 1.25;

/// The least and the greatest pace of the sources, in seconds of the trace per second, with which times advance.
const PACE_MIN: f64 = 0.25;
const PACE_MAX: f64 = 1.25;

/// The pace is known from this time on.
const PACE_AFTER: Duration = Duration::from_millis(300);

/// The pace is measured over the last one or two of these periods, since a source may begin with old events.
const PACE_OVER: Duration = Duration::from_secs(10);

/// A moment, and the time of the newest event at it.
type Reading = (Instant, i64);

/// The pace of the sources, and what is shown of the silence since.
#[derive(Debug, Default)]
pub(super) struct Silence {
    /// The reading from which the pace is measured, and the one that replaces it.
    bases: Option<(Reading, Reading)>,
    newest: Option<Reading>,
    /// The silence that is shown next.
    due: Duration,
}

impl Silence {
    /// Ends the silence by a snapshot of new events, the newest at `newest_ns`.
    pub(super) fn end(&mut self, now: Instant, newest_ns: i64) {
        let reading = (now, newest_ns);
        // The first snapshot may have waited for the format to be recognised.
        if self.newest.is_some() {
            let (_, next) = *self.bases.get_or_insert((reading, reading));
            if now.duration_since(next.0) >= PACE_OVER {
                self.bases = Some((next, reading));
            }
        }
        self.newest = Some(reading);
        self.due = SHOWN_FROM;
    }

    /// Returns whether some of the silence was shown.
    pub(super) fn is_shown(&self) -> bool {
        self.due > SHOWN_FROM
    }

    /// Notes that the silence is shown.
    pub(super) fn show(&mut self, silent_ns: i64) {
        self.due = Duration::from_nanos(silent_ns.unsigned_abs()).mul_f64(STEP);
    }

    /// Returns the silence in nanoseconds of the trace, if it is to be shown now.
    pub(super) fn due_ns(&self, now: Instant) -> Option<i64> {
        let (((first, first_ns), _), (newest, newest_ns)) = (self.bases?, self.newest?);
        let (passed, silent) = (newest.duration_since(first), now.duration_since(newest));
        if silent < self.due || passed < PACE_AFTER {
            return None;
        }
        let pace = newest_ns.abs_diff(first_ns) as f64 / passed.as_nanos() as f64;
        let silent_ns = i64::try_from(silent.as_nanos()).ok()?;
        (PACE_MIN..=PACE_MAX).contains(&pace).then_some(silent_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the silences in milliseconds that are shown in the hour after some events. An event has a time on the
    /// wall clock and on the clock of the trace, in milliseconds.
    fn shown_ms(events: &[(u64, i64)]) -> Vec<i64> {
        let (start, mut silence) = (Instant::now(), Silence::default());
        let last_ms = events.last().map_or(0, |event| event.0);
        for &(wall_ms, trace_ms) in events {
            silence.end(start + Duration::from_millis(wall_ms), trace_ms * 1_000_000);
        }
        let hour = (last_ms..last_ms + 3_600_000).step_by(50).map(|ms| start + Duration::from_millis(ms));
        let shown = hour.filter_map(|now| {
            let silent_ns = silence.due_ns(now)?;
            silence.show(silent_ns);
            Some(silent_ns / 1_000_000)
        });
        shown.collect()
    }

    #[test]
    fn silence_is_shown_in_few_steps_if_the_sources_run_at_the_pace_of_the_wall_clock() {
        let shown = shown_ms(&[(0, 5000), (500, 5500), (1000, 6000)]);
        assert_eq!(shown[..4], [1000, 1250, 1600, 2000]);
        assert!(shown.len() < 40 && shown.last().is_some_and(|&last| last > 2_800_000), "{shown:?}");
        assert_eq!(shown_ms(&[(0, 0), (10, 0), (1010, 300)])[0], 1000, "a slow clock");
        // The first events are an hour before the program was followed, and the later ones come each second.
        let live = (1..30).map(|second| (1000 * second, 3_600_000 + 1000 * i64::try_from(second).expect("small")));
        let events: Vec<_> = [(0, 0), (100, 1_000_000)].into_iter().chain(live).collect();
        assert_eq!(shown_ms(&events)[0], 1000);
        assert_eq!(shown_ms(&events[..7]), [] as [i64; 0], "not known so far");
    }

    #[test]
    fn times_of_an_old_file_or_of_a_single_moment_do_not_advance() {
        for events in [
            &[][..],
            &[(0, 5000)],
            // Hours within a second, nothing new, and times that stand still.
            &[(0, 0), (10, 0), (1000, 3_600_000)],
            &[(0, 0), (10, 10), (100, 100)],
            &[(0, 0), (10, 0), (1000, 0)],
            &[(0, 0), (1000, 1000)],
        ] {
            assert_eq!(shown_ms(events), [] as [i64; 0], "{events:?}");
        }
    }

    #[test]
    fn a_new_event_ends_the_silence() {
        let (start, mut silence) = (Instant::now(), Silence::default());
        let at = |ms: u64| start + Duration::from_millis(ms);
        for ms in [0, 10, 1000] {
            silence.end(at(ms), i64::try_from(ms).expect("small") * 1_000_000);
        }
        assert_eq!((silence.due_ns(at(3000)), silence.is_shown()), (Some(2_000_000_000), false));
        silence.show(2_000_000_000);
        assert_eq!((silence.due_ns(at(3100)), silence.is_shown()), (None, true), "too early");
        silence.end(at(3200), 3_200_000_000);
        assert_eq!((silence.due_ns(at(3300)), silence.is_shown()), (None, false));
        assert_eq!(silence.due_ns(at(4200)), Some(1_000_000_000));
    }
}
