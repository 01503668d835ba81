//! Throughput of the readers of eight formats, in MB/s of the unpacked file: until all batches are built, without
//! sorting them. `cargo bench --bench readers -- FILE...` measures files instead of generated ones.
//!
//! The records are of the sizes and kinds that recorders write. Loss of any record stops the bench, since refusing a
//! record is faster than reading it.

use std::io::Write as _;
use std::path::Path;
use std::time::Instant;

use longspan::facade::formats::{BatchSink, ReadContext, ReadError, Reader, sniff};
use longspan::facade::model::Batch;

/// Large enough that the start takes less than a hundredth of the time.
const FILE_BYTES: usize = 64 << 20;

/// Number of runs of each reader. The best one counts; the machine was busier during the others.
const RUNS: usize = 3;

/// Time between records.
const STEP_NS: u64 = 1_000;

/// A generated file of one format.
struct Generated {
    name: &'static str,
    head: fn() -> Vec<u8>,
    /// Appends record `k`.
    record: fn(u64, &mut Vec<u8>),
    tail: &'static [u8],
}

const FORMATS: &[Generated] = &[
    Generated { name: "ftrace text", head: || b"# tracer: nop\n#\n".to_vec(), record: ftrace, tail: b"" },
    Generated { name: "perf script", head: Vec::new, record: perf_script, tail: b"" },
    Generated { name: "strace", head: Vec::new, record: strace, tail: b"" },
    Generated { name: "OTLP JSON lines", head: Vec::new, record: otlp, tail: b"" },
    Generated { name: "Spall", head: spall_head, record: spall, tail: b"" },
    Generated { name: "FXT", head: fxt_head, record: fxt, tail: b"" },
    Generated { name: "Firefox profile", head: firefox_head, record: firefox, tail: b"[99,9999]]}}]}" },
    Generated { name: "collapsed stacks", head: Vec::new, record: collapsed, tail: b"" },
];

/// Counts events and losses, and drops the batches.
#[derive(Default)]
struct Count {
    events: u64,
    losses: u64,
}

impl BatchSink for Count {
    fn accept(&mut self, batch: Batch) -> Result<(), ReadError> {
        self.events += batch.chunk.events.len() as u64;
        self.losses += batch.losses.total();
        Ok(())
    }
}

fn main() {
    let paths: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    for path in &paths {
        let count = measure(path, Path::new(path));
        println!("  {} losses", count.losses);
    }
    if paths.is_empty() {
        for generated in FORMATS {
            let file = generate(generated);
            let count = measure(generated.name, file.path());
            assert_eq!(count.losses, 0, "losses of {}", generated.name);
        }
    }
}

/// Prints the rate of the best run.
fn measure(name: &str, path: &Path) -> Count {
    let bytes = std::fs::metadata(path).expect("a trace").len() as f64;
    let context = ReadContext::default();
    let mut best_s = f64::INFINITY;
    let mut count = Count::default();
    for _ in 0..RUNS {
        count = Count::default();
        let start = Instant::now();
        match sniff::open(path, &context).expect("a trace") {
            Reader::Stream(reader) => reader.read(&mut count, &context).expect("read"),
            Reader::Chunks(_) => panic!("benches/native.rs measures the native format"),
        }
        best_s = best_s.min(start.elapsed().as_secs_f64());
    }
    let ns = best_s * 1e9 / count.events.max(1) as f64;
    println!("  {name:20} {:7.0} MB/s {ns:6.0} ns an event, {} events", bytes / best_s / 1e6, count.events);
    count
}

fn generate(generated: &Generated) -> tempfile::NamedTempFile {
    let mut bytes = (generated.head)();
    for k in 0.. {
        if bytes.len() >= FILE_BYTES {
            break;
        }
        (generated.record)(k, &mut bytes);
    }
    bytes.extend_from_slice(generated.tail);
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(&bytes).expect("disk");
    file
}

/// Appends formatted text.
macro_rules! push {
    ($bytes:expr, $($text:tt)*) => { write!($bytes, $($text)*).expect("memory") };
}

/// Seconds with six decimals, as the kernel's tools print times.
fn seconds(ns: u64) -> String {
    format!("{}.{:06}", ns / 1_000_000_000, ns / 1_000 % 1_000_000)
}

/// Appends a switch between the two tasks of a CPU, then a system call of the next one, which wakes the other.
fn ftrace(k: u64, bytes: &mut Vec<u8>) {
    let (cpu, round) = (k / 3 % 4, k / 12);
    let (previous, next) = (100 + 2 * cpu + round % 2, 101 + 2 * cpu - round % 2);
    let time = seconds(10_000_000_000 + k * STEP_NS);
    match k % 3 {
        0 => push!(
            bytes,
            "          app-{previous}     [{cpu:03}] d..2. {time}: sched_switch: prev_comm=app prev_pid={previous} \
             prev_prio=120 prev_state=S ==> next_comm=app next_pid={next} next_prio=120\n"
        ),
        1 => push!(
            bytes,
            "          app-{next}     [{cpu:03}] ..... {time}: sys_enter: NR 0 (3, 7ffd, 1000, 0, 0, 22)\n"
        ),
        _ => push!(
            bytes,
            "          app-{next}     [{cpu:03}] dNh4. {time}: sched_waking: comm=app pid={previous} prio=120 \
             target_cpu={cpu:03}\n"
        ),
    }
}

fn perf_script(k: u64, bytes: &mut Vec<u8>) {
    let (tid, time) = (100 + k % 7, seconds(10_000_000_000 + k * STEP_NS));
    push!(bytes, "app {tid}/{tid} [{:03}] {time}:     250000 cpu-clock: \n", k % 4);
    for depth in (0..8).rev() {
        let function = k / 64 % 50 * depth;
        push!(bytes, "\t    55d0c8a4{function:04x} function_{function}+0x{depth:x} (/usr/bin/app)\n");
    }
    bytes.push(b'\n');
}

fn strace(k: u64, bytes: &mut Vec<u8>) {
    let (tid, time) = (100 + k % 7, seconds(1_700_000_000_000_000_000 + k * STEP_NS));
    match k % 2 {
        0 => push!(bytes, "{tid} {time} read({}, \"\\177ELF\\2\\1\\1\\0\"..., 832) = 832 <0.000021>\n", k % 50),
        _ => push!(bytes, "{tid} {time} openat(AT_FDCWD, \"/etc/ld.so.cache\", O_RDONLY|O_CLOEXEC) = 3 <0.000014>\n"),
    }
}

fn otlp(k: u64, bytes: &mut Vec<u8>) {
    const SPANS: u64 = 20;
    bytes.extend_from_slice(
        br#"{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"shop"}}]},"scopeSpans":[{"scope":{"name":"http"},"spans":["#,
    );
    for span in 0..SPANS {
        let (id, start_ns) = (k * SPANS + span + 1, 1_700_000_000_000_000_000 + (k * SPANS + span) * STEP_NS);
        let (comma, end_ns) = (if span == 0 { "" } else { "," }, start_ns + 700);
        push!(
            bytes,
            r#"{comma}{{"traceId":"{k:032x}","spanId":"{id:016x}","parentSpanId":"","name":"GET /cart","kind":2,"startTimeUnixNano":"{start_ns}","endTimeUnixNano":"{end_ns}","attributes":[{{"key":"http.status_code","value":{{"intValue":"200"}}}}],"status":{{}}}}"#
        );
    }
    bytes.extend_from_slice(b"]}]}]}\n");
}

fn spall_head() -> Vec<u8> {
    const MAGIC: u64 = 0x0BAD_F00D;
    [MAGIC.to_le_bytes(), 1_u64.to_le_bytes(), 1_f64.to_le_bytes(), 0_u64.to_le_bytes()].concat()
}

/// Appends a begin, or the end of the begin before.
fn spall(k: u64, bytes: &mut Vec<u8>) {
    const BEGIN: u8 = 3;
    const END: u8 = 4;
    let is_begin = k.is_multiple_of(2);
    bytes.push(if is_begin { BEGIN } else { END });
    if is_begin {
        bytes.push(0);
    }
    bytes.extend_from_slice(&1_u32.to_le_bytes());
    bytes.extend_from_slice(&u32::try_from(k / 2 % 7).expect("a few threads").to_le_bytes());
    bytes.extend_from_slice(&(k as f64).to_le_bytes());
    if is_begin {
        let name = format!("function_{:02}", k / 2 % 50);
        bytes.extend_from_slice(&[u8::try_from(name.len()).expect("a short name"), 0]);
        bytes.extend_from_slice(name.as_bytes());
    }
}

fn fxt_head() -> Vec<u8> {
    const MAGIC: u64 = 0x0016_5478_4604_0010;
    const INIT: u64 = 1 | 2 << 4;
    const TICKS_PER_SECOND: u64 = 1_000_000_000;
    // A string record: type 2, two words, index 1, a length of 7 bytes.
    const STRING: u64 = 2 | 2 << 4 | 1 << 16 | 7 << 32;
    // A thread record: type 3, three words, index 1.
    const THREAD: u64 = 3 | 3 << 4 | 1 << 16;
    let name = u64::from_le_bytes(*b"request\0");
    [MAGIC, INIT, TICKS_PER_SECOND, STRING, name, THREAD, 10, 11].iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Appends a complete event of three words: type 4, kind 4, thread 1, category and name 1.
fn fxt(k: u64, bytes: &mut Vec<u8>) {
    const COMPLETE: u64 = 4 | 3 << 4 | 4 << 16 | 1 << 24 | 1 << 32 | 1 << 48;
    let start_ns = k * STEP_NS;
    for word in [COMPLETE, start_ns, start_ns + 700] {
        bytes.extend_from_slice(&word.to_le_bytes());
    }
}

/// The frames and 100 stacks of depth 1 to 10; the samples follow as records.
fn firefox_head() -> Vec<u8> {
    let mut json = br#"{"meta":{"version":24,"interval":1,"startTime":0,"processType":0,"product":"app","stackwalk":1,"categories":[{"name":"Other","color":"grey","subcategories":["Other"]}]},"libs":[],"processes":[],"threads":[{"name":"Main","pid":1,"tid":1,"processType":"default","registerTime":0,"unregisterTime":null,"markers":{"schema":{"name":0,"startTime":1,"endTime":2,"phase":3,"category":4,"data":5},"data":[]},"stringTable":["#.to_vec();
    let list = |json: &mut Vec<u8>, count: u64, element: &dyn Fn(u64) -> String| {
        let elements: Vec<String> = (0..count).map(element).collect();
        json.extend_from_slice(elements.join(",").as_bytes());
    };
    list(&mut json, 100, &|k| format!("\"function_{k}\""));
    json.extend_from_slice(br#"],"frameTable":{"schema":{"location":0},"data":["#);
    list(&mut json, 100, &|k| format!("[{k}]"));
    json.extend_from_slice(br#"]},"stackTable":{"schema":{"prefix":0,"frame":1},"data":["#);
    list(&mut json, 100, &|k| if k.is_multiple_of(10) { format!("[null,{k}]") } else { format!("[{},{k}]", k - 1) });
    json.extend_from_slice(br#"]},"samples":{"schema":{"stack":0,"time":1},"data":["#);
    json
}

fn firefox(k: u64, bytes: &mut Vec<u8>) {
    push!(bytes, "[{},{}.{:03}],", k % 100, k / 1_000, k % 1_000);
}

fn collapsed(k: u64, bytes: &mut Vec<u8>) {
    push!(bytes, "main;run;handle_{};parse_{};read {}\n", k % 13, k % 1_009, k % 90 + 1);
}
