//! Rows of tracers that have columns instead of an event name and fields.

use crate::formats::input::text::split_word;
use crate::formats::output::args::ArgsWriter;

/// Columns of the `osnoise` tracer, after which counts of other interference may follow.
const OSNOISE_COLUMNS: [&str; 9] =
    ["runtime_us", "noise_us", "available_percent", "max_single_us", "hw", "nmi", "irq", "softirq", "thread"];

/// Returns whether a line of a tracer has no event name but columns, as `1000000 190 99.98100 9` of `osnoise`, or
/// `#1 context irq timer_latency 932 ns` of `timerlat`.
pub(super) fn is_tracer_row(event: &[u8]) -> bool {
    let (first, rest) = split_word(event);
    let number = first.strip_prefix(b"#").unwrap_or(first);
    !rest.is_empty() && !number.is_empty() && number.iter().all(u8::is_ascii_digit)
}

/// Writes a row as arguments: its columns if they are known, or else its text.
pub(super) fn write_row(tracer: &[u8], row: &[u8], args: &mut ArgsWriter) {
    let columns = if tracer == b"osnoise" { osnoise_columns(row) } else { None };
    let Some(columns) = columns else { return args.text("fields", row) };
    for (name, number) in OSNOISE_COLUMNS.iter().zip(columns) {
        args.key("", name.as_bytes());
        args.json.push_str(number);
    }
}

/// Splits the columns of the `osnoise` tracer, which are numbers without an exponent.
fn osnoise_columns(row: &[u8]) -> Option<Vec<&str>> {
    let words = row.split(|&byte| byte == b' ').filter(|word| !word.is_empty()).take(OSNOISE_COLUMNS.len());
    let number = |word| {
        let word = std::str::from_utf8(word).ok()?;
        let (whole, decimals) = word.split_once('.').unwrap_or((word, "0"));
        let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let has_no_zero = whole.len() == 1 || !whole.starts_with('0');
        (is_digits(whole) && is_digits(decimals) && has_no_zero).then_some(word)
    };
    let columns: Option<Vec<&str>> = words.map(number).collect();
    columns.filter(|columns| columns.len() == OSNOISE_COLUMNS.len())
}
