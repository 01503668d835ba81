//! HAR: HTTP requests recorded by a browser, a proxy or Playwright. An entry is a span, with its phases (blocked, DNS,
//! connect, send, wait, receive) as child spans. A page is a process, with a span up to its load event. Headers and
//! bodies are ignored.

use rustc_hash::FxHashMap;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{SpanDecoder, SpanDocument, SpanSink, id_text};
use crate::base::time::epoch_nanos;
use crate::formats::format::{DataKind, Format, Opener};
use crate::formats::json::document::{JsonExtent, TimeUnit};
use crate::formats::json::lenient::{or_default, text};
use crate::formats::json::outline::Outline;
use crate::formats::json::sniff::looks_like_json;
use crate::formats::otlp::layout::{Layout, Point, ServiceSpan, span_id};
use crate::formats::otlp::services::ServiceKey;
use crate::formats::output::args::ArgsWriter;
use crate::formats::output::batch::BatchBuilder;
use crate::formats::{ReadError, Reader};
use crate::model::{Loss, SourcePos};

pub(crate) const FORMAT: Format = Format {
    name: "HAR",
    record: "A request is an object in log.entries with startedDateTime and time.",
    sniff: looks_like_har,
    is_event: None,
    live: None,
    shows: &[DataKind::Spans, DataKind::Instants, DataKind::Arguments],
    opener: Opener::Trace(|source, _| Ok(Reader::stream(SpanDocument { source, decoder: Har::default() }))),
};

/// The first status of client errors; server errors follow.
const FIRST_ERROR_STATUS: i64 = 400;

/// Keys of the members of [`HarEntry`], at any depth. An entry may also have bodies of any size.
const ENTRY_KEYS: &[&str] = &[
    "pageref",
    "startedDateTime",
    "time",
    "request",
    "method",
    "url",
    "httpVersion",
    "response",
    "status",
    "statusText",
    "content",
    "size",
    "mimeType",
    "bodySize",
    "_transferSize",
    "_error",
    "timings",
    "blocked",
    "dns",
    "connect",
    "ssl",
    "send",
    "wait",
    "receive",
    "serverIPAddress",
    "connection",
    "_resourceType",
    "_priority",
];

/// Returns whether this is an object with a request log.
fn looks_like_har(head: &[u8]) -> bool {
    looks_like_json(head) && {
        let outline = Outline::from_head(head);
        outline.count_of(&["log.version", "log.creator", "log.entries", "log.pages"]) >= 2
            || outline.has_all(&["log.entries[].request.method", "log.entries[].request.url"])
    }
}

/// The decoder of request logs.
#[derive(Default)]
struct Har {
    /// Number of requests so far, over all documents of the file.
    requests: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HarPage<'a> {
    #[serde(borrow)]
    started_date_time: Option<&'a RawValue>,
    #[serde(default, deserialize_with = "text")]
    id: String,
    #[serde(default, deserialize_with = "text")]
    title: String,
    #[serde(borrow, default, deserialize_with = "or_default", rename = "pageTimings")]
    timings: Option<PageTimings<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PageTimings<'a> {
    #[serde(borrow)]
    on_content_load: Option<&'a RawValue>,
    #[serde(borrow)]
    on_load: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct HarEntry<'a> {
    #[serde(default, deserialize_with = "text")]
    pageref: String,
    #[serde(borrow)]
    started_date_time: Option<&'a RawValue>,
    #[serde(borrow)]
    time: Option<&'a RawValue>,
    #[serde(default, deserialize_with = "or_default")]
    request: Option<HarRequest>,
    #[serde(borrow, default, deserialize_with = "or_default")]
    response: Option<Response<'a>>,
    #[serde(borrow, default, deserialize_with = "or_default")]
    timings: Timings<'a>,
    #[serde(rename = "serverIPAddress", default, deserialize_with = "text")]
    server_address: Option<String>,
    #[serde(default, deserialize_with = "text")]
    connection: Option<String>,
    #[serde(rename = "_resourceType", default, deserialize_with = "text")]
    resource_type: Option<String>,
    #[serde(rename = "_priority", default, deserialize_with = "text")]
    priority: Option<String>,
}

impl HarEntry<'_> {
    /// Returns whether the request was still running at the end of the recording: it has neither a total nor a phase
    /// nor an answer. Requests without a duration, such as blocked ones, have a total of 0.
    fn is_unfinished(&self) -> bool {
        let is_answered = |response: &Response<'_>| response.status() > 0 || response.error().is_some();
        let has_phases = self.timings.phases(None).iter().any(|(_, ns)| ns.is_some_and(|ns| ns > 0));
        taken_ns(self.time).is_none() && !has_phases && !self.response.as_ref().is_some_and(is_answered)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HarRequest {
    #[serde(default, deserialize_with = "text")]
    method: String,
    #[serde(default, deserialize_with = "text")]
    url: String,
    #[serde(default, deserialize_with = "text")]
    http_version: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Response<'a> {
    #[serde(borrow)]
    status: Option<&'a RawValue>,
    #[serde(default, deserialize_with = "text")]
    status_text: Option<String>,
    #[serde(borrow, default, deserialize_with = "or_default")]
    content: Option<HarContent<'a>>,
    #[serde(borrow)]
    body_size: Option<&'a RawValue>,
    #[serde(borrow, rename = "_transferSize")]
    transfer_size: Option<&'a RawValue>,
    /// A text, or an object of some proxies.
    #[serde(borrow, rename = "_error")]
    error: Option<&'a RawValue>,
}

impl Response<'_> {
    /// Returns the status, which some tools write as a text; 0 without an answer.
    fn status(&self) -> i64 {
        self.status.and_then(number).map_or(0, |status| status as i64)
    }

    /// Returns whether there was no answer because of an error, or the answer is one of the client or the server.
    fn is_failed(&self) -> bool {
        self.status() >= FIRST_ERROR_STATUS || self.error().is_some()
    }

    fn error(&self) -> Option<&str> {
        self.error.map(RawValue::get).filter(|error| !matches!(*error, "null" | "\"\"" | "{}"))
    }
}

/// Parses a number or the text of one.
fn number(value: &RawValue) -> Option<f64> {
    id_text(value).parse().ok()
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HarContent<'a> {
    #[serde(borrow)]
    size: Option<&'a RawValue>,
    #[serde(default, deserialize_with = "text")]
    mime_type: Option<String>,
}

/// Phases of a request in milliseconds. Phases that did not occur are missing, `null` or -1.
#[derive(Deserialize, Default)]
struct Timings<'a> {
    #[serde(borrow)]
    blocked: Option<&'a RawValue>,
    #[serde(borrow)]
    dns: Option<&'a RawValue>,
    #[serde(borrow)]
    connect: Option<&'a RawValue>,
    /// The last part of `connect`, or a phase after it.
    #[serde(borrow)]
    ssl: Option<&'a RawValue>,
    #[serde(borrow)]
    send: Option<&'a RawValue>,
    #[serde(borrow)]
    wait: Option<&'a RawValue>,
    #[serde(borrow)]
    receive: Option<&'a RawValue>,
}

/// Excess of the phases over the total that still counts as rounding. Floating-point milliseconds differ by less.
const ROUNDING_NS: i64 = 1000;

impl Timings<'_> {
    /// Returns the phases in order, with their durations in nanoseconds. The specification includes `ssl` in `connect`.
    /// Firefox and mitmproxy do not; then the total is only explained with it, and it is a phase too.
    fn phases(&self, total_ns: Option<i64>) -> [(&'static str, Option<i64>); 7] {
        let Self { blocked, dns, connect, ssl, send, wait, receive } = *self;
        let names = ["blocked", "dns", "connect", "ssl", "send", "wait", "receive"];
        let mut durations_ns = [blocked, dns, connect, None, send, wait, receive].map(taken_ns);
        let sum_ns = durations_ns.iter().flatten().fold(0, |sum_ns: i64, &ns| sum_ns.saturating_add(ns));
        let ssl_ns = taken_ns(ssl).unwrap_or(0);
        let is_short = |total_ns: i64| {
            let left_ns = total_ns.saturating_sub(sum_ns);
            left_ns > ROUNDING_NS && ssl_ns <= left_ns.saturating_add(ROUNDING_NS)
        };
        if ssl_ns > 0 && total_ns.is_some_and(is_short) {
            durations_ns[3] = Some(ssl_ns);
        }
        let mut durations_ns = durations_ns.into_iter();
        names.map(|name| (name, durations_ns.next().flatten()))
    }

    /// Returns whether `connect` is long enough for `dns`, and `send` for `connect`. Playwright measures all three from
    /// the start in requests of its API.
    fn is_timed_from_start(&self) -> bool {
        let [dns_ns, connect_ns, send_ns] = [self.dns, self.connect, self.send].map(|ms| taken_ns(ms).unwrap_or(0));
        connect_ns > 0 && (dns_ns..=send_ns).contains(&connect_ns)
    }
}

/// Converts milliseconds to nanoseconds; returns `None` for phases that did not occur.
fn taken_ns(millis: Option<&RawValue>) -> Option<i64> {
    millis.and_then(|millis| TimeUnit::Milliseconds.nanos(millis).ok()).filter(|&ns| ns >= 0)
}

impl SpanDecoder for Har {
    fn decode(&mut self, extent: JsonExtent, sink: &mut SpanSink<'_, '_>) -> Result<bool, ReadError> {
        let SpanSink { document, layout, out } = sink;
        let [log] = document.pick(extent, ["log"])?;
        let Some(log) = log else {
            let is_first = extent == document.whole();
            return if is_first { Err(document.without("the JSON of a HAR file with its log")) } else { Ok(false) };
        };
        let [pages, entries] = document.pick(log, ["pages", "entries"])?;
        // By page id.
        let mut services = FxHashMap::default();
        let mut charge = document.table_charge();
        let mut pages = document.elements(pages);
        while let Some(element) = pages.next()? {
            let pos = SourcePos::Offset(element.offset);
            let Some(page) = element.parse::<HarPage<'_>>(out.batch.losses()) else { continue };
            charge.add(page.id.len() + 3 * size_of::<(String, u32)>(), element.offset)?;
            let title = if page.title.is_empty() { &page.id } else { &page.title };
            // A page that is loaded again has the same title and another id.
            let key = ServiceKey { name: title, instance: &page.id, ..ServiceKey::default() };
            let service = layout.service_of(key, out.batch);
            add_page(&page, title, service, pos, layout, out.batch);
            services.insert(page.id, service);
        }
        let mut entries = document.elements(entries).with_used_keys(ENTRY_KEYS);
        while let Some(element) = entries.next()? {
            let pos = SourcePos::Offset(element.offset);
            let Some(entry) = element.parse::<HarEntry<'_>>(out.batch.losses()) else { continue };
            let service = match services.get(&entry.pageref) {
                Some(&service) => service,
                None => layout.service("requests", out.batch),
            };
            self.requests += 1;
            let request = RequestKey { number: self.requests, service, pos };
            add_entry(&entry, request, layout, out.batch);
            layout.flush_if_full(out)?;
        }
        Ok(true)
    }
}

/// Returns the start of a page or an entry; counts a loss if it is missing. Some tools write milliseconds since 1970.
fn started_ns(started: Option<&RawValue>, pos: SourcePos, batch: &mut BatchBuilder) -> Option<i64> {
    let started_ns = started.and_then(|started| match serde_json::from_str::<String>(started.get()) {
        Ok(text) => epoch_nanos(&text),
        Err(_) => TimeUnit::Milliseconds.nanos(started).ok(),
    });
    if started_ns.is_none() {
        batch.lose(Loss::BadTime, pos);
    }
    started_ns
}

/// Adds a page as a span up to its last known event: its load, or else the load of its content. Both are instants too.
fn add_page(
    page: &HarPage<'_>,
    title: &str,
    service: u32,
    pos: SourcePos,
    layout: &mut Layout,
    batch: &mut BatchBuilder,
) {
    let Some(start_ns) = started_ns(page.started_date_time, pos, batch) else { return };
    let timings = page.timings.as_ref();
    let load_ns = timings.and_then(|timings| taken_ns(timings.on_load));
    let content_ns = timings.and_then(|timings| taken_ns(timings.on_content_load));
    let Some(last_ns) = load_ns.or(content_ns) else { return };
    let point = |ns: i64, name: &str| Point {
        ts_ns: start_ns.saturating_add(ns),
        name: name.as_bytes().into(),
        args: "".into(),
    };
    let content = content_ns.map(|ns| point(ns, "onContentLoad"));
    let points = content.into_iter().chain(load_ns.map(|ns| point(ns, "onLoad")));
    layout.push(ServiceSpan {
        id: span_id(b"page", page.id.as_bytes()),
        points: points.collect(),
        ..ServiceSpan::new(service, title.as_bytes(), start_ns, Some(start_ns.saturating_add(last_ns)), pos)
    });
}

/// A request of a trace: its number, the row of its service, and its position in the file.
#[derive(Debug, Clone, Copy)]
pub(super) struct RequestKey {
    pub(super) number: u64,
    pub(super) service: u32,
    pub(super) pos: SourcePos,
}

impl RequestKey {
    /// Returns the id of the span of a phase; the request itself has an empty name.
    fn span_id(self, phase: &str) -> u64 {
        span_id(&self.number.to_le_bytes(), phase.as_bytes())
    }

    fn span(self, start_ns: i64, end_ns: Option<i64>, phase: &str) -> ServiceSpan {
        let span = ServiceSpan::new(self.service, phase.as_bytes(), start_ns, end_ns, self.pos);
        ServiceSpan { id: self.span_id(phase), ..span }
    }
}

/// Adds a request as a span with its phases as children.
pub(super) fn add_entry(entry: &HarEntry<'_>, request: RequestKey, layout: &mut Layout, batch: &mut BatchBuilder) {
    let pos = request.pos;
    let Some(start_ns) = started_ns(entry.started_date_time, pos, batch) else { return };
    let (timings, took_ns) = (&entry.timings, taken_ns(entry.time).filter(|&ns| ns > 0));
    if entry.time.is_some_and(|time| TimeUnit::Milliseconds.nanos(time).is_err()) {
        batch.lose(Loss::BadNumber, pos);
    }
    let phases = timings.phases(took_ns);
    let sum_ns = phases.iter().filter_map(|(_, ns)| *ns).fold(0, i64::saturating_add);
    // Failed requests may have no total.
    let took_ns = took_ns.unwrap_or(sum_ns);
    let is_over = sum_ns > took_ns.saturating_add(ROUNDING_NS);
    let end_ns = (!entry.is_unfinished()).then(|| start_ns.saturating_add(took_ns));
    let (name, args) = (title(entry), args(entry, is_over));
    let whole = request.span(start_ns, end_ns, "");
    let is_failed = entry.response.as_ref().is_some_and(Response::is_failed);
    layout.push(ServiceSpan { name: name.as_bytes().into(), args, is_failed, ..whole });
    let is_nested = is_over && timings.is_timed_from_start();
    add_phases(timings, phases, is_nested, (start_ns, end_ns.unwrap_or(i64::MAX)), request, layout);
}

/// Adds the phases of a request one after the other, up to its end. If `is_nested`, `dns` is inside `connect`, and
/// `connect` inside `send`.
fn add_phases(
    timings: &Timings<'_>,
    phases: [(&'static str, Option<i64>); 7],
    is_nested: bool,
    (start_ns, end_ns): (i64, i64),
    request: RequestKey,
    layout: &mut Layout,
) {
    let has_own_ssl = phases.iter().any(|(phase, ns)| *phase == "ssl" && ns.is_some());
    let mut now_ns = start_ns;
    let connect_ns = start_ns.saturating_add(taken_ns(timings.blocked).unwrap_or(0));
    for (phase, ns) in phases {
        let parent = match phase {
            "dns" if is_nested => "connect",
            "connect" if is_nested => "send",
            _ => "",
        };
        let from_ns = if parent.is_empty() && !(is_nested && phase == "send") { now_ns } else { connect_ns };
        let Some(ns) = ns.filter(|&ns| ns > 0 && from_ns < end_ns) else { continue };
        let until_ns = from_ns.saturating_add(ns).min(end_ns);
        let span = request.span(from_ns, Some(until_ns), phase);
        layout.push(ServiceSpan { parent: Some(request.span_id(parent)), ..span });
        if phase == "connect"
            && !has_own_ssl
            && let Some(ssl_ns) = taken_ns(timings.ssl).filter(|&ssl_ns| ssl_ns > 0)
        {
            let ssl = request.span(until_ns.saturating_sub(ssl_ns).max(from_ns), Some(until_ns), "ssl");
            layout.push(ServiceSpan { parent: Some(request.span_id("connect")), ..ssl });
        }
        now_ns = until_ns;
    }
}

/// Returns the method and the URL without its query, which may be very long.
fn title(entry: &HarEntry<'_>) -> String {
    let Some(HarRequest { method, url, .. }) = &entry.request else { return "request".to_owned() };
    let url = url.split(['?', '#']).next().unwrap_or_default();
    // A data URL contains the data itself.
    let url = if url.starts_with("data:") { url.split(',').next().unwrap_or_default() } else { url };
    format!("{method} {url}").trim().to_owned()
}

/// Returns the arguments of a request. `has_phases` adds the durations of its phases, which do not fit into its span.
fn args(entry: &HarEntry<'_>, has_phases: bool) -> Box<str> {
    let mut args = ArgsWriter::default();
    let text = |args: &mut ArgsWriter, key: &str, text: Option<&str>| {
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            args.text(key, text.as_bytes());
        }
    };
    if let Some(request) = &entry.request {
        text(&mut args, "url", Some(&request.url));
        text(&mut args, "http_version", request.http_version.as_deref());
    }
    if let Some(response) = &entry.response {
        args.signed("status", response.status());
        text(&mut args, "status_text", response.status_text.as_deref());
        let content = response.content.as_ref();
        text(&mut args, "mime_type", content.and_then(|content| content.mime_type.as_deref()));
        // Unknown sizes are -1.
        for (key, bytes) in [
            ("content_bytes", content.and_then(|content| content.size)),
            ("body_bytes", response.body_size),
            ("transfer_bytes", response.transfer_size),
        ] {
            if let Some(bytes) = bytes.and_then(number).filter(|bytes| (0.0..1e15).contains(bytes)) {
                args.number(key, bytes as u64);
            }
        }
        if let Some(error) = response.error() {
            args.key("", b"error");
            args.json.push_str(error);
        }
    }
    text(&mut args, "server", entry.server_address.as_deref());
    text(&mut args, "connection", entry.connection.as_deref());
    text(&mut args, "resource_type", entry.resource_type.as_deref());
    text(&mut args, "priority", entry.priority.as_deref());
    let Timings { blocked, dns, connect, ssl, send, wait, receive } = &entry.timings;
    let named = [("blocked", blocked), ("dns", dns), ("connect", connect), ("ssl", ssl), ("send", send)];
    for (key, ms) in named.into_iter().chain([("wait", wait), ("receive", receive)]) {
        if let Some(ms) = ms.filter(|&ms| has_phases && taken_ns(Some(ms)).is_some()) {
            args.key("", format!("{key}_ms").as_bytes());
            args.json.push_str(ms.get());
        }
    }
    args.finish().into()
}
