//! A folder of several traces in Spark, in one process, with the unchanged command of `docs/sql.md`.

use std::process::Command;

use crate::tables::stats;
use crate::tools::{longspan, output_of, python, sql_blocks, write_requests};

#[test]
fn spark_reads_a_folder_of_traces_with_the_documented_command() {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let (mut count, mut self_ns, mut traces) = (0, 0, Vec::new());
    for (name, requests) in [("one", 40), ("two", 25), ("three", 3)] {
        let trace = folder.path().join(format!("{name}.json"));
        write_requests(&trace, requests);
        let tables = folder.path().join(format!("traces/{name}.parquet"));
        std::fs::create_dir_all(folder.path().join("traces")).expect("a folder");
        longspan(&["export", "-o", tables.to_str().expect("text")], &[&trace]);
        for (spans, own_ns) in stats(&trace).into_values() {
            count += spans;
            self_ns += own_ns;
        }
        traces.push((format!("{name}.parquet"), 2 * requests));
    }
    traces.sort();
    let commands = sql_blocks("python");
    assert_eq!(commands.len(), 1);
    let script = format!(
        "from pyspark.sql import SparkSession\nspark = SparkSession.builder.master('local[1]')\
         .config('spark.ui.enabled', 'false').config('spark.sql.shuffle.partitions', '1').getOrCreate()\n{}\n\
         rows = spark.sql('SELECT trace, count(*) FROM spans GROUP BY trace ORDER BY trace').collect()\n\
         for row in rows: print('row', *row)\n\
         print('row', *spark.sql('SELECT count(*), sum(dur) FROM spans WHERE parent_id IS NULL').collect()[0])\n",
        commands[0]
    );
    let mut spark = Command::new(python("spark.txt"));
    let outputs = output_of(spark.current_dir(folder.path()).args(["-c", &script]));
    let rows: Vec<&str> = outputs.lines().filter_map(|line| line.strip_prefix("row ")).collect();
    let mut expected: Vec<String> = traces.iter().map(|(name, spans)| format!("{name} {spans}")).collect();
    // Requests are roots, so their total time includes the time of all their children.
    expected.push(format!("{} {self_ns}", count / 2));
    assert_eq!(rows, expected);
}
