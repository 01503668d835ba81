//! Selects the display for the window: the Wayland compositor if it responds, else the X server. Opens no window.

use winit::event_loop::EventLoop;

use super::AppError;

/// Creates an event loop on a display that responds. Returns [`AppError::NoWindow`] if there is none.
pub(super) fn event_loop<T: 'static>() -> Result<EventLoop<T>, AppError> {
    let mut builder = EventLoop::with_user_event();
    #[cfg(target_os = "linux")]
    let refused = linux::prefer_display_that_answers(&mut builder)?;
    #[cfg(not(target_os = "linux"))]
    let refused: Option<String> = None;
    builder.build().map_err(|error| {
        let reason = reason_of(&error);
        AppError::NoWindow { reason: refused.map_or(reason.clone(), |refused| format!("{refused}; {reason}")) }
    })
}

/// Returns the cause of an error, without the source location at its start.
pub(super) fn reason_of(error: &dyn std::fmt::Display) -> String {
    let text = error.to_string();
    text.rsplit(": ").next().unwrap_or(&text).trim_end_matches('.').to_owned()
}

/// Returns whether files can be dropped on the window; winit does not support that on Wayland.
#[must_use]
pub(super) fn takes_drops(event_loop: &winit::event_loop::ActiveEventLoop) -> bool {
    #[cfg(target_os = "linux")]
    return !winit::platform::wayland::ActiveEventLoopExtWayland::is_wayland(event_loop);
    #[cfg(not(target_os = "linux"))]
    {
        let _ = event_loop;
        true
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::env;
    use std::ffi::{OsStr, OsString};
    use std::io::{self, Read, Write};
    use std::os::unix::net::UnixStream;
    use std::os::unix::process::CommandExt;
    use std::path::{Path, PathBuf};
    use std::process::Command;
    use std::time::Duration;

    use winit::event_loop::EventLoopBuilder;
    use winit::platform::x11::EventLoopBuilderExtX11;

    use super::AppError;

    /// A running compositor responds within milliseconds, even on a busy machine.
    const PATIENCE: Duration = Duration::from_secs(3);

    /// Selects the X server if the named compositor does not respond, and returns the reason. winit only checks the
    /// names of displays, and can build only one event loop.
    pub(super) fn prefer_display_that_answers<T>(
        builder: &mut EventLoopBuilder<T>,
    ) -> Result<Option<String>, AppError> {
        let Some(name) = variable("WAYLAND_DISPLAY") else { return Ok(None) };
        // An open connection inherited from a parent process.
        if variable("WAYLAND_SOCKET").is_some() {
            return Ok(None);
        }
        let answer = socket_path(&name, variable("XDG_RUNTIME_DIR")).and_then(|path| check_compositor(&path));
        let Err(error) = answer else { return Ok(None) };
        let reason = format!("no compositor answers at WAYLAND_DISPLAY={}: {error}", name.display());
        if variable("DISPLAY").is_none() {
            return Err(AppError::NoWindow { reason });
        }
        // The GPU driver would also contact the compositor that hangs, and block for ever.
        if is_timeout(&error) {
            start_without_compositor();
        }
        builder.with_x11();
        Ok(Some(reason))
    }

    fn is_timeout(error: &io::Error) -> bool {
        matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
    }

    /// Restarts the program in this process without the name of a compositor. Returns only if that fails; the window
    /// then opens as far as possible.
    fn start_without_compositor() {
        if let Ok(program) = env::current_exe() {
            let mut command = Command::new(program);
            let _error = command.args(env::args_os().skip(1)).env_remove("WAYLAND_DISPLAY").exec();
        }
    }

    fn variable(name: &str) -> Option<OsString> {
        env::var_os(name).filter(|value| !value.is_empty())
    }

    /// Returns the socket of a compositor: its name is a path, or a file in the runtime folder.
    fn socket_path(name: &OsStr, runtime_folder: Option<OsString>) -> io::Result<PathBuf> {
        let name = Path::new(name);
        match runtime_folder {
            _ if name.is_absolute() => Ok(name.to_owned()),
            Some(folder) => Ok(Path::new(&folder).join(name)),
            None => Err(io::Error::new(io::ErrorKind::NotFound, "XDG_RUNTIME_DIR is not set")),
        }
    }

    /// Checks that a compositor responds: `wl_display.sync` is answered with `wl_callback.done`.
    fn check_compositor(socket: &Path) -> io::Result<()> {
        /// A message of 12 bytes: object, length with opcode, one argument.
        const MESSAGE_BYTES: usize = 12;
        const DISPLAY_OBJECT: u32 = 1;
        const CALLBACK_OBJECT: u32 = 2;
        let length_and_operation = (MESSAGE_BYTES as u32) << 16;
        let mut stream = UnixStream::connect(socket)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let sync = [DISPLAY_OBJECT, length_and_operation, CALLBACK_OBJECT].map(u32::to_ne_bytes);
        stream.write_all(sync.as_flattened())?;
        let mut done = [0; MESSAGE_BYTES];
        stream.read_exact(&mut done)?;
        if done.starts_with(&CALLBACK_OBJECT.to_ne_bytes()) {
            return Ok(());
        }
        Err(io::Error::new(io::ErrorKind::InvalidData, "it speaks another protocol"))
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_socket_is_named_by_its_path_or_by_its_name_in_the_runtime_folder() {
            let path = |name: &str, folder: Option<&str>| socket_path(name.as_ref(), folder.map(Into::into)).ok();
            assert_eq!(path("wayland-0", Some("/run/user/7")), Some("/run/user/7/wayland-0".into()));
            assert_eq!(path("/tmp/socket", None), Some("/tmp/socket".into()));
            assert_eq!(path("wayland-0", None), None);
        }
    }
}
