//! Key paths at the start of a JSON document, for format detection: `[].traceId` is a key of objects in an array,
//! `log.entries` a key of a nested object. String values that look like keys are ignored.

use std::collections::BTreeSet;

use super::scan::Scanner;

/// Limit for open brackets; all documents that are detected by keys are shallower.
const DEPTH_MAX: usize = 32;

/// The key paths in the head of a document, or of several concatenated documents.
#[derive(Debug, Default)]
pub(crate) struct Outline {
    paths: BTreeSet<String>,
    /// Keys of the first objects, in order.
    keys: Vec<String>,
}

/// Limit for keys in an error message.
const KEYS_NAMED_MAX: usize = 6;

impl Outline {
    /// Collects the keys as far as the head is valid JSON.
    pub(crate) fn from_head(head: &[u8]) -> Self {
        let mut outline = Self::default();
        // Ends at damage or at the end of the head; keys up to there count.
        let _ = outline.read(&mut Scanner::new(head, 0));
        outline
    }

    /// Returns whether all of these paths exist.
    pub(crate) fn has_all(&self, paths: &[&str]) -> bool {
        paths.iter().all(|path| self.paths.contains(*path))
    }

    /// Returns the number of these paths that exist.
    pub(crate) fn count_of(&self, paths: &[&str]) -> usize {
        paths.iter().filter(|path| self.paths.contains(**path)).count()
    }

    /// Returns the keys of the first objects, in order.
    pub(crate) fn keys(&self) -> &[String] {
        &self.keys
    }

    /// Returns the first keys, for an error message.
    pub(crate) fn first_keys(&self) -> String {
        self.keys.join(", ")
    }

    fn read(&mut self, scanner: &mut Scanner<'_>) -> Option<()> {
        // For each open bracket: whether it is an object, and the length of the enclosing path.
        let mut open: Vec<(bool, usize)> = Vec::new();
        let mut path = String::new();
        loop {
            match scanner.peek().ok()? {
                bracket @ (b'{' | b'[') if open.len() < DEPTH_MAX => {
                    scanner.pos += 1;
                    open.push((bracket == b'{', path.len()));
                    if bracket == b'[' {
                        path.push_str("[]");
                    }
                    let is_empty = matches!(scanner.peek().ok()?, b'}' | b']');
                    if !is_empty && bracket == b'{' {
                        self.key(scanner, &mut path, open.len())?;
                    }
                    if !is_empty {
                        continue;
                    }
                }
                _ => _ = scanner.value(0).ok()?,
            }
            // After a value, or before the closing bracket of an empty container.
            while let Some(&(is_object, outside)) = open.last() {
                match scanner.peek().ok()? {
                    b',' => {
                        scanner.pos += 1;
                        if is_object {
                            path.truncate(outside);
                            self.key(scanner, &mut path, open.len())?;
                        }
                        break;
                    }
                    b'}' | b']' => {
                        scanner.pos += 1;
                        path.truncate(outside);
                        open.pop();
                    }
                    _ => return None,
                }
            }
        }
    }

    /// Reads a key, and sets `path` to the path of its value.
    fn key(&mut self, scanner: &mut Scanner<'_>, path: &mut String, depth: usize) -> Option<()> {
        let key = scanner.key().ok()?;
        if !path.is_empty() {
            path.push('.');
        }
        path.push_str(&String::from_utf8_lossy(key.text));
        if self.keys.len() < KEYS_NAMED_MAX && depth <= 2 {
            let shown = String::from_utf8_lossy(&key.text[..key.text.len().min(40)]);
            let shown = shown.escape_debug().to_string();
            if !self.keys.contains(&shown) {
                self.keys.push(shown);
            }
        }
        self.paths.insert(path.clone());
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(text: &str) -> Vec<String> {
        Outline::from_head(text.as_bytes()).paths.into_iter().collect()
    }

    #[test]
    fn keys_have_their_paths_and_texts_that_read_like_keys_are_none() {
        assert_eq!(
            paths(r#"{"log":{"version":"1.2","pages":[{"id":1}],"creator":{}},"b":[]}"#).join(" "),
            "b log log.creator log.pages log.pages[].id log.version"
        );
        assert_eq!(
            paths(r#"[{"a":"\"b\":1","c":{"d":[[{"e":1}]]}},{"f":2}]"#).join(" "),
            "[].a [].c [].c.d [].c.d[][].e [].f"
        );
        assert_eq!(paths("{\"a\":1}\n{\"b\":{\"c\":2}}\n").join(" "), "a b b.c");
    }

    #[test]
    fn any_cut_has_some_of_the_keys_of_the_whole() {
        let text = r#"[{"traceId":"5","tags":{"a":[1,2,{"x":null}]},"id":"6"},{"name":"n"}]"#;
        let whole = paths(text);
        for len in 0..text.len() {
            assert!(paths(&text[..len]).iter().all(|path| whole.contains(path)), "{len}");
        }
        assert!(paths(&"[".repeat(5000)).is_empty());
        assert!(paths("plain text").is_empty());
    }

    #[test]
    fn an_error_names_the_first_keys_once() {
        let outline = Outline::from_head(br#"[{"a":{"deep":{"deeper":1}},"b":2},{"a":3,"c":4}]"#);
        assert_eq!(outline.first_keys(), "a, b, c");
        assert!(outline.has_all(&["[].a", "[].a.deep"]) && !outline.has_all(&["a"]));
        assert_eq!(outline.count_of(&["[].a", "[].b", "[].z"]), 2);
    }
}
