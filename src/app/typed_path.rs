//! Paths that the user types in the window.

use std::path::{Path, PathBuf};

use crate::base::folders;

/// Expands `~` to the home folder; the typed text may be joined to the current folder.
pub(super) fn in_home(path: &Path) -> Option<PathBuf> {
    let mut parts = path.components();
    parts.find(|part| part.as_os_str() == "~")?;
    Some(folders::home()?.join(parts.as_path()))
}

/// Returns the absolute path of a typed folder. Does not access the file system.
pub(super) fn absolute_folder(typed: &Path) -> PathBuf {
    let folder = in_home(typed).unwrap_or_else(|| typed.to_owned());
    let absolute = std::path::absolute(&folder).unwrap_or(folder);
    // Without a trailing separator.
    absolute.components().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typed_tilde_is_the_home_folder_wherever_the_picker_is() {
        let home = folders::home().expect("a home folder");
        assert_eq!(in_home(Path::new("/some/where/~/traces/a.json")), Some(home.join("traces/a.json")));
        assert_eq!(in_home(Path::new("/some/where/~a/b")), None);
    }

    #[test]
    fn a_typed_folder_is_one_path_however_it_is_written() {
        let home = folders::home().expect("a home folder");
        let here = std::env::current_dir().expect("a folder");
        for (typed, expected) in [
            ("~/debug", home.join("debug")),
            ("~", home.clone()),
            ("debug", here.join("debug")),
            ("./debug/", here.join("debug")),
            ("/a/./b/", "/a/b".into()),
        ] {
            let folder = absolute_folder(Path::new(typed));
            assert_eq!(folder.as_os_str(), expected.as_os_str(), "{typed}");
        }
    }
}
