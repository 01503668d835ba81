//! The lag of a source: the distance of its event times to their arrival on the caller's clock. A lag that stays the
//! same while events keep coming is the distance between two clocks. A source that sends batches, catches up or is
//! buffered has a lag that varies, or pauses.

/// How long a lag must be steady.
const STEADY_FOR_NS: u64 = 3_000_000_000;

/// How much a steady lag may vary, as by waits for a processor.
const SPREAD_NS: u64 = 250_000_000;

/// Limit for pauses: a source that sends batches pauses between them.
const PAUSE_NS: u64 = 500_000_000;

/// The lags of a source since they have been similar.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SteadyLag {
    since: Option<Since>,
    /// Arrival and lead of the newest event of the current burst.
    arrived: Option<(u64, i64)>,
}

#[derive(Debug, Clone, Copy)]
struct Since {
    /// The first arrival and the last.
    arrivals_ns: [u64; 2],
    /// The smallest lead and the largest.
    leads_ns: [i64; 2],
}

impl SteadyLag {
    /// Adds an event by its time and its arrival on the caller's clock.
    pub(super) fn add(&mut self, key_ns: i64, came_ns: u64) {
        let lead_ns = key_ns.saturating_sub_unsigned(came_ns);
        match &mut self.arrived {
            // The last of several events is the one that arrived without waiting for others.
            Some((last_ns, most_ns)) if *last_ns == came_ns => *most_ns = (*most_ns).max(lead_ns),
            arrived => {
                let earlier = arrived.replace((came_ns, lead_ns));
                if let Some((came_ns, lead_ns)) = earlier {
                    self.note(came_ns, lead_ns);
                }
            }
        }
    }

    fn note(&mut self, came_ns: u64, lead_ns: i64) {
        let joined = self.since.map(|Since { arrivals_ns: [first_ns, _], leads_ns: [low_ns, high_ns] }| Since {
            arrivals_ns: [first_ns, came_ns],
            leads_ns: [low_ns.min(lead_ns), high_ns.max(lead_ns)],
        });
        let is_same = |joined: &Since| joined.leads_ns[0].abs_diff(joined.leads_ns[1]) <= SPREAD_NS;
        let has_paused = self.since.is_some_and(|since| came_ns.saturating_sub(since.arrivals_ns[1]) > PAUSE_NS);
        let begun = Since { arrivals_ns: [came_ns; 2], leads_ns: [lead_ns; 2] };
        self.since = Some(joined.filter(|joined| !has_paused && is_same(joined)).unwrap_or(begun));
    }

    /// Returns how far the times of the source are ahead of the caller's clock, if that has been steady up to now.
    pub(super) fn lead_ns(&self, now_ns: u64) -> Option<i64> {
        let Since { arrivals_ns: [first_ns, last_ns], leads_ns: [_, high_ns] } = self.since?;
        let is_steady = now_ns.saturating_sub(last_ns) <= PAUSE_NS && last_ns - first_ns >= STEADY_FOR_NS;
        is_steady.then_some(high_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Adds events of six seconds, each by its time and arrival in milliseconds, and returns the lead in milliseconds.
    fn lead_ms(every_ms: u64, event: impl Fn(u64) -> (i64, u64)) -> Option<i64> {
        let mut lag = SteadyLag::default();
        for (key_ms, came_ms) in (0..6000).step_by(every_ms as usize).map(event) {
            lag.add(key_ms * MS as i64, came_ms * MS);
        }
        lag.lead_ns(6000 * MS).map(|lead_ns| lead_ns / MS as i64)
    }

    #[test]
    fn only_times_that_come_with_the_clock_without_pauses_have_a_steady_lead() {
        assert_eq!(lead_ms(10, |ms| (ms as i64 + 5000, ms)), Some(5000));
        assert_eq!(lead_ms(10, |ms| (ms as i64 - 5000 - (ms % 200) as i64, ms)), Some(-5000), "it varies a little");
        // Ten events arrive together, with the newest at last.
        assert_eq!(lead_ms(10, |ms| (ms as i64, ms.next_multiple_of(100))), Some(0));
        assert_eq!(lead_ms(10, |ms| (ms as i64, ms.next_multiple_of(1000))), None, "batches of a second");
        assert_eq!(lead_ms(600, |ms| (ms as i64 - 5000, ms)), None, "pauses");
        assert_eq!(lead_ms(10, |ms| (2 * ms as i64, ms)), None, "it catches up");
        assert_eq!(lead_ms(10, |ms| (ms as i64 - (ms % 500) as i64, ms)), None, "it varies");
        assert_eq!(SteadyLag::default().lead_ns(0), None);
    }
}
