//! Counts the matching rows of a scope, without a scan where the ledger has the answer.
//!
//! For filters of names, categories, threads and processes, spans come from ledger nodes and the rows at both edges of
//! the range. Instants, samples and all other filters are counted like a search.
//!
//! Equivalent to the total of a search.

use rayon::prelude::*;

use super::scan::LaneScan;
use super::scope::Scope;
use super::slices::{RowsPart, cover_starts, only_track, starts_in};
use super::snapshot::Snapshot;
use crate::base::cancel::{Cancel, Cancelled};
use crate::base::progress::{Progress, Stage};
use crate::model::TrackIdx;
use crate::store::details::DetailReader;
use crate::store::ledger::LedgerNode;
use crate::store::sums::NameSums;
use crate::store::{DetailRef, LaneIdx, LaneKind};

/// Extents that one thread processes at once.
pub(super) const EXTENTS_AT_ONCE: usize = 1024;

/// Number of groups of extents whose arguments are tested together, each group by one thread. There are fewer groups
/// for few rows, and more beyond 16 Mi rows.
const GROUPS: u64 = 16;

/// Rows of such a group, except for its last extent. Each has 8 bytes.
const ROWS_AT_ONCE_MIN: u64 = 1 << 15;
const ROWS_AT_ONCE_MAX: u64 = 1 << 20;

/// A number of hits, and the work for it, which repeats exactly for the same query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HitCount {
    /// Spans, instants and samples that match.
    pub hits: u64,
    /// Nodes of the ledger that were read.
    pub nodes: u64,
    /// Rows in scope outside the nodes, tested or skipped by their extents.
    pub rows: u64,
    /// Blocks of details that were decompressed to test arguments.
    pub detail_blocks: u64,
}

/// A node of the ledger and its track; `None` for all tracks.
pub(super) type TrackNode = (LedgerNode, Option<TrackIdx>);

/// The ledger nodes and lane ranges that make up a scope.
#[derive(Default)]
pub(super) struct CountPlan {
    pub(super) nodes: Vec<TrackNode>,
    ranges: Vec<RowsPart>,
    /// Lanes, each with the index of its range.
    lanes: Vec<(LaneIdx, usize)>,
}

impl CountPlan {
    /// Plans with the tree of all tracks if the scope has all tracks, and with the trees of single tracks otherwise.
    pub(super) fn new(snapshot: &Snapshot, scope: &Scope) -> Self {
        Self::with_nodes(snapshot, scope, scope.tracks.is_all() && scope.matcher.is_every_track())
    }

    /// Returns a plan with ledger nodes of all tracks together, or of single tracks.
    fn with_nodes(snapshot: &Snapshot, scope: &Scope, is_every_track: bool) -> Self {
        let mut plan = Self { ranges: vec![RowsPart { scope: scope.clone(), with_open: true }], ..Self::default() };
        let ledger = snapshot.store().ledger().filter(|_| scope.matcher.is_by_name());
        let only = only_track(snapshot);
        // The nodes of all tracks are used if the scope has all tracks.
        let whole = ledger.filter(|_| is_every_track).and_then(|ledger| ledger.tree(None));
        let whole = whole.map(|tree| plan.cover(snapshot, scope, (tree, None)));
        let mut track: Option<(TrackIdx, Option<std::ops::Range<usize>>)> = None;
        for lane in scope.lanes(snapshot, &scope.matcher) {
            let info = snapshot.lane(lane);
            if info.kind != LaneKind::Spans || snapshot.track(info.track).key.kind.is_derived() {
                plan.lanes.push((lane, 0));
                continue;
            }
            // The lanes of a track are contiguous.
            if track.as_ref().is_none_or(|(last_track, _)| *last_track != info.track) {
                let track_tree = || {
                    let tree = ledger?.tree((only != Some(info.track)).then_some(info.track))?;
                    Some((tree, Some(info.track)))
                };
                let ranges = whole.clone().or_else(|| track_tree().map(|tree| plan.cover(snapshot, scope, tree)));
                track = Some((info.track, ranges));
            }
            match track.as_ref().and_then(|(_, ranges)| ranges.clone()) {
                Some(ranges) => plan.lanes.extend(ranges.map(|range| (lane, range))),
                None => plan.lanes.push((lane, 0)),
            }
        }
        plan
    }

    /// Returns the scans of all rows outside the nodes.
    pub(super) fn scans<'a>(&self, snapshot: &'a Snapshot, scope: &'a Scope) -> Vec<LaneScan<'a>> {
        let scans = self.lanes.par_iter().map(|&(lane, range)| {
            let RowsPart { scope: part, with_open } = &self.ranges[range];
            let scan = if *with_open { LaneScan::new } else { LaneScan::from_starts };
            scan(snapshot, &scope.matcher, part, lane)
        });
        scans.filter(|scan| !scan.rows.is_empty()).collect()
    }

    /// Passes the number of matching spans of each node and its track to `add`. The rows of damaged nodes are added to
    /// the lanes to scan.
    fn count_nodes(&mut self, snapshot: &Snapshot, scope: &Scope, mut add: impl FnMut(Option<TrackIdx>, u64)) {
        let matcher = &scope.matcher;
        let mut damaged = Vec::new();
        for &(node, track) in &self.nodes {
            let mut starts = 0;
            let is_intact = snapshot.store().ledger_node(node, |name, sums: NameSums| {
                starts += if matcher.has_name(name) { sums.starts } else { 0 };
            });
            if is_intact {
                add(track, starts);
            } else {
                damaged.extend(starts_in(snapshot, scope, node).map(|range| (range, track)));
            }
        }
        for (range, track) in damaged {
            self.ranges.push(range);
            let range = self.ranges.len() - 1;
            let lanes = scope.lanes(snapshot, matcher).filter(|&lane| {
                let info = snapshot.lane(lane);
                let is_event = !snapshot.track(info.track).key.kind.is_derived();
                info.kind == LaneKind::Spans && is_event && track.is_none_or(|track| track == info.track)
            });
            self.lanes.extend(lanes.map(|lane| (lane, range)));
        }
    }

    /// Takes the nodes of a tree that are in scope. Returns the ranges that remain for each lane.
    fn cover(
        &mut self,
        snapshot: &Snapshot,
        scope: &Scope,
        (tree, track): (usize, Option<TrackIdx>),
    ) -> std::ops::Range<usize> {
        let (nodes, rest) = cover_starts(snapshot, scope, tree);
        self.nodes.extend(nodes.into_iter().map(|node| (node, track)));
        let first = self.ranges.len();
        self.ranges.extend(rest);
        first..self.ranges.len()
    }
}

/// Counts the spans, instants and samples in `scope` that match, and the sample bars if the scope asks for them.
/// `progress` counts rows, and hits as events.
///
/// # Errors
/// Returns `Cancelled` if cancelled.
pub fn count(snapshot: &Snapshot, scope: &Scope, cancel: &Cancel, progress: &Progress) -> Result<HitCount, Cancelled> {
    Ok(count_within(snapshot, scope, u64::MAX, cancel, progress)?.unwrap_or_default())
}

/// Counts only if at most `rows_max` rows must be read, else returns `None` at once. Returns `Cancelled` if cancelled.
pub(super) fn count_within(
    snapshot: &Snapshot,
    scope: &Scope,
    rows_max: u64,
    cancel: &Cancel,
    progress: &Progress,
) -> Result<Option<HitCount>, Cancelled> {
    cancel.check()?;
    let mut plan = CountPlan::new(snapshot, scope);
    let mut count = HitCount { nodes: plan.nodes.len() as u64, ..HitCount::default() };
    plan.count_nodes(snapshot, scope, |_, hits| count.hits += hits);
    progress.add_events(count.hits);
    let scans = plan.scans(snapshot, scope);
    count.rows = scans.iter().map(|scan| scan.rows.end - scan.rows.start).sum();
    if count.rows > rows_max {
        return Ok(None);
    }
    progress.begin(Stage::Searching, count.rows);
    if scope.matcher.reads_arguments() {
        let (hits, detail_blocks) = count_by_details(&scans, cancel, progress)?;
        count.hits += hits;
        count.detail_blocks = detail_blocks;
        return Ok(Some(count));
    }
    let counted = scans.par_iter().map(|scan| count_rows(scan, cancel, progress));
    count.hits += counted.sum::<Result<u64, Cancelled>>()?;
    Ok(Some(count))
}

/// Counts rows whose arguments match, in the order of their details. The lanes of a track share blocks of details, so
/// lane by lane, each block would be decompressed for every depth. Returns the hits, and the blocks decompressed.
fn count_by_details(scans: &[LaneScan<'_>], cancel: &Cancel, progress: &Progress) -> Result<(u64, u64), Cancelled> {
    let mut parts: Vec<(&LaneScan<'_>, usize, u64)> = Vec::new();
    for scan in scans {
        let before = parts.len();
        parts.extend(scan.extents().map(|extent| (scan, extent, scan.rows_in(extent))));
        let judged: u64 = parts[before..].iter().map(|(.., rows)| rows).sum();
        // Skipped rows count as done.
        progress.advance((scan.rows.end - scan.rows.start).saturating_sub(judged));
    }
    let rows: u64 = parts.iter().map(|(.., rows)| rows).sum();
    let rows_at_once = (rows / GROUPS).clamp(ROWS_AT_ONCE_MIN, ROWS_AT_ONCE_MAX);
    let mut group_rows = 0;
    let groups: Vec<_> = parts
        .chunk_by(|(.., rows), _| {
            group_rows += rows;
            let is_full = group_rows >= rows_at_once;
            group_rows = if is_full { 0 } else { group_rows };
            !is_full
        })
        .collect();
    let counted = groups.par_iter().map(|parts| {
        cancel.check()?;
        let (mut details, mut reader) = (Vec::new(), DetailReader::default());
        parts.iter().for_each(|(scan, extent, _)| scan.push_details(*extent, &mut details));
        details.sort_unstable_by_key(|detail: &DetailRef| detail.0);
        let hits = parts.first().map_or(0, |(scan, ..)| scan.count_details(&details, &mut reader));
        progress.add_events(hits);
        progress.advance(parts.iter().map(|(.., rows)| rows).sum());
        Ok((hits, reader.unpacked()))
    });
    counted.try_reduce(|| (0, 0), |one, other| Ok((one.0 + other.0, one.1 + other.1)))
}

/// Counts the matching rows of each track, by track index: spans by the ledger nodes of single tracks where it has
/// them.
///
/// # Errors
/// Returns `Cancelled` if cancelled.
pub(super) fn count_by_track(
    snapshot: &Snapshot,
    scope: &Scope,
    cancel: &Cancel,
    progress: &Progress,
) -> Result<Vec<u64>, Cancelled> {
    cancel.check()?;
    let mut counts = vec![0; snapshot.tracks().tracks.len()];
    let mut plan = CountPlan::with_nodes(snapshot, scope, false);
    plan.count_nodes(snapshot, scope, |track, hits| {
        if let Some(track) = track {
            counts[track.index()] += hits;
        }
    });
    let scans = plan.scans(snapshot, scope);
    progress.begin(Stage::Searching, scans.iter().map(|scan| scan.rows.end - scan.rows.start).sum());
    let counted = scans.par_iter().map(|scan| count_rows(scan, cancel, progress));
    let counted = counted.collect::<Result<Vec<u64>, Cancelled>>()?;
    for (scan, hits) in scans.iter().zip(counted) {
        counts[snapshot.lane(scan.index).track.index()] += hits;
    }
    Ok(counts)
}

/// Counts the matching rows of a lane, on all threads.
fn count_rows(scan: &LaneScan<'_>, cancel: &Cancel, progress: &Progress) -> Result<u64, Cancelled> {
    let extents: Vec<usize> = scan.extents().collect();
    let judged: u64 = extents.iter().map(|&extent| scan.rows_in(extent)).sum();
    // Skipped rows count as done.
    progress.advance((scan.rows.end - scan.rows.start).saturating_sub(judged));
    let parts = extents.par_chunks(EXTENTS_AT_ONCE).map(|extents| {
        cancel.check()?;
        let mut reader = DetailReader::default();
        let hits: u64 = extents.iter().map(|&extent| scan.count(extent, &mut reader)).sum();
        progress.add_events(hits);
        progress.advance(extents.iter().map(|&extent| scan.rows_in(extent)).sum());
        Ok(hits)
    });
    parts.sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::files::damage_at;
    use crate::model::args::Detail;
    use crate::model::{Id, Names, Registry, TrackKey};
    use crate::query::argument_path::ArgumentPath;
    use crate::query::filter::Filter;
    use crate::query::groups::GroupBy;
    use crate::query::ledger_traces::{RandomSequence, SMALL, TraceSpan, argument, category, ranges, spans, store};
    use crate::query::matcher::Matcher;
    use crate::query::search::search;
    use crate::query::totals::{GrowingTotals, add_up};
    use crate::store::ledger::LedgerShape;
    use crate::store::{Meta, Row, Store, StoreWriter};

    fn counted(snapshot: &Snapshot, scope: &Scope, filter: &str) -> HitCount {
        let scope = scope.clone().matching(Matcher::new(snapshot, &Filter::parse(filter).unwrap()));
        let progress = Progress::default();
        let count = count(snapshot, &scope, &Cancel::default(), &progress).unwrap();
        assert!(progress.view().fraction().is_none_or(|part| part == 1.0));
        count
    }

    /// Counts by track, and compares with the hits of a search.
    fn counted_by_track(snapshot: &Snapshot, scope: &Scope, filter: &str) -> Vec<u64> {
        let scope = scope.clone().matching(Matcher::new(snapshot, &Filter::parse(filter).unwrap()));
        let counts = count_by_track(snapshot, &scope, &Cancel::default(), &Progress::default()).unwrap();
        let hits = search(snapshot, &scope, &Cancel::default(), &Progress::default()).unwrap();
        assert_eq!(hits.by_track(&Cancel::default(), &Progress::default()).unwrap(), counts, "{filter}");
        counts
    }

    type Condition<'a> = &'a dyn Fn(&TraceSpan) -> bool;

    #[test]
    fn counts_are_those_of_a_loop_with_and_without_a_ledger() {
        let mut random = RandomSequence(5);
        for (tracks, lanes, rows) in [(1, 3, 200), (3, 3, 120), (12, 2, 400)] {
            let spans = spans(tracks, lanes, rows, rows, -500);
            let stores = [store(&spans, None, 0).1, store(&spans, Some(SMALL), 1 << 20).1];
            for (from_ns, to_ns) in ranges(&stores[1], &mut random, 20) {
                let is_in_range = |span: &TraceSpan| {
                    to_ns.is_none_or(|to_ns| span.start_ns < to_ns)
                        && from_ns.is_none_or(|from_ns| span.start_ns >= from_ns || span.end_ns() > from_ns)
                };
                let name_is =
                    |span: &TraceSpan, text: &str| text.split(' ').any(|name| name == (span.name - 1).to_string());
                let cases: [(&str, Condition<'_>); 6] = [
                    ("", &|_| true),
                    ("/^name [1-3]$/", &|span| name_is(span, "1 2 3")),
                    ("cat:\"category 2\" -thread:1", &|span| {
                        category(span.name).is_some_and(|it| it.ends_with('2')) && !span.track.to_string().contains('1')
                    }),
                    ("dur>100", &|span| span.dur_ns > 100),
                    ("dur>50 arg.of.five=2", &|span| span.dur_ns > 50 && argument(span) == Some(2)),
                    ("nothing", &|_| false),
                ];
                let in_range = Scope::from_range(from_ns, to_ns);
                for scope in [in_range.clone(), in_range.with_tracks(&[TrackIdx(0), TrackIdx(tracks - 1)])] {
                    for (filter, is_meant) in cases {
                        let is_hit = |span: &&TraceSpan| {
                            scope.tracks.contains(TrackIdx(span.track)) && is_in_range(span) && is_meant(span)
                        };
                        let expected = spans.iter().filter(is_hit).count() as u64;
                        for store in &stores {
                            let what = format!("{filter:?} {from_ns:?}..{to_ns:?} {:?}", scope.tracks);
                            assert_eq!(counted(store, &scope, filter).hits, expected, "{what}");
                            for (hits, track) in counted_by_track(store, &scope, filter).into_iter().zip(0..) {
                                let expected = spans.iter().filter(|span| span.track == track && is_hit(span)).count();
                                assert_eq!(hits, expected as u64, "track {track} of {what}");
                            }
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn work_for_a_count_grows_with_the_logarithm_of_the_spans() {
        let work = |rows: u64| {
            let spans = spans(4, 2, rows, 9, 0);
            let shape = LedgerShape { slice_rows: 64, leaf_rows: 64, ..SMALL };
            let (_, snapshot) = store(&spans, Some(shape), 1 << 24);
            let end_ns = snapshot.end_ns();
            let scope = Scope::from_range(Some(end_ns / 7), Some(end_ns / 7 * 5));
            counted(&snapshot, &scope, "\"name 3\"")
        };
        let (few, many) = (work(200), work(20_000));
        assert!(many.nodes <= few.nodes + 17, "{many:?} after {few:?}");
        assert!(many.rows <= few.rows + 1000 && many.hits > 100 * few.hits / 2, "{many:?} after {few:?}");
    }

    /// Stores spans in turn on some lanes of one track, or of a track for each lane, with arguments in time order.
    fn store_with_arguments(spans: u32, lanes: u32, one_track: bool) -> Snapshot {
        let (mut names, mut registry) = (Names::default(), Registry::default());
        let name = names.intern("name", None);
        for tid in 0..if one_track { 1 } else { lanes } {
            registry.track(&TrackKey::thread(Id::Number(1), Id::Number(tid.into())));
        }
        let file = tempfile::tempfile().unwrap();
        let mut writer = StoreWriter::new(file.try_clone().unwrap(), 1 << 24).unwrap();
        let details: Vec<DetailRef> = (0..spans)
            .map(|number| {
                let (args_json, mut blob) = (format!(r#"{{"number":{number},"text":"{number:0>60}"}}"#), Vec::new());
                Detail { args_json: &args_json, ..Detail::default() }.encode_into(&mut blob);
                writer.push_detail(&blob).unwrap()
            })
            .collect();
        for lane in 0..lanes {
            let (track, depth) = if one_track { (0, lane as u16) } else { (lane, 0) };
            let index = writer.add_lane(TrackIdx(track), LaneKind::Spans, depth).unwrap();
            for number in (lane..spans).step_by(lanes as usize) {
                let row = Row { start_ns: number.into(), value: 1, detail: details[number as usize].0, name: name.0 };
                writer.push(index, row).unwrap();
            }
        }
        let meta = Meta { names: names.into(), tracks: registry.tables().clone(), ..Meta::default() };
        writer.finish(&meta).unwrap();
        Snapshot::new(Store::from_file(&file, "test".as_ref()).unwrap().into())
    }

    #[test]
    fn details_are_not_unpacked_again_for_each_depth() {
        let work = |lanes| counted(&store_with_arguments(20_000, lanes, true), &Scope::default(), "arg.number:77");
        let (flat, deep) = (work(1), work(200));
        let expected = (0..20_000).filter(|number| number.to_string().contains("77")).count() as u64;
        assert_eq!((flat.hits, deep.hits), (expected, expected));
        assert!(flat.detail_blocks > 10 && deep.detail_blocks == flat.detail_blocks, "{deep:?} after {flat:?}");
    }

    #[test]
    fn totals_do_not_unpack_details_again_for_each_track() {
        let snapshot = store_with_arguments(20_000, 20_000, false);
        let matching = Matcher::new(&snapshot, &Filter::parse("arg.number:77").unwrap());
        for (scope, by) in [
            (Scope::default(), GroupBy::Argument(ArgumentPath::from_parts(["number"]))),
            (Scope::default().matching(matching), GroupBy::default()),
        ] {
            let growing = GrowingTotals::grouped(by);
            let (cancel, progress) = (Cancel::default(), Progress::default());
            let work = add_up(&snapshot, &scope, &growing, &cancel, &progress).unwrap();
            assert!((10..1000).contains(&work.detail_blocks), "{work:?}");
        }
    }

    #[test]
    fn a_search_knows_its_hits_before_it_lists_them_where_the_ledger_does() {
        let spans = spans(4, 2, 4000, 9, 0);
        let shape = LedgerShape { slice_rows: 64, leaf_rows: 64, ..SMALL };
        let with_ledger = store(&spans, Some(shape), 1 << 24).1;
        let without = store(&spans, None, 0).1;
        let end_ns = with_ledger.end_ns();
        for (snapshot, filter, stage) in [
            (&with_ledger, "\"name 3\"", Stage::Listing),
            (&with_ledger, "dur>5", Stage::Searching),
            (&without, "\"name 3\"", Stage::Searching),
        ] {
            let matcher = Matcher::new(snapshot, &Filter::parse(filter).unwrap());
            let scope = Scope::from_range(Some(end_ns / 9), None).matching(matcher);
            let progress = Progress::default();
            let hits = search(snapshot, &scope, &Cancel::default(), &progress).unwrap();
            let view = progress.view();
            assert_eq!((view.stage, view.events), (stage, hits.total()), "{filter}");
            assert!(hits.total() > 100 && view.done == view.total, "{view:?}");
        }
    }

    #[test]
    fn rows_of_a_damaged_node_are_counted_instead() {
        let spans = spans(3, 3, 400, 5, 0);
        let (file, snapshot) = store(&spans, Some(SMALL), 1 << 20);
        let ledger = snapshot.store().ledger().expect("a ledger");
        for tree in [None, Some(TrackIdx(1))] {
            let tree = ledger.tree(tree).expect("a tree");
            let (nodes, _) = ledger.cover(tree, 0, ledger.bounds_ns().len() as u32 - 1);
            damage_at(&file, ledger.offset(nodes[0]));
        }
        let damaged = Snapshot::new(Store::from_file(&file, "test".as_ref()).unwrap().into());
        for scope in [Scope::default(), Scope::default().with_tracks(&[TrackIdx(1)])] {
            let expected = spans.iter().filter(|span| scope.tracks.contains(TrackIdx(span.track)) && span.name == 4);
            let expected = expected.count() as u64;
            assert_eq!(counted(&damaged, &scope, "/^name 3$/").hits, expected);
            assert_eq!(counted_by_track(&damaged, &scope, "/^name 3$/").iter().sum::<u64>(), expected);
        }
        assert_eq!(damaged.store().damaged(), 2);
    }
}
