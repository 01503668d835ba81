//! Runs `.ci/test` with a fake cargo, to check its exit status and messages. No test is built or run.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A cargo that fails where its `FAILS` says so, and prints which tests it runs.
const CARGO: &str = r#"#!/bin/sh
case "$*" in
    *--no-run*) part=build ;;
    *'--test window'*) part=window ;;
    *--doc*) part=documents ;;
    *) part=others ;;
esac
echo "ran $part: $*"
case " $FAILS " in *" $part "*) exit 1 ;; esac
"#;

/// A checkout with the script alone, whose Python packages are installed. It is removed when dropped.
struct Checkout(PathBuf);

impl Checkout {
    fn new() -> Self {
        let root = std::env::temp_dir().join(format!("longspan-ci-test-{}", std::process::id()));
        let checkout = Self(root);
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join(".ci/test");
        checkout.write(".ci/test", &fs::read_to_string(script).expect("a script"));
        checkout.write(".ci/setup", "#!/bin/sh\n");
        checkout.write(".cargo/bin/cargo", CARGO);
        checkout.write("target/tmp/requirements-env/installed.txt", "");
        checkout.write("target/tmp/spark-env/installed.txt", "");
        checkout
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.join(path);
        let written = fs::create_dir_all(path.parent().expect("a folder")).and_then(|()| fs::write(&path, text));
        let written = written.and_then(|()| fs::set_permissions(&path, fs::Permissions::from_mode(0o755)));
        written.expect("a temporary folder that can be written");
    }

    fn run(&self, fails: &str, args: &[&str]) -> Output {
        let mut command = Command::new("bash");
        command.arg(self.0.join(".ci/test")).args(args).env("HOME", &self.0).env("FAILS", fails);
        command.output().expect("bash")
    }
}

impl Drop for Checkout {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).ok(); // in the temporary folder anyway
    }
}

#[test]
fn the_script_of_all_tests_fails_exactly_if_tests_fail() {
    let checkout = Checkout::new();
    let cases = [
        ("", None),
        ("window", Some("test: of the tests, those of the window failed\n")),
        ("others", Some("test: of the tests, the others failed\n")),
        ("documents", Some("test: of the tests, the others failed\n")),
        ("window others", Some("test: of the tests, the others and those of the window failed\n")),
        ("build", Some("")),
    ];
    for (fails, message) in cases {
        let output = checkout.run(fails, &[]);
        let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        let status = output.status.code();
        assert_eq!(status, Some(i32::from(message.is_some())), "with failures of {fails:?}: {stdout}{stderr}");
        assert_eq!(stderr, message.unwrap_or_default(), "with failures of {fails:?}");
        // A failed build ends the script; a failed half does not keep the other from running.
        assert_eq!(stdout.contains("ran others"), fails != "build", "{stdout}");
        assert_eq!(stdout.contains("ran window"), fails != "build", "{stdout}");
    }
    let chosen = checkout.run("", &["--lib", "model::"]);
    let expected = "ran others: test --locked --lib model::\n";
    assert_eq!((String::from_utf8_lossy(&chosen.stdout).as_ref(), chosen.status.code()), (expected, Some(0)));
    assert_eq!(checkout.run("others", &["--lib"]).status.code(), Some(1));
}
