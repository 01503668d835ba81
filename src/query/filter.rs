//! The filter language for rows, used wherever a person types one: words that must all match.
//!
//! | word | matches rows |
//! |---|---|
//! | `read` | whose name contains it, in any case |
//! | `/^read_(all|some)$/` | whose name matches the regular expression |
//! | `~rdall` | whose name has these letters in this order |
//! | `cat:io`, `thread:worker`, `process:db` | whose category, track or process contains it; or `cat:/re/`, `cat:~i` |
//! | `dur>1ms`, `dur>=5us`, `dur<2s`, `dur<=1s` | by duration |
//! | `start>=1.5s`, `start<+2s` | by start: a time of the trace's clock, or with a plus after its first event |
//! | `arg.url=/index.html` | whose argument `url` equals this; `arg.a.b` is the key `a.b`, or a member of an object |
//! | `arg."a b".c=1` | whose argument has this key: quotes keep spaces, marks and dots of a part |
//! | `arg.url:index` | whose argument `url` contains this, as for names |
//! | `in:RunTask`, `in:/^Run/`, `in:~rntsk` | that start within such a span above them on their track |
//! | `within:main/2@1500` | that start within the span of depth 2 on track `main` that starts at 1500 ns |
//! | `is:failed` | that failed, as the trace states |
//! | `has:args`, `has:flow`, `has:stack` | with arguments, with a point of a flow, samples with a call stack |
//! | `-cat:io` | that the rest does not match |
//! | `"a b"`, `cat:"a b"` | the quoted text literally, with blanks and marks |
//!
//! Threads and processes also match by id. The track of `within:` is its whole name, the id of its thread, or `#17` for
//! the number that `longspan dump` gives it. Times may have units, such as `1.5ms`.
//!
//! A frame with inlined functions matches by its whole name, such as `outer › inner`, or by one of its functions.
//!
//! A span is open from its start until before its end; a span without an end is also open at its last time. Spans of
//! lower depth on its track are above a span; all spans of the track are above any other row.
//!
//! Parses text only, without a store.

use std::ops::RangeInclusive;

use regex::{Regex, RegexBuilder};
use serde_json::Value;

use super::argument_path::{ArgumentPath, group_text, value_text};
use super::decimal_number::DecimalNumber;
pub(crate) use super::quoting::{exactly, name_word, quoted};
use super::start_test::{StartTest, allowed, comparison_of};
use super::track_number::track_number;
use crate::base::units::{duration_ns, is_time_unit, signed_time_ns};
use crate::model::short_name::short_name;
use crate::model::{Id, TrackIdx};

/// A condition on rows, made of terms.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Terms that must all match.
    pub terms: Vec<Term>,
}

/// One condition of a filter.
#[derive(Debug, Clone)]
pub struct Term {
    /// Whether the term excludes its matches.
    pub negated: bool,
    /// The test that must match, or not.
    pub test: Test,
}

/// A test of a row.
#[derive(Debug, Clone)]
pub enum Test {
    /// Tests its name, without the category.
    Name(TextTest),
    /// Tests its category. A row without one never matches.
    Category(TextTest),
    /// Tests the name of its track, or the id of its thread.
    Thread(TextTest),
    /// Tests the name or the id of its process.
    Process(TextTest),
    /// A range of durations in nanoseconds.
    Duration(RangeInclusive<u64>),
    /// A range of starts, on the trace's clock or after its first event.
    Start(StartTest),
    /// Tests the value of an argument as text.
    Argument {
        /// Path of the argument, outermost key first.
        path: ArgumentPath,
        /// The test of its value.
        test: TextTest,
    },
    /// Whether it failed, as the trace states.
    Failed,
    /// Whether it has data of a kind.
    Has(RowData),
    /// Tests the names of the spans that are open above the row at its start; one must match.
    Inside(TextTest),
    /// A certain span above it that is open at its start.
    Within(SpanPosition),
}

/// Data that a row may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowData {
    Arguments,
    /// A point of a flow, which starts, passes or ends there.
    Flow,
    /// A call stack of a sample.
    Stack,
}

impl RowData {
    const ALL: [Self; 3] = [Self::Arguments, Self::Flow, Self::Stack];

    /// Returns the word for it after [`HAS_KEY`].
    #[must_use]
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Arguments => "args",
            Self::Flow => "flow",
            Self::Stack => "stack",
        }
    }

    /// Parses the value after [`HAS_KEY`], with its mark.
    fn from_value(value: &str) -> Option<Self> {
        let word = value.strip_prefix(':')?;
        Self::ALL.into_iter().find(|data| data.word() == word)
    }
}

/// The position of a span, in the form that a person can type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpanPosition {
    /// `#` and the number of its track in `dump`, the name of the track, or the id of its thread.
    pub track: String,
    /// Nesting depth on its track; 0 for outermost.
    pub depth: u16,
    /// Its start, in nanoseconds of the trace's clock.
    pub start_ns: i64,
}

/// A test of a text.
#[derive(Debug, Clone)]
pub enum TextTest {
    /// Equals this text, in the same case.
    Same(String),
    /// As a value, belongs to the group of values with this text.
    OfGroup(String),
    /// Equals this text, or as a value this number.
    Number {
        /// The number as it is written.
        text: String,
        /// Its value, which equals other notations of the number.
        value: DecimalNumber,
        /// The text of its value.
        value_text: String,
    },
    /// Contains this text, in any case. Stored as a regular expression, which searches fast.
    Part(Regex),
    /// Contains a match of this regular expression.
    Expression(Regex),
    /// Contains these lower-case letters in this order, in any case.
    Letters(Vec<char>),
}

/// Error of parsing a filter.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{word}`: {problem}")]
pub struct FilterError {
    /// The word that is invalid, as typed.
    pub word: String,
    /// The expected form of the word.
    pub problem: String,
}

impl Filter {
    /// Parses a filter. An empty text matches every row.
    ///
    /// # Errors
    /// Returns the first invalid word and the expected form.
    pub fn parse(text: &str) -> Result<Self, FilterError> {
        let words = words(text)?;
        refuse_split_comparison(&words)?;
        Ok(Self { terms: words.iter().map(Term::parse).collect::<Result<_, _>>()? })
    }

    /// Returns whether the filter is empty, so that every row matches.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }
}

impl TextTest {
    /// Returns whether a text matches.
    #[must_use]
    pub fn holds(&self, text: &str) -> bool {
        match self {
            Self::Same(wanted) | Self::OfGroup(wanted) | Self::Number { text: wanted, .. } => text == wanted,
            Self::Part(expression) | Self::Expression(expression) => expression.is_match(text),
            Self::Letters(letters) => {
                let mut wanted = letters.iter().peekable();
                for letter in text.chars().flat_map(char::to_lowercase) {
                    wanted.next_if(|wanted| **wanted == letter);
                }
                wanted.peek().is_none()
            }
        }
    }

    /// Returns whether a process matches: by its name, the short name that the window shows, or its id.
    #[must_use]
    pub(crate) fn holds_process(&self, name: &str, pid: &Id) -> bool {
        self.holds(name) || self.holds(&short_name(name)) || self.holds(&pid.to_string())
    }

    /// Returns whether the value of an argument matches. Numbers are compared by value, in any notation. A text equals
    /// a number if it is the text that groups of values show for it.
    #[must_use]
    pub(crate) fn holds_value(&self, value: &Value) -> bool {
        let text = value_text(value);
        let is_same = match self {
            Self::OfGroup(wanted) => return group_text(value) == *wanted,
            Self::Number { value: wanted, .. } if value.is_number() => {
                DecimalNumber::parse(&text).as_ref() == Some(wanted)
            }
            Self::Number { value_text, .. } => *value_text == *text,
            Self::Same(_) | Self::Part(_) | Self::Expression(_) | Self::Letters(_) => false,
        };
        is_same || self.holds(&text)
    }

    fn same(text: &str) -> Self {
        let text = text.to_owned();
        match DecimalNumber::parse(&text) {
            Some(value) => Self::Number { text, value_text: value.to_text(), value },
            None => Self::Same(text),
        }
    }

    fn part(text: &str) -> Result<Self, String> {
        expression(&regex::escape(text), true).map(Self::Part)
    }
}

/// A word, and where its quoted part starts.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Word<'a> {
    /// The word with its quotes.
    written: &'a str,
    text: String,
    /// Offset of quoted text; marks after it are literal.
    quoted_from: Option<usize>,
}

/// Returns whether a value starts after the first letters of a word: at the start of a name, or after a key.
fn starts_value(key: &str, before: &str) -> bool {
    let unsigned = before.strip_prefix('-').unwrap_or(before);
    let is_key =
        |last: &str| TEXT_KEYS.contains(&last) || last.starts_with("arg.") || last.is_empty() && !key.is_empty();
    unsigned.is_empty() || unsigned.strip_suffix(':').is_some_and(is_key)
}

/// The characters of comparison operators.
const OPERATORS: [char; 3] = ['<', '=', '>'];

/// Returns whether a text begins as a time does.
fn begins_time(text: &str) -> bool {
    text.strip_prefix(['-', '+']).unwrap_or(text).starts_with(|first: char| first.is_ascii_digit())
}

/// Refuses a comparison with blanks, such as `dur > 1ms` or `dur>1 ms`: words of it would be names.
fn refuse_split_comparison(words: &[Word<'_>]) -> Result<(), FilterError> {
    let is_plain = |word: &Word<'_>| word.quoted_from.is_none();
    for (index, pair) in words.windows(2).enumerate().filter(|(_, pair)| pair.iter().all(is_plain)) {
        let [key, operator] = pair else { continue };
        let field = key.text.strip_prefix('-').unwrap_or(&key.text);
        let time = match operator.text.trim_start_matches(OPERATORS) {
            "" => words.get(index + 2).map_or("", |word| &word.text),
            time => time,
        };
        // Names contain such marks too, as `start <init>`.
        if TIME_KEYS.contains(&field) && operator.text.starts_with(OPERATORS) && begins_time(time) {
            let word = format!("{} {}", key.text, operator.text);
            let problem = format!("expected no blank between {field} and its operator; quotes make a name");
            return Err(FilterError { word, problem });
        }
    }
    for pair in words.windows(2).filter(|pair| pair.iter().all(is_plain)) {
        let (comparison, unit) = (&pair[0].text, &pair[1].text);
        let text = comparison.strip_prefix('-').unwrap_or(comparison);
        let value =
            TIME_KEYS.iter().find_map(|field| text.strip_prefix(field)).filter(|rest| rest.starts_with(OPERATORS));
        let Some(value) = value.map(|rest| rest.trim_start_matches(OPERATORS)) else { continue };
        let is_number = value.ends_with(|last: char| last.is_ascii_digit());
        if value.is_empty() && begins_time(unit) || is_number && is_time_unit(unit) {
            let word = format!("{comparison} {unit}");
            return Err(FilterError { word, problem: "expected no blank in a time; quotes make a name".to_owned() });
        }
    }
    Ok(())
}

/// Splits a text at blanks outside quotes and outside expressions between slashes.
fn words(text: &str) -> Result<Vec<Word<'_>>, FilterError> {
    words_after("", text)
}

/// Returns the words of a filter with their quotes.
pub(crate) fn written_words(text: &str) -> Result<Vec<&str>, FilterError> {
    Ok(words(text)?.into_iter().map(|word| word.written).collect())
}

/// Splits a text that follows a key, or the whole text if the key is empty.
fn words_after<'a>(key: &str, text: &'a str) -> Result<Vec<Word<'a>>, FilterError> {
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let mut word = Word { written: rest, text: String::new(), quoted_from: None };
        let mut chars = rest.char_indices();
        let mut end = rest.len();
        let mut closes = None;
        let mut before = None;
        while let Some((at, c)) = chars.next() {
            match closes {
                None if c.is_whitespace() => {
                    end = at;
                    break;
                }
                None if c == '"' => {
                    word.quoted_from.get_or_insert(word.text.len());
                    closes = Some('"');
                }
                None if c == '/' && matches!(before, None | Some('-' | ':')) && starts_value(key, &word.text) => {
                    word.text.push(c);
                    closes = Some('/');
                }
                Some('"') if c == '"' => closes = None,
                Some('/') if c == '/' => {
                    word.text.push(c);
                    closes = None;
                }
                Some(_) if c == '\\' => match chars.next() {
                    Some((_, quoted @ ('"' | '\\'))) if closes == Some('"') => word.text.push(quoted),
                    Some((_, '/')) if closes == Some('/') => word.text.push('/'),
                    Some((_, other)) => word.text.extend(['\\', other]),
                    None => word.text.push('\\'),
                },
                _ => word.text.push(c),
            }
            before = Some(c);
        }
        if let Some(mark) = closes {
            return Err(FilterError { word: rest.to_owned(), problem: format!("expected a closing {mark}") });
        }
        word.written = &rest[..end];
        words.push(word);
        rest = rest[end..].trim_start();
    }
    Ok(words)
}

impl Term {
    fn parse(word: &Word<'_>) -> Result<Self, FilterError> {
        let failed = |problem: String| FilterError { word: word.text.clone(), problem };
        if let Some(term) = Self::parse_argument(word.written).map_err(failed)? {
            return Ok(term);
        }
        let marks_end = word.quoted_from.unwrap_or(word.text.len());
        let is_quoted = word.quoted_from.is_some();
        let negated = word.text.starts_with('-') && marks_end > 0 && (word.text.len() > 1 || is_quoted);
        let start = usize::from(negated);
        let text = &word.text[start..];
        let marks = &word.text[start..marks_end.max(start)];
        // Splits at the first mark, unless the word is an expression.
        let at = marks.find([':', '=', '<', '>']).filter(|_| !marks.starts_with(['/', '~']));
        let (key, value) = at.map_or(("", text), |at| (&text[..at], &text[at..]));
        if let Some(expected) = at.and_then(|at| expected_operator(key, &marks[at..])) {
            return Err(failed(expected));
        }
        if let Some(data) = RowData::from_value(value).filter(|_| key == HAS_KEY) {
            return Ok(Self { negated, test: Test::Has(data) });
        }
        let test = match key {
            "dur" => Test::Duration(durations(value).map_err(failed)?),
            "start" if value.starts_with(['<', '=', '>']) => Test::Start(StartTest::parse(value).map_err(failed)?),
            "cat" | "category" if value.starts_with(':') => {
                Test::Category(text_test(&value[1..], is_quoted).map_err(failed)?)
            }
            "thread" | "track" if value.starts_with(':') => {
                Test::Thread(text_test(&value[1..], is_quoted).map_err(failed)?)
            }
            "process" if value.starts_with(':') => Test::Process(text_test(&value[1..], is_quoted).map_err(failed)?),
            "name" if value.starts_with(':') => Test::Name(text_test(&value[1..], is_quoted).map_err(failed)?),
            "in" if value.starts_with(':') => Test::Inside(text_test(&value[1..], is_quoted).map_err(failed)?),
            "within" if value.starts_with(':') => Test::Within(SpanPosition::parse(&value[1..]).map_err(failed)?),
            STATE_KEY if value.strip_prefix(':') == Some(FAILED) => Test::Failed,
            // Function names contain marks of their own: `std::read`, `a<b>`.
            _ => Test::Name(text_test(text, is_quoted).map_err(failed)?),
        };
        Ok(Self { negated, test })
    }

    /// Parses a word with its quotes, which may be part of a key or a value; `None` if it tests no argument.
    fn parse_argument(written: &str) -> Result<Option<Self>, String> {
        let unsigned = written.strip_prefix('-').unwrap_or(written);
        let Some(after) = unsigned.strip_prefix("arg.") else { return Ok(None) };
        let (path, comparison) = ArgumentPath::split_off(after, |c| matches!(c, ':' | '=' | '<' | '>'));
        if comparison.is_empty() {
            return Ok(None);
        }
        let Some(path) = path else {
            return Err("expected a key such as arg.url or arg.a.b, each part with letters or quotes".to_owned());
        };
        let key = &unsigned[..unsigned.len() - comparison.len()];
        let operator = comparison.split('"').next().unwrap_or_default();
        if let Some(expected) = expected_operator(key, operator) {
            return Err(expected);
        }
        let values = words_after(key, comparison).map_err(|error| error.problem)?;
        let [value] = &values[..] else { return Err("expected quotes around a key with a slash".to_owned()) };
        let test = match value.text.strip_prefix('=') {
            Some(same) => TextTest::same(same),
            None => text_test(&value.text[1..], value.quoted_from.is_some())?,
        };
        Ok(Some(Self { negated: unsigned.len() < written.len(), test: Test::Argument { path, test } }))
    }
}

impl SpanPosition {
    /// Creates the position of a span on the track with this index.
    #[must_use]
    pub(crate) fn new(track: TrackIdx, depth: u16, start_ns: i64) -> Self {
        Self { track: track_number(track), depth, start_ns }
    }

    fn parse(text: &str) -> Result<Self, String> {
        let expected = || "expected TRACK/DEPTH@START, such as within:worker/0@1.5ms or within:#17/2@1500".to_owned();
        // A name may contain both marks.
        let (lane, start) = text.rsplit_once('@').ok_or_else(expected)?;
        let (track, depth) = lane.rsplit_once('/').ok_or_else(expected)?;
        let depth = depth.parse().map_err(|_| expected())?;
        Ok(Self { track: track.to_owned(), depth, start_ns: signed_time_ns(start)? })
    }
}

/// Writes the value of `within:` that the filter parser reads.
impl std::fmt::Display for SpanPosition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { track, depth, start_ns } = self;
        write!(f, "{track}/{depth}@{start_ns}")
    }
}

/// The keys of tests of times.
const TIME_KEYS: [&str; 2] = ["dur", "start"];

/// The keys of tests of texts.
const TEXT_KEYS: [&str; 8] = ["cat", "category", "thread", "track", "process", "name", "in", "within"];

/// The key of the test of a state.
const STATE_KEY: &str = "is";

/// The only state.
const FAILED: &str = "failed";

/// The key of the test of whether a row has data.
const HAS_KEY: &str = "has";

/// Returns all keys, except for keys of arguments.
pub(crate) fn keys() -> impl Iterator<Item = &'static str> {
    TIME_KEYS.into_iter().chain(TEXT_KEYS).chain([STATE_KEY, HAS_KEY])
}

/// Returns the expected form of a word whose operator does not fit its key, such as `dur!=0` and `cat=io`, or whose key
/// is in capitals. Other words are names, which may contain such marks: `a<b>`, `start:up`, `Process::run`. More text
/// may follow the operator.
fn expected_operator(key: &str, operator: &str) -> Option<String> {
    let field = key.strip_suffix('!').unwrap_or(key);
    let form = match field {
        _ if TIME_KEYS.contains(&field) => format!("{field}>, {field}>=, {field}<, {field}<= or {field}= and a time"),
        _ if TEXT_KEYS.contains(&field) => format!("{field}: and a text"),
        STATE_KEY if !operator.starts_with("::") => return expected_value(STATE_KEY, &[FAILED], key, operator),
        HAS_KEY if !operator.starts_with("::") => {
            return expected_value(HAS_KEY, &RowData::ALL.map(RowData::word), key, operator);
        }
        _ if field.starts_with("arg.") => format!("{field}= and a value, or {field}: and a text"),
        _ => return expected_case(key, operator),
    };
    let fits = if operator.starts_with(':') || TIME_KEYS.contains(&field) {
        key == field
    } else {
        key == field && field.starts_with("arg.") && operator.starts_with('=') && !operator.starts_with("==")
    };
    (!fits).then(|| format!("expected {form}; a minus before it excludes, and quotes make it a name"))
}

/// Returns the expected form of a word such as `is:broken`, whose key has only some values. Names may contain other
/// marks after the key.
fn expected_value(own_key: &str, values: &[&str], key: &str, operator: &str) -> Option<String> {
    let is_value = |value: &str| values.contains(&value);
    let is_test = key != own_key || operator.strip_prefix(':').is_none_or(is_value);
    let forms: Vec<_> = values.iter().map(|value| format!("{own_key}:{value}")).collect();
    let (last, others) = forms.split_last()?;
    let others = if others.is_empty() { String::new() } else { format!("{} or ", others.join(", ")) };
    (!is_test).then(|| format!("expected {others}{last}; quotes make it a name"))
}

/// Returns the expected form of a word whose key is known in lower case, if it can hardly be a name, as `Cat:io` and
/// `DUR>1ms`.
fn expected_case(key: &str, operator: &str) -> Option<String> {
    let small = key.to_ascii_lowercase();
    let is_meant = match operator.as_bytes().first()? {
        b':' => TEXT_KEYS.contains(&&*small) && !operator.starts_with("::"),
        _ => TIME_KEYS.contains(&&*small) && begins_time(operator.trim_start_matches(OPERATORS)),
    };
    (is_meant && small != key).then(|| format!("expected {small} in lower case; quotes make it a name"))
}

/// Parses the test of a value; a quoted one is literal.
fn text_test(value: &str, is_quoted: bool) -> Result<TextTest, String> {
    if is_quoted {
        return TextTest::part(value);
    }
    if let Some(letters) = value.strip_prefix('~') {
        return Ok(TextTest::Letters(letters.chars().flat_map(char::to_lowercase).collect()));
    }
    match value.strip_prefix('/').and_then(|rest| rest.strip_suffix('/')) {
        Some(between) => expression(between, false).map(TextTest::Expression),
        None => TextTest::part(value),
    }
}

fn expression(text: &str, any_case: bool) -> Result<Regex, String> {
    RegexBuilder::new(text).case_insensitive(any_case).build().map_err(|error| regex_reason(&error))
}

/// Returns why an expression is invalid, in one line. The `regex` crate also draws the expression with a caret below.
pub(crate) fn regex_reason(error: &regex::Error) -> String {
    if let regex::Error::CompiledTooBig(bytes) = error {
        return format!("the expression takes more than {} MiB: expected fewer repetitions", bytes >> 20);
    }
    let text = error.to_string();
    let last = text.lines().last().unwrap_or_default();
    last.strip_prefix("error: ").unwrap_or(last).to_owned()
}

/// Returns the durations that a comparison such as `>1ms` allows.
fn durations(comparison: &str) -> Result<RangeInclusive<u64>, String> {
    let Some((sign, time)) = comparison_of(comparison) else {
        return Err("expected dur>, dur>=, dur<, dur<= or dur= and a time, such as dur>1ms".to_owned());
    };
    let time_ns = duration_ns(time)?;
    let next_to = [time_ns.checked_sub(1), time_ns.checked_add(1)];
    Ok(allowed(sign, time_ns, next_to, [0, u64::MAX]).unwrap_or(RangeInclusive::new(1, 0)))
}

#[cfg(test)]
mod tests;
