//! Checks for arbitrary bytes, one function per part of Longspan with external input. The quick test (`main.rs`) and
//! cargo-fuzz (`engine.rs`) call the same functions. Findings are panics, and differences between two ways to the same
//! result.

mod arguments;
mod chrome_json;
mod filter;
mod load;
mod native;
mod packed;
#[cfg(feature = "window")]
mod preferences;
mod reading;
mod rows;
mod store;
mod symbols;
#[cfg(feature = "window")]
mod timeline;
mod uftrace;

/// A part with external input.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Target {
    /// Name of its corpus folder.
    pub name: &'static str,
    /// Panics if the result for these bytes is wrong.
    pub check: fn(&[u8]),
}

/// The table of targets. Passes its rows to the macro `$take`: here for the list, and in `main.rs` for a test each.
macro_rules! with_targets {
    ($take:ident) => {
        $take! {
            parts {
                arguments: arguments::check;
                chrome_json: chrome_json::check;
                filter: filter::check;
                load: load::check;
                native: native::check;
                packed: packed::check;
                store: store::check;
                symbols: symbols::check;
                uftrace: uftrace::check;
            }
            of_window {
                preferences: preferences::check;
                timeline: timeline::check;
            }
            readers {
                austin: "Austin samples";
                babeltrace: "babeltrace";
                callgrind: "Callgrind profile";
                cargo_timings: "Cargo timings";
                collapsed: "Collapsed stacks";
                cpuprofile: "V8 CPU profile";
                firefox: "Firefox profile";
                ftrace: "ftrace";
                fxt: "Fuchsia trace";
                har: "HAR";
                heap_profile: "V8 heap profile";
                jaeger: "Jaeger";
                next_js: "Next.js trace";
                ninja: "Ninja log";
                otlp_json: "OpenTelemetry JSON";
                otlp_proto: "OpenTelemetry protobuf";
                perf_data: "perf.data";
                perf_json: "perf JSON";
                perf_script: "perf script";
                perfetto: "Perfetto";
                playwright: "Playwright trace";
                pprof: "pprof";
                spall: "Spall";
                speedscope: "speedscope";
                strace: "strace";
                tar: "tar archive";
                tracy: "Tracy zones";
                xdebug: "Xdebug trace";
                zip: "zip archive";
                zipkin: "Zipkin";
            }
        }
    };
}

macro_rules! list {
    (
        parts { $($part:ident: $check:expr;)* }
        of_window { $($window_part:ident: $window_check:expr;)* }
        readers { $($reader:ident: $format:literal;)* }
    ) => {
        pub(crate) const TARGETS: &[Target] = &[
            $(Target { name: stringify!($part), check: $check },)*
            $(#[cfg(feature = "window")] Target { name: stringify!($window_part), check: $window_check },)*
            $(Target { name: stringify!($reader), check: |bytes| reading::check($format, bytes) },)*
        ];
    };
}

with_targets!(list);
