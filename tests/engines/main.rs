//! What Longspan exports, opened by the programs that it is exported for: Perfetto's engine, `DuckDB`, pyarrow and Spark.

mod perfetto_engine;
mod spark;
mod tables;
mod tools;
