//! The build script: passes the commit of the checkout to release builds, for `--version`. A source package has none.
//! Debug builds have none either, because each commit would compile them again. The environment can set another one.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=.ci/commit.rs");
    println!("cargo::rerun-if-env-changed=LONGSPAN_COMMIT");
    let is_set = std::env::var_os("LONGSPAN_COMMIT").is_some();
    let is_release = std::env::var("PROFILE").is_ok_and(|profile| profile == "release");
    // A package that was unpacked within another repository is not of its commit.
    if is_set || !is_release || !Path::new(".git").exists() {
        return;
    }
    let Some(commit) = git(&["rev-parse", "--short", "HEAD"]) else { return };
    println!("cargo::rustc-env=LONGSPAN_COMMIT={commit}");
    // HEAD names a branch, whose file or packed entry changes with each commit.
    let branch = git(&["symbolic-ref", "--quiet", "HEAD"]);
    for file in ["HEAD", "packed-refs"].into_iter().chain(branch.as_deref()) {
        if let Some(path) = git(&["rev-parse", "--git-path", file]).filter(|path| Path::new(path).exists()) {
            println!("cargo::rerun-if-changed={path}");
        }
    }
}

/// Runs git and returns its output; `None` if it is missing or fails.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
