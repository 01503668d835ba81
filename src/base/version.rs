//! The version of this program, with the commit and the kind of its build: the first line of a bug report.

use std::sync::LazyLock;

/// The version, and in brackets the commit of a release build, the build profile, and the target.
pub(crate) static VERSION: LazyLock<String> = LazyLock::new(|| {
    let kind = if cfg!(debug_assertions) { "debug" } else { "release" };
    let system = format!("{} {}", std::env::consts::OS, std::env::consts::ARCH);
    let commit = option_env!("LONGSPAN_COMMIT").filter(|commit| !commit.is_empty());
    let facts: Vec<&str> = commit.into_iter().chain([kind, &system]).collect();
    format!("{} ({})", env!("CARGO_PKG_VERSION"), facts.join(", "))
});
