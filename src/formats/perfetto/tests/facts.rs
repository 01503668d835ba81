//! Facts about the system, processes and threads.

use super::encode::{Message, clock, message, packet, thread};
use super::read;
use crate::model::facts::{Subject, TraceFact};
use crate::model::{Id, Metadata};

fn facts(packets: impl IntoIterator<Item = Message>) -> Vec<TraceFact> {
    let metadata = read(packets).metadata.into_iter();
    let facts = metadata.filter_map(|metadata| if let Metadata::Fact { fact } = metadata { Some(*fact) } else { None });
    facts.collect()
}

fn of_process(pid: i64) -> Subject {
    Subject::Process(Id::Number(pid))
}

#[test]
fn the_system_is_that_of_the_first_machine() {
    let names = message().bytes(1, "Linux").bytes(2, "#1 SMP").bytes(3, "6.1.0").bytes(4, "aarch64");
    let system = |names: Message| message().number(10, 1).message(45, message().message(1, names));
    let whole = message().message(1, names).bytes(2, "google/pixel").number(5, 34).number(16, 11_900_000_000);
    let found = facts([message().number(10, 1).message(45, whole), system(message().bytes(1, "Darwin")).number(98, 7)]);
    let text = |key, text| TraceFact::text(Subject::Recording, key, text);
    let number = |key, number| TraceFact::number(Subject::Recording, key, number);
    let expected = [
        text("system_name", "Linux"),
        text("system_version", "#1 SMP"),
        text("system_release", "6.1.0"),
        text("system_machine", "aarch64"),
        text("android_build_fingerprint", "google/pixel"),
        number("android_sdk_version", 34),
        number("system_ram_bytes", 11_900_000_000),
        number("system_ram_gb", 12),
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_process_has_its_command_line_and_the_time_of_its_start_on_the_clock_of_the_trace() {
    let process = message().number(1, 7).bytes(3, "/bin/app").bytes(3, "-v").number(5, 1000).number(7, 50).number(8, 0);
    let tree = || message().number(10, 1).message(2, message().message(1, process.clone()));
    let expected = |start_ns: Option<i64>| {
        let start = start_ns.map(|start_ns| TraceFact::number(of_process(7), "start_ts", start_ns));
        let facts = [TraceFact::text(of_process(7), "cmdline", "/bin/app -v")].into_iter().chain(start);
        let others = [TraceFact::number(of_process(7), "uid", 1000), TraceFact::number(of_process(7), "is_kthread", 0)];
        facts.chain(others).collect::<Vec<_>>()
    };
    assert_eq!(facts([tree()]), expected(Some(50)), "the clock of a trace that names none");
    // A monotonic clock that is 30 ns behind the time since the boot.
    let snapshot = message().message(1, clock(3, 1000)).message(1, clock(6, 1030)).number(2, 3);
    let snapshot = message().number(10, 1).message(6, snapshot);
    assert_eq!(facts([snapshot, tree()]), expected(Some(20)));
    let foreign = message().message(1, clock(3, 1000)).number(2, 3);
    assert_eq!(
        facts([message().number(10, 1).message(6, foreign), tree()]),
        expected(None),
        "no path between the clocks"
    );
}

#[test]
fn the_app_of_a_program_of_chromium_and_the_first_trigger_are_facts() {
    let chrome = message().number(1, 5).message(3, message().number(1, 9)).message(6, message().bytes(4, "com.app"));
    let trigger = |ts_ns, name: &str| packet(ts_ns).message(46, message().bytes(1, name));
    let found = facts([
        message().number(10, 1).message(60, chrome),
        thread(6, 9, 9, "main"),
        trigger(20, "second"),
        trigger(10, "first"),
        trigger(30, "third"),
    ]);
    let expected = [
        TraceFact::text(of_process(9), "chrome.host_app_package_name", "com.app"),
        TraceFact::text(Subject::Recording, "trace_trigger", "second"),
        TraceFact::text(Subject::Recording, "trace_trigger", "first"),
    ];
    assert_eq!(found, expected, "the last one wins");
}

#[test]
fn a_thread_of_another_kernel_has_its_start_and_its_end() {
    let change = |ts_ns, state| packet(ts_ns).message(117, message().bytes(2, "task").number(3, 101).number(4, state));
    let found = facts([change(1, 1), change(2, 3), change(3, 7), change(4, 8)]);
    let thread = Subject::Thread(Id::Number(101), Id::Number(101));
    assert_eq!(found, [TraceFact::number(thread.clone(), "start_ts", 1), TraceFact::number(thread, "end_ts", 4)]);
}
