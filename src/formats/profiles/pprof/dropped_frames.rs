//! The frames that a profile asks to drop, such as those inside of an allocator. `drop_frames` is a regular expression
//! of function names, and `keep_frames` matches exceptions. As in `go tool pprof`, a matching frame and its callees are
//! dropped, so that their cost counts for the caller. A stack that begins with matching frames keeps these.
//!
//! A bad or large expression drops nothing, which is a loss.

use regex::bytes::{Regex, RegexBuilder};
use rustc_hash::FxHashMap;

use super::tables::LocationFrame;
use crate::model::{Loss, Losses, SourcePos};

/// Limit for the text of an expression; gperftools writes a few thousand bytes.
const EXPRESSION_BYTES_MAX: usize = 64 << 10;

/// Limit for a compiled expression.
const COMPILED_BYTES_MAX: usize = 1 << 20;

/// Limit for the names that are matched, since a hostile expression takes long for each byte. The names of a hundred
/// thousand functions have about 6 MiB.
const MATCHED_BYTES_MAX: usize = 16 << 20;

const BAD_EXPRESSION: &str =
    "The expression of frames to drop is malformed or too large, so that all frames are shown.";

#[derive(Debug, Default)]
pub(super) struct DroppedFrames<'m> {
    drop: Option<Regex>,
    keep: Option<Regex>,
    /// Whether to drop a function, by its name.
    dropped_by_name: FxHashMap<&'m [u8], bool>,
    matched_bytes: usize,
}

impl<'m> DroppedFrames<'m> {
    /// Compiles the texts of `drop_frames` and `keep_frames`, which are empty if the profile has none.
    pub(super) fn new([drop, keep]: [&[u8]; 2], losses: &mut Losses) -> Self {
        let mut compiled = |text: &[u8]| {
            let compiled = compile(text);
            if compiled.is_none() && !text.is_empty() {
                losses.add_because(BAD_EXPRESSION, Loss::BadRecord, SourcePos::Offset(0));
            }
            compiled
        };
        if drop.is_empty() {
            return Self::default();
        }
        let (drop, keep_frames) = (compiled(drop), compiled(keep));
        // Without its exceptions, an expression would drop too much.
        let drop = drop.filter(|_| keep.is_empty() || keep_frames.is_some());
        Self { drop, keep: keep_frames, ..Self::default() }
    }

    /// Returns how many of the frames of a location to keep; `frames` are outermost first. `has_kept` becomes true at
    /// the first location of a stack without a frame to drop. Until then, a location that begins with such a frame is
    /// kept.
    pub(super) fn kept_count(
        &mut self,
        frames: &[LocationFrame<'m>],
        has_kept: &mut bool,
        losses: &mut Losses,
    ) -> usize {
        let is_dropped = |frame: &LocationFrame<'m>| match frame {
            LocationFrame::Name(name, _) => self.drops(name, losses),
            LocationFrame::Address(_) => false,
        };
        match frames.iter().position(is_dropped) {
            Some(0) if !*has_kept => frames.len(),
            Some(first) => first,
            None => {
                *has_kept = true;
                frames.len()
            }
        }
    }

    fn drops(&mut self, name: &'m [u8], losses: &mut Losses) -> bool {
        if self.drop.is_none() {
            return false;
        }
        if let Some(&is_dropped) = self.dropped_by_name.get(name) {
            return is_dropped;
        }
        self.matched_bytes = self.matched_bytes.saturating_add(name.len());
        let is_within = self.matched_bytes <= MATCHED_BYTES_MAX;
        if !is_within {
            losses.add(Loss::OverLimit, SourcePos::Offset(0));
        }
        let simple = simple_name(name);
        let matches = |expression: &Option<Regex>| expression.as_ref().is_some_and(|it| it.is_match(simple));
        let is_dropped = is_within && matches(&self.drop) && !matches(&self.keep);
        self.dropped_by_name.insert(name, is_dropped);
        is_dropped
    }
}

/// Compiles an expression of whole names.
fn compile(text: &[u8]) -> Option<Regex> {
    let text = std::str::from_utf8(text).ok().filter(|text| !text.is_empty() && text.len() <= EXPRESSION_BYTES_MAX)?;
    RegexBuilder::new(&format!("^({text})$")).size_limit(COMPILED_BYTES_MAX).build().ok()
}

/// Returns a name without a leading point and without arguments, as `pprof` matches it.
fn simple_name(name: &[u8]) -> &[u8] {
    const NAMESPACE: &[u8] = b"(anonymous namespace)";
    let name = name.strip_prefix(b".").unwrap_or(name);
    let is_argument = |&open: &usize| {
        let is_operator = name[..open].ends_with(b"operator") && name[open..].starts_with(b"()");
        !is_operator && !name[open..].starts_with(NAMESPACE)
    };
    memchr::memchr_iter(b'(', name).find(is_argument).map_or(name, |open| &name[..open])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the frames that are kept of a stack, with a location per frame, or per group in one string.
    fn kept(expressions: [&str; 2], stack: &[&'static str]) -> String {
        let mut losses = Losses::default();
        let mut dropped = DroppedFrames::new(expressions.map(str::as_bytes), &mut losses);
        let (mut text, mut has_kept) = (Vec::new(), false);
        for location in stack {
            let frames: Vec<&str> = location.split('+').collect();
            let named: Vec<_> = frames.iter().map(|name| LocationFrame::Name(name.as_bytes(), None)).collect();
            let count = dropped.kept_count(&named, &mut has_kept, &mut losses);
            text.extend_from_slice(&frames[..count]);
            if count < frames.len() && has_kept {
                break;
            }
        }
        assert_eq!(losses.total(), 0, "{expressions:?}");
        text.join(" ")
    }

    #[test]
    fn a_matching_frame_is_dropped_with_its_callees_unless_it_is_an_exception() {
        let stack = ["main", "f", "malloc", "sbrk"];
        for (drop, keep, expected) in [
            ("malloc", "", "main f"),
            ("mal", "", "main f malloc sbrk"),
            ("free|malloc", "", "main f"),
            ("sbrk|m.*", "malloc", "main f malloc"),
            // Matching frames at the start of a stack are kept.
            ("main|sbrk", "", "main f malloc"),
            ("main|f|sbrk", "", "main f malloc"),
            (".*", "", "main f malloc sbrk"),
            ("", "malloc", "main f malloc sbrk"),
        ] {
            assert_eq!(kept([drop, keep], &stack), expected, "{drop} but not {keep}");
        }
        // A function inlined into its caller is dropped alone.
        assert_eq!(kept(["inlined", ""], &["main", "f+inlined+g", "h"]), "main f");
        assert_eq!(kept(["inlined", ""], &["f+inlined", "main", "h"]), "f main h");
    }

    #[test]
    fn names_are_matched_without_their_arguments() {
        for (name, simple) in [
            ("malloc(unsigned long)", "malloc"),
            (".malloc", "malloc"),
            ("(anonymous namespace)::f(int)", "(anonymous namespace)::f"),
            ("A::operator()(int)", "A::operator()"),
            ("operator new(unsigned long)", "operator new"),
            ("f", "f"),
            ("", ""),
        ] {
            assert_eq!(simple_name(name.as_bytes()), simple.as_bytes(), "{name}");
        }
    }

    #[test]
    fn bad_and_hostile_expressions_drop_nothing_and_are_counted() {
        let long = "a".repeat(EXPRESSION_BYTES_MAX + 1);
        for expressions in [["(", ""], ["a{1000}{1000}{1000}", ""], [&*long, ""], ["f", "["]] {
            let mut losses = Losses::default();
            let mut dropped = DroppedFrames::new(expressions.map(str::as_bytes), &mut losses);
            assert_eq!(dropped.kept_count(&[LocationFrame::Name(b"f", None)], &mut true, &mut losses), 1);
            assert_eq!(losses.count(Loss::BadRecord), 1, "{}", &expressions[0][..1]);
        }
    }
}
