//! Queries of a store by a frame, a panel or a script: the spans that represent each pixel, the row at a point, totals,
//! searches, call trees. Read-only. Work is bounded by the size of the answer, not by the trace.
//!
//! A [`snapshot`] is a store with the symbol names of an [`overlay`]. A [`scope`] is the part of it that a query
//! covers. Its [`matcher`] is a parsed [`filter`], resolved against the trace, with [`inside`],
//! [`flow_rows`](mod@flow_rows) and [`argument_path`] for the terms that need more than a name. [`plan`] divides a
//! scope into nodes of the ledger and rows, and [`slices`] covers its middle.
//!
//! Rows are read by [`cursor`] (one lane), [`span_sweep`] (one track), [`rows`] (several lanes in time order, through
//! [`decoded_blocks`]), [`row_slices`] (the same in parallel, sorted by [`time_sort`]) and [`scan`] (matching rows, a
//! block at a time).
//!
//! A frame asks for [`pixels`] in [`buckets`], or [`filtered`] ones, and a click for a [`pick`] with [`describe`],
//! [`family`] and [`flow_chain`]. Panels ask for [`totals`] by [`groups`], [`exact_quantiles`], [`counters`],
//! [`samples`], [`sample_table`], [`stacks`] with [`flame`] for views of them, [`heat_map`], [`over_time`],
//! [`scheduling`] with [`wakings`], [`longest`], [`ordered_rows`] and [`search`]
//! with [`hit_count`]. [`derived`] computes curves.
//!
//! The order of tracks is in [`display_order`], with [`named_groups`], [`track_groups`], [`busy_time`] and
//! [`shared_names`]; [`track_map`] follows tracks to another import.

pub(crate) mod argument_path;
pub(crate) mod buckets;
pub(crate) mod busy_time;
mod compensated_sum;
pub(crate) mod counters;
pub(crate) mod cursor;
mod decimal_number;
mod decoded_blocks;
pub(crate) mod derived;
pub(crate) mod describe;
pub(crate) mod display_order;
pub(crate) mod drawn_unit;
pub(crate) mod exact_quantiles;
pub(crate) mod family;
pub(crate) mod file_starts;
pub(crate) mod filter;
pub(crate) mod filtered;
pub(crate) mod first_track;
pub(crate) mod flame;
pub(crate) mod flow_chain;
pub(crate) mod flow_points;
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
pub(crate) mod ordered_rows;
pub(crate) mod over_time;
pub(crate) mod overlay;
mod path_limit;
pub(crate) mod pick;
pub(crate) mod pixels;
mod plan;
mod quoting;
pub(crate) mod row_filter;
pub(crate) mod row_slices;
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
pub(crate) mod time_sort;
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
