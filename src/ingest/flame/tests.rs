//! Compares flame charts with a naive oracle that has all samples of the thread.

use proptest::prelude::*;

use super::*;

type Sample = (i64, Vec<u32>);

const NONE: u64 = TimedStack::NO_PERIOD;

/// The depth, start, end and name of a span.
type Seen = (u16, i64, i64, u32);

/// Returns the chart of samples in a trace that lasts much longer.
fn chart(samples: &[Sample]) -> Vec<Seen> {
    chart_until(i64::MAX, samples)
}

fn chart_until(trace_end_ns: i64, samples: &[Sample]) -> Vec<Seen> {
    let samples: Vec<_> = samples.iter().map(|(ts_ns, path)| (*ts_ns, path.clone(), NONE)).collect();
    chart_of_periods(trace_end_ns, &samples)
}

/// Returns the chart of samples with their periods.
fn chart_of_periods(trace_end_ns: i64, samples: &[(i64, Vec<u32>, u64)]) -> Vec<Seen> {
    let mut stacks = Stacks::default();
    let (mut chart, mut spans) = (FlameChart::default(), Vec::new());
    for (ts_ns, path, period_ns) in samples {
        let stack = stacks.intern_path(path.iter().copied().map(NameIdx));
        chart.sample(TimedStack { ts_ns: *ts_ns, stack, period_ns: *period_ns }, &stacks, &mut spans);
    }
    chart.finish(trace_end_ns, &stacks, &mut spans);
    let mut seen: Vec<Seen> = spans.iter().map(|span| (span.depth, span.start_ns, span.end_ns, span.name.0)).collect();
    seen.sort_unstable();
    seen
}

/// Computes the chart depth by depth, as specified in the docs of the module.
fn naive(trace_end_ns: i64, samples: &[(i64, Vec<u32>, u64)]) -> Vec<Seen> {
    let mut samples = samples.to_vec();
    // Of several samples at one time, the stack of the last counts, and the period of the first.
    samples.dedup_by(|later, first| {
        let is_same = later.0 == first.0;
        if is_same {
            first.1.clone_from(&later.1);
        }
        is_same
    });
    let gaps: Vec<u64> = samples.windows(2).map(|pair| pair[0].0.abs_diff(pair[1].0)).collect();
    let usual_at = |gap: usize| {
        let window = if gap < WINDOW { &gaps[..gaps.len().min(WINDOW)] } else { &gaps[gap + 1 - WINDOW..=gap] };
        let mut window = window.to_vec();
        window.sort_unstable();
        if window.is_empty() { 0 } else { window[(window.len() - 1) / 2] }
    };
    let stands: Vec<(i64, i64, &[u32])> = (0..samples.len())
        .map(|index| {
            let (ts_ns, path, period) = &samples[index];
            let longest = samples.get(index + 1).map_or(*period, |next| next.2.max(*period));
            let usual = usual_at(index.min(gaps.len().saturating_sub(1))).min(longest);
            let short = ts_ns + i64::try_from(usual).unwrap();
            let end_ns = match gaps.get(index) {
                Some(&gap) if gap <= usual * 5 => samples[index + 1].0,
                Some(_) => short,
                None => short.min(trace_end_ns),
            };
            (*ts_ns, end_ns, path.as_slice())
        })
        .collect();
    depth_by_depth(&stands)
}

/// Computes the chart of stacks that last for a time each.
fn depth_by_depth(stands: &[(i64, i64, &[u32])]) -> Vec<Seen> {
    let mut seen = Vec::new();
    for depth in 0..stands.iter().map(|stand| stand.2.len()).max().unwrap_or(0) {
        let mut before: Option<(i64, &[u32])> = None;
        for &(start_ns, end_ns, path) in stands {
            let Some(down_to) = path.get(..=depth) else {
                before = None;
                continue;
            };
            if before == Some((start_ns, down_to)) {
                let last: &mut Seen = seen.last_mut().unwrap();
                last.2 = end_ns;
            } else {
                seen.push((depth as u16, start_ns, end_ns, path[depth]));
            }
            before = Some((end_ns, down_to));
        }
    }
    seen.sort_unstable();
    seen
}

proptest! {
    #[test]
    fn a_chart_is_what_the_slow_answer_says(
        steps in proptest::collection::vec(
            (0i64..9, any::<bool>(), proptest::collection::vec(0u32..3, 0..5), 0usize..4),
            0..200,
        ),
        periods in prop_oneof![Just([NONE; 4]), Just([3; 4]), Just([1, 4, 40, NONE])],
        longer_ns in 0i64..12,
    ) {
        let mut ts_ns = 0;
        let samples: Vec<_> = steps
            .into_iter()
            .map(|(step, rests, path, period)| {
                ts_ns += if rests && step == 7 { 1000 } else { step };
                (ts_ns, path, periods[period])
            })
            .collect();
        let trace_end_ns = ts_ns + longer_ns;
        prop_assert_eq!(chart_of_periods(trace_end_ns, &samples), naive(trace_end_ns, &samples));
    }

    #[test]
    fn held_samples_follow_each_other_even_after_an_empty_stack(
        first_ns in prop_oneof![Just(i64::MIN), -50i64..50],
        steps in proptest::collection::vec(
            (0i64..9, prop_oneof![Just(NONE), 0u64..30], proptest::collection::vec(0u32..3, 0..4)),
            0..100,
        ),
    ) {
        let mut stacks = Stacks::default();
        let (mut chart, mut spans) = (FlameChart::default(), Vec::new());
        let (mut ts_ns, mut free_ns, mut stands) = (first_ns, i64::MIN, Vec::new());
        for (step, period_ns, path) in &steps {
            ts_ns += step;
            let stack = stacks.intern_path(path.iter().copied().map(NameIdx));
            chart.hold(TimedStack { ts_ns, stack, period_ns: *period_ns }, &stacks, &mut spans);
            let dur_ns = if *period_ns == NONE { 0 } else { *period_ns as i64 };
            let from_ns = ts_ns.max(free_ns);
            free_ns = from_ns.max(ts_ns + dur_ns);
            stands.push((from_ns, free_ns, path.as_slice()));
        }
        chart.finish(i64::MAX, &stacks, &mut spans);
        prop_assert!(
            (0..4).all(|depth| {
                let of_depth: Vec<_> = spans.iter().filter(|span| span.depth == depth).collect();
                of_depth.is_sorted_by(|one, next| one.end_ns <= next.start_ns)
            }),
            "each depth is written in order: {spans:?}"
        );
        let mut seen: Vec<Seen> =
            spans.iter().map(|span| (span.depth, span.start_ns, span.end_ns, span.name.0)).collect();
        seen.sort_unstable();
        prop_assert_eq!(seen, depth_by_depth(&stands));
    }
}

#[test]
fn a_frame_goes_on_while_the_path_down_to_it_is_the_same() {
    let samples = [(0, vec![1, 2]), (10, vec![1, 2, 3]), (20, vec![1, 4, 3]), (30, vec![1])];
    let expected = [(0, 0, 40, 1), (1, 0, 20, 2), (1, 20, 30, 4), (2, 10, 20, 3), (2, 20, 30, 3)];
    assert_eq!(chart(&samples), expected);
}

#[test]
fn nothing_is_drawn_through_idle_time() {
    let mut samples: Vec<Sample> = (0..10).map(|k| (k * 10, vec![1])).collect();
    samples.extend((0..10).map(|k| (5000 + k * 10, vec![1])));
    assert_eq!(chart(&samples), [(0, 0, 100, 1), (0, 5000, 5100, 1)]);
    // After three skipped periods the thread still counts as running.
    samples.retain(|sample| !(30..60).contains(&sample.0));
    assert_eq!(chart(&samples), [(0, 0, 100, 1), (0, 5000, 5100, 1)]);
}

#[test]
fn a_thread_that_sleeps_between_single_samples_runs_for_their_periods_only() {
    const PERIOD: u64 = 1000;
    // Bursts of two samples, a period apart, every 26 periods: half of the gaps are sleeps.
    let times = (0..100).flat_map(|burst| [burst * 26_000, burst * 26_000 + 1000]);
    let samples: Vec<_> = times.map(|ts_ns| (ts_ns, vec![1], PERIOD)).collect();
    let expected: Vec<Seen> = (0..100).map(|burst| (0, burst * 26_000, burst * 26_000 + 2000, 1)).collect();
    assert_eq!(chart_of_periods(i64::MAX, &samples), expected);
    // A burst of single samples has no gap of a period at all.
    let single: Vec<_> = samples.iter().step_by(2).cloned().collect();
    let expected: Vec<Seen> = (0..100).map(|burst| (0, burst * 26_000, burst * 26_000 + 1000, 1)).collect();
    assert_eq!(chart_of_periods(i64::MAX, &single), expected);
}

#[test]
fn the_last_sample_does_not_extend_the_trace() {
    let samples = [(0, vec![1]), (10, vec![1, 2]), (20, vec![1, 3])];
    assert_eq!(chart_until(20, &samples), [(0, 0, 20, 1), (1, 10, 20, 2), (1, 20, 20, 3)]);
    assert_eq!(chart_until(24, &samples), [(0, 0, 24, 1), (1, 10, 20, 2), (1, 20, 24, 3)]);
    assert_eq!(chart_until(90, &samples), [(0, 0, 30, 1), (1, 10, 20, 2), (1, 20, 30, 3)]);
}

#[test]
fn a_single_sample_is_a_point() {
    assert_eq!(chart(&[(7, vec![1])]), [(0, 7, 7, 1)]);
    assert_eq!(chart(&[(7, vec![])]), []);
}

#[test]
fn the_last_of_several_samples_at_one_time_is_drawn() {
    assert_eq!(chart(&[(0, vec![1]), (10, vec![2]), (10, vec![1]), (20, vec![1])]), [(0, 0, 30, 1)]);
}

#[test]
fn an_endless_recursion_is_drawn_down_to_the_limit_and_reported() {
    let mut stacks = Stacks::default();
    let (mut chart, mut spans) = (FlameChart::default(), Vec::new());
    let deep = stacks.intern_path((0..100_000).map(|_| NameIdx(1)));
    for ts_ns in [0, 10] {
        chart.sample(TimedStack { ts_ns, stack: deep, period_ns: NONE }, &stacks, &mut spans);
    }
    assert_eq!(chart.finish(i64::MAX, &stacks, &mut spans), CutStacks { count: 1, first_ns: 0 });
    assert_eq!(spans.len(), DEPTH_MAX);
    assert!(spans.iter().all(|span| (span.start_ns, span.end_ns) == (0, 20)));
}

#[test]
fn stacks_that_part_above_the_limit_and_below_it_are_drawn_down_to_it() {
    let mut stacks = Stacks::default();
    let deep = |second: u32, last: u32| [[1, second].as_slice(), &[3; DEPTH_MAX], &[last]].concat();
    // The last frames exceed the limit; the second path does not.
    let paths = [deep(2, 8), deep(2, 9), deep(4, 9), vec![1, 4], deep(4, 8)];
    let (mut chart, mut spans) = (FlameChart::default(), Vec::new());
    for (path, ts_ns) in paths.iter().zip((0..).step_by(10)) {
        let stack = stacks.intern_path(path.iter().copied().map(NameIdx));
        chart.sample(TimedStack { ts_ns, stack, period_ns: NONE }, &stacks, &mut spans);
    }
    assert_eq!(chart.finish(i64::MAX, &stacks, &mut spans), CutStacks { count: 4, first_ns: 0 });
    let mut seen: Vec<Seen> = spans.iter().map(|span| (span.depth, span.start_ns, span.end_ns, span.name.0)).collect();
    seen.sort_unstable();
    let mut expected = vec![(0, 0, 50, 1), (1, 0, 20, 2), (1, 20, 50, 4)];
    for depth in 2..DEPTH_MAX as u16 {
        expected.extend([(depth, 0, 20, 3), (depth, 20, 30, 3), (depth, 40, 50, 3)]);
    }
    assert_eq!(seen, expected);
}

#[test]
fn a_sample_far_below_the_limit_takes_only_the_frames_that_change() {
    const COUNT: u32 = 200_000;
    let mut stacks = Stacks::default();
    let (mut chart, mut spans) = (FlameChart::default(), Vec::new());
    let mut deepest = StackIdx::EMPTY;
    // Walking each stack up to the limit would take some twenty billion steps.
    for ts_ns in 0..COUNT {
        deepest = stacks.intern(deepest, NameIdx(1));
        // After each thousand samples is a gap, so that all frames begin again.
        let late_ns = i64::from(ts_ns / 1000) * 500;
        let ts_ns = late_ns + i64::from(ts_ns) * 10;
        chart.sample(TimedStack { ts_ns, stack: deepest, period_ns: NONE }, &stacks, &mut spans);
    }
    assert_eq!(chart.finish(i64::MAX, &stacks, &mut spans).count, u64::from(COUNT) - DEPTH_MAX as u64);
    let outermost = spans.iter().filter(|span| span.depth == 0).count();
    assert_eq!(outermost, 200, "one for each time without a gap");
    assert_eq!(spans.iter().filter(|span| usize::from(span.depth) == DEPTH_MAX - 1).count(), 199);
}
