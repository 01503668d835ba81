//! A virtual mouse, by the wlroots protocol for virtual pointers.

use std::os::unix::net::UnixStream;
use std::path::Path;

use wayland_client::globals::{GlobalListContents, registry_queue_init};
use wayland_client::protocol::wl_pointer::ButtonState;
use wayland_client::protocol::wl_registry::{self, WlRegistry};
use wayland_client::{Connection, Dispatch, EventQueue, QueueHandle, delegate_noop};
use wayland_protocols_wlr::virtual_pointer::v1::client::zwlr_virtual_pointer_manager_v1::ZwlrVirtualPointerManagerV1;
use wayland_protocols_wlr::virtual_pointer::v1::client::zwlr_virtual_pointer_v1::ZwlrVirtualPointerV1;

/// The left button, as numbered by Linux.
const BUTTON_LEFT: u32 = 0x110;

/// The pointer; it disappears on drop.
pub(super) struct Pointer {
    queue: EventQueue<Ignored>,
    mouse: ZwlrVirtualPointerV1,
    size: (usize, usize),
    time_ms: u32,
}

impl Pointer {
    /// Creates a pointer on an output of this size.
    pub(super) fn new(socket: &Path, size: (usize, usize)) -> Self {
        let stream = UnixStream::connect(socket).expect("the compositor runs");
        let connection = Connection::from_socket(stream).expect("a connection");
        let (globals, queue) = registry_queue_init::<Ignored>(&connection).expect("the compositor answers");
        let manager: ZwlrVirtualPointerManagerV1 =
            globals.bind(&queue.handle(), 1..=2, ()).expect("the compositor has virtual pointers");
        let mouse = manager.create_virtual_pointer(None, &queue.handle(), ());
        let mut pointer = Self { queue, mouse, size, time_ms: 0 };
        pointer.sync();
        pointer
    }

    /// Moves to a point and clicks the left button.
    pub(super) fn click(&mut self, (x, y): (usize, usize)) {
        let (width, height) = self.size;
        // The pointer arrives from a neighbouring pixel, since windows only notice moves.
        for x in [x - 1, x] {
            self.time_ms += 10;
            self.mouse.motion_absolute(self.time_ms, x as u32, y as u32, width as u32, height as u32);
            self.sync();
        }
        for state in [ButtonState::Pressed, ButtonState::Released] {
            self.time_ms += 50;
            self.mouse.button(self.time_ms, BUTTON_LEFT, state);
            self.sync();
        }
    }

    /// Ends a group of events and waits for the compositor.
    fn sync(&mut self) {
        self.mouse.frame();
        self.queue.roundtrip(&mut Ignored).expect("the compositor answers");
    }
}

struct Ignored;

impl Dispatch<WlRegistry, GlobalListContents> for Ignored {
    fn event(
        _: &mut Self,
        _: &WlRegistry,
        _: wl_registry::Event,
        _: &GlobalListContents,
        _: &Connection,
        _: &QueueHandle<Self>,
    ) {
    }
}

delegate_noop!(Ignored: ZwlrVirtualPointerManagerV1);
delegate_noop!(Ignored: ZwlrVirtualPointerV1);
