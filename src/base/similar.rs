//! Finds the name that a mistyped word means.

/// Similarity from which words are confused. Suggestions of clap start at 0.7, which also accepts words with just a
/// common beginning.
const SIMILARITY_MIN: f64 = 0.8;

/// Similarity of words that differ by two letters in the other order. Jaro's similarity of short ones is small: 0.56 of
/// `dru` and `dur`.
const SWAPPED_SIMILARITY: f64 = 0.9;

/// Returns the name most similar to a word, if any is similar.
pub(crate) fn nearest<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    nearest_within(word, names, SIMILARITY_MIN)
}

/// Like [`nearest`], with another least similarity, from 0 to 1.
pub(crate) fn nearest_within<'a>(word: &str, names: impl Iterator<Item = &'a str>, least: f64) -> Option<&'a str> {
    let similar = names.map(|name| (similarity(word, name), name));
    let similar = similar.filter(|(similarity, _)| *similarity >= least);
    similar.max_by(|(one, _), (other, _)| one.total_cmp(other)).map(|(_, name)| name)
}

fn similarity(word: &str, name: &str) -> f64 {
    let similarity = strsim::jaro(word, name);
    if has_swapped_letters(word, name) { similarity.max(SWAPPED_SIMILARITY) } else { similarity }
}

/// Returns whether the words differ by two neighbouring letters in the other order, and by nothing else.
fn has_swapped_letters(word: &str, name: &str) -> bool {
    let differing: Vec<_> = word.chars().zip(name.chars()).enumerate().filter(|(_, (a, b))| a != b).take(3).collect();
    match differing[..] {
        [(at, (a, b)), (next, (c, d))] => word.len() == name.len() && next == at + 1 && (a, b) == (d, c),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_swap_in_a_short_word_is_a_slip_and_another_letter_is_none() {
        let keys = || ["name", "cat", "dur", "arg", "pid", "tid", "in"].into_iter();
        for (slip, meant) in [("dru", "dur"), ("pdi", "pid"), ("cta", "cat"), ("agr", "arg"), ("nmae", "name")] {
            assert_eq!(nearest(slip, keys()), Some(meant), "{slip}");
        }
        for other in ["foo", "sid", "dud", "", "x"] {
            assert_eq!(nearest(other, keys()), None, "{other}");
        }
    }
}
