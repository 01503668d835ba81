//! What any bytes are held to, one function for each part of Longspan that takes bytes or text from outside. The same
//! functions are called by the quick test (`main.rs`) and by cargo-fuzz (`engine.rs`). Panics are findings; so is any
//! difference between two ways to the same answer. Knows nothing of where the bytes come from.

mod chrome_json;
mod filter;
mod load;
mod native;
mod packed;
mod reading;
mod rows;
mod store;

/// One part that takes bytes from outside.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// The name of its folder of inputs.
    pub name: &'static str,
    /// Panics if what is made of the bytes is wrong.
    pub check: fn(&[u8]),
}

macro_rules! targets {
    ($($name:ident: $check:expr;)*) => {
        /// All targets.
        pub const TARGETS: &[Target] = &[$(Target { name: stringify!($name), check: $check },)*];
    };
}

targets! {
    chrome_json: chrome_json::check;
    collapsed: |bytes| reading::check("Collapsed stacks", bytes);
    cpuprofile: |bytes| reading::check("V8 CPU profile", bytes);
    filter: filter::check;
    firefox: |bytes| reading::check("Firefox profile", bytes);
    ftrace: |bytes| reading::check("ftrace", bytes);
    fxt: |bytes| reading::check("Fuchsia trace", bytes);
    load: load::check;
    native: native::check;
    ninja: |bytes| reading::check("Ninja log", bytes);
    otlp_json: |bytes| reading::check("OpenTelemetry JSON", bytes);
    otlp_proto: |bytes| reading::check("OpenTelemetry protobuf", bytes);
    packed: packed::check;
    perf_data: |bytes| reading::check("perf.data", bytes);
    perf_script: |bytes| reading::check("perf script", bytes);
    perfetto: |bytes| reading::check("Perfetto", bytes);
    spall: |bytes| reading::check("Spall", bytes);
    speedscope: |bytes| reading::check("speedscope", bytes);
    store: store::check;
    strace: |bytes| reading::check("strace", bytes);
    tar: |bytes| reading::check("tar archive", bytes);
    tracy: |bytes| reading::check("Tracy zones", bytes);
    zip: |bytes| reading::check("zip archive", bytes);
}
