//! Places the lines of `strace` and `ltrace` in time. Times of day continue past midnight, and distances (`-r`) add up.
//! Lines are printed one after the other, so lines of the same written time follow each other by the durations of their
//! calls. A clock that was set back is not corrected.

use super::line::{StraceClock, StraceRecord};

pub(super) const DAY_NS: i64 = 86_400_000_000_000;

#[derive(Debug, Default)]
#[expect(clippy::struct_field_names, reason = "each name ends with its unit")]
pub(super) struct LineClock {
    /// Offset of the current day, and the last time of day.
    day_ns: i64,
    last_of_day_ns: i64,
    /// Current time, for lines with relative times, and the most that their rounding may have taken from it.
    distance_ns: i64,
    rounding_ns: i64,
    /// Earliest time of the next line: the start of the last line, or the end of a call.
    earliest_ns: i64,
}

impl LineClock {
    /// Returns the time of a line. The time of day passes midnight when it goes back by half a day.
    pub(super) fn time(&mut self, record: &StraceRecord<'_>) -> Option<i64> {
        match record.clock {
            StraceClock::Machine => Some(record.ns),
            StraceClock::Utc { tick_ns } => Some(self.following(record.ns, tick_ns)),
            StraceClock::TimeOfDay { tick_ns } => {
                if record.ns < self.last_of_day_ns - DAY_NS / 2 {
                    self.day_ns = self.day_ns.checked_add(DAY_NS)?;
                }
                self.last_of_day_ns = record.ns;
                let written_ns = self.day_ns.checked_add(record.ns)?;
                Some(self.following(written_ns, tick_ns))
            }
            StraceClock::Distance { tick_ns } => {
                let sum_ns = self.distance_ns.checked_add(record.ns)?;
                self.rounding_ns = self.rounding_ns.saturating_add(tick_ns);
                self.distance_ns = self.following(sum_ns, self.rounding_ns);
                self.rounding_ns -= self.distance_ns - sum_ns;
                Some(self.distance_ns)
            }
        }
    }

    /// Moves later lines after the end of a call.
    pub(super) fn call_ended(&mut self, end_ns: i64) {
        self.earliest_ns = self.earliest_ns.max(end_ns);
    }

    /// Returns the time of a line that was printed less than `rounding_ns` after its written time. If that is before
    /// the previous line, the clock was set back.
    fn following(&mut self, written_ns: i64, rounding_ns: i64) -> i64 {
        let is_in_order = self.earliest_ns < written_ns.saturating_add(rounding_ns);
        self.earliest_ns = if is_in_order { written_ns.max(self.earliest_ns) } else { written_ns };
        self.earliest_ns
    }
}

#[cfg(test)]
mod tests {
    use crate::formats::testing::{Reading, read};

    /// Returns start, duration and name of each event, in microseconds after the first.
    fn micros(reading: &Reading) -> Vec<(i64, u64, &str)> {
        let first_ns = reading.events[0].ts_ns;
        reading.short().iter().map(|&(ts, dur, name)| ((ts - first_ns) / 1000, dur / 1000, name)).collect()
    }

    #[test]
    fn calls_of_one_written_time_follow_each_other() {
        let calls = [
            ["12:00:01", "12:00:01", "12:00:01", "12:00:02"],
            ["7 12:00:01", "8 12:00:01", "7 12:00:01", "7 12:00:02"],
            ["[pid 7] 1795166531.000", "[pid 7] 1795166531.000", "[pid 7] 1795166531.000", "[pid 7] 1795166532.000"],
            ["7 1795166531.25", "7 1795166531.25", "7 1795166531.25", "7 1795166532.25"],
        ];
        for [first, second, third, last] in calls {
            let reading = read(&format!(
                "{first} read(3, \"\", 1) = 0 <0.000300>\n{second} write(4, \"\", 1) = 0 <0.000200>\n\
                 {third} +++ killed by SIGKILL +++\n{last} close(3) = 0 <0.000100>\n"
            ));
            let expected =
                [(0, 300, "read"), (300, 200, "write"), (500, 0, "killed by SIGKILL"), (1_000_000, 100, "close")];
            assert_eq!((micros(&reading), reading.lost()), (expected.to_vec(), vec![]), "{first}");
        }
    }

    #[test]
    fn interrupted_calls_of_one_written_time_end_before_the_next_ones() {
        let reading = read(
            "7 12:00:01 brk(0) = 0 <0.000100>\n7 12:00:01 read(3,  <unfinished ...>\n8 12:00:01 close(3) = 0 <0.000200>\n\
             7 12:00:01 <... read resumed>\"\", 1) = 0 <0.000700>\n7 12:00:01 write(4, \"\", 1) = 0 <0.000200>\n",
        );
        let expected = [(0, 100, "brk"), (100, 200, "close"), (100, 700, "read"), (800, 200, "write")];
        assert_eq!((micros(&reading), reading.lost()), (expected.to_vec(), vec![]));
        // Without durations, a call may not end before the start that it was moved to.
        let reading = read(
            "7 12:00:01 brk(0) = 0 <0.000100>\n7 12:00:01 read(3,  <unfinished ...>\n\
             7 12:00:01 <... read resumed>\"\", 1) = 0\n",
        );
        assert_eq!((micros(&reading), reading.lost()), (vec![(0, 100, "brk"), (100, 0, "read")], vec![]));
    }

    #[test]
    fn calls_that_nest_in_an_interrupted_one_stay_in_it() {
        let reading = read(
            "7 12:00:01 puts(1) = 0 <0.000100>\n7 12:00:01 qsort(1 <unfinished ...>\n7 12:00:01 f(1) = 0 <0.000200>\n\
             7 12:00:01 f(2) = 0 <0.000300>\n7 12:00:01 <... qsort resumed> ) = <void> <0.000600>\n",
        );
        assert_eq!(micros(&reading), [(0, 100, "puts"), (100, 200, "f"), (100, 600, "qsort"), (300, 300, "f")]);
    }

    #[test]
    fn a_call_that_seems_to_end_in_the_next_one_does_not_overlap_it() {
        // `ltrace -T` measured the first call from 2 µs before its line.
        let reading = read(
            "7 18:54:59.100310 signal(SIGALRM, 0x55) = 0 <0.000122>\n7 18:54:59.100430 ualarm(3000, 0) = 0 <0.000093>\n\
             7 18:54:59.100545 pthread_create(0x7f, 0) = 0 <0.000380>\n",
        );
        let expected = [(0, 122, "signal"), (122, 93, "ualarm"), (235, 380, "pthread_create")];
        assert_eq!((micros(&reading), reading.lost()), (expected.to_vec(), vec![]));
    }

    #[test]
    fn a_clock_that_was_set_back_moves_no_call() {
        let reading = read(
            "7 1795166531.000001 read(3) = 0 <5.000000>\n7 1795166532.000001 close(3) = 0 <0.000001>\n\
             7 1795166532.000002 getpid() = 0 <0.000001>\n",
        );
        assert_eq!(micros(&reading), [(0, 5_000_000, "read"), (1_000_000, 1, "close"), (1_000_001, 1, "getpid")]);
    }

    #[test]
    fn distances_that_were_rounded_down_do_not_let_calls_overlap() {
        // The lines are 0.9 µs apart, and the last two 1.1 µs and 0.1 µs.
        let reading = read(
            "7 0.000000 read(3 <unfinished ...>\n8 0.000000 a() = 0\n8 0.000000 b() = 0\n\
             7 0.000001 <... read resumed>) = 0 <0.000002>\n7 0.000000 c() = 0\n",
        );
        assert_eq!(micros(&reading), [(0, 0, "a"), (0, 0, "b"), (0, 2, "read"), (2, 0, "c")]);
        // A duration that no rounding explains moves nothing.
        let reading = read("7 0.000000 read(3) = 0 <9000000000>\n7 0.000005 a() = 0\n7 0.000005 b() = 0 <0.000001>\n");
        assert_eq!(micros(&reading)[1..], [(5, 0, "a"), (10, 1, "b")]);
    }
}
