//! Queries of a store by a frame, a panel or a script: the spans that represent each pixel, the row at a point, the
//! spans around a span. Read-only. Work is bounded by the size of the answer, not by the trace.

pub(crate) mod argument_path;
pub(crate) mod buckets;
pub(crate) mod busy_time;
mod compensated_sum;
pub(crate) mod counters;
pub(crate) mod cursor;
mod decimal_number;
pub(crate) mod derived;
pub(crate) mod describe;
pub(crate) mod display_order;
pub(crate) mod drawn_unit;
pub(crate) mod exact_quantiles;
pub(crate) mod family;
pub(crate) mod filter;
pub(crate) mod filtered;
pub(crate) mod first_track;
pub(crate) mod flame;
pub(crate) mod flow_chain;
mod flow_points;
mod flow_rows;
pub(crate) mod group_choice;
pub(crate) mod groups;
pub(crate) mod heat_map;
pub(crate) mod hit_count;
pub(crate) mod inside;
pub(crate) mod last_spans;
pub(crate) mod longest;
pub(crate) mod matcher;
pub(crate) mod mistyped_key;
mod name_set;
mod named_groups;
pub(crate) mod open_end;
pub(crate) mod over_time;
pub(crate) mod overlay;
mod path_limit;
pub(crate) mod pick;
pub(crate) mod pixels;
mod plan;
mod quoting;
pub(crate) mod row_filter;
pub(crate) mod rows;
pub(crate) mod sample_table;
pub(crate) mod samples;
pub(crate) mod scan;
pub(crate) mod scheduling;
pub(crate) mod scheduling_order;
pub(crate) mod scope;
pub(crate) mod search;
mod shared_names;
mod slices;
pub(crate) mod snapshot;
pub(crate) mod span_sweep;
pub(crate) mod stacks;
pub(crate) mod start_test;
pub(crate) mod totals;
mod track_cache;
pub(crate) mod track_groups;
pub(crate) mod track_map;
pub(crate) mod track_number;
mod untimed;
mod wakings;

pub(crate) use buckets::{Buckets, Cell, CounterCell, RowCount};
pub(crate) use cursor::ReadCount;
pub(crate) use describe::Description;
pub(crate) use snapshot::Snapshot;

#[cfg(test)]
mod aggregate_tests;
#[cfg(test)]
mod inside_tests;
#[cfg(test)]
mod ledger_traces;
#[cfg(test)]
mod scheduling_tests;
#[cfg(test)]
mod search_tests;
#[cfg(test)]
mod tests;
