//! The functions of graphs as text: `f(a=1) {` at the entry, `}` at the exit, and `f(a=1);` for a function without
//! callees. The kernel writes results as comments, `/* = 0x0 */` or `/* f ret=0 */`, and `trace-cmd` in brackets.

use crate::formats::output::args::ArgsWriter;
use crate::formats::output::batch::BatchBuilder;

/// The text of a function. Arguments and result are empty if they are not recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct FunctionText<'a> {
    pub(super) name: &'a [u8],
    pub(super) args: &'a [u8],
    pub(super) result: &'a [u8],
}

/// The text of a function that has not been emitted yet.
#[derive(Debug)]
pub(super) struct KeptFunction {
    name: Box<[u8]>,
    args: Box<[u8]>,
    pub(super) result: Box<[u8]>,
}

/// The part of a function that a line draws.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FunctionSide {
    Entry,
    /// Entry and exit of a function without callees.
    Leaf,
    Exit,
}

impl<'a> FunctionText<'a> {
    /// Parses the last column of a graph; returns `None` if it is not a function.
    pub(super) fn from_column(text: &'a [u8]) -> Option<(FunctionSide, Self)> {
        if let Some(after) = text.strip_prefix(b"}") {
            return Some((FunctionSide::Exit, Self { result: result(after), ..Self::default() }));
        }
        let (side, function, after) = if text.ends_with(b"{") || memchr::memmem::find(text, b" { /*").is_some() {
            (FunctionSide::Entry, &text[..memchr::memrchr(b'{', text)?], &b""[..])
        } else {
            let end = memchr::memmem::find(text, b");").map(|at| at + 1).or_else(|| memchr::memchr(b';', text))?;
            (FunctionSide::Leaf, &text[..end], &text[end + 1..])
        };
        let function = function.trim_ascii_end();
        let open = memchr::memchr(b'(', function).unwrap_or(function.len());
        let args = function[open..].strip_prefix(b"(").unwrap_or_default();
        let args = args.strip_suffix(b")").unwrap_or(args).trim_ascii();
        Some((side, Self { name: &function[..open], args, result: result(after) }))
    }

    /// Writes arguments and result as arguments of the batch. Returns the value of [`crate::model::Event::detail`].
    pub(super) fn detail(&self, batch: &mut BatchBuilder) -> u32 {
        let mut args = ArgsWriter::default();
        for (key, value) in [("args", self.args), ("ret", self.result)] {
            if !value.is_empty() {
                args.text(key, value);
            }
        }
        batch.args(args.finish())
    }
}

impl KeptFunction {
    pub(super) fn text(&self) -> FunctionText<'_> {
        FunctionText { name: &self.name, args: &self.args, result: &self.result }
    }

    /// Returns the bytes of memory outside of the structure.
    pub(super) fn bytes(&self) -> usize {
        self.name.len() + self.args.len() + self.result.len()
    }
}

impl From<FunctionText<'_>> for KeptFunction {
    fn from(text: FunctionText<'_>) -> Self {
        Self { name: text.name.into(), args: text.args.into(), result: text.result.into() }
    }
}

/// Returns the value in the comment or the brackets after a function, which may also have its name and its caller.
fn result(after: &[u8]) -> &[u8] {
    let value = [&b"ret="[..], b"= "].into_iter().find_map(|key| {
        let at = memchr::memmem::find(after, key)?;
        (at == 0 || matches!(after[at - 1], b' ' | b'(')).then(|| &after[at + key.len()..])
    });
    let value = value.unwrap_or_default();
    &value[..value.iter().position(|byte| matches!(byte, b' ' | b')')).unwrap_or(value.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_and_results_are_parsed_in_the_forms_of_the_kernel_and_of_trace_cmd() {
        use FunctionSide::{Entry, Exit, Leaf};
        for (text, side, [name, args, result]) in [
            ("f() {", Entry, ["f", "", ""]),
            ("f(a=-1, b=0x7) {", Entry, ["f", "a=-1, b=0x7", ""]),
            ("f [mod](0x1) { /* <-g+0x1/0x2 */", Entry, ["f [mod]", "0x1", ""]),
            ("f();", Leaf, ["f", "", ""]),
            ("f(x=0x1); (ret=0x4)", Leaf, ["f", "x=0x1", "0x4"]),
            ("f(); /* = 0xffff93fc86f58010 */", Leaf, ["f", "", "0xffff93fc86f58010"]),
            ("f(); /* <-g ret=-22 */", Leaf, ["f", "", "-22"]),
            ("f;", Leaf, ["f", "", ""]),
            ("}", Exit, ["", "", ""]),
            ("} (ret=0x3)", Exit, ["", "", "0x3"]),
            ("} /* f */", Exit, ["", "", ""]),
            ("} /* f = -22 */", Exit, ["", "", "-22"]),
            ("} /* f ret=-22 */", Exit, ["", "", "-22"]),
        ] {
            let [name, args, result] = [name, args, result].map(str::as_bytes);
            let expected = FunctionText { name, args, result };
            assert_eq!(FunctionText::from_column(text.as_bytes()), Some((side, expected)), "{text}");
        }
        for text in ["", "f", "f()", "/* a comment */"] {
            assert_eq!(FunctionText::from_column(text.as_bytes()), None, "{text}");
        }
    }
}
