//! Tests of lines with fields that `perf script -F` and `--itrace` add to samples.

use crate::formats::testing::{ReadEvent, Reading, format_of, read};
use crate::model::{EventKind, Loss};

/// Returns time in nanoseconds, kind, name, stack and arguments of each event.
fn shown(reading: &Reading) -> Vec<(i64, EventKind, &str, String, &str)> {
    let of = |event: &'_ ReadEvent| (event.ts_ns, event.kind, event.stack.join(";"));
    let texts = reading.events.iter().map(|event| (&*event.name, &*event.args));
    let events = reading.events.iter().map(of).zip(texts);
    events.map(|((ts_ns, kind, stack), (name, args))| (ts_ns, kind, name, stack, args)).collect()
}

/// Returns the stack and the arguments of each event, all of which are samples without losses.
fn samples(text: &str) -> Vec<(String, String)> {
    let reading = read(text);
    assert_eq!(reading.lost(), [], "{text}");
    let of = |event: &ReadEvent| {
        assert_eq!(event.kind, EventKind::Sample, "{text}");
        (event.stack.join(";"), event.args.clone())
    };
    reading.events.iter().map(of).collect()
}

#[test]
fn instructions_without_stacks_are_samples() {
    let text = "              ls 1443864 [006] 2275506.209908875:      7f216b426100 _start+0x0 (/usr/lib/x86_64-linux-gnu/ld-2.31.so) insn: 48 89 e7\n\
        \x20             ls 1443864 [006] 2275506.209908875:      7f216b426103 _start+0x3 (/usr/lib/x86_64-linux-gnu/ld-2.31.so) insn: e8 e8 0c 00 00\n";
    let start = ("_start".to_owned(), r#"{"cpu":6}"#.to_owned());
    assert_eq!(samples(text), [start.clone(), start]);
}

#[test]
fn disassembled_instructions_are_cut_off() {
    let text = "           pushw   10349 [000] 10586.869237014:            401000 [unknown] (/home/ahunter/pushw)           pushw $0x1234\n\
        \x20          pushw   10349 [000] 10586.869237014:            401006 [unknown] (/home/ahunter/pushw)           movl $0x1, %eax\n";
    let pushw = ("[pushw]".to_owned(), r#"{"cpu":0}"#.to_owned());
    assert_eq!(samples(text), [pushw.clone(), pushw]);
}

#[test]
fn a_frame_without_an_event_and_a_cpu_is_a_sample() {
    let text = "prog  1234/1234  100.000001:  ffff81 foo+0x10 ([kernel.kallsyms])\n\
        prog  1234/1234  100.000002:  ffff82 bar (/bin/prog)\n";
    assert_eq!(format_of(text.as_bytes()), Some("perf script"));
    assert_eq!(samples(text), ["foo", "bar"].map(|name| (name.to_owned(), String::new())));
}

#[test]
fn physical_addresses_and_page_sizes_are_not_callers() {
    let sample = |after: &str| {
        format!("a 8 [001] 1.000001: 5 cycles: \n\t    55aa f+0x1 (/x)\n\t    55bb main+0x1 (/x)\n{after}\n")
    };
    for after in ["        12345000 4K 4K\n", "        12345000\n", " 4K N/A\n", "               0 2M 1G\n"] {
        let found = samples(&sample(after).repeat(2));
        assert_eq!(found.len(), 2, "{after}");
        assert!(found.iter().all(|(stack, _)| stack == "main;f"), "{after} {found:?}");
    }
    let on_line = "a 8 [001] 1.000001: 5 cycles:      55aa f+0x1 (/x)         12345000 4K 4K\n";
    assert_eq!(samples(on_line)[0].0, "f");
}

#[test]
fn the_control_group_of_a_sample_is_an_argument() {
    let frames = "\t           8474d jsimd\n\t    55af68e62fff [unknown]\n";
    let on_header = format!("    jpegtran:23f4bf 3321915 [031] 404718.592073:  /idle.slice/polish.service\n{frames}\n");
    let below = format!("    jpegtran:23f4bf 3321915 [031] 404718.592073: \n{frames} /idle.slice/polish.service\n");
    for text in [on_header, below] {
        let expected = ("[unknown];jsimd", r#"{"cpu":31,"cgroup":"/idle.slice/polish.service"}"#);
        let expected = (expected.0.to_owned(), expected.1.to_owned());
        assert_eq!(samples(&text.repeat(2)), [expected.clone(), expected], "{text}");
    }
    let named = format!("a 8 [001] 1.000001: 5 cycles:  unknown\n{frames}\n");
    let expected = r#"{"event":"cycles","period":5,"cpu":1,"cgroup":"unknown"}"#;
    assert_eq!(samples(&named), [("[unknown];jsimd".to_owned(), expected.to_owned())]);
}

#[test]
fn the_time_of_day_before_the_time_is_not_a_name() {
    let text =
        "perf  1234/1235 [000] 2020-07-13 18:26:55.620971   52.100001:          1 cycles: \n\t    55aa f+0x1 (/x)\n\n";
    let reading = read(text);
    let sample = &reading.events[0];
    assert_eq!((sample.ts_ns, sample.track.tid.to_string()), (52_100_001_000, "1235".to_owned()));
    assert_eq!(samples(text), [("f".to_owned(), r#"{"event":"cycles","period":1,"cpu":0}"#.to_owned())]);
}

#[test]
fn numbers_of_power_events_are_not_addresses() {
    let text = "           uname  7134 [000]  1234.567891:                      cbr:   cbr: 22 freq: 2189 MHz (200%)      7f6f4c3b5a47 __mmap64+0x17 (/usr/lib/libc.so.6)\n\
        \x20          uname  7134 [000]  1234.567892:                      evt:   IRQ vector: 236 (interrupt)                   0 [unknown] ([unknown])\n";
    let found = samples(text);
    assert_eq!(
        found[0],
        ("__mmap64".to_owned(), r#"{"event":"cbr","cpu":0,"fields":"cbr: 22 freq: 2189 MHz (200%)"}"#.to_owned())
    );
    assert_eq!(
        found[1],
        ("[unknown]".to_owned(), r#"{"event":"evt","cpu":0,"fields":"IRQ vector: 236 (interrupt)"}"#.to_owned())
    );
    let bare = read("uname 7134 [000] 1.5: cbr:  cbr: 22 freq: 2189 MHz (200%)\n");
    assert_eq!((bare.events[0].kind, &*bare.events[0].name), (EventKind::Instant, "cbr"));
}

#[test]
fn traced_calls_are_named_after_their_functions() {
    let reading = read(
        " uname   30805 [000] 24001.058784629: ([kernel.kallsyms])            down_read\n\
         \x20uname   30805 [000] 24001.058784630:   return ([kernel.kallsyms])                print\n",
    );
    let instant = EventKind::Instant;
    let expected = [
        (24_001_058_784_629, instant, "down_read", String::new(), r#"{"fields":"([kernel.kallsyms])","cpu":0}"#),
        (24_001_058_784_630, instant, "print", String::new(), r#"{"fields":"return ([kernel.kallsyms])","cpu":0}"#),
    ];
    assert_eq!((shown(&reading), reading.lost()), (expected.to_vec(), vec![]));
}

#[test]
fn messages_between_the_samples_are_notes_and_lost_chunks_are_losses() {
    let sample = "a 8 [001] 1.000001: 5 cycles: \n\t    55aa f+0x1 (/x)\n\n";
    let text = format!(
        "Warning:\nProcessed 12 events and lost 3 chunks!\n\nCheck IO/CPU overload!\n\n{sample}1 out of order events recorded.\n{sample}"
    );
    let reading = read(&text);
    assert_eq!(reading.events.len(), 2);
    assert_eq!(reading.lost(), [(Loss::IgnoredMetadata, 3), (Loss::RecorderLost, 3)]);
}

#[test]
fn a_first_sample_of_an_unknown_task_is_not_read_as_ftrace() {
    let text = "             :-1    -1 [000]  100.000001:   10101010 cpu-clock:ppp: \n\tffff1 run (/bin/a)\n\n\
                a  7 [000]  100.000002:   10101010 cpu-clock:ppp: \n\tffff1 run (/bin/a)\n\n";
    assert_eq!(format_of(text.as_bytes()), Some("perf script"));
    let reading = read(text);
    assert_eq!((reading.events.len(), reading.lost()), (2, vec![]));
    let traced = "            bash-977 [000] 17284.993652: 0: printed by a program\n";
    assert_eq!(format_of(traced.as_bytes()), Some("ftrace"));
}

#[test]
fn samples_without_call_chains_and_files_have_their_function() {
    let sample = |line: &str| read(&format!("{line}\n").repeat(2)).events;
    for (line, event) in [
        ("bash 28325 58335.640504: cpu-clock:  ffffffff815fd38b f", r#"{"event":"cpu-clock"}"#),
        ("bash 28325/28325 58335.640504:  ffffffff815fd38b f", ""),
        ("bash 58335.640504: 7 cycles:u:           401136 f", r#"{"event":"cycles:u","period":7}"#),
    ] {
        let events = sample(line);
        assert_eq!(events.len(), 2, "{line}");
        assert_eq!(
            (events[0].kind, &events[0].stack[..], &*events[0].args),
            (EventKind::Sample, &["f".to_owned()][..], event)
        );
    }
    let data = sample(
        "ls 20308 58202.300853: 1 page-faults:     55e6a590a5c0 name+0x0 (/usr/bin/ls) ffffffff8175336a elf_load+0x28a ([kernel.kallsyms])               0",
    );
    assert_eq!((&data[0].stack[..], data[0].kind), (&["elf_load".to_owned()][..], EventKind::Sample));
    // A single line of a log may look like a sample without an event.
    assert_eq!(format_of(b"service 12 12.5: 123456a items\nother text\n"), None);
}
