//! The script that measures the figures of the documentation, at a tiny scale: each row has a figure or a reason.

use std::path::Path;
use std::process::Command;

#[test]
fn the_table_of_figures_is_measured_for_two_builds_in_turns() {
    let program = env!("CARGO_BIN_EXE_longspan");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/compare.py");
    let folder = tempfile::tempdir().expect("a folder");
    let mut python = Command::new("python3");
    python.arg(script).arg(program).args(["--baseline", program, "--scale", "0.000001", "--runs", "1"]);
    let output = python.env("TMPDIR", folder.path()).args(["--engine", "false"]).output().expect("Python runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let output = String::from_utf8(output.stdout).expect("text");
    let rows: Vec<Vec<&str>> = output.lines().filter(|line| line.starts_with('|')).skip(2).map(cells_of).collect();
    assert!(rows.len() > 20, "{output}");
    for row in rows {
        let [title, unit, figures @ ..] = &row[..] else { panic!("{row:?}") };
        assert_eq!(figures.len(), 3, "{row:?}");
        if *unit == "times its rate" {
            assert_eq!(figures[0], "no engine: see --engine", "{title}");
        } else {
            let is_figure = |cell: &str| cell.replace(',', "").parse::<f64>().is_ok_and(f64::is_finite);
            assert!(is_figure(figures[0]) && is_figure(figures[1]), "{row:?}");
        }
    }
}

/// Returns the cells of a row of a Markdown table.
fn cells_of(line: &str) -> Vec<&str> {
    line.trim_matches('|').split('|').map(str::trim).collect()
}
