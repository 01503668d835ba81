//! Field numbers and enum values of the OpenTelemetry trace messages, and of the fields that distinguish metrics and
//! logs. Names are the same as in the public .proto files; a test checks all numbers against a table generated from
//! them.

use crate::formats::protobuf::numbers::proto_numbers;

proto_numbers! {
    fields request = "opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest" {
        RESOURCE_SPANS = 1,
    }
    fields resource_spans = "opentelemetry.proto.trace.v1.ResourceSpans" {
        RESOURCE = 1,
        SCOPE_SPANS = 2,
    }
    fields resource = "opentelemetry.proto.resource.v1.Resource" {
        ATTRIBUTES = 1,
    }
    fields scope_spans = "opentelemetry.proto.trace.v1.ScopeSpans" {
        SCOPE = 1,
        SPANS = 2,
    }
    fields scope = "opentelemetry.proto.common.v1.InstrumentationScope" {
        NAME = 1,
    }
    fields span = "opentelemetry.proto.trace.v1.Span" {
        TRACE_ID = 1,
        SPAN_ID = 2,
        PARENT_SPAN_ID = 4,
        NAME = 5,
        KIND = 6,
        START_TIME_UNIX_NANO = 7,
        END_TIME_UNIX_NANO = 8,
        ATTRIBUTES = 9,
        DROPPED_ATTRIBUTES_COUNT = 10,
        EVENTS = 11,
        DROPPED_EVENTS_COUNT = 12,
        LINKS = 13,
        DROPPED_LINKS_COUNT = 14,
        STATUS = 15,
    }
    values span_kind = "opentelemetry.proto.trace.v1.Span.SpanKind" {
        SPAN_KIND_INTERNAL = 1,
        SPAN_KIND_SERVER = 2,
        SPAN_KIND_CLIENT = 3,
        SPAN_KIND_PRODUCER = 4,
        SPAN_KIND_CONSUMER = 5,
    }
    fields event = "opentelemetry.proto.trace.v1.Span.Event" {
        TIME_UNIX_NANO = 1,
        NAME = 2,
        ATTRIBUTES = 3,
        DROPPED_ATTRIBUTES_COUNT = 4,
    }
    fields link = "opentelemetry.proto.trace.v1.Span.Link" {
        TRACE_ID = 1,
        SPAN_ID = 2,
        ATTRIBUTES = 4,
        DROPPED_ATTRIBUTES_COUNT = 5,
    }
    fields status = "opentelemetry.proto.trace.v1.Status" {
        MESSAGE = 2,
        CODE = 3,
    }
    values status_code = "opentelemetry.proto.trace.v1.Status.StatusCode" {
        STATUS_CODE_OK = 1,
        STATUS_CODE_ERROR = 2,
    }
    fields key_value = "opentelemetry.proto.common.v1.KeyValue" {
        KEY = 1,
        VALUE = 2,
    }
    fields any_value = "opentelemetry.proto.common.v1.AnyValue" {
        STRING_VALUE = 1,
        BOOL_VALUE = 2,
        INT_VALUE = 3,
        DOUBLE_VALUE = 4,
        ARRAY_VALUE = 5,
        KVLIST_VALUE = 6,
        BYTES_VALUE = 7,
    }
    fields metric = "opentelemetry.proto.metrics.v1.Metric" {
        NAME = 1,
        GAUGE = 5,
        SUM = 7,
        HISTOGRAM = 9,
        EXPONENTIAL_HISTOGRAM = 10,
        SUMMARY = 11,
    }
    fields log_record = "opentelemetry.proto.logs.v1.LogRecord" {
        TIME_UNIX_NANO = 1,
        SEVERITY_NUMBER = 2,
        OBSERVED_TIME_UNIX_NANO = 11,
    }
    fields array_value = "opentelemetry.proto.common.v1.ArrayValue" {
        VALUES = 1,
    }
    fields kvlist = "opentelemetry.proto.common.v1.KeyValueList" {
        VALUES = 1,
    }
}
