//! Keyboard focus without a window manager. Under X, a window receives keys only with the input focus; without a window
//! manager the window must set it itself, after a click.

use winit::window::Window;

/// Focuses the window if no window manager does. Errors are ignored.
pub(super) fn focus_if_unmanaged(window: &Window) {
    #[cfg(target_os = "linux")]
    if !window.has_focus() {
        x11::focus_if_unmanaged(window).ok(); // the display is gone, and the event loop ends with its own error
    }
    #[cfg(not(target_os = "linux"))]
    let _ = window;
}

#[cfg(target_os = "linux")]
mod x11 {
    use std::error::Error;

    use winit::raw_window_handle::{HasWindowHandle, RawWindowHandle};
    use winit::window::Window;
    use x11rb::connection::Connection;
    use x11rb::protocol::xproto::{ConnectionExt, EventMask, InputFocus};

    /// Does nothing on other displays than X, and under a window manager.
    pub(super) fn focus_if_unmanaged(window: &Window) -> Result<(), Box<dyn Error>> {
        let id = match window.window_handle()?.as_raw() {
            RawWindowHandle::Xlib(handle) => u32::try_from(handle.window)?,
            RawWindowHandle::Xcb(handle) => handle.window.get(),
            _ => return Ok(()),
        };
        let (connection, screen) = x11rb::connect(None)?;
        let root = connection.setup().roots.get(screen).ok_or("no such screen")?.root;
        // Only one client may redirect the windows of a screen: its window manager.
        let masks = connection.get_window_attributes(root)?.reply()?.all_event_masks;
        if !masks.contains(EventMask::SUBSTRUCTURE_REDIRECT) {
            connection.set_input_focus(InputFocus::PARENT, id, x11rb::CURRENT_TIME)?.check()?;
        }
        Ok(())
    }
}
