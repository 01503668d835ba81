//! Rows of samples without times: one per measure, on which samples are drawn as wide as they weigh. For aggregated
//! profiles.

use crate::formats::output::args::SampleArgsWriter;
use crate::formats::output::batch::BatchBuilder;
use crate::model::{Id, Loss, Metadata, SampleMeasure, SourcePos, StackIdx, TrackKey};

/// The row of a measure.
pub(super) struct WeighedRow {
    key: TrackKey,
    unit: Box<str>,
    now_ns: i64,
    args: SampleArgsWriter,
}

impl WeighedRow {
    /// Names the row. The row with the smallest negative `sort_index` is the default of the profile.
    pub(super) fn new(event: &str, unit: &str, sort_index: i64, batch: &mut BatchBuilder) -> Self {
        let title = format!("{event} ({unit})");
        let tid = Id::Text(title.as_str().into());
        let key = TrackKey::untimed_thread(Id::None, tid.clone());
        let named = Metadata::ThreadName { pid: Id::None, tid: tid.clone(), name: title.into() };
        batch.extend_metadata([named, Metadata::ThreadSortIndex { pid: Id::None, tid, sort_index }]);
        Self { key, unit: unit.into(), now_ns: 0, args: SampleArgsWriter::new(event, unit) }
    }

    /// Returns the time at which the next sample is drawn, as the position of its losses.
    pub(super) fn pos(&self) -> SourcePos {
        SourcePos::Time(self.now_ns)
    }

    /// Adds a sample with a stack, which is a row of the batch.
    pub(super) fn push(&mut self, weight: u64, stack: StackIdx, batch: &mut BatchBuilder) {
        let detail = batch.args(self.args.with_weight(weight));
        let track = batch.track_with(&self.key);
        batch.push_sample(self.now_ns, track, stack, detail);
        let measure = SampleMeasure { event: "".into(), unit: (&*self.unit).into(), weight };
        self.now_ns = position_after(self.now_ns, measure.drawn_ns(), self.pos(), batch);
    }
}

/// Returns the position after a sample of this width. If there is none, counts that later samples are drawn over it.
pub(super) fn position_after(now_ns: i64, drawn_ns: u64, pos: SourcePos, batch: &mut BatchBuilder) -> i64 {
    const NO_ROOM: &str =
        "The weights are too large to draw all samples side by side: some are drawn over others. Their sums are exact.";
    now_ns.checked_add_unsigned(drawn_ns).unwrap_or_else(|| {
        batch.losses().add_because(NO_ROOM, Loss::Overlap, pos);
        now_ns
    })
}
