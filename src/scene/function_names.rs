//! Shorter forms of function names of C++ and Rust: without parameters, without template arguments, and without the
//! return type. These parts surround the name, so shortening a long text in its middle would drop the name first.

/// Longer texts are not shortened; readers of symbols limit names to this length.
const NAME_BYTES_MAX: usize = 4096;

/// Limit for nested brackets; real names have some ten levels.
const NESTING_MAX: usize = 256;

/// The word that starts the name of an operator, whose symbols may be brackets.
const OPERATOR: &str = "operator";

/// The symbols of operators; each comes before its prefixes.
const OPERATOR_SYMBOLS: [&str; 42] = [
    "<=>", "->*", "<<=", ">>=", "()", "[]", "->", "++", "--", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "+=",
    "-=", "*=", "/=", "%=", "^=", "&=", "|=", "new[]", "delete[]", "+", "-", "*", "/", "%", "^", "&", "|", "~", "!",
    "=", "<", ">", ",", "\"\"",
];

/// Words after the parameters of a function.
const QUALIFIERS: [&str; 7] = [" const", " volatile", " noexcept", " &&", " &", "&&", "&"];

/// Starts of names in angle brackets that are not template arguments: unnamed functions and modules.
const NAMES_IN_BRACKETS: [&str; 5] = ["lambda", "unnamed", "init", "clinit", "module"];

/// Returns shorter forms of a function name, longer ones first. Returns none for a text that is not a function name.
pub(super) fn shorter_forms(text: &str) -> Vec<String> {
    let is_candidate = text.len() <= NAME_BYTES_MAX && text.contains(['(', '<']);
    let Some(without_parameters) = is_candidate.then(|| Reduction::run(text, false)).flatten() else {
        return Vec::new();
    };
    let Some(without_arguments) = Reduction::run(text, true) else { return Vec::new() };
    let has_return_type = without_arguments.name_start > 0;
    // Only templates have a return type. Other texts with blanks are sentences.
    if has_return_type && !(without_arguments.has_arguments && without_arguments.has_parameters) {
        return Vec::new();
    }
    let name = without_arguments.kept[without_arguments.name_start..].to_owned();
    let mut forms = vec![without_parameters.kept, without_arguments.kept, name];
    forms.retain(|form| form.len() < text.len() && form.contains(char::is_alphanumeric));
    forms.dedup();
    forms
}

/// A pass over a name, which drops groups in brackets.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
struct Reduction<'t> {
    text: &'t str,
    at: usize,
    kept: String,
    /// Open brackets, and whether each group is dropped.
    open: Vec<(u8, bool)>,
    /// Number of open groups that are dropped.
    dropped: usize,
    /// Start of the name in `kept`, after the return type.
    name_start: usize,
    drops_arguments: bool,
    has_parameters: bool,
    has_arguments: bool,
    /// Whether an operator at the top level was read: blanks after it are part of the name.
    has_operator: bool,
}

impl<'t> Reduction<'t> {
    /// Drops the parameters of a name, and its template arguments if `drops_arguments`. Returns `None` for a text that
    /// is not a function name.
    fn run(text: &'t str, drops_arguments: bool) -> Option<Self> {
        let mut reduction = Self {
            text,
            at: 0,
            kept: String::with_capacity(text.len()),
            open: Vec::new(),
            dropped: 0,
            name_start: 0,
            drops_arguments,
            has_parameters: false,
            has_arguments: false,
            has_operator: false,
        };
        while reduction.at < text.len() {
            reduction.step()?;
        }
        reduction.open.is_empty().then_some(reduction)
    }

    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    /// Returns the text before the position.
    fn before(&self) -> &'t str {
        &self.text[..self.at]
    }

    /// Moves by some bytes, and keeps them unless they are in a dropped group.
    fn take(&mut self, len: usize) {
        let end = self.at + len;
        if self.dropped == 0 {
            self.kept.push_str(&self.text[self.at..end]);
        }
        self.at = end;
    }

    /// Reads one letter, bracket or operator.
    fn step(&mut self) -> Option<()> {
        if let Some(len) = self.operator_len() {
            self.has_operator |= self.open.is_empty();
            self.take(len);
            return Some(());
        }
        let letter = self.rest().chars().next()?;
        match letter {
            '(' | '<' | '[' | '{' => self.open(letter as u8),
            ')' | '>' | ']' | '}' => self.close(letter as u8),
            ' ' => {
                self.take(1);
                // ` [clone .cold]` follows the name.
                if self.open.is_empty() && !self.has_operator && !self.rest().starts_with('[') {
                    self.name_start = self.kept.len();
                }
                Some(())
            }
            ':' => {
                let is_separator = self.rest().starts_with("::");
                // Tags of the standard library, such as `[abi:cxx11]`.
                let is_in_tag = self.open.last().is_some_and(|&(bracket, _)| bracket == b'[');
                self.take(if is_separator { 2 } else { 1 });
                (is_separator || is_in_tag).then_some(())
            }
            '-' if self.rest().starts_with("->") => {
                self.take(2);
                Some(())
            }
            _ if letter.is_alphanumeric() || !letter.is_ascii() || "_$.,&*~#'+-;!@".contains(letter) => {
                self.take(letter.len_utf8());
                Some(())
            }
            _ => None,
        }
    }

    /// Returns the length of an operator's name at the position.
    fn operator_len(&self) -> Option<usize> {
        let symbol = self.rest().strip_prefix(OPERATOR)?;
        if self.before().ends_with(is_word) || symbol.starts_with(is_word) {
            return None;
        }
        let symbol = symbol.strip_prefix(' ').filter(|name| !name.starts_with('<')).unwrap_or(symbol);
        let len = OPERATOR_SYMBOLS.iter().find(|&&it| symbol.starts_with(it)).map_or(0, |it| it.len());
        Some(self.rest().len() - symbol.len() + len)
    }

    fn open(&mut self, bracket: u8) -> Option<()> {
        if self.open.len() >= NESTING_MAX {
            return None;
        }
        let before = self.before();
        let (is_turbofish, is_after_operator) = (before.ends_with("::"), self.is_after_operator());
        let is_after_name = before.ends_with(|letter| is_word(letter) || ")>]}".contains(letter)) || is_after_operator;
        let content = &self.rest()[1..];
        let is_dropped = match bracket {
            b'(' if is_after_name && !is_parameters(content) => return None,
            b'(' => is_after_name,
            b'<' => {
                // A comparison, such as `a < b`.
                if self.open.is_empty() && before.ends_with(' ') && !is_after_operator {
                    return None;
                }
                let is_name = is_turbofish && NAMES_IN_BRACKETS.iter().any(|name| content.starts_with(name));
                self.drops_arguments && (is_after_name || is_turbofish) && !is_name
            }
            _ => false,
        };
        if is_dropped && bracket == b'<' && is_turbofish && self.dropped == 0 {
            self.kept.truncate(self.kept.len() - "::".len());
        }
        // The blank of `operator< <int>`.
        if is_dropped && is_after_operator && before.ends_with(' ') && self.dropped == 0 {
            self.kept.pop();
        }
        self.has_parameters |= is_dropped && bracket == b'(' && self.open.is_empty();
        self.has_arguments |= is_dropped && bracket == b'<' && self.open.is_empty();
        self.dropped += usize::from(is_dropped);
        self.open.push((bracket, is_dropped));
        self.take(1);
        Some(())
    }

    fn close(&mut self, bracket: u8) -> Option<()> {
        let (opened, is_dropped) = self.open.pop()?;
        let is_pair = matches!((opened, bracket), (b'(', b')') | (b'<', b'>') | (b'[', b']') | (b'{', b'}'));
        self.take(1);
        if !is_pair {
            return None;
        }
        if is_dropped {
            self.dropped -= 1;
            self.after_dropped(bracket)?;
        }
        Some(())
    }

    /// Checks what follows a dropped group. Qualifiers of a function are dropped with its parameters.
    fn after_dropped(&mut self, bracket: u8) -> Option<()> {
        if bracket == b')' {
            while let Some(qualifier) = QUALIFIERS.iter().find(|&&it| self.rest().starts_with(it)) {
                self.at += qualifier.len();
            }
        }
        let rest = self.rest();
        let is_end = rest.is_empty() || ["::", " [", "[", ".", "@", "("].iter().any(|it| rest.starts_with(it));
        let is_in_group = !self.open.is_empty();
        let is_after_arguments = bracket == b'>' && rest.starts_with([' ', '&', '*', ',', '>']);
        let is_after_inner = is_in_group && !rest.starts_with(is_word);
        (is_end || is_after_arguments || is_after_inner).then_some(())
    }

    /// Returns whether an operator, perhaps with a blank, is before the position.
    fn is_after_operator(&self) -> bool {
        /// Bytes of the longest name of an operator with a blank, and of the letter before it.
        const BYTES_MAX: usize = 24;
        let before = self.before();
        let before = &before[before.floor_char_boundary(before.len().saturating_sub(BYTES_MAX))..];
        let before = before.strip_suffix(' ').unwrap_or(before);
        let Some(start) = before.rfind(OPERATOR) else { return false };
        let symbol = before[start + OPERATOR.len()..].trim_start();
        OPERATOR_SYMBOLS.contains(&symbol) && !before[..start].ends_with(is_word)
    }
}

/// Returns whether the text after an opening parenthesis may be types of parameters: values are part of a name.
fn is_parameters(content: &str) -> bool {
    !content.starts_with(|first: char| first.is_ascii_digit() || "\"'-+.,#".contains(first))
        || content.starts_with("...")
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_' || letter == '$'
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn parameters_go_first_then_template_arguments_then_the_return_type() {
        let partition = "int* std::__unguarded_partition<int*, __gnu_cxx::__ops::_Iter_less_iter>(int*, int*, int*, \
            __gnu_cxx::__ops::_Iter_less_iter)";
        let expected = [
            "int* std::__unguarded_partition<int*, __gnu_cxx::__ops::_Iter_less_iter>",
            "int* std::__unguarded_partition",
            "std::__unguarded_partition",
        ];
        assert_eq!(shorter_forms(partition), expected);
        for (name, shortest) in [
            ("norm(V const&)", "norm"),
            ("(anonymous namespace)::norm((anonymous namespace)::V const&)", "(anonymous namespace)::norm"),
            ("shop::Basket<int>::heaviest() const", "shop::Basket::heaviest"),
            ("std::vector<int, std::allocator<int> >::push_back(int&&)", "std::vector::push_back"),
            ("std::ostream& std::operator<< <char>(std::ostream&, char)", "std::operator<<"),
            ("bool std::operator< <int>(int const&, int const&)", "std::operator<"),
            ("aa::operator<(aa::V const&, aa::V const&)", "aa::operator<"),
            ("std::unique_ptr<A, std::default_delete<A> >::operator->() const", "std::unique_ptr::operator->"),
            ("std::function<void (int)>::operator()(int) const", "std::function::operator()"),
            ("A::operator bool() const", "A::operator bool"),
            ("A<int>::operator unsigned long() const", "A::operator unsigned long"),
            ("operator new[](unsigned long)", "operator new[]"),
            ("run(int)::{lambda(int)#1}::operator()(int) const", "run::{lambda#1}::operator()"),
            ("std::to_string[abi:cxx11](int)", "std::to_string[abi:cxx11]"),
            ("work(A, int) [clone .cold]", "work [clone .cold]"),
            ("work(A, int)@plt", "work@plt"),
            ("each<run(int)::<lambda(int)> >", "each"),
            (
                "<alloc::vec::Vec<T,A> as core::ops::drop::Drop>::drop",
                "<alloc::vec::Vec as core::ops::drop::Drop>::drop",
            ),
            ("core::ptr::drop_in_place::<alloc::string::String>", "core::ptr::drop_in_place"),
            ("foo(bar)", "foo"),
        ] {
            assert_eq!(shorter_forms(name).last().map(String::as_str), Some(shortest), "{name}");
        }
    }

    #[test]
    fn other_texts_have_no_shorter_forms() {
        for text in [
            "main",
            "<T as Trait>::f",
            "<module>",
            "core::iter::Iterator::for_each::{{closure}}",
            "a < b",
            "a<b",
            "x<5 && y>3",
            "if (x < 3) return",
            "(anonymous namespace)",
            "(anonymous)",
            "::<T>",
            "()",
            "{\"a\": [1, 2]}",
            "https://example.org/a(b)?c=<d>",
            "read(3, \"x\")",
            "Task(17)",
            "run (main.js:12)",
            "main.(*Server).Serve.func1",
            "SELECT count(x) FROM t",
            "INSERT INTO t(a)",
            "Load page (cached)",
            "List<String> items",
            "<div>text</div>",
            "vtable for A<int>",
            "void (*pick<int>(int))(char)",
            "f(x)) g",
            "operator",
        ] {
            assert_eq!(shorter_forms(text), [""; 0], "{text}");
        }
    }

    proptest! {
        #[test]
        fn shorter_forms_are_parts_of_the_name_in_order_and_never_blank(
            parts in prop::collection::vec(
                prop::sample::select(vec![
                    "a", "std", "::", "<", ">", "(", ")", "[", "]", "{", "}", " ", "operator", "operator()", "->", "&",
                    " const", "lambda", "é", "\u{1f600}", ",", "#", "~", "=", "@plt", " as ", "const", "…",
                ]),
                0..30,
            ),
        ) {
            check_shorter_forms(&parts.concat())?;
        }

        #[test]
        fn shorter_forms_of_any_text_are_parts_of_it(text in "\\PC{0,60}") {
            check_shorter_forms(&text)?;
        }
    }

    fn check_shorter_forms(text: &str) -> Result<(), TestCaseError> {
        let mut len = text.len();
        for form in shorter_forms(text) {
            prop_assert!(form.len() < len && form.contains(char::is_alphanumeric), "{text}: {form}");
            len = form.len();
            let mut letters = text.chars();
            prop_assert!(form.chars().all(|letter| letters.any(|other| other == letter)), "{text}: {form}");
        }
        Ok(())
    }
}
