//! A new start of the program in the same process where a library would write to stderr on its own: Mesa's layer that
//! sorts graphics cards asks the compositor of the runtime folder, and says twice that there is none without such a
//! folder, as after `su`. The layer is left out then. Does nothing on other systems.

/// Starts the program again without the layer where there is no runtime folder; goes on where that fails. Must come
/// before any other work: nothing but the environment and the words stay.
#[cfg(target_os = "linux")]
pub(crate) fn without_device_layer() {
    use std::os::unix::process::CommandExt;

    /// The switch of the layer, which also says that this is the new start.
    const SWITCH: &str = "NODEVICE_SELECT";
    let has_runtime = std::env::var_os("XDG_RUNTIME_DIR").is_some_and(|folder| !folder.is_empty());
    if has_runtime || std::env::var_os(SWITCH).is_some() {
        return;
    }
    let Ok(program) = std::env::current_exe() else { return };
    let mut words = std::env::args_os();
    let mut command = std::process::Command::new(program);
    if let Some(name) = words.next() {
        command.arg0(name);
    }
    // Returns only an error, and the lines on stderr are no harm.
    let _error = command.args(words).env(SWITCH, "1").exec();
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn without_device_layer() {}
