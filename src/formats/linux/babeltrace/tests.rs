//! Tests of the whole reader, on a recorded trace and on lines of other tracers.

use std::fmt::Write as _;

use crate::formats::testing::{ReadEvent, Reading, data, format_of, read, read_bytes, read_path, unpacked};
use crate::model::{EventFlags, EventKind, Id, Loss, Metadata, TrackKind};

/// Writes lines of the kernel with these times in nanoseconds, on CPU 0 of one host.
fn kernel(events: &[(u32, &str)]) -> String {
    let mut text = String::new();
    for (ns, event) in events {
        let (name, fields) = event.split_once(' ').expect("a name");
        writeln!(text, "[00:00:00.{ns:09}] (+0.000000001) vm {name}: {{ cpu_id = 0 }}, {fields}").expect("into memory");
    }
    text
}

/// Returns time, kind, name and arguments of the events of a kind.
fn of_kind(reading: &Reading, kind: EventKind) -> Vec<(i64, u64, &str, &str)> {
    let events = reading.events.iter().filter(|event| event.kind == kind);
    events.map(|event| (event.ts_ns, event.value, &*event.name, &*event.args)).collect()
}

fn row(event: &ReadEvent) -> (Id, Id) {
    (event.track.pid.clone(), event.track.tid.clone())
}

#[test]
fn a_recorded_trace_has_its_events_functions_and_threads() {
    let reading = read_path(&data("babeltrace.txt.gz")).expect("a capture");
    let text = unpacked("babeltrace.txt.gz");
    let count = |name: &str| text.lines().filter(|line| line.contains(name)).count();
    let kinds = |kind: EventKind| reading.events.iter().filter(|event| event.kind == kind).count();
    assert_eq!(kinds(EventKind::Begin), count(":func_entry: "));
    assert_eq!(kinds(EventKind::End), count(":func_exit: "));
    let dumps = count("statedump:end: ");
    assert_eq!(kinds(EventKind::Complete), dumps);
    assert_eq!(reading.events.len(), text.lines().count() - dumps);
    let functions = reading.events.iter().filter(|event| event.kind == EventKind::Begin);
    assert!(functions.clone().all(|event| event.name.starts_with("cyg+0x")), "{:?}", reading.names());
    let jobs: Vec<_> = reading.events.iter().filter(|event| event.name == "demo:job").collect();
    assert_eq!(jobs.len(), count(" demo:job: "));
    assert_eq!(jobs[1].args, r#"{"id":1,"name":"thread, \"q\" }","d":0.5,"arr":[1],"cpu":0}"#);
    let rows: std::collections::BTreeSet<_> = jobs.iter().map(|job| row(job)).collect();
    assert_eq!(rows.len(), 2, "threads of one process: {rows:?}");
    let names = reading.metadata.iter().filter_map(|said| match said {
        Metadata::KernelName { name, .. } => Some(&**name),
        _ => None,
    });
    assert_eq!(names.collect::<std::collections::BTreeSet<_>>(), ["cyg", "cyg-ust", "tp", "tp-ust"].into());
    assert_eq!(reading.lost(), []);
}

#[test]
fn functions_are_located_in_the_files_that_their_process_has_loaded() {
    let line = |vpid: u32, name: &str, fields: &str| {
        format!(
            "[00:00:01.000000000] vm lttng_ust_{name}: {{ cpu_id = 0 }}, {{ vpid = {vpid}, vtid = {vpid} }}, {fields}\n"
        )
    };
    let text = [
        line(
            1,
            "statedump:bin_info",
            r#"{ baddr = 0x1000, memsz = 4096, path = "/bin/a", is_pic = 1, has_build_id = 1 }"#,
        ),
        line(
            1,
            "statedump:build_id",
            "{ baddr = 0x1000, _build_id_length = 2, build_id = [ [0] = 0x93, [1] = 0xAC ] }",
        ),
        line(1, "lib:load", r#"{ baddr = 0x400000, memsz = 256, path = "/bin/b", is_pic = 0 }"#),
        line(1, "cyg_profile:func_entry", "{ addr = 0x1010, call_site = 0x1 }"),
        line(1, "cyg_profile:func_entry", "{ addr = 0x400010, call_site = 0x1 }"),
        line(2, "cyg_profile:func_entry", "{ addr = 0x1010, call_site = 0x1 }"),
        line(1, "cyg_profile:func_exit", "{ addr = 0x400010, call_site = 0x1 }"),
        line(1, "cyg_profile_fast:func_exit", "{ }"),
    ];
    let reading = read(&text.concat());
    let begins: Vec<_> = of_kind(&reading, EventKind::Begin).into_iter().map(|(.., name, args)| (name, args)).collect();
    let args = r#"{"addr":"0x1010","call_site":"0x1","cpu":0}"#;
    let other = r#"{"addr":"0x400010","call_site":"0x1","cpu":0}"#;
    assert_eq!(begins, [("a+0x10", args), ("b+0x400010", other), ("0x1010", args)]);
    let ends: Vec<_> = of_kind(&reading, EventKind::End).iter().map(|end| end.2).collect();
    assert_eq!(ends, ["b+0x400010", ""]);
    let modules: Vec<_> = reading
        .metadata
        .iter()
        .filter_map(|said| match said {
            Metadata::Module { module } => Some((&*module.path, module.build_id.as_ref().map(ToString::to_string))),
            _ => None,
        })
        .collect();
    assert_eq!(modules, [("/bin/a", Some("93ac".to_owned())), ("/bin/b", None)]);
}

#[test]
fn events_of_the_kernel_are_those_of_the_running_thread() {
    let switch = |previous: u32, state: &str, next: u32| {
        format!(
            "sched_switch {{ prev_comm = \"c{previous}\", prev_tid = {previous}, prev_prio = 20, prev_state = {state}, next_comm = \"c{next}\", next_tid = {next}, next_prio = 20 }}"
        )
    };
    let (to, away) = (switch(0, "( \"TASK_RUNNING\" : container = 0 )", 5), switch(5, "1", 0));
    let reading = read(&kernel(&[
        (5, "syscall_entry_open { }"),
        (10, "lttng_statedump_process_state { tid = 5, pid = 4, name = \"c5\" }"),
        (20, &to),
        (21, "syscall_entry_read { fd = 3, buf = 0x7F }"),
        (22, "irq_handler_entry { irq = 9, name = \"eth0\" }"),
        (23, "softirq_entry { vec = 3 }"),
        (24, "sched_waking { comm = \"c6\", tid = 6, prio = 20, target_cpu = 1 }"),
        (25, "softirq_exit { vec = 3 }"),
        (26, "irq_handler_exit { irq = 9, ret = 1 }"),
        (27, "syscall_exit_read { ret = -1, buf = 0x7E }"),
        (28, "page_fault_user { address = 0x1 }"),
        (29, &away),
        (30, "kmem_kfree { ptr = 0x2 }"),
    ]));
    let on = |name: &str| reading.events.iter().find(|event| event.name == name).map(row);
    let (thread, cpu) = ((Id::Number(4), Id::Number(5)), (Id::Text("vm".into()), Id::Text("CPU 0".into())));
    assert_eq!(on("sys_read"), Some(thread.clone()));
    assert_eq!(on("page_fault_user"), Some(thread));
    assert_eq!([on("syscall_entry_open"), on("kmem_kfree")], [Some(cpu.clone()), Some(cpu)]);
    assert_eq!(on("IRQ (eth0)"), Some((Id::None, Id::Text("Irq Cpu 0".into()))));
    let spans = [
        (20, 9, "c5", r#"{"pid":4,"tid":5,"prio":20,"end_state":"S"}"#),
        (22, 4, "IRQ (eth0)", r#"{"irq":9,"name":"eth0","cpu":0,"ret":1}"#),
        (23, 2, "NET_RX", r#"{"vec":3,"cpu":0}"#),
    ];
    assert_eq!(of_kind(&reading, EventKind::Complete), spans);
    assert_eq!(of_kind(&reading, EventKind::Begin), [(21, 0, "sys_read", r#"{"fd":3,"buf":"0x7F","cpu":0}"#)]);
    assert_eq!(of_kind(&reading, EventKind::End), [(27, 0, "sys_read", r#"{"ret":-1,"buf":"0x7E","cpu":0}"#)]);
    let states: Vec<_> = of_kind(&reading, EventKind::State).into_iter().map(|(ts, _, name, _)| (ts, name)).collect();
    assert_eq!(states, [(20, "Running"), (24, "Runnable"), (29, "Sleeping")]);
    assert_eq!(reading.lost(), []);
    // Old versions do not name the call that ends.
    let old = read(&kernel(&[
        (1, &to),
        (2, "sys_geteuid { }"),
        (3, "exit_syscall { ret = 0 }"),
        (4, "exit_syscall { ret = 7 }"),
    ]));
    assert_eq!(of_kind(&old, EventKind::Begin)[0].2, "sys_geteuid");
    assert_eq!(of_kind(&old, EventKind::End).len(), 1);
    assert_eq!(of_kind(&old, EventKind::Instant)[0].2, "exit_syscall");
}

#[test]
fn pairs_are_spans_and_events_that_only_look_like_pairs_are_instants() {
    let line = |ns: u32, tid: u32, name: &str, fields: &str| {
        format!(
            "[00:00:00.{ns:09}] (+0.000000001) vm {name}: {{ cpu_id = {tid} }}, {{ vpid = 7, vtid = {tid}, ip = 0x1 }}, {fields}\n"
        )
    };
    let text = [
        line(1, 8, "a:f_entry", "{ n = 2 }"),
        line(2, 9, "a:f_entry", "{ n = 1 }"),
        line(3, 8, "a:f_entry", "{ n = 1 }"),
        line(4, 8, "a:f_exit", "{ }"),
        line(5, 8, "a:f_exit", "{ n = 2, ret = \"x\" }"),
        line(6, 8, "a:f_exit", "{ n = 2 }"),
        line(7, 8, "log_entry", "{ text = \"y\" }"),
        line(8, 8, "g_begin", "{ n = 1 }"),
        line(9, 8, "g_end", "{ m = 1, n = 3 }"),
    ];
    let reading = read(&text.concat());
    let spans = [
        (1, 4, "a:f", r#"{"n":2,"ip":"0x1","cpu":8,"ret":"x"}"#),
        (3, 1, "a:f", r#"{"n":1,"ip":"0x1","cpu":8}"#),
        (8, 1, "g", r#"{"n":1,"ip":"0x1","cpu":8,"m":1,"exit.n":3}"#),
    ];
    assert_eq!(of_kind(&reading, EventKind::Complete), spans);
    let instants: Vec<_> = of_kind(&reading, EventKind::Instant).iter().map(|event| (event.0, event.2)).collect();
    assert_eq!(instants, [(6, "a:f_exit"), (7, "log_entry")]);
    let unfinished = of_kind(&reading, EventKind::Begin);
    assert_eq!(unfinished, [(2, 0, "a:f", r#"{"n":1,"ip":"0x1","cpu":9}"#)]);
    assert_eq!(reading.lost(), []);
}

#[test]
fn the_fields_of_a_pair_are_merged_in_one_pass() {
    // A pass for each of them would take tens of seconds.
    let fields = |value: u32| (0..60_000).map(|key| format!("k{key:05} = {value}")).collect::<Vec<_>>().join(", ");
    let events =
        [(1, format!("x_entry {{ id = 1, {} }}", fields(2))), (2, format!("x_exit {{ id = 1, {} }}", fields(2)))];
    let reading = read(&kernel(&events.each_ref().map(|(ns, event)| (*ns, &**event))));
    assert_eq!(of_kind(&reading, EventKind::Complete).len(), 1);
    assert_eq!(reading.lost(), []);
}

#[test]
fn rows_are_threads_processes_or_cpus_of_hosts() {
    let reading = read(
        "[00:00:01.000000000] one e1: { cpu_id = 2 }, { x = 1 }\n\
         [00:00:01.000000001] one p:e2: { cpu_id = 2 }, { vpid = 5 }, { }\n\
         [00:00:01.000000002] two p:e3: { cpu_id = 2 }, { vpid = 5, vtid = 6, procname = \"w\" }, { }\n\
         [00:00:01.000000003] two e4: { cpu_id = 2 }, { prev_tid = 0, next_tid = 5 }\n\
         [00:00:01.000000004] e5: { }\n",
    );
    let rows: Vec<_> = reading.events.iter().map(row).collect();
    let (text, number) = (|text: &str| Id::Text(text.into()), Id::Number);
    let expected = [
        (text("one"), text("CPU 2")),
        (number(5), number(5)),
        (text("5 in two"), number(6)),
        (text("two"), text("CPU 2")),
        (text("events"), Id::None),
    ];
    assert_eq!(rows, expected);
    assert!(reading.events.iter().all(|event| event.track.kind == TrackKind::Thread));
    assert_eq!(reading.lost(), []);
}

#[test]
fn damage_and_warnings_are_counted_with_their_positions() {
    let good = "[00:00:01.000000000] vm e: { cpu_id = 0 }, { x = 1 }\r\n";
    let text = format!(
        "\u{feff}Trace directory: /x\n\n{good}plain text\n[00:00:01.000000000] vm e: {{ cpu_id = 0 }}, {{ x = \"\n\
         [warning] Tracer discarded 12 events between [1] and [2] in trace UUID x\n\
         [??:??:??.?????????] vm e: {{ }}\n\x1b[0m[00:00:02.000000000] vm \x1b[1m{}\x1b[0m: {{ x = \"\\xff\" }}\nvm e",
        "n".repeat(500)
    );
    let reading = read(&text);
    let times: Vec<_> = reading.events.iter().map(|event| event.ts_ns / 1_000_000).collect();
    assert_eq!(times, [1000, 1000, 2000]);
    assert_eq!(reading.events[2].name.len(), 500);
    let lost = [(Loss::BadRecord, 2), (Loss::Truncated, 1), (Loss::RecorderLost, 12), (Loss::NoTimes, 1)];
    assert_eq!(reading.lost(), lost);
    let first = reading.losses.iter().find(|lost| lost.loss == Loss::BadRecord).map(|lost| lost.first);
    assert_eq!(first, Some(crate::model::SourcePos::Offset(text.find("plain").expect("there") as u64)));
}

#[test]
fn a_text_that_is_cut_anywhere_keeps_the_lines_before_the_cut() {
    let text = kernel(&[(1, "a { x = 1 }"), (2, "b { s = \"t\" }"), (3, "c { v = [ [0] = 1 ] }")]);
    for len in 30..text.len() {
        let Ok(reading) = read_bytes(&text.as_bytes()[..len]) else { continue };
        let lines = text[..len].matches('\n').count();
        assert!((lines..=lines + 1).contains(&reading.events.len()), "{len}");
        let has_rest = !text[..len].ends_with('\n');
        assert_eq!(reading.losses.total(), u64::from(has_rest), "{len}: {:?}", reading.lost());
    }
}

#[test]
fn similar_logs_are_not_taken_for_events() {
    for text in [
        "[10:15:20.123456789] started\n",
        "[10:15:20] (+0.1) vm e: { }\n",
        "10:15:20.123456789 vm e: { }\n",
        "[    0.000000] x: { }\n",
        "timestamp = 5, name = x, { }\n",
    ] {
        assert_ne!(format_of(text.as_bytes()), Some("babeltrace"), "{text}");
    }
    assert_eq!(format_of(b"[10:15:20.123456789] (+?.?????????) vm e: { cpu_id = 1 }, { }\n"), Some("babeltrace"));
}

#[test]
fn entries_and_exits_of_any_event_are_spans() {
    let reading = read(&kernel(&[(1, "x_entry { }"), (2, "x_exit { }"), (3, "x_entry { }")]));
    let events: Vec<_> = reading.events.iter().map(|event| (&*event.name, event.kind, event.flags)).collect();
    let expected = [EventKind::Complete, EventKind::Begin].map(|kind| ("x", kind, EventFlags::NONE));
    assert_eq!(events, expected);
}

/// Two hosts have a thread with the same id on the CPU with the same number.
#[test]
fn each_host_has_its_own_threads_cpus_calls_and_interrupts() {
    let alone = kernel(&[
        (10, r#"sched_switch { prev_tid = 0, prev_state = 0, next_comm = "app", next_tid = 7, next_prio = 20 }"#),
        (20, "syscall_entry_read { fd = 3 }"),
        (25, "irq_handler_entry { irq = 9 }"),
        (26, "irq_handler_exit { irq = 9 }"),
        (30, "syscall_exit_read { ret = 1 }"),
        (40, r#"sched_switch { prev_tid = 7, prev_state = 1, next_comm = "swapper", next_tid = 0 }"#),
    ]);
    let both: Vec<String> = alone.lines().flat_map(|line| [line.to_owned(), line.replace(" vm ", " other ")]).collect();
    let (alone, both) = (read(&alone), read(&(both.join("\n") + "\n")));
    let of = |reading: &Reading, is_other: bool| {
        let number = |pid: &Id| pid.number().map_or(Id::None, Id::Number);
        let events = reading.events.iter().filter(|event| matches!(event.track.pid, Id::Text(_)) == is_other);
        let mut events: Vec<_> = events
            .map(|event| {
                let (pid, kind, tid) = (number(&event.track.pid), event.track.kind, event.track.tid.clone());
                (event.ts_ns, event.kind as u8, event.name.clone(), event.value, kind as u8, format!("{pid:?} {tid:?}"))
            })
            .collect();
        events.sort();
        events
    };
    let expected = of(&alone, false);
    assert!(expected.len() > 5 && of(&alone, true).is_empty(), "{expected:?}");
    assert_eq!((of(&both, false), of(&both, true)), (expected.clone(), expected));
    assert_eq!((alone.lost(), both.lost()), (vec![], vec![]));
}

/// Lines of a trace of one process, as the versions 1 and 2 print them with and without all fields.
#[test]
fn the_process_and_the_host_are_those_of_the_header_whatever_fields_it_has() {
    let (time, groups) = ("16:17:32.000001150", "{ cpu_id = 0 }, { x = 1 }");
    for origin in [
        "beta:app:77",
        "beta:app:(77)",
        "/tmp/two/kernel beta:ust:app:77:TRACE_DEBUG_LINE (13)",
        "beta/kernelbeta:ust:app:(77):TRACE_DEBUG_LINE (13)",
        "/tmp/one/kernel beta:ust:app:77:\"http://example.org\"",
    ] {
        let reading = read(&format!("[{time}] (+?.?????????) {origin} my_app:job: {groups}\n"));
        assert_eq!(row(&reading.events[0]), (Id::Number(77), Id::Number(77)), "{origin}");
        assert!(
            reading.metadata.iter().any(|said| matches!(said, Metadata::KernelName { name, .. } if &**name == "app"))
        );
    }
    for (origin, host) in
        [("/tmp/one/kernel alpha:kernel", "alpha"), ("alpha/kernelalpha:kernel", "alpha"), ("a/b", "a/b")]
    {
        let reading = read(&format!("[{time}] (+?.?????????) {origin} e: {groups}\n"));
        assert_eq!(row(&reading.events[0]).0, Id::Text(host.into()), "{origin}");
    }
    let named = format!(
        "timestamp = {time}, delta = +?.?????????, trace = /tmp/two/kernel, trace:hostname = beta, trace:domain = ust, trace:procname = app, trace:vpid = 77, loglevel = TRACE_DEBUG_LINE (13), name = my_app:job, stream.packet.context = {{ cpu_id = 0 }}, event.fields = {{ x = 1 }}\n"
    );
    for named in [named.replace("= 77", "= (77)"), named] {
        assert_eq!(row(&read(&named).events[0]), (Id::Number(77), Id::Number(77)));
    }
}

#[test]
fn texts_whose_quotes_have_no_backslash_are_read() {
    let line = |fields: &str| format!("[00:00:01.000000000] vm e: {{ cpu_id = 0 }}, {{ {fields} }}\n");
    for (fields, expected) in [
        (r#"text = "he said "x", { y }", seq = [ [0] = 1 ]"#, r#"{"text":"he said \"x\", { y }","seq":[1],"cpu":0}"#),
        (r#"a = "C:\", b = "say "hi"""#, r#"{"a":"C:\\","b":"say \"hi\"","cpu":0}"#),
        (r#"[ [0] = "a"b", [1] = "c" ]"#, r#"{"0":["a\"b","c"],"cpu":0}"#),
        (r#""say "hi" now", 3"#, r#"{"0":"say \"hi\" now","1":3,"cpu":0}"#),
    ] {
        let reading = read(&line(fields));
        assert_eq!(reading.lost(), [], "{fields}");
        assert_eq!(reading.events[0].args, expected);
    }
}

#[test]
fn events_of_more_hosts_than_a_trace_has_are_shown_and_counted() {
    let line = |host| format!("[00:00:01.000000000] h{host} e: {{ cpu_id = 1 }}, {{ vtid = 5 }}, {{ }}\n");
    let lines: Vec<String> = (0..1100).map(line).collect();
    let reading = read(&lines.concat());
    assert_eq!((reading.events.len(), reading.lost()), (1100, vec![(Loss::OverLimit, 1100 - 64)]));
}
