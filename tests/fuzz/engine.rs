//! Runs the target named by `LONGSPAN_TARGET` under libFuzzer.
#![no_main]

mod targets;

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use targets::{TARGETS, Target};

static TARGET: LazyLock<&Target> = LazyLock::new(|| {
    let name = std::env::var("LONGSPAN_TARGET").expect("LONGSPAN_TARGET names a target");
    TARGETS.iter().find(|target| target.name == name).unwrap_or_else(|| panic!("no target {name}"))
});

fuzz_target!(|bytes: &[u8]| (TARGET.check)(bytes));
