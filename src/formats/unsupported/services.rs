//! Unsupported JSON of services that store traces, of build servers, and of profilers of GPUs: each by keys that only
//! it writes.

use super::bytes::{begins_with_key, has_xray_id};
use super::table::Sniff::Keys;
use super::table::{NSYS, UnsupportedFormat, both, head, keys};
use crate::formats::RefusedKind;

/// A kind of document, detected by its keys.
const fn json(keys: &'static [&'static str], refused: RefusedKind) -> UnsupportedFormat {
    UnsupportedFormat { sniff: Keys(keys), refused }
}

const FROM_JAEGER: &str = "fetch the trace from Jaeger: `curl http://HOST:16686/api/traces/ID > trace.json`";
const JAEGER_GRPC: RefusedKind = RefusedKind::new("spans of Jaeger's gRPC API", FROM_JAEGER);
const MANY_BY_OTLP: &str =
    "no known tool converts them; export by OTLP to a collector, and open what its file exporter writes";
const ONE_BY_OTLP: &str =
    "no known tool converts it; export by OTLP to a collector, and open what its file exporter writes";
const DATADOG: RefusedKind = RefusedKind::new(
    "spans of Datadog",
    "send them to a collector with a receiver for Datadog, and open what its file exporter writes",
);
const SIGNOZ: RefusedKind = RefusedKind::new("a trace of SigNoz", ONE_BY_OTLP);
const SENTRY: RefusedKind = RefusedKind::new("transactions of Sentry", MANY_BY_OTLP);
const SENTRY_PROFILE: RefusedKind = RefusedKind::new(
    "a profile of Sentry",
    "no known tool converts it; record with `py-spy record -f speedscope`, `node --cpu-prof` or another profiler that is read",
);
const CLOUD_TRACE: RefusedKind = RefusedKind::new("a trace of Google Cloud Trace", ONE_BY_OTLP);
const ROCPROF: &str = "record with `rocprofv3 --output-format pftrace`, and open the .pftrace";
const GITHUB: RefusedKind = RefusedKind::new(
    "jobs of GitHub Actions",
    "no known tool converts them; the action otel-cicd-action exports runs by OTLP to a collector: open what its file exporter writes",
);
const BUILDKITE: RefusedKind = RefusedKind::new(
    "builds of Buildkite",
    "no known tool converts them; trace the steps themselves, for example with a profile of the build tool",
);
const NSYS_JSON: RefusedKind = RefusedKind::new("a report of Nsight Systems as JSON", NSYS.advice);

/// Documents of services that store traces, of build servers, and of profilers.
pub(super) const SERVICES: &[UnsupportedFormat] = &[
    json(&["[][].trace_id", "[][].span_id", "[][].resource"], DATADOG),
    json(&["traces[][].trace_id", "traces[][].span_id", "traces[][].resource"], DATADOG),
    json(&["trace.root_id", "trace.spans"], DATADOG),
    json(&["[].startTimestampMillis", "[].columns", "[].events"], SIGNOZ),
    json(&["data.spans[].spanId", "data.spans[].durationNano"], SIGNOZ),
    json(&["data.spans[].span_id", "data.spans[].duration_nano"], SIGNOZ),
    both(&["id", "trace_id", "start_time"], has_xray_id, "a segment of AWS X-Ray", ONE_BY_OTLP),
    json(&["transaction", "start_timestamp", "contexts"], SENTRY),
    json(&["event_id", "sent_at"], SENTRY),
    json(&["event_id", "profile.frames"], SENTRY_PROFILE),
    json(&["event_id", "profile.samples"], SENTRY_PROFILE),
    json(&["profiler_id", "chunk_id"], SENTRY_PROFILE),
    keys(&["data.trace.spans", "data.trace.spans[].segmentId"], "a trace of SkyWalking", ONE_BY_OTLP),
    keys(&["[].common", "[].spans[].trace.id"], "spans of New Relic", MANY_BY_OTLP),
    json(&["projectId", "traceId", "spans"], CLOUD_TRACE),
    json(&["traces[].projectId", "traces[].traceId"], CLOUD_TRACE),
    json(&["spans[].spanId", "spans[].displayName"], CLOUD_TRACE),
    keys(
        &["traces[].traceID", "traces[].startTimeUnixNano"],
        "a list of traces that Tempo found",
        "fetch one by its id: `curl http://HOST:3200/api/traces/ID > trace.json`",
    ),
    keys(
        &["hits.hits[]._source.traceID", "hits.hits[]._source.operationName"],
        "spans of Jaeger from Elasticsearch",
        FROM_JAEGER,
    ),
    json(&["spans[].traceId", "spans[].operationName", "spans[].startTime"], JAEGER_GRPC),
    json(&["result.spans[].traceId", "result.spans[].operationName"], JAEGER_GRPC),
    keys(&["hits.hits[]._source.processor.event"], "documents of Elastic APM", MANY_BY_OTLP),
    keys(&["[].trace.trace_id", "[].trace.span_id"], "events of Honeycomb", MANY_BY_OTLP),
    keys(&["[].iKey", "[].data.baseType"], "telemetry of Application Insights", MANY_BY_OTLP),
    head(
        |head| begins_with_key(head, "resourceProfiles"),
        "profiles of OpenTelemetry",
        "no known tool converts them; export pprof, or record with `perf record -g PROGRAM` instead",
    ),
    json(&["Type", "CudaEvent"], NSYS_JSON),
    json(&["Type", "TraceProcessEvent"], NSYS_JSON),
    json(&["Type", "NvtxEvent"], NSYS_JSON),
    keys(&["rocprofiler-sdk-tool"], "a profile of rocprofv3 as JSON", ROCPROF),
    json(&["total_count", "jobs[].run_id"], GITHUB),
    json(&["jobs[].databaseId", "jobs[].startedAt"], GITHUB),
    json(&["[].number", "[].state", "[].jobs[].type"], BUILDKITE),
    json(&["number", "state", "jobs[].type"], BUILDKITE),
    keys(
        &["id.started", "started.uuid"],
        "build events of Bazel",
        "they have few times; record with `bazel build --profile=profile.json.gz`, and open profile.json.gz",
    ),
];
