//! Live sources that connect to the program: sockets, and HTTP requests, both from regular exporters and from hostile
//! clients.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::harness::{command, folder, longspan, text, wait};

/// Timeout of a wait: far more than any takes.
const PATIENCE: Duration = Duration::from_mins(1);

/// A running command that listens, with its lines on stderr.
struct Listening {
    child: Child,
    receiver: Receiver<String>,
    lines: Vec<String>,
}

impl Listening {
    fn start(args: &[&str]) -> Self {
        Self::of(command(args))
    }

    fn of(mut command: Command) -> Self {
        let mut child = command.spawn().expect("it starts");
        let stderr_lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
        let (sender, receiver) = channel();
        std::thread::spawn(move || stderr_lines.map_while(Result::ok).all(|line| sender.send(line).is_ok()));
        Self { child, receiver, lines: Vec::new() }
    }

    /// Waits for a line on stderr.
    #[track_caller]
    fn wait_for_line(&mut self, text: &str) -> String {
        if let Some(line) = self.lines.iter().find(|line| line.contains(text)) {
            return line.clone();
        }
        loop {
            let line = self.receiver.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("{text}: {:?}", self.lines));
            self.lines.push(line.clone());
            if line.contains(text) {
                return line;
            }
        }
    }

    /// Returns the port for requests.
    fn port(&mut self) -> u16 {
        let line = self.wait_for_line("listening for OTLP at http://127.0.0.1:");
        let port = line.split("127.0.0.1:").nth(1).and_then(|rest| rest.split('/').next());
        port.and_then(|port| port.parse().ok()).expect("a port")
    }

    /// Interrupts the command like Ctrl+C, and returns its stdout and stderr.
    fn end(mut self) -> (String, Vec<String>) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &pid]).status().expect("kill").success());
        let mut printed = String::new();
        self.child.stdout.take().expect("a pipe").read_to_string(&mut printed).expect("text");
        self.lines.extend(self.receiver.iter());
        assert_eq!(wait(&mut self.child, &["listen"]), Some(0), "{:?}", self.lines);
        (printed, self.lines)
    }
}

fn rows(lines: &str) -> Vec<Value> {
    lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn private(folder: &Path) -> PathBuf {
    let path = folder.join("private");
    fs::DirBuilder::new().mode(0o700).create(&path).expect("made");
    path
}

fn connect(socket: &Path) -> UnixStream {
    let began = Instant::now();
    loop {
        match UnixStream::connect(socket) {
            Ok(stream) => return stream,
            Err(error) => assert!(began.elapsed() < PATIENCE, "{error}"),
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn each_socket_connection_is_a_source_with_its_own_format() {
    let folder = folder();
    let socket = folder.path().join("made/by it.sock");
    let source = format!("unix:{}", socket.display());
    let mut listening = Listening::start(&["tail", &source, "--format", "jsonl"]);
    listening.wait_for_line("listening at unix:");
    let mode = fs::metadata(socket.parent().expect("a folder")).expect("there").permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    // A second program cannot listen at the same address.
    let second = longspan(&["tail", &source]).failed(1);
    assert!(second.contains("another program listens there"), "{second}");
    let mut json = connect(&socket);
    json.write_all(b"[\n{\"ph\":\"X\",\"name\":\"of json\",\"pid\":1,\"tid\":1,\"ts\":5,\"dur\":2},\n").expect("sent");
    let mut strace = connect(&socket);
    strace.write_all(b"7 1795166531.000001 read(3) = 0 <0.000010>\n7 1795166531.000002 wri").expect("sent");
    // One client sends nothing, one sends garbage, and one sends half a record.
    drop(connect(&socket));
    connect(&socket).write_all(b"plain text\n").expect("sent");
    drop(strace);
    let mut half = connect(&socket);
    half.write_all(b"[\n{\"ph\":\"X\",\"name\":\"whole\",\"pid\":1,\"tid\":1,\"ts\":9,\"dur\":2},\n{\"ph\":\"X")
        .expect("sent");
    drop(half);
    drop(json);
    let mut found = Vec::new();
    let mut lines = BufReader::new(listening.child.stdout.take().expect("a pipe")).lines();
    while found.len() < 3 {
        let row: Value = serde_json::from_str(&lines.next().expect("a row").expect("text")).expect("JSON");
        found.push(row["name"].as_str().expect("a name").to_owned());
    }
    found.sort();
    assert_eq!(found, ["of json", "read", "whole"]);
    listening.wait_for_line("unrecognised format");
    let pid = listening.child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().expect("kill").success());
    assert!(wait(&mut listening.child, &["tail"]).is_some());
    assert!(!socket.exists(), "it goes with the program");
}

#[test]
fn a_hundred_concurrent_connections_lose_nothing_and_a_slow_one_blocks_no_other() {
    const CONNECTIONS: u64 = 100;
    const SPANS: u64 = 200;
    let folder = folder();
    let socket = private(folder.path()).join("s");
    let (source, out) = (format!("unix:{}", socket.display()), folder.path().join("out.longspan"));
    let mut listening = Listening::start(&["record", &source, "-o", text(&out)]);
    listening.wait_for_line("listening at");
    let _silent = connect(&socket);
    // A client that sends no trace does not affect the others.
    connect(&socket).write_all(b"plain text\n").expect("sent");
    let writers = (0..CONNECTIONS).map(|number| {
        let mut stream = connect(&socket);
        std::thread::spawn(move || {
            stream.write_all(b"[\n").expect("sent");
            for span in 0..SPANS {
                let at = span * 10;
                let record = format!(r#"{{"ph":"X","name":"n{number}","pid":{number},"tid":1,"ts":{at},"dur":5}},"#);
                stream.write_all(record.as_bytes()).expect("sent");
            }
        })
    });
    writers.collect::<Vec<_>>().into_iter().for_each(|writer| writer.join().expect("sent"));
    // All data is there, although the program is interrupted immediately.
    let (_, stderr) = listening.end();
    assert!(stderr.iter().any(|line| line.contains("20000 spans written")), "{stderr:?}");
    let left =
        stderr.iter().find_map(|line| line.strip_suffix(": is not a trace; the file is kept")).expect("a message");
    let left = left.strip_prefix("longspan: ").expect("a path");
    assert_eq!(fs::read(left).expect("there"), b"plain text\n");
    let counts = longspan(&["stats", text(&out), "--no-cache", "--format", "jsonl"]).done();
    let counts: Vec<u64> = rows(&counts).iter().map(|row| row["count"].as_u64().expect("a number")).collect();
    assert_eq!(counts, vec![SPANS; CONNECTIONS as usize]);
}

#[test]
fn a_socket_folder_open_to_others_and_an_occupied_path_are_refused() {
    let folder = folder();
    let open = folder.path().join("open");
    fs::DirBuilder::new().mode(0o755).create(&open).expect("made");
    let message = longspan(&["tail", &format!("unix:{}", open.join("s").display())]).failed(1);
    assert!(message.contains("can be entered by others: `chmod 700`"), "{message}");
    let taken = private(folder.path()).join("file");
    fs::write(&taken, "mine").expect("written");
    let message = longspan(&["tail", &format!("unix:{}", taken.display())]).failed(1);
    assert!(message.contains("something else is at this path"), "{message}");
    assert_eq!(fs::read(&taken).expect("there"), b"mine");
    // The socket of a killed program is free to use.
    let socket = taken.with_file_name("left");
    drop(std::os::unix::net::UnixListener::bind(&socket).expect("bound"));
    assert!(socket.exists());
    let mut listening = Listening::start(&["tail", &format!("unix:{}", socket.display())]);
    listening.wait_for_line("listening at");
    listening.end();
    for wrong in ["otlp:x", "otlp:70000"] {
        assert!(longspan(&["tail", wrong]).failed(2).contains("expected a port"), "{wrong}");
    }
    let message = longspan(&["tail", "unix:"]).failed(2);
    assert!(message.contains("unix: expected the path of a socket"), "{message}");
    let long = taken.with_file_name("s".repeat(120));
    let message = longspan(&["tail", &format!("unix:{}", long.display())]).failed(1);
    let bytes = long.as_os_str().len();
    assert!(message.contains(&format!("its path has {bytes} bytes, and the system allows 10")), "{message}");
}

/// Runs as root only, since only root can become another user.
#[test]
fn a_program_of_another_user_is_refused_even_if_file_permissions_allow_it() {
    let id = Command::new("id").arg("-u").output().expect("id").stdout;
    if id != b"0\n" {
        return;
    }
    let folder = folder();
    let socket = private(folder.path()).join("s");
    let mut shell = Command::new("sh");
    let script = r#"umask 0; exec "$0" tail "unix:$1" --format jsonl"#;
    shell.args(["-c", script, env!("CARGO_BIN_EXE_longspan"), text(&socket)]);
    shell.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut listening = Listening::of(shell);
    listening.wait_for_line("listening at");
    let python = "import os, socket, sys\nos.chdir(sys.argv[1])\nos.setuid(65534)\ns = socket.socket(socket.AF_UNIX)\n\
        s.connect('s')\ntry:\n s.sendall(b'[{\"ph\":\"i\",\"name\":\"x\",\"pid\":1,\"tid\":1,\"ts\":1},')\n\
        except BrokenPipeError: pass";
    let parent = text(socket.parent().expect("a folder"));
    fs::set_permissions(parent, fs::Permissions::from_mode(0o755)).expect("changed");
    let status = Command::new("python3").args(["-c", python, parent]).status().expect("python3");
    assert!(status.success());
    listening.wait_for_line("of user 65534 was refused");
    assert_eq!(listening.end().0, "");
}

/// Creates a request to export spans of these names, one per microsecond.
fn request(names: &[String]) -> String {
    let spans = names.iter().enumerate().map(|(number, name)| {
        let (start, end) =
            (1_700_000_000_000_000_000 + number as u64 * 1000, 1_700_000_000_000_000_500 + number as u64 * 1000);
        format!(
            r#"{{"traceId":"0102030405060708090a0b0c0d0e0f10","spanId":"{number:016x}","name":"{name}",
            "startTimeUnixNano":"{start}","endTimeUnixNano":"{end}"}}"#
        )
    });
    let spans = spans.collect::<Vec<_>>().join(",");
    let resource = r#"{"attributes":[{"key":"service.name","value":{"stringValue":"shop"}}]}"#;
    format!(r#"{{"resourceSpans":[{{"resource":{resource},"scopeSpans":[{{"spans":[{spans}]}}]}}]}}"#)
}

/// Sends bytes, and reads a response or up to the end of the connection. Returns the status and the text.
fn send(stream: &mut TcpStream, bytes: &[u8]) -> (u16, String) {
    stream.set_read_timeout(Some(PATIENCE)).expect("set");
    stream.write_all(bytes).ok(); // a server that refuses does not read to the end
    read_response(stream)
}

fn read_response(stream: &mut TcpStream) -> (u16, String) {
    let mut got = Vec::new();
    let mut step = [0; 4096];
    loop {
        let whole = String::from_utf8_lossy(&got).into_owned();
        if let Some((head, body)) = whole.split_once("\r\n\r\n") {
            let len = head.split("Content-Length: ").nth(1).and_then(|rest| rest.lines().next()?.parse::<usize>().ok());
            if len.is_some_and(|len| body.len() >= len) {
                let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
                return (status.expect("a status"), whole);
            }
        }
        match stream.read(&mut step) {
            Ok(0) | Err(_) => return (0, whole),
            Ok(len) => got.extend_from_slice(&step[..len]),
        }
    }
}

/// Creates a request with these header lines in addition to host and length.
fn post(port: u16, lines: &str, body: &[u8]) -> Vec<u8> {
    let len = body.len();
    let head = format!("POST /v1/traces HTTP/1.1\r\nHost: localhost:{port}\r\nContent-Length: {len}\r\n{lines}\r\n");
    [head.as_bytes(), body].concat()
}

const JSON: &str = "Content-Type: application/json\r\n";

fn to(port: u16) -> TcpStream {
    TcpStream::connect(("127.0.0.1", port)).expect("it listens")
}

#[test]
fn otlp_exporters_get_valid_responses_and_their_spans_are_in_order() {
    let mut listening = Listening::start(&["tail", "otlp:0", "--format", "jsonl"]);
    let port = listening.port();
    let names = |text: &str| [format!("{text} 1"), format!("{text} 2")];
    // These are two requests on one connection.
    let mut stream = to(port);
    for word in ["json", "again"] {
        let (status, whole) = send(&mut stream, &post(port, JSON, request(&names(word)).as_bytes()));
        assert!(status == 200 && whole.ends_with("\r\n\r\n{}") && whole.contains("keep-alive"), "{whole}");
    }
    // This body is chunked, with arbitrary cuts.
    let body = request(&names("chunks"));
    let mut chunked =
        format!("POST /v1/traces HTTP/1.1\r\nHost: 127.0.0.1\r\n{JSON}Transfer-Encoding: chunked\r\n\r\n");
    for piece in body.as_bytes().chunks(100) {
        let piece = str::from_utf8(piece).expect("text");
        write!(chunked, "{:x};x=y\r\n{piece}\r\n", piece.len()).expect("room");
    }
    chunked += "0\r\nTrailer: x\r\n\r\n";
    let mut slow = to(port);
    for piece in chunked.as_bytes().chunks(97) {
        slow.write_all(piece).expect("sent");
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(read_response(&mut slow).0, 200);
    // This body is compressed, and sent only after the server asks for it.
    let gzip = |bytes: &[u8]| {
        let mut gzip =
            Command::new("gzip").arg("-c").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("gzip");
        gzip.stdin.take().expect("a pipe").write_all(bytes).expect("sent");
        gzip.wait_with_output().expect("packed").stdout
    };
    let unpacked = request(&names("packed"));
    let (one, two) = unpacked.as_bytes().split_at(unpacked.len() / 3);
    // This body has two gzip members, as from a client that flushes.
    let packed = [gzip(one), gzip(two)].concat();
    let head = post(port, &format!("{JSON}Content-Encoding: gzip\r\nExpect: 100-continue\r\n"), &packed);
    let (head, body) = head.split_at(head.len() - packed.len());
    let mut waits = to(port);
    waits.write_all(head).expect("sent");
    let mut go = [0; 25];
    waits.read_exact(&mut go).expect("it wants it");
    assert_eq!(&go, b"HTTP/1.1 100 Continue\r\n\r\n");
    assert_eq!(send(&mut waits, body).0, 200);
    // The protobuf body has a resource with a service, a scope, and a span with a name, a start and an end.
    let field = |tag: u8, bytes: &[u8]| [&[tag, bytes.len() as u8], bytes].concat();
    let time = |tag: u8, ns: u64| [&[tag][..], &ns.to_le_bytes()].concat();
    let span = [
        field(0x0a, &[1; 16]),
        field(0x12, &[2; 8]),
        field(0x2a, b"proto"),
        time(0x39, 1_700_000_000_000_005_000),
        time(0x41, 1_700_000_000_000_006_000),
    ];
    let service = [field(0x0a, b"service.name"), field(0x12, &field(0x0a, b"bank"))].concat();
    let resource = field(0x0a, &field(0x0a, &service));
    let message = field(0x0a, &[resource, field(0x12, &field(0x12, &span.concat()))].concat());
    let (status, whole) = send(&mut to(port), &post(port, "Content-Type: application/x-protobuf\r\n", &message));
    assert!(status == 200 && whole.contains("Content-Length: 0\r\n"), "{whole}");
    let (printed, stderr) = listening.end();
    let mut found: Vec<String> =
        rows(&printed).iter().map(|row| format!("{} {}", row["process"], row["name"]).replace('"', "")).collect();
    found.sort();
    let mut expected: Vec<String> = ["json", "again", "chunks", "packed"]
        .iter()
        .flat_map(|word| names(word))
        .map(|name| format!("shop {name}"))
        .collect();
    expected.push("bank proto".to_owned());
    expected.sort();
    assert_eq!(found, expected, "{stderr:?}");
}

/// Creates a request with a span of ten seconds, and an event one second after its start.
fn batch(name: &str, end_s: u64) -> String {
    let (start_s, event_s) = (end_s - 10, end_s - 9);
    let span = format!(
        r#"{{"traceId":"0102030405060708090a0b0c0d0e0f10","spanId":"{end_s:016x}","name":"{name}",
        "startTimeUnixNano":"{start_s}000000000","endTimeUnixNano":"{end_s}000000000",
        "events":[{{"name":"within {name}","timeUnixNano":"{event_s}000000000"}}]}}"#
    );
    format!(r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{span}]}}]}}]}}"#)
}

#[test]
fn batches_of_several_programs_are_late_only_with_a_shorter_wait() {
    let send_batch = |port: u16, name: &str, end_s: u64| {
        assert_eq!(send(&mut to(port), &post(port, JSON, batch(name, end_s).as_bytes())).0, 200);
    };
    let folder = folder();
    let out = folder.path().join("out.longspan");
    for args in [&["tail", "otlp:0", "--format", "jsonl"][..], &["record", "otlp:0", "-o", text(&out)]] {
        let mut listening = Listening::start(args);
        let port = listening.port();
        send_batch(port, "first", 1_700_000_020);
        std::thread::sleep(Duration::from_millis(500));
        send_batch(port, "second", 1_700_000_017);
        let (printed, stderr) = listening.end();
        assert!(!stderr.iter().any(|line| line.contains("late")), "{args:?} {stderr:?}");
        let found: Vec<String> = rows(&printed).iter().map(|row| row["name"].to_string().replace('"', "")).collect();
        assert!(args[0] == "record" || found == ["second", "within second", "first", "within first"], "{found:?}");
    }
    let mut listening = Listening::start(&["tail", "otlp:0", "--format", "jsonl", "--delay", "20ms"]);
    let port = listening.port();
    send_batch(port, "first", 1_700_000_020);
    let mut lines = BufReader::new(listening.child.stdout.take().expect("a pipe")).lines();
    // An event of a span arrives with it, so it is not late.
    for name in ["first", "within first"] {
        let row: Value = serde_json::from_str(&lines.next().expect("a row").expect("text")).expect("JSON");
        assert_eq!((row["name"].as_str(), row["late"].as_u64()), (Some(name), None));
    }
    send_batch(port, "second", 1_700_000_017);
    let row: Value = serde_json::from_str(&lines.next().expect("a row").expect("text")).expect("JSON");
    assert_eq!((row["name"].as_str(), row["late"].as_u64()), (Some("second"), Some(3_000_000_000)));
    let pid = listening.child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().expect("kill").success());
    assert_eq!(wait(&mut listening.child, &["tail"]), Some(0));
}

/// Runs as root only, since only root can become another user.
#[test]
fn an_exporter_of_another_user_is_refused_at_both_addresses() {
    let mut listening = Listening::start(&["tail", "otlp:0", "--format", "jsonl"]);
    let port = listening.port();
    let body = request(&["x".to_owned()]);
    let python = "import os, socket, sys\nport, user, text = int(sys.argv[1]), int(sys.argv[2]), sys.stdin.read()\n\
        if user: os.setuid(user)\n\
        for kind, host in [(socket.AF_INET, '127.0.0.1'), (socket.AF_INET6, '::ffff:127.0.0.1')]:\n\
        \x20s = socket.socket(kind)\n s.connect((host, port))\n s.sendall(text.encode())\n print(s.recv(12).decode())";
    let statuses = |user: &str| {
        let mut child = Command::new("python3");
        child.args(["-c", python, &port.to_string(), user]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = child.spawn().expect("python3");
        child.stdin.take().expect("a pipe").write_all(&post(port, JSON, body.as_bytes())).expect("sent");
        String::from_utf8(child.wait_with_output().expect("python3").stdout).expect("text")
    };
    assert_eq!(statuses("0"), "HTTP/1.1 200\nHTTP/1.1 200\n");
    let id = Command::new("id").arg("-u").output().expect("id").stdout;
    if id == b"0\n" {
        assert_eq!(statuses("65534"), "HTTP/1.1 403\nHTTP/1.1 403\n");
        listening.wait_for_line("an exporter of user 65534 was refused");
    }
    assert_eq!(rows(&listening.end().0).len(), 2);
}

#[test]
fn requests_that_are_not_local_exports_are_refused_with_their_status() {
    let mut listening = Listening::start(&["tail", "otlp:0", "--format", "jsonl", "--memory", "8MiB"]);
    let port = listening.port();
    let body = request(&["x".to_owned()]);
    let good = post(port, JSON, body.as_bytes());
    let good = str::from_utf8(&good).expect("text");
    let local = format!("Host: localhost:{port}");
    for (status, request) in [
        // These are pages of another site, also one whose host name resolves to this machine.
        (403, good.replace("\r\n\r\n", "\r\nOrigin: https://evil.example\r\n\r\n")),
        (403, good.replace("\r\n\r\n", "\r\nSec-Fetch-Site: same-origin\r\n\r\n")),
        (421, good.replace(&local, "Host: evil.example")),
        (421, good.replace(&format!("{local}\r\n"), "")),
        (400, good.replace(&local, &format!("{local}\r\n{local}"))),
        (404, good.replace("/v1/traces", "/v1/trace")),
        (421, good.replace("/v1/traces", "/v1/logs").replace(&local, "Host: evil.example")),
        (405, format!("GET /v1/metrics HTTP/1.1\r\n{local}\r\n\r\n")),
        (405, format!("GET /v1/traces HTTP/1.1\r\n{local}\r\n\r\n")),
        (405, format!("OPTIONS /v1/traces HTTP/1.1\r\n{local}\r\n\r\n")),
        (415, good.replace("application/json", "text/plain")),
        (415, good.replace("\r\n\r\n", "\r\nContent-Encoding: br\r\n\r\n")),
        (400, good.replace("resourceSpans\":[", "resourceSpans\":(")),
        (400, good.replace("\r\n\r\n", "\r\nTransfer-Encoding: chunked\r\n\r\n")),
        (400, good.replace("\r\n\r\n", "\r\nContent-Length: 7\r\n\r\n")),
        (400, good.replace("application/json", "application/x-protobuf")),
        (400, good.replace("\r\n\r\n", "\r\nContent-Encoding: gzip\r\n\r\n")),
        (413, format!("POST /v1/traces HTTP/1.1\r\n{local}\r\n{JSON}Content-Length: 99999999999\r\n\r\n")),
        (431, good.replace("\r\n\r\n", &format!("\r\nX: {}\r\n\r\n", "x".repeat(40_000)))),
        (431, good.replace("\r\n\r\n", &format!("{}\r\n\r\n", "\r\nX: y".repeat(100)))),
        (400, "\u{1}\u{2}\u{3}\r\n\r\n".to_owned()),
        (505, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned()),
    ] {
        let (found, whole) = send(&mut to(port), request.as_bytes());
        assert_eq!(found, status, "{request}\n{whole}");
        assert!(!whole.contains("Access-Control"), "{whole}");
    }
    let (_, head) = send(&mut to(port), format!("HEAD /v1/traces HTTP/1.1\r\n{local}\r\n\r\n").as_bytes());
    assert!(head.starts_with("HTTP/1.1 405") && head.ends_with("\r\n\r\n"), "no body: {head}");
    assert_eq!(send(&mut to(port), b"\x16\x03\x01\x02\x00\x01").0, 400, "TLS");
    // The body has 100 MiB of zeros in 100 KiB.
    let bomb = Command::new("sh").args(["-c", "head -c 100M /dev/zero | gzip -c"]).output().expect("packed").stdout;
    let (status, whole) = send(&mut to(port), &post(port, &format!("{JSON}Content-Encoding: gzip\r\n"), &bomb));
    assert_eq!(status, 413, "{whole}");
    // A client that sends all of a refused body still gets the response.
    let (status, whole) = send(&mut to(port), &post(port, JSON, &vec![b' '; 24 << 20]));
    assert_eq!(status, 413, "{whole}");
    listening.wait_for_line("OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf");
    // Valid clients are still served, also with a query.
    assert_eq!(send(&mut to(port), good.replace("/v1/traces", "/v1/traces?x=1").as_bytes()).0, 200);
    // Listens only on loopback addresses.
    let listens = |file: &str| {
        let all = fs::read_to_string(file).unwrap_or_default();
        let at_port = format!(":{port:04X}");
        let of = |line: &str| line.split_whitespace().nth(1).filter(|at| at.ends_with(&at_port)).map(str::to_owned);
        all.lines().filter(|line| line.contains(" 0A ")).filter_map(of).collect::<Vec<_>>()
    };
    assert_eq!(listens("/proc/net/tcp"), [format!("0100007F:{port:04X}")]);
    let of_6 = format!("00000000000000000000000001000000:{port:04X}");
    assert!(listens("/proc/net/tcp6").iter().all(|address| *address == of_6));
    assert_eq!(rows(&listening.end().0).len(), 1);
}

/// Programs that are instrumented without code export all three, and print an error for each refused request.
#[test]
fn metrics_and_logs_are_received_and_discarded_with_a_word() {
    let mut listening = Listening::start(&["tail", "otlp:0", "--format", "jsonl", "--memory", "8MiB"]);
    let port = listening.port();
    let traces = post(port, JSON, request(&["x".to_owned()]).as_bytes());
    let traces = str::from_utf8(&traces).expect("text");
    let mut stream = to(port);
    for path in ["/v1/metrics", "/v1/traces", "/v1/logs", "/v1/metrics?x=1"] {
        let (status, whole) = send(&mut stream, traces.replace("/v1/traces", path).as_bytes());
        assert!(status == 200 && whole.ends_with("\r\n\r\n{}"), "{path}: {whole}");
    }
    let large = String::from_utf8(post(port, JSON, &vec![b' '; 24 << 20])).expect("text");
    let (status, whole) = send(&mut to(port), large.replacen("/v1/traces", "/v1/logs", 1).as_bytes());
    assert_eq!(status, 413, "bodies are bounded: {whole}");
    listening.wait_for_line("metrics and logs of OpenTelemetry are received and discarded");
    assert_eq!(rows(&listening.end().0).len(), 1);
}

/// Exporters keep their connections open between two batches.
#[test]
fn more_exporters_than_connections_take_turns_and_too_many_at_once_are_said() {
    let mut listening = Listening::start(&["tail", "otlp:0", "--format", "jsonl"]);
    let port = listening.port();
    let body = |number| post(port, JSON, request(&[format!("exporter {number}")]).as_bytes());
    let idle: Vec<TcpStream> = (0..100)
        .map(|number| {
            let mut stream = to(port);
            let (status, whole) = send(&mut stream, &body(number));
            assert_eq!(status, 200, "exporter {number}: {whole}");
            stream
        })
        .collect();
    // These send nothing, and time out later.
    let silent: Vec<TcpStream> = (0..64).map(|_| to(port)).collect();
    listening.wait_for_line("more than 64 exporters at once");
    drop((idle, silent));
    let (rows, _) = listening.end();
    assert_eq!(rows.lines().count(), 100);
}

#[test]
fn slow_and_silent_connections_time_out_while_others_are_served() {
    let mut listening = Listening::start(&["tail", "otlp:0", "--format", "jsonl"]);
    let port = listening.port();
    let began = Instant::now();
    // There are more clients than the limit, and each sends a byte of a header now and then.
    let mut slow: Vec<TcpStream> = (0..50).map(|_| to(port)).collect();
    let good = post(port, JSON, request(&["x".to_owned()]).as_bytes());
    for stream in &mut slow {
        stream.write_all(b"POST /v1").expect("sent");
    }
    assert_eq!(send(&mut to(port), &good).0, 200);
    let mut ended = 0;
    while ended < slow.len() {
        assert!(began.elapsed() < PATIENCE, "{ended} have ended");
        std::thread::sleep(Duration::from_millis(500));
        slow.iter_mut().for_each(|stream| drop(stream.write_all(b"x")));
        ended = 0;
        for stream in &mut slow {
            stream.set_read_timeout(Some(Duration::from_millis(1))).expect("set");
            let mut byte = [0];
            ended += usize::from(
                !matches!(stream.read(&mut byte), Err(error) if error.kind() == std::io::ErrorKind::WouldBlock),
            );
        }
    }
    assert_eq!(send(&mut to(port), &good).0, 200);
    assert_eq!(rows(&listening.end().0).len(), 2);
}

#[test]
fn under_load_exporters_are_asked_to_retry_and_no_span_is_lost_or_duplicated() {
    let mut listening = Listening::start(&["tail", "otlp:0", "--format", "jsonl", "--memory", "8MiB"]);
    let port = listening.port();
    // Its output is not read.
    let mut stream = to(port);
    let mut sent = 0;
    let mut batch = |stream: &mut TcpStream| {
        let names: Vec<String> = (sent..sent + 500).map(|number| format!("n{number}")).collect();
        let (status, whole) = send(stream, &post(port, JSON, request(&names).as_bytes()));
        if status == 200 {
            sent += 500;
        } else {
            assert!(status == 429 && whole.contains("Retry-After: 1\r\n"), "{whole}");
        }
        status == 200
    };
    let began = Instant::now();
    while batch(&mut stream) {
        assert!(began.elapsed() < PATIENCE, "there is no pressure");
    }
    let stdout = listening.child.stdout.take().expect("a pipe");
    let reader = std::thread::spawn(move || BufReader::new(stdout).lines().map_while(Result::ok).collect::<Vec<_>>());
    let mut stream = to(port);
    while !batch(&mut stream) {
        assert!(began.elapsed() < PATIENCE, "it is for ever");
        stream = to(port);
    }
    let pid = listening.child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().expect("kill").success());
    assert_eq!(wait(&mut listening.child, &["tail"]), Some(0));
    let mut found: Vec<u64> = rows(&reader.join().expect("read").join("\n"))
        .iter()
        .map(|row| row["name"].as_str().and_then(|name| name[1..].parse().ok()).expect("a number"))
        .collect();
    found.sort_unstable();
    assert!(found.iter().copied().eq(0..sent), "{} of {sent}", found.len());
}
