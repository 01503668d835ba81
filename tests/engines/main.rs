//! Exports of Longspan, opened by the programs that they are for: Perfetto's engine, `DuckDB`, pyarrow and Spark.

mod perfetto_engine;
mod spark;
mod tables;
mod tools;
