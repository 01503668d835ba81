//! Restarts the program in the same process to disable a Mesa layer that would write to stderr. The layer sorts GPUs
//! with the help of the compositor, and prints two lines if there is no runtime folder, as after `su`. Does nothing on
//! other systems.

/// Restarts the program without the layer if there is no runtime folder; continues on failure. Must run before anything
/// else: only the environment and the arguments survive.
#[cfg(target_os = "linux")]
pub(crate) fn without_device_layer() {
    use std::os::unix::process::CommandExt;

    /// The switch of the layer, which also marks the restarted process.
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
    // Returns only on error, and the lines on stderr are harmless.
    let _error = command.args(words).env(SWITCH, "1").exec();
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn without_device_layer() {}
