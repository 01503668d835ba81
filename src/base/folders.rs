//! The user's folders for configuration, caches, data and state, as the system names them. All are absolute: nothing
//! is written into the current folder because `HOME` is empty or relative.

use std::path::PathBuf;

use etcetera::BaseStrategy;
use etcetera::base_strategy::choose_native_strategy;

/// Returns the user's home folder.
pub(crate) fn home() -> Option<PathBuf> {
    etcetera::home_dir().ok().filter(|folder| folder.is_absolute())
}

/// Returns the folder for preferences.
pub(crate) fn config() -> Option<PathBuf> {
    // The folder for preferences of macOS is for property lists only.
    folder(|user| if cfg!(target_os = "macos") { user.data_dir() } else { user.config_dir() })
}

/// Returns the folder for files that can be made again.
pub(crate) fn cache() -> Option<PathBuf> {
    folder(|user| user.cache_dir())
}

/// Returns the folder for files of the user that belong to programs.
pub(crate) fn data() -> Option<PathBuf> {
    folder(|user| user.data_dir())
}

/// Returns the folder for state, such as the view of each trace, which belongs to this machine.
pub(crate) fn state() -> Option<PathBuf> {
    folder(|user| {
        // Windows copies its data folder to other machines, but not its cache folder.
        let local = || if cfg!(windows) { user.cache_dir() } else { user.data_dir() };
        user.state_dir().unwrap_or_else(local)
    })
}

fn folder(of_user: impl FnOnce(&dyn BaseStrategy) -> PathBuf) -> Option<PathBuf> {
    let user = choose_native_strategy().ok()?;
    Some(of_user(&user)).filter(|folder| folder.is_absolute())
}
