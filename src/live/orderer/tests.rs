//! Replays the figure of the article on sorting events, and compares random schedules with a stable sort.

use proptest::prelude::*;

use super::*;

const TICK_NS: u64 = 50;

/// The limits in the article: a watermark is effective after two ticks, and a CPU without an event since the last tick
/// is idle.
const ARTICLE: OrdererLimits =
    OrdererLimits { delay_ns: 2 * TICK_NS, tick_ns: TICK_NS, idle_ns: TICK_NS, queues_bytes: usize::MAX };

type TimeOrderer = Orderer<i64>;

fn with_sources<T>(limits: OrdererLimits, sources: usize, now_ns: u64) -> Orderer<T> {
    let mut orderer = Orderer::new(limits, now_ns);
    (0..sources).for_each(|_| _ = orderer.add_source(now_ns, true));
    orderer
}

fn push_all(orderer: &mut TimeOrderer, events: &[(i64, usize)], now_ns: u64) {
    for &(time, cpu) in events {
        orderer.push(cpu, time, 1, time, now_ns).expect("room");
    }
}

/// Returns the times released now.
fn released(orderer: &mut TimeOrderer) -> Vec<i64> {
    std::iter::from_fn(|| orderer.pop()).map(|released| released.item).collect()
}

#[test]
fn the_figure_of_the_article_is_replayed() {
    let mut orderer = with_sources(ARTICLE, 3, 0);
    push_all(&mut orderer, &[(1, 0), (3, 0), (6, 0), (8, 0), (2, 1), (5, 1), (4, 2)], 1);
    push_all(&mut orderer, &[(9, 1), (11, 2), (13, 1), (10, 2), (12, 2)], 49);
    orderer.tick(50);
    assert_eq!(released(&mut orderer), [] as [i64; 0], "T8 is noted");
    push_all(&mut orderer, &[(7, 0), (22, 1), (23, 2), (20, 0), (25, 1), (24, 2), (21, 0)], 99);
    orderer.tick(100);
    assert_eq!(released(&mut orderer), [] as [i64; 0], "T21 is noted");
    let third = [30, 34, 35, 31, 36, 32, 37, 33, 38, 50, 51].into_iter().zip([0, 1, 2, 0, 2, 0, 2, 0, 2, 1, 1]);
    push_all(&mut orderer, &third.collect::<Vec<_>>(), 149);
    orderer.tick(150);
    assert_eq!(released(&mut orderer), (1..=8).collect::<Vec<i64>>(), "up to T8, T33 is noted");
    orderer.tick(200);
    let up_to_21 = [9, 10, 11, 12, 13, 20, 21];
    assert_eq!(released(&mut orderer), up_to_21);
    orderer.tick(250);
    assert_eq!(released(&mut orderer), [22, 23, 24, 25, 30, 31, 32, 33]);
    assert_eq!((0..3).map(|cpu| orderer.late(cpu).count).sum::<u64>(), 0);
    (0..3).for_each(|cpu| orderer.end(cpu));
    assert_eq!(released(&mut orderer), [34, 35, 36, 37, 38, 50, 51]);
    assert!(!orderer.has_waiting());
}

#[test]
fn events_within_the_tolerance_are_released_and_not_counted_as_late() {
    let mut orderer = with_sources(ARTICLE, 2, 0);
    orderer.tolerate(1, 10);
    push_all(&mut orderer, &[(100, 0)], 1);
    (1..=4).for_each(|tick| orderer.tick(tick * TICK_NS));
    assert_eq!(released(&mut orderer), [100]);
    push_all(&mut orderer, &[(99, 0), (90, 1), (89, 1)], 201);
    assert_eq!(released(&mut orderer), [89, 90, 99]);
    assert_eq!([0, 1].map(|source| orderer.late(source)), [1, 11].map(|most_ns| LateEvents { count: 1, most_ns }));
}

#[test]
fn an_idle_source_holds_up_nothing_and_one_that_has_not_begun_does_until_it_is_idle() {
    let limits = OrdererLimits { idle_ns: 100, ..ARTICLE };
    let mut orderer = with_sources(limits, 2, 0);
    push_all(&mut orderer, &[(10, 0)], 10);
    orderer.tick(50);
    orderer.tick(150);
    assert_eq!(released(&mut orderer), [] as [i64; 0], "the other one may have begun earlier");
    // Now both are idle, and nothing is delayed.
    orderer.tick(200);
    orderer.tick(300);
    assert_eq!(released(&mut orderer), [10]);
    push_all(&mut orderer, &[(20, 0), (30, 0)], 310);
    push_all(&mut orderer, &[(20, 1)], 310);
    (350..=450).step_by(50).for_each(|now_ns| orderer.tick(now_ns));
    assert_eq!(released(&mut orderer), [20, 20], "30 waits for the slower one");
    (500..=600).step_by(50).for_each(|now_ns| orderer.tick(now_ns));
    assert_eq!(released(&mut orderer), [30], "until that is idle");
}

#[test]
fn late_events_are_released_at_once_and_counted_with_how_late_they_are() {
    let mut orderer = with_sources(ARTICLE, 2, 0);
    push_all(&mut orderer, &[(100, 0), (200, 0)], 1);
    [50, 100, 150].into_iter().for_each(|now_ns| orderer.tick(now_ns));
    assert_eq!(released(&mut orderer), [100, 200]);
    push_all(&mut orderer, &[(150, 0), (40, 1), (200, 1)], 151);
    let all: Vec<_> = std::iter::from_fn(|| orderer.pop()).map(|event| (event.item, event.late_ns)).collect();
    assert_eq!(all, [(40, 160), (150, 50), (200, 0)]);
    assert_eq!(orderer.late(0), LateEvents { count: 1, most_ns: 50 });
    assert_eq!(orderer.late(1), LateEvents { count: 1, most_ns: 160 });
}

#[test]
fn a_source_whose_clock_steps_back_is_late_and_none_of_it_waits_for_ever() {
    let mut orderer = with_sources(ARTICLE, 1, 0);
    push_all(&mut orderer, &[(i64::MAX, 0)], 1);
    [50, 150].into_iter().for_each(|now_ns| orderer.tick(now_ns));
    assert_eq!(released(&mut orderer), [i64::MAX]);
    for time in 0..1000 {
        push_all(&mut orderer, &[(time, 0)], 160);
        assert_eq!(released(&mut orderer), [time]);
    }
    push_all(&mut orderer, &[(i64::MIN, 0)], 160);
    assert_eq!(orderer.pop().map(|event| event.late_ns), Some(u64::MAX));
    assert_eq!(orderer.late(0).count, 1001);
}

#[test]
fn a_clock_of_the_caller_that_steps_back_stops_nothing() {
    let mut orderer = with_sources(ARTICLE, 1, 1000);
    push_all(&mut orderer, &[(1, 0)], 1000);
    orderer.tick(1000);
    orderer.tick(3);
    assert_eq!(released(&mut orderer), [] as [i64; 0]);
    orderer.tick(1100);
    assert_eq!(released(&mut orderer), [1]);
}

#[test]
fn a_full_queue_gives_the_event_back_and_others_have_room() {
    let limits = OrdererLimits { queues_bytes: 200, ..ARTICLE };
    let mut orderer = with_sources(limits, 2, 0);
    assert_eq!(orderer.push(0, 1, 150, 'a', 0), Ok(()), "an event of any size, alone");
    assert_eq!(orderer.push(0, 2, 1, 'b', 0), Err('b'));
    assert_eq!(orderer.push(1, 2, 60, 'b', 0), Ok(()));
    assert_eq!(orderer.push(1, 3, 41, 'c', 0), Err('c'));
    assert_eq!(orderer.push(1, 3, 40, 'c', 0), Ok(()));
    [0, 50, 100, 150].into_iter().for_each(|now_ns| orderer.tick(now_ns));
    let all: Vec<char> = std::iter::from_fn(|| orderer.pop()).map(|event| event.item).collect();
    assert_eq!(all, ['a', 'b', 'c']);
    assert_eq!(orderer.push(0, 4, 100, 'd', 200), Ok(()), "there is room again");
}

#[test]
fn a_full_queue_waits_seconds_at_most_for_a_long_delay_and_not_at_all_in_a_hurry() {
    const HOUR_NS: u64 = 3_600_000_000_000;
    let limits = OrdererLimits { delay_ns: HOUR_NS, tick_ns: TICK_NS, idle_ns: HOUR_NS, queues_bytes: 20 };
    for is_hurried in [false, true] {
        // The other source has sent nothing, and may have earlier events.
        let mut orderer: TimeOrderer = with_sources(limits, 2, 0);
        push_all(&mut orderer, &(0..10).map(|time| (time, 0)).collect::<Vec<_>>(), 0);
        let mut now_ns = TICK_NS;
        orderer.tick(now_ns);
        assert_eq!((released(&mut orderer), orderer.has_shortened_delay()), (vec![], false), "there is room");
        if is_hurried {
            orderer.hurry();
        }
        while orderer.push(0, 10, 1, 10, now_ns).is_err() {
            now_ns += 100_000_000;
            orderer.tick(now_ns);
            let gone = released(&mut orderer);
            assert!(gone.is_empty() || gone == (0..10).collect::<Vec<i64>>(), "{gone:?}");
        }
        let wait_ns = now_ns - TICK_NS;
        assert!(wait_ns <= if is_hurried { 100_000_000 } else { 2 * FULL_DELAY_NS + 100_000_000 }, "{wait_ns}");
        assert!(orderer.has_shortened_delay());
        orderer.tick(now_ns + HOUR_NS / 2);
        assert_eq!(released(&mut orderer), [] as [i64; 0], "the delay is whole again while there is room");
    }
}

#[test]
fn watermarks_that_wait_are_few_however_often_the_caller_ticks() {
    let mut orderer = with_sources(ARTICLE, 1, 0);
    for now_ns in 0..10_000 {
        push_all(&mut orderer, &[(now_ns as i64, 0)], now_ns);
        orderer.tick(now_ns);
        released(&mut orderer);
        assert!(orderer.watermarks.len() <= 3);
    }
}

#[test]
fn sources_that_come_later_hold_up_nothing_and_cost_nothing_once_they_are_over() {
    let limits = OrdererLimits { idle_ns: 1000, ..ARTICLE };
    let mut orderer = with_sources(limits, 1, 0);
    let mut expected = Vec::new();
    for round in 0..1000u64 {
        let now_ns = round * TICK_NS;
        let source = orderer.add_source(now_ns, false);
        push_all(&mut orderer, &[(now_ns as i64, 0), (now_ns as i64 + 10, 0)], now_ns);
        expected.extend([now_ns as i64, now_ns as i64 + 10]);
        if round % 2 == 0 {
            push_all(&mut orderer, &[(now_ns as i64 + 5, source)], now_ns);
            expected.push(now_ns as i64 + 5);
        }
        orderer.tick(now_ns);
        orderer.end(source);
    }
    let mut gone = released(&mut orderer);
    assert!(gone.len() > 2400, "{}: nobody waits for the silent ones", gone.len());
    assert!(orderer.active().len() < 10, "{:?}", orderer.active());
    orderer.end(0);
    gone.extend(released(&mut orderer));
    assert!(gone.is_sorted());
    expected.sort_unstable();
    assert_eq!(gone, expected);
    // All sources have ended, and another source is added.
    let last = orderer.add_source(60_000, false);
    push_all(&mut orderer, &[(70_000, last)], 60_000);
    assert_eq!(released(&mut orderer), [] as [i64; 0]);
    orderer.end(last);
    assert_eq!(released(&mut orderer), [70_000]);
}

#[test]
fn events_of_thousands_of_running_sources_take_no_search_through_all_of_them() {
    const SOURCES: usize = 4096;
    let mut orderer = with_sources(ARTICLE, SOURCES, 0);
    for time in 0..100 {
        let events: Vec<(i64, usize)> = (0..SOURCES).map(|source| (time, source)).collect();
        push_all(&mut orderer, &events, 1);
    }
    // The events of one source come in reverse, so that each is the first of its queue.
    let reversed: Vec<(i64, usize)> = (0..10_000).rev().map(|time| (time - 10_000, 0)).collect();
    push_all(&mut orderer, &reversed, 1);
    assert!(orderer.firsts.len() <= SOURCES + reversed.len());
    (0..SOURCES).for_each(|source| orderer.end(source));
    // A search for each event would take minutes.
    let gone = released(&mut orderer);
    assert!(gone.len() == 100 * SOURCES + reversed.len() && gone.is_sorted());
    assert!(!orderer.has_waiting() && orderer.active().is_empty());
}

const MS: u64 = 1_000_000;

/// The limits of a session, and room for a second of events of three sources.
const SESSION: OrdererLimits =
    OrdererLimits { delay_ns: 100 * MS, tick_ns: 10 * MS, idle_ns: 100 * MS, queues_bytes: 300 };

/// Pushes an event per source every 10 ms for `seconds`. Its time is the caller's clock plus the source's offset.
/// Returns the released events with their sources, how late they were, and the most time between arrival and release.
fn by_clocks(
    orderer: &mut TimeOrderer,
    offsets_ns: &[i64],
    seconds: std::ops::Range<u64>,
) -> (Vec<(usize, i64, u64)>, u64) {
    let (mut gone, mut most_ns) = (Vec::new(), 0);
    for now_ns in (seconds.start * 1000..seconds.end * 1000).step_by(10).map(|ms| ms * MS) {
        for (source, offset_ns) in offsets_ns.iter().enumerate() {
            let time = now_ns as i64 + offset_ns;
            // A full queue blocks its source; here, the event is left out.
            orderer.push(source, time, 1, time, now_ns).ok();
        }
        orderer.tick(now_ns);
        while let Some(event) = orderer.pop() {
            most_ns = most_ns.max(now_ns - event.came_ns);
            gone.push((event.source, event.item, event.late_ns));
        }
    }
    (gone, most_ns)
}

#[test]
fn sources_with_other_clocks_are_released_by_arrival_and_those_of_one_clock_stay_in_order() {
    const EPOCH: i64 = 1_795_166_531_000_000_000;
    let mut orderer = with_sources(SESSION, 3, 0);
    // Two since the start of the system, 7 ms apart, and one since 1970.
    let offsets = [0, EPOCH, 7 * MS as i64];
    by_clocks(&mut orderer, &offsets, 0..3);
    let mut shifted = orderer.take_shifted();
    shifted.sort_unstable();
    assert_eq!(shifted, [0, 2], "each is said once");
    let (gone, most_ns) = by_clocks(&mut orderer, &offsets, 3..60);
    assert!(most_ns <= 120 * MS, "{most_ns} ns");
    assert!(gone.len() >= 3 * 5600 && gone.iter().all(|&(.., late_ns)| late_ns == 0), "{}", gone.len());
    let of_system: Vec<i64> = gone.iter().filter(|(source, ..)| *source != 1).map(|(_, time, _)| *time).collect();
    assert!(of_system.is_sorted() && of_system.len() >= 2 * 5600);
    assert_eq!(orderer.take_shifted(), [] as [usize; 0]);
    assert_eq!([0, 1, 2].map(|source| orderer.late(source)), [LateEvents::default(); 3]);
}

#[test]
fn sources_with_near_clocks_wait_for_no_other_once_the_distance_is_known() {
    let limits = OrdererLimits { queues_bytes: usize::MAX, ..SESSION };
    let mut orderer = with_sources(limits, 3, 0);
    // Programs that count from their starts; the first two share a clock.
    let offsets = [-5000, -5003, 0].map(|ms| ms * MS as i64);
    by_clocks(&mut orderer, &offsets, 0..10);
    let mut shifted = orderer.take_shifted();
    shifted.sort_unstable();
    assert_eq!(shifted, [0, 1], "each is said once");
    let (gone, most_ns) = by_clocks(&mut orderer, &offsets, 10..30);
    assert!(most_ns <= 120 * MS, "{most_ns} ns");
    assert!(gone.iter().all(|&(.., late_ns)| late_ns == 0) && gone.len() >= 3 * 1990);
    assert_eq!(orderer.take_shifted(), [] as [usize; 0]);
}

/// One source sends three seconds at once, or buffers its events. It has the clock of the other source.
#[test]
fn sources_that_are_behind_by_batches_and_buffers_keep_their_times() {
    let limits = OrdererLimits { queues_bytes: usize::MAX, ..SESSION };
    for (every_ms, of_ms) in [(3000, 10), (700, 10), (3000, 3000), (6000, 2000)] {
        let mut orderer = with_sources(limits, 2, 0);
        let mut unsent = Vec::new();
        for ms in (0..30_000).step_by(10) {
            let (now_ns, time) = (ms * MS, (ms * MS) as i64);
            orderer.push(0, time, 1, time, now_ns).expect("room");
            if ms % of_ms == 0 {
                unsent.push((time - 2500 * MS as i64, 1));
            }
            if ms % every_ms == 0 {
                push_all(&mut orderer, &std::mem::take(&mut unsent), now_ns);
            }
            orderer.tick(now_ns);
            released(&mut orderer);
        }
        assert_eq!(orderer.take_shifted(), [] as [usize; 0], "{every_ms} ms, {of_ms} ms");
    }
}

#[test]
fn a_source_that_is_silent_in_between_is_late_by_no_other_clock() {
    let mut orderer = with_sources(SESSION, 2, 0);
    let mut late_ns = 0;
    for now_ns in (0..20_000).step_by(10).map(|ms| ms * MS) {
        let time = now_ns as i64;
        orderer.push(0, time + 1_000_000_000_000_000, 1, time, now_ns).expect("room");
        if now_ns % (300 * MS) == 0 {
            orderer.push(1, time, 1, time, now_ns).expect("room");
        }
        orderer.tick(now_ns);
        while let Some(event) = orderer.pop() {
            late_ns = if now_ns > 3000 * MS { event.late_ns.max(late_ns) } else { 0 };
        }
    }
    assert!(late_ns < 300 * MS, "{late_ns}");
    assert!(orderer.late(1).most_ns < 300 * MS);
}

/// A trace of an hour beside one that runs: its times are far behind, and catch up.
#[test]
fn a_file_that_is_read_from_its_start_stays_in_order_with_what_runs() {
    let limits = OrdererLimits { queues_bytes: usize::MAX, ..SESSION };
    let mut orderer = with_sources(limits, 2, 0);
    let hour_ns = 3_600_000 * MS as i64;
    let mut gone = Vec::new();
    for step in 0..3600 {
        // A second of its time each 10 ms, for 36 seconds of wall time.
        let now_ns = step * 10 * MS;
        let time = step as i64 * 1_000 * MS as i64;
        orderer.push(0, time, 1, time, now_ns).expect("room");
        let time = hour_ns + now_ns as i64;
        orderer.push(1, time, 1, time, now_ns).expect("room");
        orderer.tick(now_ns);
        gone.extend(released(&mut orderer));
    }
    orderer.end(0);
    orderer.end(1);
    gone.extend(released(&mut orderer));
    assert!(gone.is_sorted() && gone.len() == 7200);
    assert_eq!(orderer.take_shifted(), [] as [usize; 0]);
}

#[derive(Debug, Clone)]
enum ScheduleStep {
    /// An event of a source, at a distance from the wall time.
    Event {
        source: usize,
        offset: i64,
    },
    /// Lets this many nanoseconds pass.
    Wait(u64),
    End(usize),
}

fn steps() -> impl Strategy<Value = Vec<ScheduleStep>> {
    let step = prop_oneof![
        6 => (0..4usize, -300..300i64).prop_map(|(source, offset)| ScheduleStep::Event { source, offset }),
        3 => (0..120u64).prop_map(ScheduleStep::Wait),
        1 => (0..4usize).prop_map(ScheduleStep::End),
    ];
    proptest::collection::vec(step, 0..300)
}

proptest! {
    #[test]
    fn any_schedule_is_in_order_but_for_what_is_counted_late_and_equals_the_sort_at_the_end(
        steps in steps(),
        delay_ns in 0..200u64,
        idle_ns in 0..200u64,
        queue_bytes in 1..40usize,
    ) {
        let limits = OrdererLimits { delay_ns, tick_ns: TICK_NS, idle_ns, queues_bytes: 4 * queue_bytes };
        let (mut orderer, mut now_ns, mut number) = (with_sources(limits, 4, 0), 0, 0u64);
        let (mut came, mut gone, mut late) = (Vec::new(), Vec::new(), 0);
        let mut has_ended = [false; 4];
        let mut latest_ns = i64::MIN;
        let mut drain = |orderer: &mut Orderer<(i64, u64)>| {
            while let Some(event) = orderer.pop() {
                let (key_ns, _) = event.item;
                let is_late = key_ns < latest_ns;
                assert_eq!(event.late_ns, if is_late { latest_ns.abs_diff(key_ns) } else { 0 });
                late += u64::from(is_late);
                latest_ns = latest_ns.max(key_ns);
                gone.push(event.item);
            }
        };
        for step in steps {
            match step {
                ScheduleStep::Event { source, .. } if has_ended[source] => {}
                ScheduleStep::Event { source, offset } => {
                    let key_ns = now_ns as i64 + offset;
                    let item = (key_ns, number);
                    // The source waits until there is room, like a blocked one.
                    while orderer.push(source, key_ns, 1, item, now_ns).is_err() {
                        prop_assert!(orderer.queues[source].bytes >= queue_bytes);
                        now_ns += TICK_NS;
                        orderer.tick(now_ns);
                        drain(&mut orderer);
                    }
                    came.push(item);
                    number += 1;
                }
                ScheduleStep::Wait(ns) => now_ns += ns,
                ScheduleStep::End(source) => {
                    has_ended[source] = true;
                    orderer.end(source);
                }
            }
            orderer.tick(now_ns);
            drain(&mut orderer);
            prop_assert!(orderer.queues.iter().map(|queue| queue.bytes).sum::<usize>() <= 8 * queue_bytes);
        }
        (0..4).for_each(|source| orderer.end(source));
        drain(&mut orderer);
        prop_assert!(!orderer.has_waiting());
        prop_assert_eq!((0..4).map(|source| orderer.late(source).count).sum::<u64>(), late);
        came.sort_by_key(|&(key_ns, _)| key_ns);
        if late == 0 {
            prop_assert_eq!(&gone, &came);
        }
        gone.sort_by_key(|&(key_ns, _)| key_ns);
        gone.sort_unstable();
        came.sort_unstable();
        prop_assert_eq!(gone, came);
    }

    #[test]
    fn nothing_is_late_that_comes_within_the_delay(
        events in proptest::collection::vec((0..2usize, 0..30i64, 0..90u64), 0..200),
    ) {
        // An event arrives up to 90 ns after its time; every source has one in each 50 ns, so that none is idle.
        let limits = OrdererLimits { delay_ns: 100, tick_ns: 1, idle_ns: 1000, queues_bytes: usize::MAX };
        let mut schedule: Vec<(u64, usize, i64)> = Vec::new();
        for (position, (source, jitter, travel)) in events.into_iter().enumerate() {
            let key_ns = 20 * position as i64 + jitter;
            schedule.push((key_ns as u64 + travel, source, key_ns));
        }
        schedule.sort_unstable();
        let mut orderer = with_sources(limits, 2, 0);
        for &(now_ns, source, key_ns) in &schedule {
            // A tick per nanosecond up to here.
            for tick_ns in orderer.now_ns..=now_ns {
                orderer.tick(tick_ns);
                released(&mut orderer);
            }
            orderer.push(source, key_ns, 1, key_ns, now_ns).expect("room");
        }
        prop_assert_eq!(orderer.late(0).count + orderer.late(1).count, 0);
    }
}
