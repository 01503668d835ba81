//! The tables for databases, in `DuckDB` with the unchanged queries of `docs/sql.md`, and in pyarrow.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use crate::tools::{longspan, output_of, python, sql_blocks, write_requests};

/// Returns self time by name from `stats`: name, spans, nanoseconds.
pub(crate) fn stats(trace: &Path) -> BTreeMap<String, (u64, u64)> {
    let csv = longspan(&["stats"], &[trace]);
    let row = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        let number = |cell: usize| cells[cell].parse().expect("a number");
        (cells[0].to_owned(), (number(2), number(4)))
    };
    csv.lines().skip(1).map(row).collect()
}

#[test]
fn duckdb_runs_the_documented_queries() {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let trace = folder.path().join("requests.json");
    write_requests(&trace, 40);
    longspan(&["export", "-o", folder.path().join("trace.parquet").to_str().expect("text")], &[&trace]);
    let queries = sql_blocks("sql");
    assert_eq!(queries.len(), 2);
    let outputs = answers(folder.path(), queries[0]);

    let mut by_self_time: Vec<_> = stats(&trace).into_iter().collect();
    by_self_time.sort_by_key(|(_, (_, self_ns))| std::cmp::Reverse(*self_ns));
    let expected: Vec<_> = by_self_time
        .into_iter()
        .map(|(name, (count, self_ns))| serde_json::json!([name, count, self_ns as f64 / 1e6]))
        .collect();
    assert_eq!(outputs[0], serde_json::Value::Array(expected));

    // The longest span of each second, from the durations of `write_requests`.
    let mut longest: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    for k in 0..40 {
        let entry = longest.entry(k * 400_000 / 1_000_000).or_default();
        *entry = (*entry).max(((1000 + k * 7919 % 5000) * 1000, k % 7));
    }
    let expected =
        longest.into_iter().map(|(second, (dur, page))| serde_json::json!([second, format!("/page/{page}"), dur]));
    assert_eq!(outputs[1], serde_json::Value::Array(expected.collect()));

    // Without symbols, all samples are of no line. `tests/cli/symbolized_exports.rs` has the lines.
    let (folder, profile) = (tempfile::tempdir().expect("a folder"), crate::tools::data("samply.json.gz"));
    longspan(&["export", "-o", folder.path().join("trace.parquet").to_str().expect("text")], &[&profile]);
    let samples = longspan(&["dump"], &[&profile]).lines().filter(|line| line.contains(r#""t":"sample""#)).count();
    let outputs = answers(folder.path(), queries[1]);
    let of_no_line = &outputs[0][0];
    assert_eq!(outputs[0].as_array().map(Vec::len), Some(1), "{outputs:?}");
    assert_eq!((&of_no_line[0], &of_no_line[1], of_no_line[3].as_u64()), (&NULL, &NULL, Some(samples as u64)));
}

const NULL: serde_json::Value = serde_json::Value::Null;

/// Returns the rows of each query of a block, in a folder with `trace.parquet`.
fn answers(folder: &Path, queries: &str) -> Vec<serde_json::Value> {
    let ask = "import duckdb, json, sys\nfor query in sys.argv[1].split(';'):\n    if query.strip():\n        \
        print(json.dumps(duckdb.sql(query).fetchall(), default=float))";
    let mut duckdb = Command::new(python("requirements.txt"));
    let outputs = output_of(duckdb.current_dir(folder).args(["-c", ask, queries]));
    outputs.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[test]
fn duckdb_and_pyarrow_read_processes_as_partitions() {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let trace = crate::tools::data("go_trace.json");
    let tables = folder.path().join("trace.parquet");
    longspan(&["export", "--by-process", "-o", tables.to_str().expect("text")], &[&trace]);
    let ask = "import duckdb, pyarrow.parquet, pyarrow.dataset, sys
glob = sys.argv[1] + '/spans/*/*.parquet'
print(*duckdb.sql(f\"SELECT count(*), sum(dur)::BIGINT FROM read_parquet('{glob}', hive_partitioning = true)\").fetchall()[0])
spans = pyarrow.dataset.dataset(sys.argv[1] + '/spans', partitioning = 'hive').to_table()
print(spans.num_rows, sum(spans.column('dur').to_pylist()))";
    let outputs = output_of(Command::new(python("requirements.txt")).args(["-c", ask]).arg(&tables));
    let spans = longspan(&["spans"], &[&trace]);
    let durations: Vec<i64> =
        spans.lines().skip(1).map(|line| line.split(',').nth(1).expect("a cell").parse().expect("a number")).collect();
    let expected = format!("{} {}", durations.len(), durations.iter().sum::<i64>());
    assert_eq!(outputs.lines().collect::<Vec<_>>(), [expected.as_str(), &expected]);
}
