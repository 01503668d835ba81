//! Traces of Linux tracers, in text and binary, with shared decoding of kernel events.

pub(crate) mod babeltrace;
pub(crate) mod binder;
pub(crate) mod event_text;
pub(crate) mod ftrace;
mod function_calls;
pub(crate) mod function_graph;
mod function_text;
pub(crate) mod kernel_pairs;
pub(crate) mod perf_data;
mod perf_fields;
pub(crate) mod perf_json;
pub(crate) mod perf_script;
pub(crate) mod scheduler;
pub(crate) mod strace;
mod switch_records;
pub(crate) mod syscalls;
mod thread_table;
pub(crate) mod trace_markers;
mod tracer_text;
pub(crate) mod uftrace;
