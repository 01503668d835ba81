//! Connects spans with parents in other requests. A service sends a span when it ends, so a child often comes in an
//! earlier request than its parent, and from another service.
//!
//! Memory is bounded: parents that ended long ago, and children that wait for too many parents, are forgotten. Their
//! arrows are missing.

use rustc_hash::FxHashMap;

use crate::model::SourcePos;

/// Limit for remembered parents; twice as many are kept at times.
const PARENTS_MAX: usize = 1 << 16;

/// Limits for waiting children, and for the bytes of their names; twice as many are kept at times.
const CHILDREN_MAX: usize = 1 << 14;
const NAME_BYTES_MAX: usize = 4 << 20;

/// The place of a span: its service, its row, and its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SpanPlace {
    pub(super) service: u32,
    pub(super) row: usize,
    pub(super) start_ns: i64,
}

/// A span as the end of an arrow from its parent.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ChildEnd {
    pub(super) id: u64,
    pub(super) name: Box<[u8]>,
    pub(super) place: SpanPlace,
    pub(super) pos: SourcePos,
}

/// The spans of earlier requests. Ids are hashes of trace id and span id.
#[derive(Debug, Default)]
pub(super) struct SpanLinks {
    /// The latest parents. Once they are many, they replace `older`, which is dropped.
    recent: FxHashMap<u64, SpanPlace>,
    older: FxHashMap<u64, SpanPlace>,
    /// The latest waiting children, in two generations like the parents.
    waiting: WaitingChildren,
    older_waiting: WaitingChildren,
}

#[derive(Debug, Default)]
struct WaitingChildren {
    by_parent: FxHashMap<u64, Vec<ChildEnd>>,
    count: usize,
    name_bytes: usize,
}

impl WaitingChildren {
    fn take(&mut self, parent: u64) -> Vec<ChildEnd> {
        let children = self.by_parent.remove(&parent).unwrap_or_default();
        self.count -= children.len();
        self.name_bytes -= children.iter().map(|child| child.name.len()).sum::<usize>();
        children
    }
}

impl SpanLinks {
    /// Remembers the place of a span, which may be a parent.
    pub(super) fn place(&mut self, id: u64, place: SpanPlace) {
        if self.recent.len() >= PARENTS_MAX {
            self.older = std::mem::take(&mut self.recent);
        }
        self.recent.insert(id, place);
    }

    /// Returns the place of a span of an earlier request.
    pub(super) fn placed(&self, id: u64) -> Option<SpanPlace> {
        self.recent.get(&id).or_else(|| self.older.get(&id)).copied()
    }

    /// Remembers a child until its parent comes.
    pub(super) fn wait(&mut self, parent: u64, child: ChildEnd) {
        if self.waiting.count >= CHILDREN_MAX || self.waiting.name_bytes + child.name.len() > NAME_BYTES_MAX {
            self.older_waiting = std::mem::take(&mut self.waiting);
        }
        self.waiting.count += 1;
        self.waiting.name_bytes += child.name.len();
        self.waiting.by_parent.entry(parent).or_default().push(child);
    }

    /// Returns the children that wait for a span.
    pub(super) fn take_children(&mut self, parent: u64) -> Vec<ChildEnd> {
        let mut children = self.older_waiting.take(parent);
        children.extend(self.waiting.take(parent));
        children
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parents_and_children_are_remembered_in_bounded_memory() {
        let mut links = SpanLinks::default();
        let place = |row| SpanPlace { service: 1, row, start_ns: 5 };
        let child = |id| ChildEnd { id, name: b"call".as_slice().into(), place: place(0), pos: SourcePos::Offset(0) };
        for id in 0..PARENTS_MAX as u64 * 3 + 10 {
            links.place(id, place(id as usize));
            links.wait(id, child(id));
            assert!(links.recent.len() + links.older.len() <= 2 * PARENTS_MAX);
            assert!(links.waiting.count <= CHILDREN_MAX && links.older_waiting.count <= CHILDREN_MAX);
        }
        let last = PARENTS_MAX as u64 * 3 + 9;
        assert_eq!(links.placed(last), Some(place(last as usize)));
        assert_eq!(
            links.placed(last - PARENTS_MAX as u64).map(|place| place.row as u64),
            Some(last - PARENTS_MAX as u64)
        );
        assert_eq!(links.placed(0), None);
        assert_eq!(links.take_children(last), [child(last)]);
        assert_eq!(links.take_children(last), []);
        let before = links.waiting.count;
        links.wait(7, ChildEnd { name: vec![b'x'; NAME_BYTES_MAX].into(), ..child(7) });
        assert!(before > 1 && links.waiting.count == 1, "names count as well");
        assert_eq!(links.take_children(last - 1), [child(last - 1)], "a full table forgets the oldest alone");
    }
}
