//! Helpers of the benches: a store with lanes to query, and pseudo-random numbers.

use std::io;
use std::sync::Arc;

use longspan::facade::model::{Id, Registry, TrackIdx, TrackKey, TrackKind};
use longspan::facade::query::Snapshot;
use longspan::facade::store::{LaneKind, Meta, Row, Store, StoreWriter};

/// Creates `spans` consecutive spans on `lanes` lanes of one track, with gaps, bursts and some long spans. Also returns
/// the end of the last one.
pub(crate) fn lanes_of_spans(spans: u64, lanes: u32) -> io::Result<(Snapshot, i64)> {
    let mut registry = Registry::default();
    let key = TrackKey { kind: TrackKind::Thread, pid: Id::None, tid: Id::None, name: "".into(), slot: 0 };
    registry.track(&key);
    let file = tempfile::tempfile()?;
    let mut writer = StoreWriter::new(file.try_clone()?, 256 << 20)?;
    let mut random = Random(3);
    let mut end_ns = 0;
    for depth in 0..lanes as u16 {
        let lane = writer.add_lane(TrackIdx(0), LaneKind::Spans, depth)?;
        let mut free_ns = 0;
        for k in 0..spans / u64::from(lanes) {
            let gap_ns = if k % 1000 < 100 { random.below(50) } else { random.below(2000) };
            let dur_ns = if random.below(500) == 0 { random.below(200_000) } else { random.below(1000) };
            let start_ns = free_ns + gap_ns as i64;
            free_ns = start_ns + dur_ns as i64;
            writer.push(lane, Row { start_ns, value: dur_ns, detail: 0, name: 0 })?;
        }
        end_ns = free_ns.max(end_ns);
    }
    writer.finish(&Meta { tracks: registry.tables().clone(), ..Meta::default() })?;
    let store = Store::from_file(&file, "bench".as_ref()).map_err(io::Error::other)?;
    Ok((Snapshot::new(Arc::new(store)), end_ns))
}

/// Pseudo-random numbers, the same in every run.
pub(crate) struct Random(pub u64);

impl Random {
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit.max(1)
    }
}
