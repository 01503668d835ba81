//! Tests that self costs are exact, and that paths follow the recorded calls.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use proptest::prelude::*;

use super::call_graph::{CallGraph, CostEvent};
use super::cycles::Cycles;
use super::paths::OTHER_PATHS;
use crate::formats::testing::{Reading, data, format_of, read, read_bytes, read_cut, read_path, unpacked};
use crate::model::{Loss, SampleMeasure};

/// Returns the stacks and weights of an event, in the order of its row.
fn stacks(reading: &Reading, event: &str) -> Vec<(String, u64)> {
    let samples = reading.events.iter().filter_map(|sample| {
        let measure = SampleMeasure::from_args(&sample.args);
        (measure.event == event).then(|| (sample.stack.join(";"), measure.weight))
    });
    samples.collect()
}

/// Returns the self cost of each function.
fn own(reading: &Reading, event: &str) -> BTreeMap<String, u64> {
    let mut own = BTreeMap::new();
    for (stack, weight) in stacks(reading, event) {
        *own.entry(stack.rsplit(';').next().unwrap_or_default().to_owned()).or_default() += weight;
    }
    own
}

const SMALL: &str = "# callgrind format\nversion: 1\ncreator: x\ncmd: ./x\npositions: line\nevents: Ir Time_(10ns) Memory_(bytes)\n\
    summary: 120 12 7\n\nob=(1) /bin/x\nfl=(1) /src/a.c\nfn=(1) main\n3 10 1 7\ncfn=(2) f\ncalls=2 20\n4 60 6\n\
    cfi=(2) /src/b.c\ncfn=(3) g\ncalls=1 +7\n+1 20 2\n\nfn=(2)\n20 30 3\njump=3 22\n21\ncfi=(2)\ncfn=(3)\ncalls=1 1\n* 30 3\n\n\
    fl=(2)\nfn=(3)\n1 40 4\nfi=(1)\n-1 10 1\nfe=(2)\ntotals: 120 12 7\n";

#[test]
fn the_cost_of_a_function_is_divided_among_its_callers() {
    let reading = read(SMALL);
    let expected = [
        ("main (a.c)", 10),
        ("main (a.c);f (a.c)", 30),
        ("main (a.c);f (a.c);g (b.c)", 30),
        ("main (a.c);g (b.c)", 20),
    ];
    assert_eq!(stacks(&reading, "Ir"), expected.map(|(stack, cost)| (stack.to_owned(), cost)));
    let times: Vec<u64> = stacks(&reading, "Time_(10ns)").into_iter().map(|(_, ns)| ns).collect();
    assert_eq!(times, [10, 30, 30, 20], "nanoseconds");
    assert_eq!(stacks(&reading, "Memory_(bytes)"), [("main (a.c)".to_owned(), 7)]);
    let unit = |event: &str| {
        let mut samples = reading.events.iter().map(|sample| SampleMeasure::from_args(&sample.args));
        samples.find(|measure| measure.event == event).map(|measure| measure.unit.into_owned())
    };
    let units = ["Ir", "Time_(10ns)", "Memory_(bytes)"].map(unit);
    assert_eq!(units.map(Option::unwrap), ["count", "ns", "bytes"]);
    assert_eq!(reading.lost(), []);
}

#[test]
fn functions_in_files_of_the_same_name_have_their_own_costs_and_call_each_other() {
    let reading = read(
        "# callgrind format\nevents: Ir\nfl=/x/a/util.c\nfn=init\n1 10\nfl=/x/b/util.c\nfn=init\n1 5\ncfi=/x/a/util.c\ncfn=init\n\
        calls=1 1\n1 10\n",
    );
    let stack = |depth| vec!["init (util.c)"; depth].join(";");
    assert_eq!(stacks(&reading, "Ir"), [(stack(1), 5), (stack(2), 10)]);
    let paths = ["/x/b/util.c", "/x/a/util.c"].map(|path| Some(path.to_owned()));
    assert_eq!(reading.events[1].modules, paths);
}

#[test]
fn the_last_word_of_an_event_name_is_its_unit() {
    for (name, long, unit, factor) in [
        ("sysTime", "sysTime (elapsed ns)", "ns", 1),
        ("sysCpuTime", "sysCpuTime (system cpu ns)", "ns", 1),
        ("sysTime", "sysTime (elapsed us)", "ns", 1_000),
        ("sysTime", "sysTime (elapsed ms)", "ns", 1_000_000),
        ("Time_(10ns)", "", "ns", 10),
        ("Time_(100ns)", "", "ns", 100),
        ("Time_(us)", "", "ns", 1_000),
        ("us", "", "ns", 1_000),
        ("Nanoseconds", "", "ns", 1),
        ("Milliseconds", "", "ns", 1_000_000),
        ("curB", "currently allocated Bytes", "bytes", 1),
        ("Memory_(bytes)", "", "bytes", 1),
        ("kilobytes", "", "bytes", 1 << 10),
        ("Memory_(kB)", "", "bytes", 1 << 10),
        ("inuse_space(kB)", "", "bytes", 1 << 10),
        ("inuse_space(B)", "", "bytes", 1),
        ("memory_MB", "", "bytes", 1 << 20),
        ("cpu(ms)", "", "ns", 1_000_000),
        ("cpu(s)", "", "ns", 1_000_000_000),
        // These only end with the letters of a unit.
        ("sysCount", "", "count", 1),
        ("Bus", "", "count", 1),
        ("Stalls_S", "", "count", 1),
        ("Ir", "Instruction Fetches", "count", 1),
    ] {
        let event = CostEvent::from_names(name, long);
        assert_eq!((event.unit, event.factor), (unit, factor), "{name} {long}");
    }
}

#[test]
fn events_beyond_the_limit_are_counted() {
    let events: Vec<String> = (0..35).map(|number| format!("E{number}")).collect();
    let costs = vec!["1"; 35].join(" ");
    let reading = read(&format!("version: 1\ncreator: y\nevents: {}\nfn=main\n1 {costs}\n", events.join(" ")));
    assert_eq!((reading.events.len(), reading.lost()), (32, vec![(Loss::OverLimit, 3)]));
}

#[test]
fn recursion_and_small_shares_keep_the_sums_and_damage_costs_its_line() {
    let recursive = "events: Ir\ncreator: y\nfn=main\n1 5\ncfn=f\ncalls=1 1\n1 100\nfn=f\n1 60\ncfn=f\ncalls=9 1\n1 90\n\
        cfn=h\ncalls=1 1\n1 40\nfn=h\n1 30\ncfn=f\ncalls=1 1\n1 10\n";
    let text = format!("version: 1\n{recursive}");
    let reading = read(&text);
    let expected: BTreeMap<_, _> =
        [("main", 5), ("f", 60), ("h", 30)].map(|(name, cost)| (name.to_owned(), cost)).into();
    assert_eq!(own(&reading, "Ir"), expected);
    let other = String::from_utf8_lossy(OTHER_PATHS);
    let of_others: u64 =
        stacks(&reading, "Ir").iter().filter(|(stack, _)| stack.starts_with(&*other)).map(|(_, cost)| cost).sum();
    assert!(of_others < 10, "{of_others} of 95: f is called by h as well, which it calls");
    let damaged = text.replace("1 60\n", "1 60\n1 x\nnonsense\nfn=(9)\n2 7\n");
    let reading = read(&damaged);
    assert_eq!(own(&reading, "Ir")["f"], 60);
    assert_eq!(reading.losses.count(Loss::BadNumber), 1);
    assert_eq!(reading.losses.count(Loss::MissingText), 1);
    assert!(reading.losses.count(Loss::BadRecord) >= 2, "{:?}", reading.lost());
}

#[test]
fn the_losses_of_names_do_not_depend_on_the_batches() {
    let mut bytes = SMALL.as_bytes().to_vec();
    let defined = "cfn=(2) f";
    bytes[SMALL.find(defined).expect("a name") + defined.len() - 1] = 0xff;
    let reading = read_bytes(&bytes).expect("a profile");
    assert!(stacks(&reading, "Ir").iter().any(|(stack, _)| stack == "main (a.c);\u{fffd} (a.c)"));
    assert_eq!(reading.lost(), [(Loss::BadUtf8, 3)], "one for each kind of cost");
    for batch_events in 1..4 {
        assert_eq!(read_cut(&bytes, 1 << 10, batch_events).expect("a profile"), reading, "{batch_events}");
    }
}

#[test]
fn a_function_that_recursion_calls_keeps_the_cost_of_its_callees() {
    // `a` and `b` call each other; a part of the calls of `work` comes from the inner `a`.
    let text = "version: 1\nevents: Ir\nfn=main\n1 10000\ncfn=a\ncalls=1 1\n1 990000\n\
        fn=a\n1 90000\ncfn=b\ncalls=2 1\n1 900000\ncfn=work\ncalls=2 1\n1 810000\n\
        fn=b\n1 90000\ncfn=a\ncalls=1 1\n1 810000\n\
        fn=work\n1 90000\ncfn=leaf\ncalls=2 1\n1 720000\nfn=leaf\n1 720000\n";
    let reading = read(text);
    let total = |name: &str| -> u64 {
        let of_name = |(stack, _): &(String, u64)| stack.split(';').any(|frame| frame == name);
        stacks(&reading, "Ir").into_iter().filter(of_name).map(|(_, cost)| cost).sum()
    };
    assert_eq!(own(&reading, "Ir").values().sum::<u64>(), 1_000_000);
    assert_eq!(total("leaf"), 720_000);
    // Shares are rounded down, and the smallest are not followed. The cost of recursion counts once.
    assert!((809_000..=810_000).contains(&total("work")), "{} of 810,000", total("work"));
    assert!((989_000..=990_000).contains(&total("a")), "{} of 990,000", total("a"));
}

/// A parser by recursive descent: `expr`, `term` and `prim` call each other. Callgrind names recursive calls by `'2`.
const RECURSIVE_DESCENT: &str = "version: 1\nevents: Ir\nfn=main\n8 328529\ncfn=expr\ncalls=500 -1\n* 2739600\n\
    fn=expr\n7 4500\ncfn=term\ncalls=500 -1\n* 2735100\n\
    fn=expr'2\n7 320000\ncfn=term'2\ncalls=20000 -1\n* 1996600\ncfn=term'2\ncalls=20000 -1\n* 54538700\n\
    fn=term\n6 4500\ncfn=prim\ncalls=500 -1\n* 2730600\n\
    fn=term'2\n6 500000\ncfn=prim'2\ncalls=40000 -1\n* 55083700\ncfn=prim'2\ncalls=20000 -1\n* 951600\n\
    fn=num\n4 1407100\nfn=prim\n5 5500\ncfn=expr'2\ncalls=500 +2\n* 2725100\n\
    fn=prim'2\n5 498000\ncfn=num\ncalls=40500 -1\n* 1407100\ncfn=expr'2\ncalls=19500 +2\n* 54130200\n";

#[test]
fn callers_of_mutual_recursion_cost_what_callgrind_annotate_says() {
    let reading = read(RECURSIVE_DESCENT);
    let total = |name: &str| -> u64 {
        let of_name = |(stack, _): &(String, u64)| stack.split(';').any(|frame| frame == name);
        stacks(&reading, "Ir").into_iter().filter(of_name).map(|(_, cost)| cost).sum()
    };
    for (name, inclusive) in
        [("main", 3_068_129), ("expr", 2_739_600), ("term", 2_735_100), ("prim", 2_730_600), ("num", 1_407_100)]
    {
        assert_eq!(total(name), inclusive, "{name}");
    }
    // Callgrind counts the functions of the cycle once for each level, so that they exceed the whole.
    assert_eq!(["expr'2", "term'2", "prim'2"].map(total), [2_725_100, 2_405_100, 1_905_100]);
    assert_eq!(total(&String::from_utf8_lossy(OTHER_PATHS)), 0);
    assert_eq!(reading.lost(), []);
}

#[test]
fn a_cycle_is_divided_among_the_calls_from_outside() {
    let text = "version: 1\nevents: Ir\nfn=x\n1 5\ncfn=a\ncalls=1 1\n1 60\nfn=y\n1 7\ncfn=b\ncalls=1 1\n1 30\n\
        fn=a\n1 60\ncfn=b\ncalls=9 1\n1 900\nfn=b\n1 30\ncfn=a\ncalls=9 1\n1 990\n";
    let reading = read(text);
    let expected = [("x", 5), ("x;a", 40), ("x;a;b", 20), ("y", 7), ("y;b", 10), ("y;b;a", 20)];
    assert_eq!(stacks(&reading, "Ir"), expected.map(|(stack, cost)| (stack.to_owned(), cost)));
}

#[test]
fn cachegrind_has_functions_without_calls_and_other_text_is_neither() {
    let text =
        "desc: I1 cache: 32768 B\ncmd: ls\nevents: Ir I1mr\nfl=/a/b.c\nfn=main\n7 100 2\n8 20 .\nsummary: 120 2\n";
    let reading = read(text);
    assert_eq!(stacks(&reading, "Ir"), [("main (b.c)".to_owned(), 120)]);
    // A dot is a count of 0.
    assert_eq!(reading.lost(), []);
    assert_eq!(format_of(text.as_bytes()), Some("Callgrind profile"));
    assert_eq!(format_of(b"version: 1\nname: x\n"), None);
    assert_eq!(format_of(b"events: none\n"), None);
}

#[test]
fn functions_before_the_kinds_of_cost_cost_nothing() {
    let reading = read("# callgrind format\nfn=a\n1 5\ncfn=b\ncalls=1 1\n1 2\nevents: Ir\n1 7\nfn=b\n1 3\n");
    let expected: BTreeMap<_, _> = [("a".to_owned(), 7), ("b".to_owned(), 3)].into();
    assert_eq!(own(&reading, "Ir"), expected);
}

#[test]
fn a_real_profile_costs_what_its_summary_says() {
    let text = unpacked("people/callgrind.out.gz");
    let summary = text.lines().find_map(|line| line.strip_prefix("summary: ")).expect("a sum");
    let reading = read_path(&data("people/callgrind.out.gz")).expect("a profile");
    let own = own(&reading, "Ir");
    assert_eq!(own.values().sum::<u64>().to_string(), summary);
    assert_eq!(reading.lost(), []);
    let other = String::from_utf8_lossy(OTHER_PATHS);
    let of_others = stacks(&reading, "Ir").into_iter().filter(|(stack, _)| stack.starts_with(&*other));
    let of_others: u64 = of_others.map(|(_, cost)| cost).sum();
    assert!(of_others * 20 < own.values().sum::<u64>(), "{of_others} of {summary}");
}

/// A function with its self cost, and its callees with the cost of their calls.
type MeantFunction = (u64, Vec<(usize, u64)>);

fn written(functions: &[MeantFunction]) -> String {
    let mut text = "version: 1\ncreator: z\nevents: Ir\n".to_owned();
    for (row, (own, calls)) in functions.iter().enumerate() {
        writeln!(text, "fn=({row}) f{row}\n1 {own}").expect("into memory");
        for (called, cost) in calls {
            let called = called % functions.len();
            writeln!(text, "cfn=({called}) f{called}\ncalls=1 1\n1 {cost}").expect("into memory");
        }
    }
    text
}

proptest! {
    #[test]
    fn functions_are_in_one_cycle_if_calls_lead_from_each_to_the_other(
        calls in prop::collection::vec((0..12u32, 0..12u32), 0..30),
    ) {
        let mut graph = CallGraph::default();
        for function in 0..12 {
            graph.function(format!("f{function}").as_bytes(), 0, true);
        }
        let mut reaches = [[false; 12]; 12];
        for &(caller, called) in &calls {
            graph.call(caller, called);
            reaches[caller as usize][called as usize] = true;
        }
        for _ in 0..12 {
            for (from, via) in (0..12).flat_map(|from| (0..12).map(move |via| (from, via))) {
                for to in 0..12 {
                    reaches[from][to] |= reaches[from][via] && reaches[via][to];
                }
            }
        }
        let cycles = Cycles::new(&graph);
        for (one, other) in (0..12).flat_map(|one| (0..12).map(move |other| (one, other))) {
            let together = one == other || reaches[one][other] && reaches[other][one];
            prop_assert_eq!(cycles.has_both(one as u32, other as u32), together, "{} {}", one, other);
        }
        for (one, reached) in reaches.iter().enumerate() {
            let is_alone = (0..12).all(|other| one == other || !reached[other] || !reaches[other][one]);
            prop_assert_eq!(cycles.is_in_cycle(one as u32), !is_alone);
        }
    }

    #[test]
    fn any_graph_keeps_the_own_cost_of_each_function(
        functions in prop::collection::vec((1..1000u64, prop::collection::vec((0..12usize, 0..2000u64), 0..5)), 1..12),
    ) {
        let text = written(&functions);
        let reading = read(&text);
        let expected: BTreeMap<_, _> =
            functions.iter().enumerate().map(|(row, (own, _))| (format!("f{row}"), *own)).collect();
        prop_assert_eq!(own(&reading, "Ir"), expected);
        prop_assert_eq!(reading.losses.total(), 0);
        // Each text is cut at every seventh byte, from another one on.
        for len in (40 + text.len() % 7..text.len()).step_by(7) {
            let Ok(part) = read_bytes(&text.as_bytes()[..len]) else { continue };
            let whole = own(&reading, "Ir");
            for (name, cost) in own(&part, "Ir") {
                prop_assert!(cost <= whole[&name], "{} of {}", name, len);
            }
        }
    }
}

#[test]
fn all_headings_but_the_kinds_of_cost_are_optional() {
    // As `pyprof2calltree` writes them.
    let text = "event: ns : Nanoseconds\nevents: ns\nsummary: 7\nfl=/a/b.py\nfn=f\n3 7\n";
    let without_names = text.strip_prefix("event: ns : Nanoseconds\n").expect("the heading");
    for text in [text, without_names] {
        assert_eq!(format_of(text.as_bytes()), Some("Callgrind profile"));
        let reading = read(text);
        assert_eq!((stacks(&reading, "ns"), reading.lost()), (vec![("f (b.py)".to_owned(), 7)], vec![]));
    }
    assert_eq!(format_of(b"events: none\nfunction=f\n"), None);
}

#[test]
fn a_whole_last_line_without_a_line_break_has_its_costs() {
    // As yappi writes it.
    let text = "version: 1\nevents: a b\nfn=f\n3 7 8\nfn=g\n4 5 60";
    let reading = read(text);
    assert_eq!(stacks(&reading, "a"), [("f".to_owned(), 7), ("g".to_owned(), 5)]);
    assert_eq!(stacks(&reading, "b"), [("f".to_owned(), 8), ("g".to_owned(), 60)]);
    assert_eq!(reading.lost(), []);
    let cut = read(text.strip_suffix(" 60").expect("the last cost"));
    assert_eq!(stacks(&cut, "a"), [("f".to_owned(), 7)]);
    assert_eq!(cut.lost(), [(Loss::Truncated, 1)]);
}

#[test]
fn each_part_of_a_file_has_its_own_events() {
    let reading = read(
        "version: 1\ncreator: c\npart: 1\nevents: Ir\nfl=(1) a.c\nfn=(1) main\n1 30\n\
         part: 2\nevents: Dr Ir\nfl=(1)\nfn=(1)\n1 5 12\ncfn=(2) f\ncalls=1 1\n1 4 9\nfn=(2)\n2 4 9\n",
    );
    let costs = |costs: [(&str, u64); 2]| costs.map(|(stack, cost)| (stack.to_owned(), cost)).to_vec();
    assert_eq!(stacks(&reading, "Ir"), costs([("main (a.c)", 42), ("main (a.c);f (a.c)", 9)]));
    assert_eq!(stacks(&reading, "Dr"), costs([("main (a.c)", 5), ("main (a.c);f (a.c)", 4)]));
    assert_eq!(reading.lost(), []);
    let many: Vec<String> = (0..20).map(|number| format!("events: a{number} b{number}\nfn=f\n1 1 1\n")).collect();
    assert_eq!(read(&format!("version: 1\n{}", many.concat())).lost(), [(Loss::BadNumber, 8)], "of 40 events");
}

#[test]
fn profiles_that_xdebug_appends_to_a_file_are_summed() {
    let profile = |functions: &str| {
        format!(
            "\n==== NEW PROFILING FILE ==============================================\nversion: 1\ncreator: xdebug\n\
             events: Time_(10ns)\n\n{functions}"
        )
    };
    let text = profile("fl=(1) a.php\nfn=(1) f\n1 5\n") + &profile("fl=(1) a.php\nfn=(1) g\n1 7\nfn=(2) f\n1 2\n");
    assert_eq!(format_of(text.as_bytes()), Some("Callgrind profile"));
    let reading = read(&text);
    let expected = [("f (a.php)".to_owned(), 70), ("g (a.php)".to_owned(), 70)];
    assert_eq!((stacks(&reading, "Time_(10ns)"), reading.lost()), (expected.to_vec(), vec![]));
}

#[test]
fn files_that_end_before_their_sums_are_truncated() {
    let callgrind = "version: 1\ncreator: callgrind-3.19.0\npart: 1\npositions: line\nevents: Ir Dr\nsummary: 30 2\n\n\
        fl=a.c\nfn=main\n1 10 1\nfn=f\n2 20 1\n\ntotals: 30 2\n";
    let cachegrind = "desc: I1 cache: 32768 B\ncmd: ls\nevents: Ir\nfl=a.c\nfn=main\n7 100\n8 20\nsummary: 120\n";
    for text in [callgrind.to_owned(), cachegrind.to_owned(), callgrind.repeat(2)] {
        assert_eq!(read(&text).lost(), [], "{text}");
    }
    let part = &callgrind[..callgrind.find("fn=f").expect("there")];
    let cut = [(Loss::Truncated, 1)];
    for text in [part, &cachegrind[..cachegrind.find("8 20").expect("there")], &format!("{part}\n{callgrind}")] {
        assert_eq!(read(text).lost(), cut, "{text}");
    }
    // Nothing is missing from a file that lacks only the sum at its end, and not all tools write sums.
    let whole = &callgrind[..callgrind.find("totals").expect("there")];
    for text in [whole, "version: 1\ncreator: x\nevents: Ir\nfn=main\n7 100\n"] {
        assert_eq!(read(text).lost(), [], "{text}");
    }
}

#[test]
fn profiles_whose_sums_are_rounded_totals_are_whole() {
    let pyprof2calltree = "event: ns : Nanoseconds\nevents: ns\nsummary: 30\nfl=a.py\nfn=main\n1 9\ncfl=a.py\ncfn=f\n\
        calls=1 5\n1 20\nfl=a.py\nfn=f\n5 19\n";
    let xdebug = "version: 1\ncreator: xdebug 3.1.2 (PHP 8.0.0)\ncmd: /t.php\npart: 1\npositions: line\n\n\
        events: Time_(10ns) Memory_(bytes)\n\nfl=(1) /t.php\nfn=(1) {main}\n\nsummary: 1234 5678\n\n1 1200 5000\n";
    for text in [pyprof2calltree.to_owned(), xdebug.to_owned(), xdebug.repeat(2)] {
        assert_eq!(read(&text).lost(), [], "{text}");
    }
    // Each part of callgrind has an exact sum, and only the first part names the tool.
    let callgrind = "version: 1\ncreator: callgrind-3.19.0\npart: 1\nevents: Ir\nsummary: 30\n\nfn=f\n1 30\ntotals: 30\n\
        \npart: 2\nevents: Ir\nsummary: 50\n\nfn=f\n1 49\n";
    assert_eq!(read(callgrind).lost(), [(Loss::Truncated, 1)]);
}

#[test]
fn calls_without_a_file_are_of_the_only_function_with_that_name() {
    // As Xdebug before 2.3 writes them: called functions come first, and have no file.
    let functions = "fl=php:internal\nfn=php::strlen\n5 100 8\n\nfl=/lib.php\nfn=helper\n3 50 16\ncfn=php::strlen\ncalls=1 0 0\n4 100 8\n\n\
        fl=/x.php\nfn={main}\n\nsummary: 350 48\n\n1 200 24\ncfn=helper\ncalls=1 0 0\n6 150 24\n\n";
    let heading = "version: 0.9.6\ncmd: /x.php\npart: 1\n\nevents: Time Memory\n\n";
    let reading = read(&format!("{heading}{functions}"));
    let (main, helper, strlen) = ("{main} (x.php)", "helper (lib.php)", "php::strlen (php:internal)");
    let expected =
        [(main.to_owned(), 200), (format!("{main};{helper}"), 50), (format!("{main};{helper};{strlen}"), 100)];
    assert_eq!((stacks(&reading, "Time"), reading.lost()), (expected.to_vec(), vec![]));
    // Two functions of one name are both possible.
    let reading = read(&format!("{heading}fl=/other.php\nfn=helper\n1 7 0\n\n{functions}"));
    assert!(stacks(&reading, "Time").contains(&(helper.to_owned(), 50)), "{:?}", stacks(&reading, "Time"));
}
