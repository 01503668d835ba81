//! Rewrites mangled names of C++ that the demangler reads wrongly or not at all. Numbers of substitutions stay the
//! same.

use super::parsed;

/// Limits for the attempts, since each parses the name.
const BYTES_MAX: usize = 2048;
const ENDS_MAX: usize = 64;
const PACK_BYTES_MAX: usize = 512;

/// Returns the end of the function's own name with its template arguments. That part is a name by itself.
fn end_of_name(name: &str, from: usize) -> Option<usize> {
    let mut ends = name[from..].match_indices('E').map(|(at, _)| from + at + 1).take(ENDS_MAX);
    ends.find(|&end| name.is_char_boundary(end) && parsed(&name[..end]).is_some())
}

/// Inserts a return type into the name of a template constructor. Such names have none, but the demangler takes the
/// first parameter for it and omits that.
pub(super) fn with_return_type(name: &str) -> Option<String> {
    if name.len() > BYTES_MAX || !name.starts_with("_ZN") {
        return None;
    }
    let is_start = |&at: &usize| matches!(name.as_bytes()[at..], [b'C', b'1'..=b'5', b'I', ..]);
    // The name up to here is a constructor, so its template arguments follow.
    let start = (3..name.len()).filter(is_start).find(|&at| parsed(&format!("{}E", &name[..at + 2])).is_some())?;
    let end = end_of_name(name, start)?;
    (end < name.len()).then(|| format!("{}v{}", &name[..end], &name[end..]))
}

/// Replaces a parameter pack at the end of a name by its elements, such as `DpRKT_` by `RKiRKd`. The demangler adds the
/// reference to the last element only.
pub(super) fn with_pack(name: &str) -> Option<String> {
    let (front, pattern) = name.rsplit_once("Dp").filter(|_| name.len() <= BYTES_MAX)?;
    let parameter = pattern.trim_start_matches(['R', 'O', 'K', 'P']);
    let kind = &pattern[..pattern.len() - parameter.len()];
    let number = parameter.strip_prefix('T')?.strip_suffix('_')?;
    if kind.is_empty() || !number.bytes().all(|digit| digit.is_ascii_alphanumeric()) {
        return None;
    }
    let end = end_of_name(front, 0)?;
    let closers = if name.starts_with("_ZN") { "EEE" } else { "EE" };
    let is_whole = |front: &str| parsed(&format!("{front}{closers}")).is_some();
    // The last pack at this level belongs to the function. The packs of its class are before.
    let packs = front[..end].rmatch_indices('J').map(|(at, _)| at + 1).take(ENDS_MAX);
    let start = packs.into_iter().find(|&start| is_whole(&front[..start]))?;
    let is_end = |&at: &usize| {
        // Template arguments and names in `std` continue an element. `Sx` is invalid, except within a name.
        let is_std = || front[..at].ends_with("St") && !is_whole(&format!("{}x", &front[..at - 1]));
        front.as_bytes()[at] != b'I' && is_whole(&front[..at]) && !is_std()
    };
    let (mut elements, mut element) = (String::new(), start);
    while front.as_bytes()[element] != b'E' {
        let has_end = front[element..].trim_start_matches(['R', 'O', 'K', 'P']).starts_with(['N', 'F', 'Z']);
        let ends = (element + 1..end.min(start + PACK_BYTES_MAX)).filter(|&at| front.is_char_boundary(at));
        let mut ends = ends.filter(|&at| !has_end || front.as_bytes()[at - 1] == b'E');
        let element_end = ends.find(is_end)?;
        elements += &reference(kind, &front[element..element_end]);
        element = element_end;
    }
    let is_only = elements.is_empty() && parsed(front).is_none();
    Some(format!("{front}{elements}{}", if is_only { "v" } else { "" }))
}

/// Returns the type of a reference to a type, which may be a reference itself.
fn reference(kind: &str, element: &str) -> String {
    match (kind, element.as_bytes().first()) {
        ("R" | "RK" | "O", Some(b'R')) | ("O", Some(b'O')) => element.to_owned(),
        ("R" | "RK", Some(b'O')) => format!("R{}", &element[1..]),
        _ => format!("{kind}{element}"),
    }
}

/// Rewrites members of types, such as `std::is_void<T>::value` in `srSt7is_voidIT_E5value`, as members of `typeid`
/// expressions. For these, the demangler accepts all types.
pub(super) fn with_members(name: &str) -> Option<String> {
    let mut rewritten = String::with_capacity(name.len() + 16);
    let mut rest = name;
    while let Some(at) = rest.find("sr") {
        let (front, after) = (&rest[..at], &rest[at + 2..]);
        let is_type = after.starts_with(|first: char| first.is_ascii_digit() || matches!(first, 'N' | 'S'));
        rewritten.extend([front, if is_type { MEMBER } else { "sr" }]);
        rest = after;
    }
    rewritten += rest;
    (rewritten.len() > name.len()).then_some(rewritten)
}

/// Member of a `typeid` of a type.
const MEMBER: &str = "dtti";

/// Writes members of `typeid` expressions as members of their types.
pub(super) fn without_members(text: &str) -> String {
    const START: &str = "(typeid (";
    const END: &str = ")).";
    let mut plain = String::with_capacity(text.len());
    // For each open parenthesis, whether it belongs to an expression.
    let mut open = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(['(', ')']) {
        plain += &rest[..at];
        rest = &rest[at..];
        let (written, len) = if rest.starts_with(START) {
            open.push(true);
            ("", START.len())
        } else if rest.starts_with('(') {
            open.push(false);
            ("(", 1)
        } else if open.pop() == Some(true) && rest.starts_with(END) {
            ("::", END.len())
        } else {
            (")", 1)
        };
        plain += written;
        rest = &rest[len..];
    }
    plain + rest
}

/// Writes what the demangler writes unusually as other tools do: integers, packs of them, empty packs, and literal
/// operators.
pub(super) fn as_usual(text: String) -> String {
    let text = if text.contains('(') { without_packs(&with_suffixes(&text)) } else { text };
    let text = if text.contains(", >") { without_empty_packs(&text) } else { text };
    with_literal_operator(&text).unwrap_or(text)
}

/// Removes the commas that the demangler leaves before empty packs at the end of template arguments.
fn without_empty_packs(text: &str) -> String {
    let mut usual = String::with_capacity(text.len());
    for (number, part) in text.split('>').enumerate() {
        if number > 0 {
            usual.truncate(usual.trim_end_matches(", ").len());
            usual.push('>');
        }
        usual += part;
    }
    usual
}

/// Writes `(unsigned long)5` as `5ul`.
fn with_suffixes(text: &str) -> String {
    const SUFFIXES: [(&str, &str); 5] = [
        ("(unsigned long long)", "ull"),
        ("(unsigned long)", "ul"),
        ("(unsigned int)", "u"),
        ("(long long)", "ll"),
        ("(long)", "l"),
    ];
    let number_bytes = |text: &str| {
        let digits = text.strip_prefix('-').unwrap_or(text);
        let count = digits.bytes().take_while(u8::is_ascii_digit).count();
        (count > 0).then_some(text.len() - digits.len() + count)
    };
    let literal = |text: &'_ str| {
        let (kind, suffix) = SUFFIXES.iter().find(|(kind, _)| text.starts_with(kind))?;
        Some((kind.len(), number_bytes(&text[kind.len()..])?, *suffix))
    };
    let mut usual = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('(') {
        usual += &rest[..at];
        rest = &rest[at..];
        let (start, len, suffix) = literal(rest).unwrap_or((0, 1, ""));
        usual.extend([&rest[start..start + len], suffix]);
        rest = &rest[start + len..];
    }
    usual + rest
}

/// Writes an expanded pack of integers, `(0ul, 1ul)...`, without the parentheses, and an empty one as nothing.
fn without_packs(text: &str) -> String {
    let pack = |text: &'_ str| {
        let is_number = |byte: &u8| byte.is_ascii_digit() || b"-ul, ".contains(byte);
        let len = text[1..].bytes().take_while(|byte| is_number(byte)).count();
        text[1 + len..].starts_with(")...").then_some(len)
    };
    let mut usual = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('(') {
        usual += &rest[..at];
        rest = &rest[at..];
        let is_argument = usual.ends_with('<') || usual.ends_with(", ");
        if let Some(len) = pack(rest).filter(|_| is_argument) {
            usual += &rest[1..=len];
            rest = &rest[len + "()...".len()..];
        } else {
            usual.push('(');
            rest = &rest[1..];
        }
    }
    usual + rest
}

/// Writes the literal operator `operator_km::operator ""` as `operator"" _km`.
fn with_literal_operator(text: &str) -> Option<String> {
    const END: &str = "::operator \"\"";
    let (front, rest) = text.split_once(END)?;
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    let start = front.rfind(|letter| !is_part(letter)).map_or(0, |before| before + 1);
    let name = front.get(start..)?.strip_prefix("operator")?;
    Some(format!("{}operator\"\" {name}{rest}", &front[..start]))
}
