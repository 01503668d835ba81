//! The order of names by the numbers in them.

/// A part of a name: numbers sort before letters and by value, so `worker 9` comes before `worker 10`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum NamePiece {
    Number(u128),
    Text(String),
}

/// Returns the key that orders a name among others.
pub(crate) fn natural_key(name: &str) -> Vec<NamePiece> {
    let mut pieces = Vec::new();
    let mut rest = name;
    while let Some(first) = rest.chars().next() {
        let is_number = first.is_ascii_digit();
        let end = rest.find(|letter: char| letter.is_ascii_digit() != is_number).unwrap_or(rest.len());
        let (piece, tail) = rest.split_at(end);
        // A number beyond 38 digits is ordered as text.
        let number = piece.parse().ok().filter(|_| is_number);
        pieces.push(number.map_or_else(|| NamePiece::Text(piece.to_lowercase()), NamePiece::Number));
        rest = tail;
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_names_are_ordered_by_value_and_case_does_not_count() {
        let mut names =
            ["worker 10", "Worker 9", "main", "worker 9a", "7", "x99999999999999999999999999999999999999999"];
        names.sort_by_key(|name| natural_key(name));
        assert_eq!(
            names,
            ["7", "main", "Worker 9", "worker 9a", "worker 10", "x99999999999999999999999999999999999999999"]
        );
    }
}
