//! The accessibility tree of the program, over a D-Bus with the test as the registry. Tests find controls by name, and
//! click them with the real pointer.

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use zbus::Connection;
use zbus::connection::Builder;
use zbus::zvariant::{DynamicType, OwnedObjectPath, OwnedValue, Value};

use crate::screenshot::Rect;
use crate::session::{Process, Session, Window, spawn};

/// The object of the accessibility bus, whose presence makes a program publish its tree.
const BUS_PATH: &str = "/org/a11y/bus";
const ROOT_PATH: &str = "/org/a11y/atspi/accessible/root";
const CACHE_PATH: &str = "/org/a11y/atspi/cache";

const PORTAL_PATH: &str = "/org/freedesktop/portal/desktop";
const APPEARANCE: &str = "org.freedesktop.appearance";

/// A bus that starts no programs, isolated from the desktop of this machine.
const BUS_SETTINGS: &str = r#"<busconfig><type>session</type><listen>unix:tmpdir=/tmp</listen><auth>EXTERNAL</auth>
  <policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy></busconfig>"#;

/// An address on the bus: the program, and one of its objects.
type Address = (String, OwnedObjectPath);

/// An item of the AT-SPI cache: object, program, parent, index in the parent, number of children, interfaces, name,
/// role, description, states.
type Item = (Address, Address, Address, i32, i32, Vec<String>, String, u32, String, Vec<u32>);

/// A node of the accessibility tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Node {
    pub name: String,
    /// Whether it has the keyboard focus.
    pub is_focused: bool,
    /// Its object on the bus.
    pub path: OwnedObjectPath,
}

/// The accessibility bus, and a screen reader on it.
pub(crate) struct ScreenReader {
    _bus: Process,
    pub address: String,
    connection: Connection,
    program: Arc<Mutex<Option<String>>>,
}

/// Reports that assistive technology is enabled. The text is the address of the bus.
struct Status(String);

#[zbus::interface(name = "org.a11y.Status")]
impl Status {
    #[zbus(property)]
    fn is_enabled(&self) -> bool {
        !self.0.is_empty()
    }
}

/// Reports the address of the accessibility bus, which is the same bus.
struct Buses(String);

#[zbus::interface(name = "org.a11y.Bus")]
impl Buses {
    fn get_address(&self) -> String {
        self.0.clone()
    }
}

/// The registry where programs announce themselves.
struct Registry(Arc<Mutex<Option<String>>>);

#[zbus::interface(name = "org.a11y.atspi.Socket")]
impl Registry {
    fn embed(&self, program: Address) -> (Address,) {
        *self.0.lock().expect("no thread panics while it holds the lock") = Some(program.0.clone());
        (program,)
    }
}

impl ScreenReader {
    pub(crate) fn new(session: &Session) -> Self {
        let settings = session.file("bus.xml", BUS_SETTINGS);
        let mut command = session.program("dbus-daemon");
        command.arg("--config-file").arg(settings).args(["--nofork", "--print-address"]);
        // The bus complains on stderr about its limit of open files.
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut bus = spawn(&mut command);
        let mut address = String::new();
        BufReader::new(bus.0.stdout.take().expect("a pipe"))
            .read_line(&mut address)
            .expect("the bus prints its address");
        let (address, program) = (address.trim().to_owned(), Arc::default());
        let connection = pollster::block_on(async {
            let builder = Builder::address(address.as_str())?.name("org.a11y.Bus")?.name("org.a11y.atspi.Registry")?;
            let builder =
                builder.serve_at(BUS_PATH, Status(address.clone()))?.serve_at(BUS_PATH, Buses(address.clone()))?;
            builder.serve_at(ROOT_PATH, Registry(Arc::clone(&program)))?.build().await
        });
        Self { _bus: bus, address, connection: connection.expect("the bus accepts the registry"), program }
    }

    /// Adds a portal to the desktop.
    pub(crate) fn portal(&self) -> Portal {
        let portal = Portal { connection: self.connection.clone(), settings: Arc::default() };
        let served = pollster::block_on(async {
            self.connection.object_server().at(PORTAL_PATH, portal.clone()).await?;
            self.connection.request_name("org.freedesktop.portal.Desktop").await
        });
        served.expect("no other portal is on the bus");
        portal
    }

    fn call<B, T>(&self, path: &str, interface: &str, method: &str, body: &B) -> Option<T>
    where
        B: serde::Serialize + DynamicType,
        T: for<'a> zbus::zvariant::DynamicDeserialize<'a>,
    {
        let program = self.program.lock().expect("no thread panics while it holds the lock").clone()?;
        let reply = self.connection.call_method(Some(program.as_str()), path, Some(interface), method, body);
        pollster::block_on(reply).ok()?.body().deserialize().ok()
    }

    /// Returns all current nodes of the tree; none until the program has found the registry.
    pub(crate) fn nodes(&self) -> Vec<Node> {
        /// The bit of this state in the first word of states.
        const FOCUSED: u32 = 12;
        let items: Vec<Item> = self.call(CACHE_PATH, "org.a11y.atspi.Cache", "GetItems", &()).unwrap_or_default();
        let nodes = items.into_iter().map(|((_, path), _, _, _, _, _, name, _, _, states)| {
            let has = |state: u32| states.first().is_some_and(|word| word & (1 << state) != 0);
            Node { name, is_focused: has(FOCUSED), path }
        });
        nodes.collect()
    }

    /// Returns the area of a node on the screen, if any of it is visible.
    pub(crate) fn rect(&self, node: &Node) -> Option<Rect> {
        /// Window coordinates, not screen coordinates.
        const WINDOW: u32 = 1;
        let extents: Option<((i32, i32, i32, i32),)> =
            self.call(&node.path, "org.a11y.atspi.Component", "GetExtents", &(WINDOW,));
        let ((left, top, width, height),) = extents?;
        let [left, top] = [left, top].map(|at| usize::try_from(at.max(0)).unwrap_or_default());
        let [width, height] = [width, height].map(|length| usize::try_from(length).unwrap_or_default());
        (width > 0 && height > 0).then(|| Rect { left, top, right: left + width, bottom: top + height })
    }

    /// Returns the text of a field.
    pub(crate) fn text(&self, node: &Node) -> Option<String> {
        self.call::<_, String>(&node.path, "org.a11y.atspi.Text", "GetText", &(0, -1))
    }
}

/// The settings of a desktop in its portal, by their names under `org.freedesktop.appearance`.
#[derive(Clone)]
pub(crate) struct Portal {
    connection: Connection,
    settings: Arc<Mutex<HashMap<String, u32>>>,
}

#[zbus::interface(name = "org.freedesktop.portal.Settings")]
impl Portal {
    fn read_one(&self, namespace: &str, key: &str) -> zbus::fdo::Result<OwnedValue> {
        let settings = self.settings.lock().expect("no thread panics while it holds the lock");
        let value = settings.get(key).filter(|_| namespace == APPEARANCE);
        value.map(|value| OwnedValue::from(*value)).ok_or(zbus::fdo::Error::Failed("no such setting".to_owned()))
    }
}

impl Portal {
    /// Changes a setting and signals the change.
    pub(crate) fn set(&self, key: &str, value: u32) {
        self.settings.lock().expect("no thread panics while it holds the lock").insert(key.to_owned(), value);
        let (interface, change) = ("org.freedesktop.portal.Settings", (APPEARANCE, key, Value::U32(value)));
        let signal = self.connection.emit_signal(None::<&str>, PORTAL_PATH, interface, "SettingChanged", &change);
        pollster::block_on(signal).expect("the bus accepts the signal");
    }
}

impl Window<'_> {
    fn reader(&self) -> &ScreenReader {
        self.session.reader.as_ref().expect("the session has a reader")
    }

    pub(crate) fn nodes(&self) -> Vec<Node> {
        self.reader().nodes()
    }

    /// Returns whether the name of any node contains this text.
    pub(crate) fn has_label(&self, text: &str) -> bool {
        self.nodes().iter().any(|node| node.name.contains(text))
    }

    /// Waits until the name of a node contains this text, and returns the whole name.
    #[track_caller]
    pub(crate) fn wait_for_label(&self, text: &str) -> String {
        self.wait_for(&format!("a node named {text}"), |window| {
            window.nodes().into_iter().find(|node| node.name.contains(text)).map(|node| node.name)
        })
    }

    #[track_caller]
    pub(crate) fn wait_for_no_label(&self, text: &str) {
        self.wait_for(&format!("no node named {text}"), |window| (!window.has_label(text)).then_some(()));
    }

    /// Waits until the node with this name has a stable area.
    #[track_caller]
    pub(crate) fn rect_of(&self, name: &str) -> Rect {
        let mut last = None;
        self.wait_for(&format!("a stable area of {name}"), |window| {
            let rect = window.current_rect(name)?;
            // On a busy machine, the next frame may be late, and may move the node.
            (last.replace(rect) == Some(rect) && !window.is_working()).then_some(rect)
        })
    }

    /// Returns the area of the node with this name in the latest frame.
    pub(crate) fn current_rect(&self, name: &str) -> Option<Rect> {
        let node = self.nodes().into_iter().find(|node| node.name == name)?;
        self.reader().rect(&node)
    }

    /// Clicks the node with this name.
    #[track_caller]
    pub(crate) fn click_node(&self, name: &str) {
        self.click(self.rect_of(name).middle());
    }

    /// Returns the text of the field with this name.
    pub(crate) fn text_in(&self, name: &str) -> Option<String> {
        let node = self.nodes().into_iter().find(|node| node.name == name)?;
        self.reader().text(&node)
    }

    /// Runs a command by its name in the command palette.
    #[track_caller]
    pub(crate) fn run_command(&self, command: &str) {
        self.key("ctrl+shift+p");
        // This entry of the palette has a unique name while no menu is open.
        self.wait_for_label("Open by path...");
        self.xdotool(&["type", "--delay", "4", command]);
        self.key("Return");
        self.wait_for_no_label("Open by path...");
    }

    /// Returns the names of tracks beside the canvas, from top to bottom.
    pub(crate) fn tracks(&self) -> Vec<String> {
        let is_track = |node: &Node| node.name.ends_with("folded");
        let named = self.nodes().into_iter().filter(is_track).map(|node| (self.reader().rect(&node), node.name));
        let mut named: Vec<_> = named.filter_map(|(rect, name)| Some((rect?.top, name))).collect();
        named.sort();
        named.into_iter().map(|(_, name)| name).collect()
    }
}

/// Returns the view of the timeline from its accessibility label: start and end, in seconds.
pub(crate) fn view_s(window: &Window<'_>) -> (f64, f64) {
    let label = window.wait_for_label("Timeline of ");
    let words: Vec<&str> = label.split(&[' ', ','][..]).collect();
    let before = |unit: &str| words.iter().position(|word| *word == unit).map(|at| at - 2);
    let number = |at: usize| words[at].parse().unwrap_or_else(|_| panic!("no time at {at} in {label}"));
    let to = before("in").unwrap_or_else(|| panic!("no view in {label}"));
    (number(to - 3), number(to))
}
