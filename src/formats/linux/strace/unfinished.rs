//! Calls that do not end in the line of their start. Another thread interrupts them, another call nests in them, or
//! other output cuts the line. Memory is bounded, and calls beyond the limits are counted or shown as unfinished.

use smallvec::SmallVec;

use super::line::{CallRest, StraceEvent};
use super::{CompleteCall, LastCall, Strace};
use crate::formats::output::batch::BatchBuilder;
use crate::model::{Event, EventFlags, Loss, SourcePos};

/// Limit for threads with unfinished calls.
const WAITING_MAX: usize = 1 << 20;

/// Limit for nested unfinished calls of a thread; some calls never end.
pub(super) const CALLS_DEEP_MAX: usize = 64;

/// Limit for the arguments of a call in several lines: each line copies those before it. A call has two or three lines.
const ARGS_BYTES_MAX: usize = 64 << 10;

/// Limit for the arguments of all unfinished calls together; a call has a few hundred bytes.
const WAITING_ARGS_BYTES_MAX: usize = 16 << 20;

#[derive(Debug)]
pub(super) struct UnfinishedCall {
    pub(super) tid: i64,
    pub(super) start_ns: i64,
    pub(super) name: Box<[u8]>,
    pub(super) args: Box<[u8]>,
    pub(super) pos: SourcePos,
    /// End of the last call that nests in it, or its start.
    pub(super) inner_end_ns: i64,
}

impl UnfinishedCall {
    /// Begins a call in which no other nests so far.
    pub(super) fn begin(tid: i64, start_ns: i64, name: &[u8], args: &[u8], pos: SourcePos) -> Self {
        Self { tid, start_ns, name: name.into(), args: args.into(), pos, inner_end_ns: start_ns }
    }

    /// Returns the duration of a call that a line resumes. The duration that `ltrace` prints may exclude the calls that
    /// nest in it; then the call lasts until the line.
    pub(super) fn dur_ns(&self, printed_ns: Option<i64>, line_ns: i64) -> Option<i64> {
        let holds_inner = |&dur_ns: &i64| self.start_ns.saturating_add(dur_ns) >= self.inner_end_ns;
        let line_ns = line_ns.max(self.inner_end_ns);
        printed_ns.filter(holds_inner).or_else(|| line_ns.checked_sub(self.start_ns))
    }

    /// Returns the call with its end in a thread, usually the thread of its start.
    pub(super) fn complete<'a>(
        &'a self,
        end_tid: i64,
        dur_ns: Option<i64>,
        result: Option<&'a [u8]>,
        pos: SourcePos,
    ) -> CompleteCall<'a> {
        let Self { tid, start_ns, name, args, .. } = self;
        CompleteCall { tid: *tid, end_tid, start_ns: *start_ns, dur_ns, name, args, result, pos }
    }

    /// Appends the arguments of a later line, up to a limit.
    fn add_args(&mut self, args: &[u8], batch: &mut BatchBuilder) {
        let room = ARGS_BYTES_MAX.saturating_sub(self.args.len());
        if args.len() > room {
            batch.lose(Loss::OverLimit, self.pos);
        }
        self.args = [&*self.args, &args[..args.len().min(room)]].concat().into();
    }
}

/// A call whose line was cut.
#[derive(Debug)]
pub(super) struct CutCall {
    pub(super) call: UnfinishedCall,
    pub(super) tid: i64,
    /// Time and position of the line if it resumes the call.
    pub(super) resumed: Option<(i64, SourcePos)>,
    /// The loss if the line does not continue; `None` if it is certainly a call.
    pub(super) loss: Option<Loss>,
}

impl Strace {
    /// Adds an unfinished call of a thread. It waits without its arguments if the arguments of other calls take all
    /// their memory.
    pub(super) fn wait(&mut self, batch: &mut BatchBuilder, tid: i64, mut call: UnfinishedCall) {
        if self.waiting.len() >= WAITING_MAX && !self.waiting.contains_key(&tid) {
            return batch.lose(Loss::OverLimit, call.pos);
        }
        if self.waiting_args_bytes + call.args.len() > WAITING_ARGS_BYTES_MAX {
            batch.lose(Loss::OverLimit, call.pos);
            call.args = Box::default();
        }
        self.waiting_args_bytes += call.args.len();
        let calls = self.waiting.entry(tid).or_default();
        calls.push(call);
        if calls.len() > CALLS_DEEP_MAX {
            let outermost = calls.remove(0);
            self.waiting_args_bytes -= outermost.args.len();
            self.endless(batch, &outermost);
        }
    }

    /// Removes the unfinished call that a line resumes, and returns it with the arguments of that line.
    pub(super) fn resumed(
        &mut self,
        batch: &mut BatchBuilder,
        tid: i64,
        name: &[u8],
        args: &[u8],
    ) -> Option<UnfinishedCall> {
        let calls = self.waiting.get_mut(&tid)?;
        let position = calls.iter().rposition(|call| is_name_of(&call.name, name))?;
        let nested: SmallVec<[UnfinishedCall; 1]> = calls.drain(position + 1..).collect();
        let mut call = calls.pop()?;
        if calls.is_empty() {
            self.waiting.remove(&tid);
        }
        self.waiting_args_bytes -= call.args.len() + nested.iter().map(|nested| nested.args.len()).sum::<usize>();
        // Nested calls end with it at the latest, at an unknown time.
        for nested in nested {
            self.endless(batch, &nested);
        }
        call.add_args(args, batch);
        Some(call)
    }

    /// Ends the unfinished calls of a thread at its next call, for a tracer of system calls. A thread is in one system
    /// call at a time, so the ends were not recorded; `rt_sigreturn` has no end.
    pub(super) fn end_at_next_call(
        &mut self,
        batch: &mut BatchBuilder,
        tid: i64,
        next_ns: i64,
        next: &StraceEvent<'_>,
    ) {
        let Some(calls) = self.waiting.get(&tid) else { return };
        let is_next = match next {
            StraceEvent::Call { .. } | StraceEvent::Begun { .. } => true,
            StraceEvent::Resumed { name, .. } => !calls.iter().any(|call| is_name_of(&call.name, name)),
            _ => false,
        };
        if !is_next {
            return;
        }
        for call in self.waiting.remove(&tid).unwrap_or_default() {
            self.waiting_args_bytes -= call.args.len();
            match next_ns.checked_sub(call.start_ns).filter(|&dur_ns| dur_ns >= 0) {
                Some(dur_ns) => self.call(batch, &call.complete(tid, Some(dur_ns), None, call.pos)),
                None => self.endless(batch, &call),
            }
        }
    }

    /// Moves the `execve` of a thread to the first thread of its process, whose id the thread has from now on.
    pub(super) fn supersede(&mut self, batch: &mut BatchBuilder, leader: i64, tid: i64) {
        self.threads.exit(tid);
        for call in self.waiting.remove(&tid).unwrap_or_default() {
            self.waiting_args_bytes -= call.args.len();
            self.wait(batch, leader, call);
        }
    }

    /// Adds the unfinished calls of a thread that has exited.
    pub(super) fn drop_waiting(&mut self, batch: &mut BatchBuilder, tid: i64) {
        for call in self.waiting.remove(&tid).unwrap_or_default() {
            self.waiting_args_bytes -= call.args.len();
            self.endless(batch, &call);
        }
    }

    /// Takes back the call that the last line left unfinished. With `-f -z`, its end may follow in a line without a
    /// time.
    pub(super) fn take_begun(&mut self) -> Option<CutCall> {
        let tid = self.last_begun.take()?;
        let calls = self.waiting.get_mut(&tid)?;
        let call = calls.pop()?;
        if calls.is_empty() {
            self.waiting.remove(&tid);
        }
        self.waiting_args_bytes -= call.args.len();
        Some(CutCall { call, tid, resumed: None, loss: None })
    }

    /// Continues the call that was cut with a line without a time.
    pub(super) fn continue_cut(&mut self, batch: &mut BatchBuilder, rest: CallRest<'_>, pos: SourcePos) {
        let Some(mut cut) = self.cut.take() else { return };
        cut.call.add_args(rest.args(), batch);
        match rest {
            CallRest::Done { result, dur_ns, .. } => {
                let CutCall { call, tid, resumed, .. } = cut;
                self.last_call = Some(LastCall { tid, start_ns: call.start_ns, pos, is_shown: true });
                let dur_ns = dur_ns.or_else(|| resumed?.0.checked_sub(call.start_ns));
                self.call(batch, &call.complete(tid, dur_ns, Some(result), pos));
            }
            CallRest::Unfinished { .. } => self.wait(batch, cut.tid, cut.call),
            CallRest::PidChanged { new_id, .. } => self.wait(batch, self.threads.tid_of(new_id), cut.call),
            CallRest::Cut { .. } => self.cut = Some(CutCall { loss: None, ..cut }),
        }
    }

    /// Settles a cut call that has no continuation: it stays unfinished, counts as damage, or ends at the line that
    /// resumed it.
    pub(super) fn settle_cut(&mut self, batch: &mut BatchBuilder) {
        let Some(CutCall { call, tid, resumed, loss }) = self.cut.take() else { return };
        match (loss, resumed) {
            (None, _) => self.wait(batch, tid, call),
            (Some(loss), None) => batch.lose(loss, call.pos),
            (Some(loss), Some((end_ns, pos))) => {
                batch.lose(loss, pos);
                self.call(batch, &call.complete(tid, end_ns.checked_sub(call.start_ns), None, pos));
            }
        }
    }

    /// Adds a call whose end is missing.
    pub(super) fn endless(&mut self, batch: &mut BatchBuilder, call: &UnfinishedCall) {
        batch.lose(Loss::UnmatchedBegin, SourcePos::Time(call.start_ns));
        let event = self.event(batch, &call.complete(call.tid, None, None, call.pos));
        batch.push(Event { flags: EventFlags::UNFINISHED, ..event });
    }
}

/// Returns whether a call is resumed under this name: `ltrace` omits the library of `library->function` and of
/// `function@library`.
fn is_name_of(begun: &[u8], resumed: &[u8]) -> bool {
    let is_function =
        |name: &[u8]| name.strip_prefix(resumed).is_some_and(|after| after.is_empty() || after.starts_with(b"@"));
    is_function(begun) || memchr::memmem::find(begun, b"->").is_some_and(|arrow| is_function(&begun[arrow + 2..]))
}
