//! The groups that a trace nests a track into, as one text: the names of all levels, outermost first.

use std::sync::Arc;

/// Limit for the levels of groups. Names below the last level are part of the names of tracks.
pub(crate) const GROUP_LEVELS_MAX: usize = 8;

/// Separates the names of parents in the name of a nested track.
pub(crate) const PATH_SEPARATOR: &str = " / ";

/// Separates the names of levels. Names contain [`PATH_SEPARATOR`], so only a control character is unambiguous.
const LEVEL_SEPARATOR: char = '\u{1f}';

/// The names of a group and of the groups that contain it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GroupPath<'a>(&'a str);

impl<'a> GroupPath<'a> {
    /// Reads a text of [`Self::text`], or the name of a group without others.
    #[must_use]
    pub(crate) fn new(text: &'a str) -> Self {
        Self(text)
    }

    /// Returns the text for the names of levels, outermost first. Levels after the last one are left out.
    #[must_use]
    pub(crate) fn text<'n>(names: impl IntoIterator<Item = &'n str>) -> Arc<str> {
        let mut text = String::new();
        for (level, name) in names.into_iter().take(GROUP_LEVELS_MAX).enumerate() {
            if level > 0 {
                text.push(LEVEL_SEPARATOR);
            }
            text.extend(name.chars().map(|letter| if letter == LEVEL_SEPARATOR { ' ' } else { letter }));
        }
        text.into()
    }

    /// Returns the names, outermost first.
    pub(crate) fn names(self) -> impl Iterator<Item = &'a str> + Clone + use<'a> {
        self.0.splitn(GROUP_LEVELS_MAX, LEVEL_SEPARATOR)
    }

    /// Returns the number of levels, at least 1.
    #[must_use]
    pub(crate) fn levels(self) -> usize {
        self.names().count()
    }

    /// Returns the paths of all groups, outermost first; the last one is the path itself.
    pub(crate) fn outer_paths(self) -> impl Iterator<Item = Self> + use<'a> {
        let mut end = 0;
        self.names().map(move |name| {
            let path = Self(&self.0[..end + name.len()]);
            end += name.len() + LEVEL_SEPARATOR.len_utf8();
            path
        })
    }

    /// Returns the path of the outermost `levels` groups, at least one.
    #[must_use]
    pub(crate) fn outermost(self, levels: usize) -> Self {
        self.outer_paths().take(levels.max(1)).last().unwrap_or(self)
    }

    /// Returns the name of the innermost group.
    #[must_use]
    pub(crate) fn name(self) -> &'a str {
        self.names().last().unwrap_or_default()
    }

    #[must_use]
    pub(crate) fn as_str(self) -> &'a str {
        self.0
    }

    /// Returns the part of the path of a nested track that is below this group. `None` if the track is elsewhere.
    #[must_use]
    pub(crate) fn below(self, track_name: &str) -> Option<&str> {
        let below = self.after_names(track_name)?.strip_prefix(PATH_SEPARATOR)?;
        (!below.trim().is_empty()).then_some(below)
    }

    /// Returns whether a track has the name of this group. The track of the parent's own events has this name.
    #[must_use]
    pub(crate) fn is_name_of(self, track_name: &str) -> bool {
        self.after_names(track_name) == Some("")
    }

    /// Returns the rest of the path of a track after the names of the group. The path of a deeply nested track lacks
    /// the outermost names.
    fn after_names(self, track_name: &str) -> Option<&str> {
        let levels = self.levels();
        let may_skip = if levels == GROUP_LEVELS_MAX { levels - 1 } else { 0 };
        (0..=may_skip).find_map(|skipped| {
            self.names().skip(skipped).enumerate().try_fold(track_name, |rest, (level, name)| {
                let rest = if level == 0 { rest } else { rest.strip_prefix(PATH_SEPARATOR)? };
                rest.strip_prefix(name)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_read_back_and_names_with_separators_are_one_level() {
        let text = GroupPath::text(["GPU / 0", "Queue\u{1f}1", "Slot"]);
        let path = GroupPath::new(&text);
        assert_eq!(path.names().collect::<Vec<_>>(), ["GPU / 0", "Queue 1", "Slot"]);
        assert_eq!((path.levels(), path.name(), path.outermost(1).as_str()), (3, "Slot", "GPU / 0"));
        let outer: Vec<_> = path.outer_paths().map(|path| path.names().collect::<Vec<_>>().join(">")).collect();
        assert_eq!(outer, ["GPU / 0", "GPU / 0>Queue 1", "GPU / 0>Queue 1>Slot"]);
        assert_eq!(path.outer_paths().last(), Some(path));
        let many = GroupPath::text((0..20).map(|_| "n"));
        assert_eq!(GroupPath::new(&many).levels(), GROUP_LEVELS_MAX);
        // A damaged text has no more levels.
        assert_eq!(GroupPath::new(&"\u{1f}".repeat(100)).levels(), GROUP_LEVELS_MAX);
    }

    #[test]
    fn the_rest_of_a_path_is_that_below_all_names_of_the_group() {
        let text = GroupPath::text(["GPU", "Queue"]);
        let path = GroupPath::new(&text);
        assert_eq!(path.below("GPU / Queue / Slot / a"), Some("Slot / a"));
        for other in ["GPU", "GPU / Queue", "GPU / Queue / ", "GPU / Queue 1 / Slot", "Queue / Slot", "", "GPU / Slot"]
        {
            assert_eq!(path.below(other), None, "{other}");
        }
        assert!(path.is_name_of("GPU / Queue") && !path.is_name_of("GPU") && !path.is_name_of("GPU / Queue / a"));
        assert_eq!(path.outermost(1).below("GPU / Queue"), Some("Queue"));
    }

    #[test]
    fn the_path_of_a_deep_track_may_lack_the_outermost_names() {
        let text = GroupPath::text(["a", "b", "c", "d", "e", "f", "g", "h"]);
        let path = GroupPath::new(&text);
        assert_eq!(path.below("c / d / e / f / g / h / i / j"), Some("i / j"));
        assert_eq!(path.outermost(7).below("c / d / e / f / g / h"), None);
    }
}
