//! The options for a part of a trace, as parsed by clap; see [`super::low_args`].

use clap::Args;

use super::low_choices::LowTrackKind;
use crate::base::typed_time::TypedTime;

/// The part of a trace that a command is about: all of these must hold.
#[derive(Debug, Args)]
#[command(next_help_heading = "Scope")]
pub(super) struct LowScope {
    /// Start of the time range: nanoseconds, or with a unit such as 1.5ms; with a plus: after the first event
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    pub(crate) from: Option<TypedTime>,
    /// End of the time range, which is exclusive; written like --from
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    pub(crate) to: Option<TypedTime>,
    /// Only tracks whose name, process name or id contains a match of this regular expression, or the tracks that
    /// `dump` numbers so: '#17' or '#17,#18'
    #[arg(long, value_name = "RE", allow_hyphen_values = true)]
    pub(crate) track: Option<String>,
    /// Only processes whose name contains a match of this regular expression, or whose whole id matches
    #[arg(long, value_name = "RE", allow_hyphen_values = true)]
    pub(crate) process: Option<String>,
    /// Only tracks whose name contains a match of this regular expression, or whose whole thread id matches
    #[arg(long, value_name = "RE", allow_hyphen_values = true)]
    pub(crate) thread: Option<String>,
    /// Only tracks of this kind, such as a thread without its states; may be given several times
    #[arg(long, value_name = "KIND", value_enum)]
    pub(crate) kind: Vec<LowTrackKind>,
    /// Only rows that match a filter, such as 'dur>1ms cat:io in:RunTask -idle'; --help lists its terms
    #[arg(long, value_name = "QUERY", allow_hyphen_values = true, long_help = FILTER_HELP)]
    pub(crate) filter: Option<String>,
}

/// The terms of a filter.
const FILTER_HELP: &str = "\
Only rows that match all terms of a filter, such as 'dur>1ms cat:io in:RunTask -idle'

  read  /^read_(all|some)$/  ~rdall     part of the name, a regular expression, a fuzzy match
  name:read  track:worker               the same as `read` and `thread:worker`
  cat:io  thread:worker  process:db     category, track or thread id, process or its id contains it
  dur>1ms  dur<=2s  dur=0               the duration
  start>=1.5s  start<+2s                the start; with a plus, after the first event
  arg.url=/index.html  arg.url:index    an argument equals it, or contains it
  arg.a.b=1  arg.\"a b\"=1               the key `a.b`, or `b` in `a`; quotes keep spaces and dots
  in:RunTask  in:/^Run/                 a span of that name is open above it when it starts
  within:worker/2@1.5ms                 the same, for the span at depth 2 of track or thread id
                                        `worker` that starts at 1.5 ms; within:#17/2@1500 is for
                                        the track that `dump` numbers 17
  is:failed                             spans that failed, as the trace states
  has:args  has:flow  has:stack         with arguments, a point of a flow, a call stack of a sample
  -cat:io                               the term after the minus does not match
  \"a b\"  cat:\"a b\"                   quotes keep spaces and special characters

The name of a sample is its innermost function.";
