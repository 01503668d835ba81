//! Tests of trace text, on a recorded trace and on lines of every form.

mod markers;
mod options;

use crate::formats::output::batch::STACK_FRAMES_MAX;
use crate::formats::testing::{Reading, data, format_of, read, read_bytes, read_path};
use crate::model::{EventKind, Id, Loss, Metadata, TrackKind};

/// Returns time, kind and name of the events on thread tracks.
fn threads(reading: &Reading) -> Vec<(i64, EventKind, &str)> {
    let of_threads = reading.events.iter().filter(|event| event.track.kind == TrackKind::Thread);
    of_threads.map(|event| (event.ts_ns, event.kind, event.name.as_str())).collect()
}

#[test]
fn lines_with_and_without_groups_and_flags_are_read() {
    let reading = read(
        "# tracer: nop\n#\n            bash-7938    [001] .....  1171.878940: sys_write -> 0x2\n\
                a-b c-7   (    5) [000] d..2 1171.878941: tracing_mark_write: B|5|draw [1]\n\
                <...>-7   (-----) [000] 1171.878950001: tracing_mark_write: E|5\n\
                x-8  [002]  1171.9: my_event: a=1 b=2\r\n",
    );
    let expected = [
        (1_171_878_940_000, EventKind::Instant, "sys_write"),
        (1_171_878_941_000, EventKind::Begin, "draw [1]"),
        (1_171_878_950_001, EventKind::End, ""),
        (1_171_900_000_000, EventKind::Instant, "my_event"),
    ];
    assert_eq!(threads(&reading), expected);
    assert_eq!(reading.events[3].args, r#"{"fields":"a=1 b=2","cpu":2}"#);
    assert_eq!(reading.events[2].track.pid, Id::Number(5));
    let named = |tid: i64, name: &str| {
        let is = |told: &Metadata| matches!(told, Metadata::KernelName { tid: Id::Number(of), name: as_name, .. } if *of == tid && &**as_name == name);
        reading.metadata.iter().any(is)
    };
    assert!(named(7, "a-b c") && named(7938, "bash") && named(8, "x"));
    assert_eq!(reading.lost(), []);
}

#[test]
fn a_line_of_many_brackets_is_searched_once() {
    // The processor follows a limited number of brackets, so that a long line takes no quadratic time.
    let line = |brackets: usize| format!("# tracer: nop\n{}-7 [001] 1.5: my_event: a\n", "[x]".repeat(brackets));
    assert_eq!(threads(&read(&line(30))).len(), 1);
    assert_eq!(read(&line(1000)).lost(), [(Loss::BadRecord, 1)]);
}

#[test]
fn frames_beyond_the_limit_are_counted() {
    let frames = " => f\n".repeat(STACK_FRAMES_MAX + 3);
    let reading = read(&format!("# tracer: nop\na-7 [001] 1.5: my_event: a\na-7 [001] 1.6: <stack trace>\n{frames}"));
    let depths: Vec<_> = reading.events.iter().map(|event| event.stack.len()).filter(|&depth| depth > 0).collect();
    assert_eq!((depths, reading.lost()), (vec![STACK_FRAMES_MAX], vec![(Loss::DeepNesting, 3)]));
}

#[test]
fn system_calls_by_number_are_spans_with_an_end() {
    let reading = read(
        "# tracer: nop\n#\n            bash-7    [000] .....  0.000001: sys_exit: NR 1 = 2\n\
                bash-7    [000] .....  0.000002: sys_enter: NR 33 (b, 1, 55fa4b38f9bc)\n\
                bash-7    [000] .....  0.000003: sys_exit: NR 33 = -9\n\
                bash-7    [000] .....  0.000004: sys_enter: something else\n",
    );
    let expected = [
        (1000, EventKind::Instant, "syscall 1"),
        (2000, EventKind::Begin, "syscall 33"),
        (3000, EventKind::End, "syscall 33"),
        (4000, EventKind::Instant, "sys_enter"),
    ];
    assert_eq!(threads(&reading), expected);
    assert_eq!(reading.events[1].args, r#"{"fields":"b, 1, 55fa4b38f9bc","cpu":0}"#);
    assert_eq!(reading.events[2].args, r#"{"ret":"-9","cpu":0}"#);
}

#[test]
fn markers_are_spans_counters_and_asynchronous_spans() {
    let line = |us: u32, text: &str| format!("app-7 (5) [000] ...1 0.{us:06}: tracing_mark_write: {text}\n");
    let texts = ["C|5|frames|3", "S|5|load|77", "I|5|tick", "F|5|load|77", "C|5|bad|x", "a message"];
    let lines: Vec<String> = (1..).zip(texts).map(|(us, text)| line(us, text)).collect();
    let reading = read(&format!("# tracer: nop\n{}", lines.concat()));
    let found: Vec<_> = reading.events.iter().map(|event| (event.kind, &*event.name, event.track.kind)).collect();
    let expected = [
        (EventKind::Counter, "frames", TrackKind::Counter),
        (EventKind::AsyncBegin, "load", TrackKind::Async),
        (EventKind::Instant, "tick", TrackKind::Thread),
        (EventKind::AsyncEnd, "load", TrackKind::Async),
        (EventKind::Instant, "a message", TrackKind::Thread),
    ];
    assert_eq!(found, expected);
    assert_eq!(f64::from_bits(reading.events[0].value), 3.0);
    assert_eq!(reading.events[1].value, reading.events[3].value);
    assert_eq!(reading.lost(), [(Loss::BadCounter, 1)]);
}

#[test]
fn switches_make_spans_of_cpus_and_frequencies_counters() {
    let reading = read(
        "# tracer: nop\n\
         <idle>-0 [001] d..2 1.000000: sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=bash next_pid=7 next_prio=120\n\
         <idle>-0 [001] d..2 1.000500: cpu_frequency: state=1800000 cpu_id=1\n\
         bash-7 [001] d..2 1.001000: sched_switch: prev_comm=bash prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=swapper/1 next_pid=0 next_prio=120\n",
    );
    let cpu: Vec<_> = reading.events.iter().filter(|event| event.track.kind == TrackKind::Cpu).collect();
    assert_eq!(cpu.len(), 1);
    assert_eq!((cpu[0].ts_ns, cpu[0].value, &*cpu[0].name), (1_000_000_000, 1_000_000, "bash"));
    let counters: Vec<_> = reading.events.iter().filter(|event| event.kind == EventKind::Counter).collect();
    assert_eq!((counters.len(), f64::from_bits(counters[0].value)), (1, 1_800_000.0));
    assert_eq!(reading.counters(), [("CPU 1 frequency", "kHz")]);
    assert_eq!(reading.lost(), []);
}

#[test]
fn compressed_output_of_atrace_is_unpacked() {
    use std::io::Write as _;
    let text = "# tracer: nop\n app-7 (5) [000] ...1 1.000001: tracing_mark_write: B|5|draw\n";
    let mut packed = flate2::write::ZlibEncoder::new(b"TRACE:\n".to_vec(), flate2::Compression::default());
    packed.write_all(text.as_bytes()).expect("written");
    let reading = read_bytes(&packed.finish().expect("written")).expect("a capture");
    assert_eq!(threads(&reading), [(1_000_001_000, EventKind::Begin, "draw")]);
}

#[test]
fn lost_lines_and_damaged_lines_are_counted() {
    let good = "a-7 [000] 1.000001: my_event: x\n";
    let reading = read(&format!("# tracer: nop\n{good}CPU:3 [LOST 15 EVENTS]\ngarbage\na-7 [000] x: y\n{good}"));
    assert_eq!(reading.events.len(), 2);
    assert_eq!(reading.lost(), [(Loss::BadRecord, 2), (Loss::RecorderLost, 15)]);
}

#[test]
fn lost_events_are_counted_for_each_recorder() {
    for (line, lost) in [
        ("CPU:3 [LOST 15 EVENTS]", 15),
        ("CPU:3 [LOST EVENTS]", 1),
        ("CPU:1 [5 EVENTS DROPPED]", 5),
        ("CPU:1 [EVENTS DROPPED]\r", 1),
    ] {
        let reading = read(&format!("cpus=2\n a-7 [000] 1.000001: my_event: x\n{line}\n"));
        assert_eq!((reading.events.len(), reading.lost()), (1, vec![(Loss::RecorderLost, lost)]), "{line}");
    }
    for line in ["CPU:1 [x EVENTS DROPPED]", "CPU:1 [-5 EVENTS DROPPED]", "CPU:1 [DROPPED]", "cpu [LOST 5 EVENTS]"] {
        let reading = read(&format!("cpus=2\n a-7 [000] 1.000001: my_event: x\n{line}\n"));
        assert_eq!(reading.lost(), [(Loss::BadRecord, 1)], "{line}");
    }
}

#[test]
fn a_trace_that_is_cut_anywhere_keeps_the_lines_before_the_cut() {
    let whole = "# tracer: nop\na-7 [000] 1.000001: my_event: x\na-7 [000] 1.000002: my_event: y\n";
    let second = whole.rfind("a-7").expect("there");
    let first = read(&whole[..second]).events;
    for len in second..whole.len() {
        let reading = read(&whole[..len]);
        assert_eq!(reading.events[0], first[0], "{len} bytes");
        assert!(reading.events.len() == 2 || reading.losses.total() == u64::from(len > second), "{len} bytes");
    }
}

#[test]
fn every_line_of_a_real_trace_is_an_event_or_a_part_of_one() {
    let reading = read_path(&data("ftrace.txt.gz")).expect("a capture");
    let mut text = String::new();
    let file = std::fs::File::open(data("ftrace.txt.gz")).expect("a file");
    std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(file), &mut text).expect("text");
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    let count = |text: &str| lines.iter().filter(|line| line.contains(text)).count();
    let kernel = |kind: TrackKind| reading.events.iter().filter(|event| event.track.kind == kind).count();
    let calls = reading.events.iter().filter(|event| event.name.starts_with("sys_")).count();
    assert_eq!(calls, count(": sys_"));
    let other = count(": sched_switch:") + count(": sched_waking:") + count(": sched_wakeup");
    // `rt_sigreturn` never returns; the next call of its thread ends it.
    let (mut in_call, mut ends_added) = (std::collections::BTreeSet::new(), 0);
    for line in lines.iter().filter(|line| line.contains(": sys_")) {
        let thread = line.split(" [").next().expect("a thread");
        if line.contains(" -> ") {
            in_call.remove(thread);
        } else {
            ends_added += usize::from(!in_call.insert(thread));
        }
    }
    assert_eq!((ends_added, kernel(TrackKind::Thread)), (4, lines.len() - other + ends_added));
    // Each switch to a thread is a span on its CPU; the last one of each CPU has no end.
    assert_eq!(kernel(TrackKind::Cpu), count("sched_switch:") - count("next_pid=0 "));
    // Naive count: switches on a CPU whose previous thread is not the next thread of the switch before.
    let mut running = std::collections::BTreeMap::new();
    let mut odd = 0;
    for line in lines.iter().filter(|line| line.contains("sched_switch")) {
        let after = |key: &str| line.split(key).nth(1).and_then(|rest| rest.split(' ').next()).expect("a field");
        let (cpu, next) = (after(" ["), after("next_pid="));
        let before = running.insert(cpu, next);
        odd += u64::from(before.is_some_and(|before| before != "0" && before != after("prev_pid=")));
    }
    assert_eq!(reading.lost(), [(Loss::LostSwitch, odd)]);
}

#[test]
fn functions_of_a_graph_are_spans_that_nest() {
    let reading = read(
        "cpus=2\n\
         a-7     [001]     1.000001: funcgraph_entry:                   |  do_work() {\n\
         a-7     [001]     1.000002: funcgraph_entry:        0.250 us   |    leaf();\n\
         a-7     [001]     1.000003: funcgraph_entry:      + 12.500 us  |    slow [mod]();\n\
         a-7     [001]     1.000020: funcgraph_exit:       + 19.500 us  |  }\n\
         a-7     [001]     1.000030: funcgraph_entry:        ?? us      |  odd();\n",
    );
    let found: Vec<_> =
        reading.events.iter().map(|event| (event.ts_ns, event.kind, event.value, &*event.name)).collect();
    let expected = [
        (1_000_001_000, EventKind::Complete, 19_500, "do_work"),
        (1_000_002_000, EventKind::Complete, 250, "leaf"),
        (1_000_003_000, EventKind::Complete, 12_500, "slow [mod]"),
        (1_000_030_000, EventKind::Complete, 0, "odd"),
    ];
    assert_eq!(found, expected);
    assert_eq!(reading.lost(), [(Loss::BadNumber, 1)]);
}

#[test]
fn times_may_follow_flags_without_a_gap_and_the_heading_of_atrace_is_skipped() {
    let text = "capturing trace... done\nTRACE:\ncpus=8\n\
        kworker/u16:1-77    (   77) [004] ....316.196720: tracing_mark_write: B|77|a\n\
        kworker/u16:1-77    (   77) [004] d..1316.196730: tracing_mark_write: E|77\n\
        kworker/u16:1-77    (   77) [004] .... 316.196740: tracing_mark_write: B|77|b\n\
        kworker/u16:1-77    (   77) [004] d...1 316.196750: tracing_mark_write: E|77\n";
    let reading = read(text);
    let expected = [(316_196_720_000, "a"), (316_196_730_000, ""), (316_196_740_000, "b"), (316_196_750_000, "")];
    let found: Vec<_> = reading.events.iter().map(|event| (event.ts_ns, event.name.as_str())).collect();
    assert_eq!(found, expected);
    assert_eq!(reading.lost(), []);
    // As `atrace -z` prints it, with and without the leading line.
    for begin in [
        "TRACE:\n",
        "capturing trace... done\nTRACE:\n",
        "capturing trace... done\r\nTRACE:\r\n",
        "capturing trace... done\nTRACE:\nunable to open /sys/kernel/debug/tracing/foo\nwarning\n",
    ] {
        let mut packed = flate2::write::ZlibEncoder::new(begin.as_bytes().to_vec(), flate2::Compression::default());
        std::io::Write::write_all(&mut packed, text.split_once("TRACE:\n").expect("a trace").1.as_bytes())
            .expect("packed");
        assert_eq!(read_bytes(&packed.finish().expect("packed")).expect("a trace").events, reading.events, "{begin:?}");
    }
}

#[test]
fn the_status_of_atrace_is_no_trace_without_its_text() {
    for (text, is_trace) in [
        ("capturing trace... done\nTRACE:\n# tracer: nop\n", true),
        ("capturing trace... done\n a-7 [001] .... 1.000003: f: 1\n", true),
        ("capturing trace of the last build\nuploading 12 files\n", false),
    ] {
        assert_eq!(format_of(text.as_bytes()) == Some("ftrace"), is_trace, "{text}");
    }
}

#[test]
fn lines_in_json_strings_are_not_lines_of_a_trace() {
    let line = "sh-10    [000] ...1  1.000000: tracing_mark_write: B|10|hi";
    let event = r#"{"ph":"X","pid":1,"tid":1,"ts":0,"dur":1,"name":"a"}"#;
    // The kernel trace of a Chrome trace is the exception: its lines are read.
    let both = format!(r##"{{"traceEvents":[{event}],"systemTraceEvents":"# tracer: nop\n{line}\n"}}"##);
    assert_eq!(read(&both).names(), ["a", "hi"]);
    for text in [
        format!(r#"{{"traceEvents":[{{"ph":"X","ts":1,"dur":1,"name":"a","args":{{"msg":"{line}"}}}}]}}"#),
        format!(r#"[{{"ph":"X","ts":1,"dur":1,"name":"a","args":{{"msg":"{line}"}}}}]"#),
    ] {
        assert_eq!(read(&text).names(), ["a"], "{text}");
    }
}

#[test]
fn asynchronous_spans_with_a_track_have_its_name() {
    let reading = read(
        "# tracer: nop\n app-42 [000] .....   100.000100: tracing_mark_write: G|42|mytrack|ev|7\n \
         app-42 [000] .....   100.000900: tracing_mark_write: H|42|mytrack|7\n",
    );
    let found: Vec<_> = reading.events.iter().map(|event| (event.kind, &*event.track.name, event.track.slot)).collect();
    let slot = crate::model::TrackKey::SLOT_NAMED;
    assert_eq!(found, [(EventKind::AsyncBegin, "mytrack", slot), (EventKind::AsyncEnd, "mytrack", slot)]);
}

#[test]
fn binder_calls_are_spans_of_both_ends_with_a_flow_and_end_without_a_reply() {
    let at = |tid: u32, micros: u32, event: &str| format!("a-{tid} [000] ..... 1.{micros:06}: {event}\n");
    let call = |id: u32, flags: &str, reply: u32| {
        format!(
            "binder_transaction: transaction={id} dest_node=1 dest_proc=20 dest_thread=0 reply={reply} flags={flags} code=0x3"
        )
    };
    let received = |id: u32| format!("binder_transaction_received: transaction={id}");
    let text = [
        at(10, 1, &call(5, "0x10", 0)),
        at(20, 2, &received(5)),
        at(20, 3, &call(6, "0x0", 1)),
        at(10, 4, &received(6)),
        // A one-way call.
        at(10, 5, &call(7, "0x11", 0)),
        at(20, 6, &received(7)),
        // It fails; then a reply to a call before the recording.
        at(10, 7, &call(8, "0x10", 0)),
        at(10, 8, "binder_return: cmd=0x7211 BR_FAILED_REPLY"),
        at(10, 9, &received(99)),
        at(10, 10, &call(9, "0x0", 1)),
    ];
    let reading = read(&text.concat());
    let found: Vec<_> = reading
        .events
        .iter()
        .map(|event| ((event.ts_ns - 1_000_000_000) / 1000, event.track.tid.to_string(), event.kind, &*event.name))
        .collect();
    let (call, answer) = ("binder transaction", "binder reply");
    let expected = [
        (1, "10", EventKind::Begin, call),
        (1, "10", EventKind::FlowStart, ""),
        (2, "20", EventKind::Begin, answer),
        (2, "20", EventKind::FlowEnd, ""),
        (3, "20", EventKind::End, answer),
        (4, "10", EventKind::End, call),
        (5, "10", EventKind::Instant, "binder transaction async"),
        (5, "10", EventKind::FlowStart, ""),
        (6, "20", EventKind::Instant, "binder async rcv"),
        (6, "20", EventKind::FlowEnd, ""),
        (7, "10", EventKind::Begin, call),
        (7, "10", EventKind::FlowStart, ""),
        (8, "10", EventKind::End, call),
    ];
    let expected: Vec<_> = expected.into_iter().map(|(at, tid, kind, name)| (at, tid.to_owned(), kind, name)).collect();
    assert_eq!(found, expected);
    assert_eq!(
        reading.events[0].args,
        r#"{"transaction id":5,"destination node":1,"destination process":20,"destination thread":0,"flags":"0x10","code":"0x3"}"#
    );
    assert_eq!(reading.lost(), []);
}

#[test]
fn the_reason_of_a_blocked_thread_is_written_with_the_state_that_it_entered() {
    let reading = read(
        "a-7 [000] d..2 1.000001: sched_switch: prev_comm=a prev_pid=7 prev_prio=120 prev_state=D ==> next_comm=b next_pid=8 next_prio=120\n\
         b-8 [000] d..2 1.000002: sched_blocked_reason: pid=7 iowait=1 caller=wait_on_page+0x10/0x20\n\
         b-8 [000] d..2 1.000003: sched_blocked_reason: pid=8 iowait=1 caller=x+0x10/0x20\n",
    );
    let states = reading
        .events
        .iter()
        .filter(|event| event.kind == EventKind::State && event.track.tid == crate::model::Id::Number(7));
    let states: Vec<_> = states.map(|event| (event.ts_ns, event.category.as_deref(), &*event.args)).collect();
    let reason = r#"{"io_wait":1,"blocked_function":"wait_on_page"}"#;
    assert_eq!(states, [(1_000_001_000, Some("D"), ""), (1_000_001_000, Some("D"), reason)]);
    assert_eq!(reading.lost(), [], "thread 8 runs, so that it is not blocked");
}

#[test]
fn lines_of_the_latency_format_are_those_of_the_usual_one() {
    let usual = "# tracer: nop\n#\n    bash-12997   [001] ..... 0.008190: sys_dup2(oldfd: 0xb, newfd: 1)\n\
                 a b-7   [000] d.h2. 0.008191: sys_dup2 -> 0x1\n          <idle>-0   [001] dN.2. 0.123456: my_event: a=1: 2us : 3\nCPU 0/KVM-9 [000] d..1. 0.123457: my_event: b\n";
    let latency = "# tracer: nop\n#\n# nop latency trace v1.1.5 on 6.1\n#  cmd     pid     |||||| time  |   caller     \n\
                   \x20   bash-12997     1..... 8190us : sys_dup2(oldfd: 0xb, newfd: 1)\n\
                   \x20 a b-7        0d.h2. 8191us!: sys_dup2 -> 0x1\n  <idle>-0       1dN.2. 123456us+: my_event: a=1: 2us : 3\n\
                   CPU 0/KVM-9  0d..1. 123457us : my_event: b\n";
    // As `trace-cmd report -l` prints it.
    let command = "cpus=2\n  bash-12997    1..... 0.008190: sys_dup2(oldfd: 0xb, newfd: 1)\n a b-7    0d.h2. 0.008191: sys_dup2 -> 0x1\n\
                   \x20 <idle>-0       1dN.2. 0.123456: my_event: a=1: 2us : 3\nCPU 1 is empty\n\
                   CPU 0/KVM-9  0d..1. 0.123457: my_event: b\n";
    let expected = read(usual);
    assert_eq!((expected.events.len(), expected.lost()), (4, vec![]));
    for text in [latency, command] {
        let reading = read(text);
        assert_eq!((reading.lost(), &reading.events), (vec![], &expected.events), "{text}");
    }
}

#[test]
fn the_distances_that_trace_cmd_prints_are_not_part_of_the_event() {
    let reading = read(
        "cpus=2\n   bash-100   [000]   100.000001:          sys_enter_read:       fd: 0x3\n\
         \x20  bash-100   [000]   100.000101: (+100)   sys_exit_read:        0x5\n\
         \x20  bash-100   [000]   100.000301: (+200.5)   my_event: (+1) a=1\n",
    );
    let expected = [
        (100_000_001_000, EventKind::Begin, "sys_read"),
        (100_000_101_000, EventKind::End, "sys_read"),
        (100_000_301_000, EventKind::Instant, "my_event"),
    ];
    assert_eq!((threads(&reading), reading.lost()), (expected.to_vec(), vec![]));
    assert_eq!(reading.events[2].args, r#"{"fields":"(+1) a=1","cpu":0}"#);
}

#[test]
fn stacks_below_events_are_samples_of_their_threads() {
    let reading = read(
        "# tracer: nop\n#\n            bash-7   [001] ..... 1.000001: my_event: a=1\n            bash-7   [001] ..... 1.000002: <stack trace>\n\
         \x20=> inner\n => outer+0x1/0x20\n            bash-8   [001] ..... 1.000003: kernel_stack:         <stack trace >\n\
         => schedule (ffffffff8110)\n=> outer (ffffffff811)\n            bash-8   [001] ..... 1.000004: user_stack:           <user stack trace>\n\
         \x20=> <00007f0879e71dd5>\n            bash-8   [001] ..... 1.000005: my_event: a=2\n",
    );
    let found: Vec<_> =
        reading.events.iter().map(|event| (event.ts_ns % 1_000_000, event.kind, event.stack.join(";"))).collect();
    let (instant, sample) = (EventKind::Instant, EventKind::Sample);
    let expected = [
        (1000, instant, ""),
        (2000, sample, "outer;inner"),
        (3000, sample, "outer;schedule"),
        (4000, sample, "<00007f0879e71dd5>"),
        (5000, instant, ""),
    ]
    .map(|(ts, kind, stack)| (ts, kind, stack.to_owned()));
    assert_eq!((found, reading.lost()), (expected.to_vec(), vec![]));
}

#[test]
fn stacks_below_switches_are_samples_of_times_off_cpu() {
    let switch = |previous: u32, next: u32| {
        format!(
            "sched_switch: prev_comm=bash prev_pid={previous} prev_prio=120 prev_state=S ==> next_comm=bash next_pid={next} next_prio=120\n"
        )
    };
    let head = |tid: u32, micros: u32| format!("            bash-{tid}   [001] ..... 1.{micros:06}: ");
    let reading = read(
        &[
            "# tracer: nop\n#\n",
            &head(7, 1),
            &switch(7, 8),
            &head(7, 2),
            "<stack trace>\n => schedule\n => do_nanosleep\n",
            &head(7, 3),
            "<user stack trace>\n => <00007f0879e71dd5>\n",
            &head(8, 500),
            "my_event: a=1\n",
            &head(8, 900),
            &switch(8, 7),
        ]
        .concat(),
    );
    let off_cpu = reading.events.iter().filter(|event| event.args.contains("off-CPU"));
    let found: Vec<_> = off_cpu.map(|event| (event.ts_ns, event.stack.join(";"), &*event.args)).collect();
    let args = r#"{"event":"off-CPU","unit":"ns","period":899000,"state":"S"}"#;
    assert_eq!(found, [(1_000_001_000, "do_nanosleep;schedule".to_owned(), args)]);
    assert_eq!(reading.lost(), []);
}

#[test]
fn a_stack_below_a_switch_is_of_its_own_cpu_whatever_others_do_in_between() {
    let switch = |previous: u32, next: u32| {
        format!(
            "sched_switch: prev_comm=bash prev_pid={previous} prev_prio=120 prev_state=S ==> next_comm=bash next_pid={next} next_prio=120\n"
        )
    };
    let head = |tid: u32, cpu: u32, micros: u32| format!("            bash-{tid}   [00{cpu}] ..... 1.{micros:06}: ");
    let text = [
        "# tracer: nop\n#\n",
        &head(7, 1, 1),
        &switch(7, 8),
        &head(17, 2, 2),
        &switch(17, 18),
        &head(18, 2, 3),
        "my_event: a=1\n",
        &head(7, 1, 4),
        "<stack trace>\n => schedule\n => do_nanosleep\n",
        &head(8, 1, 900),
        &switch(8, 7),
        &head(17, 2, 901),
        "<stack trace>\n => schedule\n => futex_wait\n",
    ];
    let reading = read(&text.concat());
    let off_cpu = reading.events.iter().filter(|event| event.args.contains("off-CPU"));
    let found: Vec<_> = off_cpu.map(|event| (event.ts_ns, &event.track.tid, event.stack.join(";"))).collect();
    // An event of CPU 2 came between the switch there and the stack, which is that of something else.
    assert_eq!(found, [(1_000_001_000, &Id::Number(7), "do_nanosleep;schedule".to_owned())]);
}

#[test]
fn called_functions_are_instants_also_with_the_names_of_calls_and_tracepoints() {
    let at = |event: &str| format!("a-7 [001] ..... 1.000001: {event}\n");
    for (event, name) in [
        ("sys_close <-system_call_fastpath", "sys_close"),
        ("sys_close(fd=3) <-do_syscall_64", "sys_close"),
        ("__close_fd+0x10/0x20 <-sys_close+0x5/0x10", "__close_fd+0x10/0x20"),
        ("binder_transaction <-binder_thread_write", "binder_transaction"),
        ("tracing_mark_write <-vfs_write", "tracing_mark_write"),
        ("f [mod] <-g [mod]", "f"),
    ] {
        let reading = read(&format!("# tracer: function\n#\n{}", at(event)));
        assert_eq!(threads(&reading), [(1_000_001_000, EventKind::Instant, name)], "{event}");
        assert!(reading.events[0].args.contains("<-") && reading.events[0].args.contains(r#""cpu":1"#), "{event}");
        assert_eq!(reading.lost(), [], "{event}");
    }
    // These only contain an arrow.
    let reading = read(&[at("tracing_mark_write: a <-b"), at("sys_read(buf: \" <-x\")")].concat());
    let expected = [(EventKind::Instant, "a <-b"), (EventKind::Begin, "sys_read")];
    assert_eq!(reading.events.iter().map(|event| (event.kind, &*event.name)).collect::<Vec<_>>(), expected);
}

#[test]
fn switches_that_the_wakeup_tracers_print_are_scheduling() {
    let reading = read(
        "# tracer: wakeup_rt\n#\n  <idle>-0         0d.h4.    0us :        0:120:R   + [000]    2389: 94:R sleep\n\
         \x20 <idle>-0         0d.h4.    1us+: ttwu_do_activate.constprop.0 <-try_to_wake_up\n\
         \x20 <idle>-0         0d..3.  155us :        0:120:R ==> [000]    2389: 94:R sleep\n\
         \x20  sleep-2389      0d..3.  200us :     2389: 94:S ==> [000]       0:120:R swapper/0\n",
    );
    assert_eq!(threads(&reading), [(1_000, EventKind::Instant, "ttwu_do_activate.constprop.0")]);
    let runs: Vec<_> = reading.events.iter().filter(|event| event.track.kind == TrackKind::Cpu).collect();
    assert_eq!(runs.len(), 1);
    assert_eq!((runs[0].ts_ns, runs[0].value, &*runs[0].name), (155_000, 45_000, "sleep"));
    let states = reading.events.iter().filter(|event| event.track.kind == TrackKind::State);
    let states: Vec<_> = states.map(|event| (event.ts_ns, event.category.as_deref().unwrap_or_default())).collect();
    assert_eq!(states, [(0, "R"), (155_000, "Running"), (200_000, "S")]);
    assert_eq!(reading.lost(), []);
}

#[test]
fn frames_of_programs_are_offsets_in_their_files() {
    let reading = read(
        "# tracer: nop\n#\n sshd-7 [003] ..... 1.000001: <user stack trace>\n =>  <0000003a5e8e02f0>\n => /bin/a b[+0x123]\n\
         \x20=> /lib/libc.so.6[+0x9] <00007f08>\n => operator[]\n => [+0x1]\n",
    );
    let stack = &reading.events[0].stack;
    assert_eq!(*stack, ["+0x1", "operator[]", "libc.so.6+0x9", "a b+0x123", "<0000003a5e8e02f0>"]);
    assert_eq!(reading.lost(), []);
}

#[test]
fn rows_of_tracers_without_event_names_are_named_by_their_tracer() {
    let reading = read(
        "# tracer: osnoise\n#\n           <...>-859     [000] ....    81.637220: 1000000        190  99.98100       9     18      0   \
         1007     18      1\n           <...>-859     [000] ....    82.637220: 1000000 odd\n",
    );
    let found: Vec<_> = reading.events.iter().map(|event| (&*event.name, &*event.args)).collect();
    let columns = r#"{"runtime_us":1000000,"noise_us":190,"available_percent":99.98100,"max_single_us":9,"hw":18,"nmi":0,"irq":1007,"softirq":18,"thread":1,"cpu":0}"#;
    let expected = [("osnoise", columns), ("osnoise", r#"{"fields":"1000000 odd","cpu":0}"#)];
    assert_eq!((found, reading.lost()), (expected.to_vec(), vec![]));
    let reading = read(
        "# tracer: timerlat\n  <idle>-0  [001] d.h1.  54.029328: #1     context    irq timer_latency       932 ns\n",
    );
    assert_eq!((reading.names(), reading.lost()), (vec!["timerlat"], vec![]));
}
