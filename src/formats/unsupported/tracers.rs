//! Unsupported recordings and logs of tracers, profilers and build tools that few people open.

use super::bytes::{first_line_has, has_line, has_word};
use super::table::Sniff::{Head, Keys};
use super::table::{UnsupportedFormat, both, head, keys};
use crate::formats::RefusedKind;
use crate::formats::input::decimal::nanos_from_seconds;
use crate::formats::input::lines::head_lines;

const GHC: RefusedKind = RefusedKind::new(
    "a profile of a Haskell program (GHC)",
    "record with `PROGRAM +RTS -p -l-au`, convert the .eventlog with `hs-speedscope`, and open the .eventlog.json",
);

/// JSON documents, identified by their keys.
pub(super) const DOCUMENTS: &[UnsupportedFormat] = &[
    keys(
        &["[].scheme", "[].times", "[].durations"],
        "a session of Charles (chlsj)",
        "export it from Charles as an HTTP archive (HAR), which is read",
    ),
    both(
        &["[].id", "[].recursionId", "[].flags"],
        |head| !has_word(head, b"\"ph\""),
        "the types of TypeScript's --generateTrace",
        "open the file trace.json beside it, which is read",
    ),
    keys(
        &["[].tracePath", "[].typesPath"],
        "the legend of TypeScript's --generateTrace",
        "open the file trace.json beside it, which is read",
    ),
    keys(
        &["[].Mode", "[].Objdir", "[].TimeReady"],
        "the actions of Go's builds (-debug-actiongraph)",
        "build with `go build -debug-trace=trace.json` and open trace.json",
    ),
    both(
        &["inputs", "outputs"],
        |head| has_word(head, b"\"bytes\"") && has_word(head, b"\"imports\""),
        "a metafile of esbuild",
        "it contains sizes and no times; `esbuild --analyze` prints it",
    ),
    keys(
        &["name", "value", "children[].name", "children[].value"],
        "a flame graph of d3 (JSON)",
        "open the stacks that it was made from",
    ),
    keys(
        &["timestamp", "level", "fields", "target"],
        "a log of Rust's tracing-subscriber (JSON)",
        "record the spans with the crate tracing-chrome, and open its trace",
    ),
    UnsupportedFormat { sniff: Keys(&["program", "rts_arguments", "end_time", "cost_centres"]), refused: GHC },
    keys(
        &["devToolsSnapshot", "activeScreenId"],
        "a snapshot of the DevTools of Dart and Flutter",
        "the member `traceEvents` below `performance` is Chrome JSON: save it with `jq .performance FILE > trace.json`",
    ),
    both(
        &["type", "data", "metric"],
        |head| has_word(head, b"\"Metric\"") && has_word(head, b"\"thresholds\""),
        "measurements of k6",
        "it contains values and no spans; record spans with k6's option `--traces-output`",
    ),
    head(
        |head| head.starts_with(b"{\"reason\":\"") && has_word(head, b"\"reason\":\"timing-info\""),
        "timings of cargo (JSON)",
        "run `cargo build --timings`, and open target/cargo-timings/cargo-timing.html",
    ),
];

/// Formats that are only tried after all others.
pub(super) const TRACERS: &[UnsupportedFormat] = &[
    UnsupportedFormat {
        sniff: Head(|head| first_line_has(head, &["Time and Allocation Profiling Report"])),
        refused: GHC,
    },
    head(
        |head| head.starts_with(b"QPERFSTREAM"),
        "a profile that Hotspot saved (.perfparser)",
        "open the perf.data that it was made from, which is read",
    ),
    head(
        |head| first_line_has(head, &["time: ", "; rss: "]),
        "output of rustc's -Ztime-passes",
        "build with `-Zself-profile`, and convert the .mm_profdata with `crox`",
    ),
    head(
        |head| head.starts_with(b"--------- beginning of "),
        "a log of Android (logcat)",
        "it contains messages and no spans; record a trace with `perfetto` or `atrace`",
    ),
    head(
        |head| has_line(head, b"%EventDef PajeDefineContainerType"),
        "a trace of Paje",
        "`pj_dump` of PajeNG prints it as a table, and ViTE shows it; no known tool converts it",
    ),
    head(
        is_blkparse,
        "output of blkparse",
        "record with `trace-cmd record -e block`, and open what `trace-cmd report` prints",
    ),
    head(
        is_sysdig,
        "output of sysdig",
        "no known tool converts it; `strace -f -ttt -T -o trace.txt -p PID` records system calls",
    ),
    head(
        is_kdump,
        "output of kdump, of ktrace",
        "no known tool converts it; `strace -f -ttt -T -o trace.txt PROGRAM` records system calls on Linux",
    ),
    head(
        |head| first_line_has(head, &["SYSCALL(args)", "= return"]),
        "output of dtruss",
        "no known tool converts it; `samply record PROGRAM` records samples on macOS",
    ),
    head(
        is_truss,
        "output of truss",
        "no known tool converts it; `strace -f -ttt -T -o trace.txt PROGRAM` records system calls on Linux",
    ),
    head(
        is_fs_usage,
        "output of fs_usage",
        "no known tool converts it; `samply record PROGRAM` records samples on macOS",
    ),
    head(
        is_syslog,
        "a log of the system (journalctl, syslog)",
        "it contains messages and no spans; `systemd-analyze plot` draws the start of the system",
    ),
    head(
        |head| head.starts_with(b"hdrb"),
        "an event log of GHC",
        "convert it with `hs-speedscope CAPTURE`, if it was recorded with `+RTS -p -l-au`",
    ),
    head(
        |head| first_line_has(head, &["sample.interval="]),
        "a profile of R (Rprof)",
        "convert it in R: `profile::write_pprof(profile::read_rprof(\"Rprof.out\"), \"profile.pb.gz\")`",
    ),
    head(
        |head| head.starts_with(b"startup\ttime="),
        "a profile of coz",
        "it contains results of experiments and no calls; `coz plot` shows it",
    ),
    head(
        |head| head.starts_with(b"CPU: ") && has_line(head, b"Counted "),
        "a report of OProfile",
        "it contains sums without times; record with `perf record -g PROGRAM`",
    ),
    head(
        |head| head.starts_with(b"__rec="),
        "a profile of Caliper",
        "convert an event trace with `cali2traceevent CAPTURE trace.json` of Caliper; other profiles have no times",
    ),
    head(
        |head| first_line_has(head, &["Application,ProcessID,SwapChainAddress"]),
        "frames of PresentMon (CSV)",
        "no known tool converts it",
    ),
    head(
        |head| first_line_has(head, &["os,cpu,gpu,ram,kernel,driver"]),
        "frames of MangoHud (CSV)",
        "no known tool converts it",
    ),
    head(
        |head| head.starts_with(b"SLF0"),
        "a build log of Xcode (xcactivitylog)",
        "convert it with XCLogParser: `xclogparser parse --file CAPTURE --reporter chromeTracer --output trace.json`",
    ),
    head(
        |head| first_line_has(head, &["The time when unit became active or started is printed"]),
        "a chain of `systemd-analyze critical-chain`",
        "no known tool converts it; `systemd-analyze plot > boot.svg` draws all units",
    ),
    head(
        is_blame,
        "a list of `systemd-analyze blame`",
        "it contains durations without times; `systemd-analyze plot > boot.svg` draws them",
    ),
    head(
        |head| has_word(head, b"GST_TRACER :0::"),
        "a log of GStreamer's tracers",
        "no known tool converts it; `gst-stats-1.0 CAPTURE` prints sums",
    ),
];

/// Returns the words of the first line that has any.
fn first_words(head: &[u8]) -> Vec<&[u8]> {
    let first = head_lines(head).find(|line| !line.trim_ascii().is_empty()).unwrap_or_default();
    first.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).collect()
}

fn is_number(word: &[u8]) -> bool {
    !word.is_empty() && word.iter().all(u8::is_ascii_digit)
}

fn is_seconds(word: &[u8]) -> bool {
    word.contains(&b'.') && nanos_from_seconds(word).is_ok()
}

/// Returns whether the first line is an event such as `8,0  1  1  0.000000000  697  G  W 223490 + 8 [kjournald]`.
fn is_blkparse(head: &[u8]) -> bool {
    let words = first_words(head);
    let [device, cpu, sequence, time, pid, action, ..] = words[..] else { return false };
    let mut numbers = device.splitn(2, |&byte| byte == b',');
    let is_device = numbers.next().is_some_and(is_number) && numbers.next().is_some_and(is_number);
    is_device && [cpu, sequence, pid].into_iter().all(is_number) && is_seconds(time) && action.len() <= 2
}

/// Returns whether the first line is an event such as `1 01:40:19.601363716 0 httpd (7513) < accept fd=3`.
fn is_sysdig(head: &[u8]) -> bool {
    let words = first_words(head);
    let [number, time, cpu, ref rest @ ..] = words[..] else { return false };
    let has_direction = rest.iter().any(|word| matches!(*word, b"<" | b">"));
    let is_time = matches!(time, [_, _, b':', _, _, b':', _, _, b'.', digits @ ..] if digits.len() == 9);
    is_number(number) && is_time && is_number(cpu) && has_direction
}

/// Returns whether the first line is a record such as `1234 ls  CALL  open(0x8, 0)`.
fn is_kdump(head: &[u8]) -> bool {
    let words = first_words(head);
    let [pid, _, record, ..] = words[..] else { return false };
    is_number(pid) && matches!(record, b"CALL" | b"RET" | b"NAMI" | b"GIO" | b"STRU")
}

/// Returns whether the first lines are calls such as `1234: 0.000123456 open("/x",O_RDONLY,00) = 3 (0x3)`.
fn is_truss(head: &[u8]) -> bool {
    let has = |line: &[u8], text: &[u8]| memchr::memmem::find(line, text).is_some();
    let is_call = |line: &[u8]| {
        let line = line.trim_ascii();
        let is_value = has(line, b") = ") && has(line, b" (0x") && line.ends_with(b")");
        has(line, b"(") && (is_value || has(line, b") ERR#"))
    };
    head_lines(head).filter(|line| is_call(line)).take(2).count() == 2
}

/// Returns whether the first line is a call such as `10:20:30.123456  open  F=3  /x  0.000012   Finder.1234`.
fn is_fs_usage(head: &[u8]) -> bool {
    let words = first_words(head);
    let [time, _, .., last] = words[..] else { return false };
    let is_time = matches!(time, [_, _, b':', _, _, b':', _, _] | [_, _, b':', _, _, b':', _, _, b'.', ..]);
    let thread = last.rsplit(|&byte| byte == b'.').next().unwrap_or_default();
    let durations = words.iter().rev().skip(1).take(2);
    is_time && thread.len() < last.len() && is_number(thread) && durations.filter(|word| is_seconds(word)).count() == 1
}

/// Returns whether the first lines are messages such as `Nov 30 10:20:30 host cron[123]: text`.
fn is_syslog(head: &[u8]) -> bool {
    const MONTHS: &[u8] = b"JanFebMarAprMayJunJulAugSepOctNovDec";
    let is_message = |line: &[u8]| {
        let mut words = line.split(|&byte| byte == b' ').filter(|word| !word.is_empty());
        let [month, day, time, _, program] = std::array::from_fn(|_| words.next().unwrap_or_default());
        MONTHS.chunks(3).any(|name| name == month)
            && is_number(day)
            && matches!(time, [_, _, b':', _, _, b':', ..])
            && program.ends_with(b":")
    };
    let mut lines = head_lines(head).filter(|line| !line.trim_ascii().is_empty() && !line.starts_with(b"-- "));
    lines.next().is_some_and(is_message) && lines.next().is_none_or(is_message)
}

/// Returns whether the first line is a unit such as `5.214s NetworkManager-wait-online.service`.
fn is_blame(head: &[u8]) -> bool {
    let words = first_words(head);
    let [times @ .., unit] = &words[..] else { return false };
    let is_time = |word: &&[u8]| {
        word.first().is_some_and(u8::is_ascii_digit) && [&b"min"[..], b"ms", b"s"].iter().any(|it| word.ends_with(it))
    };
    let kinds: [&[u8]; 6] = [b".service", b".mount", b".device", b".socket", b".swap", b".target"];
    !times.is_empty() && times.iter().all(is_time) && kinds.iter().any(|kind| unit.ends_with(kind))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::testing::read_bytes;

    /// First lines of files, and texts that their errors must contain.
    const REFUSED: &[(&[u8], [&str; 2])] = &[
        (
            b"  8,0    1        1     0.000000000   697  G   W 223490 + 8 [kjournald]\n",
            ["blkparse", "trace-cmd record"],
        ),
        (b"1 01:40:19.601363716 0 httpd (7513) < accept fd=3(<4t>127.0.0.1) \n", ["sysdig", "strace"]),
        (b"  1234 ls       CALL  open(0x8048f34,0,0)\n  1234 ls       RET   open 3\n", ["kdump", "strace"]),
        (
            b"\tPID/THRD  RELATIVE  SYSCALL(args) \t\t = return\n  123/0x1:      1234 open(\"x\\0\", 0x0, 0x0)\t\t = 3 0\n",
            ["dtruss", "samply"],
        ),
        (
            b"1234: 0.000123456 open(\"/etc/x\",O_RDONLY,00) = 3 (0x3)\n1234: 0.000223456 read(3,\"x\",4) ERR#9 'Bad file'\n",
            ["truss", "strace"],
        ),
        (
            b"10:20:30.123456  open   F=3   (R_____)  /private/tmp/x   0.000012 W Finder.1234\n",
            ["fs_usage", "samply"],
        ),
        (b"10:20:30    stat64    /private/tmp/x   0.000012   Finder.1234\n", ["fs_usage", "samply"]),
        (
            b"-- Boot 123 --\nNov 30 10:20:30 host systemd[1]: Started x.\nNov  3 10:20:31 host kernel: text\n",
            ["journalctl", "systemd-analyze plot"],
        ),
        (b"hdrb\0\0\0\x01hetb", ["GHC", "hs-speedscope"]),
        (b"sample.interval=20000\n\"f\" \"g\" \n", ["Rprof", "write_pprof"]),
        (b"memory profiling: GC profiling: sample.interval=20000\n", ["Rprof", "write_pprof"]),
        (b"startup\ttime=1444231800463\n", ["coz", "coz plot"]),
        (b"CPU: Core 2, speed 2400 MHz (estimated)\nCounted CPU_CLK_UNHALTED events\n", ["OProfile", "perf record"]),
        (b"__rec=node,id=14,attr=10,data=64,parent=3\n", ["Caliper", "cali2traceevent"]),
        (b"Application,ProcessID,SwapChainAddress,Runtime\n", ["PresentMon", "no known tool"]),
        (b"os,cpu,gpu,ram,kernel,driver,cpuscheduler\n", ["MangoHud", "no known tool"]),
        (b"SLF010#21%IDEActivityLogSection1@", ["Xcode", "chromeTracer"]),
        (
            br#"[{"status":"COMPLETE","scheme":"https","host":"x","times":{"start":"2024"},"durations":{"total":1}}]"#,
            ["Charles", "HAR"],
        ),
        (br#"[{"id":1,"intrinsicName":"any","recursionId":0,"flags":["Any"]}]"#, ["TypeScript", "trace.json"]),
        (br#"{"inputs":{"a.ts":{"bytes":5,"imports":[]}},"outputs":{"a.js":{"bytes":7}}}"#, ["esbuild", "--analyze"]),
        (br#"{"name":"root","value":3,"children":[{"name":"f","value":3,"children":[]}]}"#, ["d3", "open the stacks"]),
        (
            br#"{"timestamp":"2024-01-01T00:00:00Z","level":"INFO","fields":{"message":"hi"},"target":"app"}"#,
            ["tracing-subscriber", "tracing-chrome"],
        ),
        (
            b"{\"reason\":\"timing-info\",\"package_id\":\"a\",\"mode\":\"build\",\"duration\":1.5}\n",
            ["cargo", "cargo build --timings"],
        ),
        (
            b"The time when unit became active or started is printed after the \"@\" character.\n",
            ["critical-chain", "systemd-analyze plot"],
        ),
        (b"1min 2.5s NetworkManager-wait-online.service\n 700ms dev-sda1.device\n", ["blame", "systemd-analyze plot"]),
        (
            b"0:00:00.123456789 123 0x55 TRACE             GST_TRACER :0:: latency, src=(string)src;\n",
            ["GStreamer", "gst-stats-1.0"],
        ),
    ];

    #[test]
    fn files_of_tracers_are_refused_with_their_name_and_similar_ones_are_not() {
        for (head, texts) in REFUSED {
            let Err(error) = read_bytes(head) else { panic!("read: {}", head.escape_ascii()) };
            let error = error.to_string();
            assert!(texts.iter().all(|text| error.contains(text)), "{error}");
        }
        for head in [
            &b"1,2 3 4 five 6 G\n"[..],
            b"1 01:40:19.6 0 httpd < x\n",
            b"12 angry RETURN men\n",
            b"CPU: fast\n",
            b"10:20:30 text about x.5\n",
            b"Nov 30 10:20:30 host text\n",
            b"call(1) = 5 (0x5)\nand text\n",
            b"5 a.service\n",
            b"a.service\n",
            b"",
        ] {
            let is_refused = |format: &UnsupportedFormat| matches!(format.sniff, Head(fits) if fits(head));
            assert!(!TRACERS.iter().any(is_refused), "{}", head.escape_ascii());
        }
    }
}
