//! Cost of finding the longest span of a range: the in-order forest, compared with a breadth-first segment tree and a
//! plain scan. Also the cost of packing and unpacking a block of rows, compared with copying the rows. Nanoseconds,
//! best of three rounds.
//!
//! `cargo bench --no-default-features --bench forest -- [LEAVES]`

use std::hint::black_box;
use std::ops::Range;
use std::time::Instant;

use longspan::facade::store::Row;
use longspan::facade::store::block::{BLOCK_ROWS, Block, encode};
use longspan::facade::store::iforest::{self, LongestNs};

/// One leaf per block of 64 spans: a lane of 64 million spans.
const LEAVES: usize = 1_000_000;
const QUERIES: usize = 100_000;
const ROUNDS: usize = 3;

fn main() {
    let leaves = std::env::args().find_map(|word| word.parse().ok()).unwrap_or(LEAVES).max(2);
    ranges(leaves);
    blocks(leaves.min(64 * 1024));
}

fn ranges(count: usize) {
    let mut random = Random(1);
    let leaves: Vec<u64> = (0..count).map(|_| random.next() >> 40).collect();
    let mut forest = Vec::new();
    let forest_push_ns = best_ns(count, || {
        forest.clear();
        leaves.iter().for_each(|&leaf| iforest::push(&mut forest, LongestNs(leaf)));
    });
    let mut tree = SegmentTree::default();
    let tree_build_ns = best_ns(count, || tree = SegmentTree::new(&leaves));
    println!("{count} leaves{:>15}{:>22}{:>22}", "forest", "breadth-first tree", "scan");
    println!(
        "{:<18}{forest_push_ns:>10.1}{:>22}{:>22}",
        "build, ns a leaf",
        beside(tree_build_ns, forest_push_ns),
        "none"
    );
    let lengths = [16, 256, 4096, count / 2];
    for length in lengths.into_iter().filter(|&length| length <= count / 2) {
        let ranges: Vec<Range<usize>> = (0..QUERIES)
            .map(|_| {
                let start = random.next() as usize % (count - length);
                start..start + length / 2 + random.next() as usize % (length / 2).max(1)
            })
            .collect();
        // A scan of half a million leaves takes as long as a thousand queries of the others.
        let scanned = &ranges[..(QUERIES * 64 / length).clamp(20, QUERIES)];
        let by_forest = |range: &Range<usize>| iforest::range(&forest, range.clone()).0;
        let by_tree = |range: &Range<usize>| tree.longest(range.clone());
        let by_scan = |range: &Range<usize>| leaves[range.clone()].iter().copied().max().unwrap_or(0);
        for range in scanned {
            assert!(by_forest(range) == by_scan(range) && by_tree(range) == by_scan(range));
        }
        let forest_ns = best_ns(ranges.len(), || {
            ranges.iter().for_each(|range| {
                black_box(by_forest(range));
            });
        });
        let tree_ns = best_ns(ranges.len(), || {
            ranges.iter().for_each(|range| {
                black_box(by_tree(range));
            });
        });
        let scan_ns = best_ns(scanned.len(), || {
            scanned.iter().for_each(|range| {
                black_box(by_scan(range));
            });
        });
        let name = format!("query of {length}");
        println!("{name:<18}{forest_ns:>10.1}{:>22}{:>22}", beside(tree_ns, forest_ns), beside(scan_ns, forest_ns));
    }
}

fn blocks(count: usize) {
    let mut random = Random(2);
    let mut start_ns = 1_700_000_000_000_000_000;
    let row = |_| {
        start_ns += (random.next() >> 52) as i64;
        Row { start_ns, value: random.next() >> 50, detail: 0, name: (random.next() >> 55) as u32 }
    };
    let rows: Vec<Row> = (0..count * BLOCK_ROWS).map(row).collect();
    let mut packed = Vec::new();
    let encode_ns = best_ns(rows.len(), || {
        packed.clear();
        for block in rows.chunks(BLOCK_ROWS) {
            let start = packed.len();
            encode(block, &mut packed);
            black_box(start);
        }
    });
    let mut blocks = Vec::new();
    for block in rows.chunks(BLOCK_ROWS) {
        let mut bytes = Vec::new();
        encode(block, &mut bytes);
        blocks.push((bytes, block[0].start_ns));
    }
    let mut decoded = Vec::with_capacity(BLOCK_ROWS);
    let mut decode = |(bytes, first_start_ns): &(Vec<u8>, i64)| {
        decoded.clear();
        Block::new(bytes, BLOCK_ROWS, *first_start_ns).decode(&mut decoded);
        black_box(&decoded);
    };
    let decode_ns = best_ns(rows.len(), || blocks.iter().for_each(&mut decode));
    let (mut starts, mut values) = ([0; BLOCK_ROWS], [0; BLOCK_ROWS]);
    let times_ns = best_ns(rows.len(), || {
        for (bytes, first_start_ns) in &blocks {
            let block = Block::new(bytes, BLOCK_ROWS, *first_start_ns);
            block.times(&mut starts, &mut values);
            black_box((&starts, &values));
        }
    });
    let mut copy = Vec::with_capacity(rows.len());
    let copy_ns = best_ns(rows.len(), || {
        copy.clear();
        copy.extend_from_slice(&rows);
        black_box(&copy);
    });
    let bytes = packed.len() as f64 / rows.len() as f64;
    println!("{} rows of {bytes:.1} bytes packed, {} unpacked; ns a row:", rows.len(), size_of::<Row>());
    println!("{:<18}{copy_ns:>10.2}", "copy");
    for (name, ns) in [("pack", encode_ns), ("unpack", decode_ns), ("unpack times", times_ns)] {
        println!("{name:<18}{ns:>10.2} ({:.2} x)", ns / copy_ns);
    }
}

/// A common segment tree: the children of node `k` are `2k` and `2k + 1`, and the leaves are the upper half.
#[derive(Default)]
struct SegmentTree {
    nodes: Vec<u64>,
}

impl SegmentTree {
    fn new(leaves: &[u64]) -> Self {
        let mut nodes = vec![0; leaves.len()];
        nodes.extend_from_slice(leaves);
        for node in (1..leaves.len()).rev() {
            nodes[node] = nodes[2 * node].max(nodes[2 * node + 1]);
        }
        Self { nodes }
    }

    fn longest(&self, range: Range<usize>) -> u64 {
        let leaves = self.nodes.len() / 2;
        let (mut start, mut end, mut longest) = (range.start + leaves, range.end + leaves, 0);
        while start < end {
            if start % 2 == 1 {
                longest = longest.max(self.nodes[start]);
                start += 1;
            }
            if end % 2 == 1 {
                end -= 1;
                longest = longest.max(self.nodes[end]);
            }
            (start, end) = (start / 2, end / 2);
        }
        longest
    }
}

/// Returns the time per item of `count` items; the best of all rounds.
fn best_ns(count: usize, mut work: impl FnMut()) -> f64 {
    let round = |_| {
        let started = Instant::now();
        work();
        started.elapsed().as_nanos()
    };
    (0..ROUNDS).map(round).min().unwrap_or(0) as f64 / count as f64
}

fn beside(ns: f64, forest_ns: f64) -> String {
    format!("{ns:10.1} ({:7.2} x)", ns / forest_ns)
}

/// Pseudo-random numbers, the same in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 ^ self.0 >> 29
    }
}
