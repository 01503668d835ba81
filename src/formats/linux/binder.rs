//! Android's binder calls between processes, from the `binder` events of any tracer. A call is a span on the waiting
//! thread, its reply a span on the serving thread, with a flow between them. A one-way call is an instant at each end.
//! Driver locks, buffers and reference counts are ignored.

use rustc_hash::FxHashMap;
use xxhash_rust::xxh3::xxh3_64;

use crate::formats::output::args::ArgsWriter;
use crate::formats::output::batch::BatchBuilder;
use crate::model::{Event, EventFlags, EventKind, Loss, NameIdx, SourcePos, TrackIdx};

/// Limit for pending transactions and for threads with open spans; real traces have fewer.
const PENDING_MAX: usize = 1 << 18;

/// Limit for nested calls of one thread; real calls nest a few levels.
const CALLS_DEEP_MAX: usize = 64;

/// Transaction flag of a one-way call.
const ONE_WAY: u64 = 1;

/// Return codes that end a call without a reply: dead, failed and frozen.
const NO_ANSWER: [u64; 3] = [0x7205, 0x7211, 0x7212];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BinderEvent {
    Transaction(BinderTransaction),
    /// A thread received the transaction with this id.
    Received {
        id: i64,
    },
    /// The driver returns to the thread with this code.
    Return {
        code: u64,
    },
}

/// A thread sends a call or a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct BinderTransaction {
    pub(crate) id: i64,
    pub(crate) to_node: i64,
    pub(crate) to_process: i64,
    pub(crate) to_thread: i64,
    pub(crate) is_reply: bool,
    pub(crate) flags: u64,
    pub(crate) code: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BinderSpan {
    /// The caller waits for the reply.
    Call,
    /// The called thread works on the transaction.
    Answer,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SentMessage {
    Call,
    OneWay,
    Answer,
}

/// The pending transactions and open spans.
#[derive(Debug, Default)]
pub(crate) struct Binder {
    sent_by_id: FxHashMap<i64, SentMessage>,
    /// Open spans by thread, outermost first.
    open: FxHashMap<i64, Vec<BinderSpan>>,
    args: ArgsWriter,
}

/// Time, thread and track of a driver event.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BinderThread {
    pub(crate) ts_ns: i64,
    pub(crate) tid: i64,
    pub(crate) track: TrackIdx,
    pub(crate) pos: SourcePos,
}

impl Binder {
    /// Converts a driver event to events of the batch.
    pub(crate) fn add_event(&mut self, batch: &mut BatchBuilder, thread: BinderThread, event: BinderEvent) {
        match event {
            BinderEvent::Transaction(sent) => self.transaction(batch, thread, &sent),
            BinderEvent::Received { id } => self.received(batch, thread, id),
            BinderEvent::Return { code } if NO_ANSWER.contains(&code) => self.end(batch, thread, BinderSpan::Call),
            BinderEvent::Return { .. } => {}
        }
    }

    fn transaction(&mut self, batch: &mut BatchBuilder, thread: BinderThread, sent: &BinderTransaction) {
        if self.sent_by_id.len() >= PENDING_MAX {
            batch.lose(Loss::OverLimit, thread.pos);
            self.sent_by_id.clear();
        }
        if sent.is_reply {
            self.sent_by_id.insert(sent.id, SentMessage::Answer);
            return self.end(batch, thread, BinderSpan::Answer);
        }
        let is_one_way = sent.flags & ONE_WAY != 0;
        self.sent_by_id.insert(sent.id, if is_one_way { SentMessage::OneWay } else { SentMessage::Call });
        let args = &mut self.args;
        args.clear();
        args.signed("transaction id", sent.id);
        args.signed("destination node", sent.to_node);
        args.signed("destination process", sent.to_process);
        args.signed("destination thread", sent.to_thread);
        args.text("flags", format!("{:#x}", sent.flags).as_bytes());
        args.text("code", format!("{:#x}", sent.code).as_bytes());
        let detail = batch.args(args.finish());
        let flow_depth = if is_one_way {
            instant(batch, thread, b"binder transaction async", detail);
            Event::FLOW_OF_INSTANT
        } else {
            self.begin(batch, thread, BinderSpan::Call, detail);
            Event::FLOW_OF_SPAN
        };
        flow(batch, thread, EventKind::FlowStart, sent.id, flow_depth);
    }

    fn received(&mut self, batch: &mut BatchBuilder, thread: BinderThread, id: i64) {
        match self.sent_by_id.remove(&id) {
            Some(SentMessage::Answer) => self.end(batch, thread, BinderSpan::Call),
            Some(SentMessage::Call) => {
                self.begin(batch, thread, BinderSpan::Answer, 0);
                flow(batch, thread, EventKind::FlowEnd, id, Event::FLOW_OF_SPAN);
            }
            Some(SentMessage::OneWay) => {
                instant(batch, thread, b"binder async rcv", 0);
                flow(batch, thread, EventKind::FlowEnd, id, Event::FLOW_OF_INSTANT);
            }
            // Sent before the recording started.
            None => {}
        }
    }

    fn begin(&mut self, batch: &mut BatchBuilder, thread: BinderThread, span: BinderSpan, detail: u32) {
        if self.open.len() >= PENDING_MAX && !self.open.contains_key(&thread.tid) {
            return batch.lose(Loss::OverLimit, thread.pos);
        }
        let open = self.open.entry(thread.tid).or_default();
        if open.len() >= CALLS_DEEP_MAX {
            return batch.lose(Loss::DeepNesting, thread.pos);
        }
        open.push(span);
        let name = span.name(batch, thread.pos);
        batch.push(Event { detail, ..Event::new(thread.ts_ns, EventKind::Begin, thread.track, name) });
    }

    /// Ends the innermost driver span of a thread if it is of this kind.
    fn end(&mut self, batch: &mut BatchBuilder, thread: BinderThread, span: BinderSpan) {
        let Some(open) = self.open.get_mut(&thread.tid).filter(|open| open.last() == Some(&span)) else { return };
        open.pop();
        if open.is_empty() {
            self.open.remove(&thread.tid);
        }
        let name = span.name(batch, thread.pos);
        batch.push(Event::new(thread.ts_ns, EventKind::End, thread.track, name));
    }
}

impl BinderSpan {
    fn name(self, batch: &mut BatchBuilder, pos: SourcePos) -> NameIdx {
        let name: &[u8] = match self {
            Self::Call => b"binder transaction",
            Self::Answer => b"binder reply",
        };
        batch.name(name, Some(b"binder"), pos)
    }
}

fn instant(batch: &mut BatchBuilder, thread: BinderThread, name: &[u8], detail: u32) {
    let name = batch.name(name, Some(b"binder"), thread.pos);
    batch.push(Event { detail, ..Event::new(thread.ts_ns, EventKind::Instant, thread.track, name) });
}

fn flow(batch: &mut BatchBuilder, thread: BinderThread, kind: EventKind, id: i64, depth: u16) {
    let value = xxh3_64(&[b"binder", &id.to_le_bytes()[..]].concat());
    let flags = EventFlags::BIND_ENCLOSING;
    batch.push(Event { value, depth, flags, ..Event::new(thread.ts_ns, kind, thread.track, NameIdx::EMPTY) });
}
