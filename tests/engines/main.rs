//! Opens exports of Longspan in their target programs: Perfetto's engine, `DuckDB`, pyarrow and Spark. Also records
//! spans from the OpenTelemetry SDK.

mod otlp_sdk;
mod perfetto_engine;
mod spark;
mod tables;
mod tools;
