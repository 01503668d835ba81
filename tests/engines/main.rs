//! Exports of Longspan, opened by the programs that they are for: Perfetto's engine, `DuckDB`, pyarrow and Spark; and what
//! the SDK of OpenTelemetry exports to it.

mod otlp_sdk;
mod perfetto_engine;
mod spark;
mod tables;
mod tools;
