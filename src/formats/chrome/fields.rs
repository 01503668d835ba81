//! The table of record keys.

/// A member of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RecordField {
    Ph,
    Name,
    Cat,
    Ts,
    Dur,
    Pid,
    Tid,
    Tts,
    Tdur,
    Args,
    Id,
    Id2,
    Scope,
    /// `s`: the scope of an instant.
    S,
    /// `bp`: the binding of a flow.
    Bp,
    BindId,
    FlowIn,
    FlowOut,
    /// Members of samples only, such as stacks, and extensions of this program's exports. These are the depth of a flow
    /// point, the CPU of a run, unfinished runs and states, global async spans, samples without times, and the unit of
    /// a counter.
    Rare,
    /// A key that the format does not define, such as `.file` of tracing-chrome or `out` of Bazel: an argument.
    Other,
    /// A key for the display, or a mark of this program's exports.
    Ignored,
}

impl RecordField {
    pub(super) const COUNT: usize = Self::Ignored as usize + 1;

    pub(super) fn from_key(key: &[u8]) -> Self {
        match key {
            b"ph" => Self::Ph,
            b"name" => Self::Name,
            b"cat" => Self::Cat,
            b"ts" => Self::Ts,
            b"dur" => Self::Dur,
            b"pid" => Self::Pid,
            b"tid" => Self::Tid,
            b"tts" => Self::Tts,
            b"tdur" => Self::Tdur,
            b"args" => Self::Args,
            b"id" => Self::Id,
            b"id2" => Self::Id2,
            b"scope" => Self::Scope,
            b"s" => Self::S,
            b"bp" => Self::Bp,
            b"bind_id" => Self::BindId,
            b"flow_in" => Self::FlowIn,
            b"flow_out" => Self::FlowOut,
            b"sf" | b"stack" | b"esf" | b"estack" | b"weight" | b"cpu" | b"place" | b"unfinished" | b"global"
            | b"untimed" | b"unit" => Self::Rare,
            b"cname" | b"use_async_tts" | b"outside" => Self::Ignored,
            _ => Self::Other,
        }
    }
}
