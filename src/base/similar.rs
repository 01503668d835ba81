//! Finds the name that a mistyped word means.

/// Similarity from which words are confused. Suggestions of clap start at 0.7, which also accepts words with just a
/// common beginning.
const SIMILARITY_MIN: f64 = 0.8;

/// Returns the name most similar to a word, if any is similar.
pub(crate) fn nearest<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    nearest_within(word, names, SIMILARITY_MIN)
}

/// Like [`nearest`], with another least similarity, from 0 to 1.
pub(crate) fn nearest_within<'a>(word: &str, names: impl Iterator<Item = &'a str>, least: f64) -> Option<&'a str> {
    let similar = names.map(|name| (strsim::jaro(word, name), name));
    let similar = similar.filter(|(similarity, _)| *similarity >= least);
    similar.max_by(|(one, _), (other, _)| one.total_cmp(other)).map(|(_, name)| name)
}
