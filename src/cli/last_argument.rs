//! The last positional argument of commands that have a further argument after their files.

use super::error::CliError;
use super::low_args::LowTrace;

/// Splits the last positional argument off the files, since the parser returns it as a file.
pub(super) fn split_last(mut low: LowTrace, last: Option<String>, name: &str) -> Result<(LowTrace, String), CliError> {
    let usage = |problem: &str| CliError::Usage(format!("{name} {problem}"));
    let last = match last {
        Some(last) => last,
        None => match low.files.pop().filter(|_| !low.files.is_empty()) {
            Some(last) => last.into_os_string().into_string().map_err(|_| usage("is not UTF-8 text"))?,
            None => return Err(usage("is missing: it is the last argument, after one FILE or more")),
        },
    };
    Ok((low, last))
}
