//! Compares the packages of the window with the packages of the tests. If both lists are the same, tests with and
//! without the window have the same features of all packages, so that cargo compiles these once.

/// Returns the optional packages of a manifest that are not, with the same features, packages of its tests.
pub(crate) fn missing_in_tests(manifest: &str) -> Vec<String> {
    let (mut optional, mut of_tests, mut section) = (Vec::new(), Vec::new(), "");
    for line in manifest.lines() {
        if line.starts_with('[') {
            section = line;
        } else if section.ends_with("dev-dependencies]") {
            of_tests.push((section.to_owned(), line.to_owned()));
        } else if section.ends_with("dependencies]") && line.contains(", optional = true") {
            optional.push((section.replace("dependencies]", "dev-dependencies]"), plain(line)));
        }
    }
    let missing = optional.into_iter().filter(|package| !of_tests.contains(package));
    missing.map(|(section, package)| format!("Cargo.toml: {section} needs {package}")).collect()
}

/// Returns the line of a package that is not optional, in its short form.
fn plain(line: &str) -> String {
    let line = line.replace(", optional = true", "");
    match line.split_once(" = { version = ").map(|(name, rest)| (name, rest.trim_end_matches(" }"))) {
        Some((name, version)) if !version.contains(',') => format!("{name} = {version}"),
        _ => line,
    }
}

#[test]
fn a_package_of_the_window_that_tests_lack_or_that_differs_is_missing() {
    let manifest = "[dependencies]\na = { version = \"1\", optional = true }\nb = { version = \"1\", features = [\"x\"], \
                    optional = true }\nc = \"1\"\n[target.'cfg(unix)'.dependencies]\nd = { version = \"1\", optional = true }\n\
                    [dev-dependencies]\na = \"1\"\nb = { version = \"1\" }\nd = \"1\"\n";
    let missing = [
        "Cargo.toml: [dev-dependencies] needs b = { version = \"1\", features = [\"x\"] }",
        "Cargo.toml: [target.'cfg(unix)'.dev-dependencies] needs d = \"1\"",
    ];
    assert_eq!(missing_in_tests(manifest), missing);
}
