//! Tests of stacks with their weights, on traces of tools and on generated ones.

use super::*;
use crate::formats::testing::{Reading, data, read, read_bytes, read_path};
use crate::model::SampleMeasure;
use proptest::prelude::*;

/// Naive sum of the weights of each stack over all lines.
fn weights(text: &str) -> std::collections::BTreeMap<String, u64> {
    let mut weights = std::collections::BTreeMap::new();
    for line in text.lines() {
        let (stack, weight) = line.rsplit_once(' ').expect("a weight");
        *weights.entry(stack.to_owned()).or_default() += weight.parse::<u64>().expect("whole");
    }
    weights
}

/// Returns the samples as lines, in the order of the row.
fn samples(reading: &Reading) -> Vec<(String, u64)> {
    let weight = |args: &str| SampleMeasure::from_args(args).weight;
    reading.events.iter().map(|event| (event.stack.join(";"), weight(&event.args))).collect()
}

fn seen(text: &str) -> Vec<(String, u64)> {
    let reading = read(text);
    assert_eq!(reading.lost(), []);
    samples(&reading)
}

fn lines(expected: &[(&str, u64)]) -> Vec<(String, u64)> {
    expected.iter().map(|&(stack, weight)| (stack.to_owned(), weight)).collect()
}

proptest! {
    #[test]
    fn each_stack_is_one_sample_with_the_weight_of_its_lines_and_common_prefixes_are_adjacent(
        lines in proptest::collection::vec(("[ab](;[ab]){0,4}", 0u64..50), 1..20),
    ) {
        let lines: Vec<String> = lines.iter().map(|(stack, weight)| format!("{stack} {weight}")).collect();
        let text = format!("x;y 1\n{}", lines.join("\n"));
        let found = seen(&text);
        prop_assert_eq!(found.iter().cloned().collect::<std::collections::BTreeMap<_, _>>(), weights(&text));
        for depth in 1..5 {
            let beginning = |stack: &str| stack.split(';').take(depth).collect::<Vec<_>>().join(";");
            let mut runs: Vec<String> = found.iter().map(|(stack, _)| beginning(stack)).collect();
            runs.dedup();
            // A stack that ends before this depth interrupts the run of longer stacks.
            runs.retain(|run| run.split(';').count() == depth);
            let count = runs.len();
            runs.sort();
            runs.dedup();
            prop_assert_eq!(runs.len(), count, "depth {} of {:?}", depth, found);
        }
    }
}

#[test]
fn a_single_sentence_with_a_semicolon_is_not_a_stack() {
    for text in ["# Title\n\ntext; with 3\n", "SELECT 1; SELECT 2\n", "SELECT 1; SELECT 2"] {
        assert!(!looks_like_collapsed(text.as_bytes()), "{text}");
    }
    for text in ["main;operator new 5\n", "a; b 5\na; c 6\n", "main;f 5"] {
        assert!(looks_like_collapsed(text.as_bytes()), "{text}");
    }
}

#[test]
fn a_real_capture_weighs_what_its_lines_weigh() {
    let reading = read_path(&data("pyspy_collapsed.txt")).expect("a capture");
    let text = std::fs::read_to_string(data("pyspy_collapsed.txt")).expect("text");
    assert_eq!(samples(&reading).into_iter().collect::<std::collections::BTreeMap<_, _>>(), weights(&text));
    assert!(reading.events.iter().all(|event| event.args.contains(r#""unit":"samples""#)));
    assert_eq!(reading.lost(), []);
}

#[test]
fn one_decimal_weight_makes_all_of_them_millionths_and_no_line_needs_an_end() {
    let found = seen("main;f (a.py:1) 1.5\r\nmain;g 2\r\n\r\nmain 0.25");
    let expected = [("main;f (a.py:1)", 1_500_000), ("main;g", 2_000_000), ("main", 250_000)];
    assert_eq!(found, lines(&expected));
    let whole = read("main;f 1.0\nmain;g 2.00");
    assert_eq!(samples(&whole), lines(&[("main;f", 1), ("main;g", 2)]), "these are whole");
}

#[test]
fn weights_of_any_size_are_whole_and_their_sums_do_not_overflow() {
    // At a microsecond each, a thousand of them would exceed the time range.
    let most = 9_000_000_000_000_000;
    assert_eq!(seen(&format!("main;f {most}\nmain;g 1")), lines(&[("main;f", most), ("main;g", 1)]));
    let reading = read(&format!("main;f {0}\nmain;f {0}", u64::MAX));
    assert_eq!(samples(&reading), lines(&[("main;f", u64::MAX)]));
    assert_eq!(reading.lost(), [(Loss::Overlap, 1), (Loss::BadNumber, 1)], "neither the sum nor its end is a number");
    let reading = read(&format!("main;f {0}\nmain;g {0}", i64::MAX));
    assert_eq!(samples(&reading), lines(&[("main;f", i64::MAX as u64), ("main;g", i64::MAX as u64)]));
    assert_eq!(reading.lost(), [(Loss::Overlap, 2)], "all numbers are exact, but their bars overlap");
}

#[test]
fn a_stack_without_frames_has_a_name_and_does_not_prevent_detection() {
    // The format of py-spy.
    let found = seen("main;f 1\n 3\nmain;g 2\n");
    assert_eq!(found, lines(&[("main;f", 1), ("main;g", 2), ("[no frames]", 3)]));
}

#[test]
fn comments_are_not_stacks_and_semicolons_at_the_ends_are_not_frames() {
    // The format of Excimer and heaptrack.
    let found = seen("# by a tool\n;main;f 1\n#\nmain;f; 2\n; 3\nmain;;g 4\n# 5\n");
    assert_eq!(found, lines(&[("main;f", 3), ("main;g", 4), ("[no frames]", 3)]));
    assert_eq!(seen("// by a tool\n# again\na;b 1\n//x:y;b 2\n"), lines(&[("a;b", 1), ("//x:y;b", 2)]));
    assert!(!looks_like_collapsed(b"# austin: 3.7.0\n\nP1;T1;main 5\n"), "times in microseconds");
}

#[test]
fn text_in_16_bits_with_lines_of_windows_reads_the_same() {
    let text = "main;f 1\r\nmain;g 2\r\n";
    let wide: Vec<u8> = std::iter::once(0xfeff).chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    assert_eq!(read_bytes(&wide).expect("a capture"), read(text));
}

#[test]
fn lines_without_a_weight_are_counted_and_the_rest_is_shown() {
    let stacks = "a;b 1\n".repeat(1000);
    let reading = read(&format!("{stacks}no weight\na;b -1\na;b 99999999999999999999\n{stacks}a;b 1"));
    assert_eq!(samples(&reading), lines(&[("a;b", 2001), ("a;b", 1)]), "one is negative");
    assert_eq!(reading.lost(), [(Loss::BadRecord, 2)]);
}

#[test]
fn a_first_line_that_exceeds_the_head_is_recognised() {
    let deep = vec!["f"; 65_000].join(";");
    for text in [format!("{deep} 3"), format!("{deep} 3\r\nmain;g 1\n"), format!("# by a tool\n{deep} 3\nmain;g 1")] {
        let reading = read(&text);
        let weights: Vec<u64> = samples(&reading).iter().map(|(_, weight)| *weight).collect();
        let expected = if text.contains("main") { &[3, 1][..] } else { &[3] };
        assert_eq!((weights.as_slice(), reading.events[0].stack.len()), (expected, 65_000));
        assert_eq!(reading.lost(), []);
    }
    let packed = crate::formats::testing::gzip(format!("{deep} 3\n").as_bytes());
    assert_eq!(read_bytes(&packed).expect("stacks").events.len(), 1);
    for text in [deep, format!("{} 3", "x".repeat(1 << 20)), format!("\x01;{} 3", "x;".repeat(5000))] {
        assert!(read_bytes(text.as_bytes()).is_err());
    }
}

#[test]
fn a_few_lines_of_other_text_do_not_hide_a_trace() {
    let reading = read("WARNING: 3 samples lost!\na;b 10 12\na;c 5 3\na 1 2\nb 1 2\n");
    assert_eq!(reading.lost(), [(Loss::BadRecord, 1)]);
    assert_eq!(reading.events.len(), 4 + 4, "before and after");
    for text in ["a;b 1\nx = y;\n", "x = 1;\ny = 2;\nreturn x; 3\n", "a;b 1\nc;d 2\n\x01;a\ne;f 3\ng;h 1\n"] {
        assert!(!looks_like_collapsed(text.as_bytes()), "{text:?}");
    }
}

#[test]
fn stacks_of_one_frame_each_are_recognised_if_every_line_is_one() {
    let found = seen("main 12\nfoo(int, char) 3\nvec![] (a.rs:7) 1\n_start 2");
    let expected = [("main", 12), ("foo(int, char)", 3), ("vec![] (a.rs:7)", 1), ("_start", 2)];
    assert_eq!(found, lines(&expected));
    for text in [
        "main 12\n",
        "main 12\nno weight\nf 1\ng 1\nh 1\ni 1\n",
        "# HELP go_threads Number of threads\ngo_threads 8\ngo_info 1\n",
        "MemTotal: 12\nMemFree: 13\n",
        "nr_free = 12\nnr_used = 13\n",
        "main 1\nf 0\n",
        "main 1.5\nf 2\n",
        "12 main 3\n4 f 3\n",
        "name,count\na 1\n",
    ] {
        assert!(!looks_like_collapsed(text.as_bytes()), "{text:?}");
    }
}

#[test]
fn a_stack_deeper_than_any_thread_is_counted_and_its_neighbours_are_shown() {
    let deep = vec!["f"; 70_000].join(";");
    let reading = read(&format!("main;g 1\n{deep} 1\n{deep} 1\nmain;h 2"));
    assert_eq!(reading.lost(), [(Loss::DeepNesting, 2)]);
    assert_eq!(samples(&reading), lines(&[("main;g", 1), ("main;h", 2)]));
}

#[test]
fn weights_are_in_the_unit_that_the_user_names() {
    let file = crate::formats::testing::file_of(b"main;f 1500\nmain;g 2.5\n");
    for (unit, shown, weights) in [
        (WeightUnit::Nanoseconds, "ns", [1500, 2]),
        (WeightUnit::Microseconds, "ns", [1_500_000, 2500]),
        (WeightUnit::Milliseconds, "ns", [1_500_000_000, 2_500_000]),
        (WeightUnit::Seconds, "ns", [1_500_000_000_000, 2_500_000_000]),
        (WeightUnit::Bytes, "bytes", [1500, 2]),
        (WeightUnit::Count, "count", [1500, 2]),
    ] {
        let context = crate::formats::ReadContext { weight_unit: Some(unit), ..crate::formats::ReadContext::default() };
        let reading = crate::formats::testing::read_with(file.path(), &context).expect("stacks");
        assert_eq!(samples(&reading), lines(&[("main;f", weights[0]), ("main;g", weights[1])]));
        let measure = SampleMeasure::from_args(&reading.events[0].args);
        assert_eq!(measure.unit, shown, "{unit:?}");
    }
}

#[test]
fn decimals_that_the_unit_cannot_hold_are_counted() {
    let file = crate::formats::testing::file_of(b"a;b 3\na;c 2.5\na;d 0.25\na;e 1.0\na;f 0.5\na;f 0.5\n");
    for (unit, weights, lost) in [
        (WeightUnit::Count, [3, 2, 0, 1, 1], 2),
        (WeightUnit::Bytes, [3, 2, 0, 1, 1], 2),
        (WeightUnit::Nanoseconds, [3, 2, 0, 1, 1], 2),
        (WeightUnit::Microseconds, [3000, 2500, 250, 1000, 1000], 0),
    ] {
        let context = crate::formats::ReadContext { weight_unit: Some(unit), ..crate::formats::ReadContext::default() };
        let reading = crate::formats::testing::read_with(file.path(), &context).expect("stacks");
        let expected: Vec<_> = ["a;b", "a;c", "a;d", "a;e", "a;f"].into_iter().zip(weights).collect();
        assert_eq!(samples(&reading), lines(&expected));
        assert_eq!(reading.losses.count(Loss::BadNumber), lost, "{unit:?}");
        assert!(reading.losses.iter().all(|lost| lost.advice.contains("--unit")), "{unit:?}");
    }
}

#[test]
fn lines_with_two_weights_are_before_and_after() {
    let reading = read("a;b 10 12\na;c d 5 3\na 0 1\n");
    let event = |args: &str| SampleMeasure::from_args(args).event.into_owned();
    let of = |name: &str| {
        let own = reading.events.iter().filter(|seen| event(&seen.args) == name);
        own.map(|seen| (seen.stack.join(";"), SampleMeasure::from_args(&seen.args).weight)).collect::<Vec<_>>()
    };
    let expected = [[("a;b", 10), ("a;c d", 5), ("a", 0)], [("a;b", 12), ("a;c d", 3), ("a", 1)]];
    assert_eq!([of("before"), of("after")], expected.map(|stacks| lines(&stacks)));
    // Each stack of a difference is there once, unlike those of threads with numbers.
    assert_eq!(seen("m;Worker 1 5\nm;Worker 2 3\n"), lines(&[("m;Worker 1", 5), ("m;Worker 2", 3)]));
    // A line with one weight makes the other numbers parts of names.
    assert_eq!(seen("a;b 10 12\na;c 3\n"), lines(&[("a;b 10", 12), ("a;c", 3)]));
}

#[test]
fn a_few_lines_whose_names_end_in_numbers_are_not_a_difference() {
    assert_eq!(seen("main;Worker 1 5\n"), lines(&[("main;Worker 1", 5)]));
    assert_eq!(
        seen("# by a tool\nmain;Worker 1 5\nmain;Pool 2 3\n"),
        lines(&[("main;Worker 1", 5), ("main;Pool 2", 3)])
    );
}

#[test]
fn negative_weights_are_a_row_of_decreases() {
    let reading = read("a;b -3\na;b -2.5\nc;d 4\na;b 1\n");
    let of = |name: &str| {
        let own = reading.events.iter().filter(|seen| SampleMeasure::from_args(&seen.args).event == name);
        own.map(|seen| (seen.stack.join(";"), SampleMeasure::from_args(&seen.args).weight)).collect::<Vec<_>>()
    };
    // All weights have the unit that the decimals need.
    assert_eq!(of("stacks"), lines(&[("a;b", 1_000_000), ("c;d", 4_000_000)]));
    assert_eq!(of("stacks decrease"), lines(&[("a;b", 5_500_000)]));
    let units = reading.events.iter().map(|seen| SampleMeasure::from_args(&seen.args).unit);
    assert!(units.into_iter().all(|unit| unit == "millionths"));
    assert_eq!(reading.lost(), []);
}

#[test]
fn sums_of_weights_with_decimals_are_exact() {
    let reading = read("a;b;c 10.5\na;b 5.25\na;b 0.1\na;b 0.2\n");
    assert_eq!(samples(&reading), lines(&[("a;b;c", 10_500_000), ("a;b", 5_550_000)]));
    assert_eq!((&*SampleMeasure::from_args(&reading.events[0].args).unit, reading.lost()), ("millionths", vec![]));
}
