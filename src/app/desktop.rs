//! Settings of the desktop: theme, contrast, font size, reduced motion. They are read from the settings portal of Linux
//! desktops, and again when the portal signals a change or restarts. Other systems, and desktops that do not respond,
//! have default settings.

use crate::scene::color::Shade;

/// The desktop's settings, as far as they are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DesktopSettings {
    pub(crate) shade: Option<Shade>,
    pub(crate) has_high_contrast: bool,
    /// Font size in percent of the default, from 50 to 300.
    pub(crate) text_percent: u16,
    /// Whether the desktop requests no animations.
    pub(crate) reduces_motion: bool,
}

impl Default for DesktopSettings {
    fn default() -> Self {
        Self { shade: None, has_high_contrast: false, text_percent: 100, reduces_motion: false }
    }
}

/// Reads the settings once; takes a second at most.
#[must_use]
pub(crate) fn settings() -> DesktopSettings {
    #[cfg(target_os = "linux")]
    return portal::settings(zbus::connection::Builder::session());
    #[cfg(not(target_os = "linux"))]
    DesktopSettings::default()
}

/// Calls `tell` with the desktop's settings, and again when they change. Returns only when the desktop ends, so it
/// needs its own thread.
pub(crate) fn watch(tell: impl FnMut(DesktopSettings)) {
    #[cfg(target_os = "linux")]
    portal::watch(zbus::connection::Builder::session(), tell);
    #[cfg(not(target_os = "linux"))]
    {
        let mut tell = tell;
        tell(settings());
    }
}

#[cfg(target_os = "linux")]
mod portal {
    use std::time::Duration;

    use zbus::connection::Builder;
    use zbus::export::ordered_stream::{Join, OrderedStreamExt, join};
    use zbus::message::{Message, Type};
    use zbus::zvariant::{OwnedValue, Value};
    use zbus::{Connection, MatchRule, MessageStream};

    use super::DesktopSettings;
    use crate::scene::color::Shade;

    /// A running desktop responds within milliseconds; one that hangs must not block this thread.
    const PATIENCE: Duration = Duration::from_secs(1);

    /// The bus itself, which reports owners of names.
    const BUS: &str = "org.freedesktop.DBus";
    const SERVICE: &str = "org.freedesktop.portal.Desktop";
    const PATH: &str = "/org/freedesktop/portal/desktop";
    const INTERFACE: &str = "org.freedesktop.portal.Settings";
    const APPEARANCE: &str = "org.freedesktop.appearance";
    const GNOME: &str = "org.gnome.desktop.interface";

    /// Reads the settings of the desktop on a bus once.
    pub(super) fn settings(bus: zbus::Result<Builder<'_>>) -> DesktopSettings {
        pollster::block_on(async {
            match connect(bus).await {
                Ok(connection) => read_all(&connection).await.unwrap_or_default(),
                Err(_) => DesktopSettings::default(),
            }
        })
    }

    /// Calls `tell` with the settings of the desktop on a bus, and again when they change, until the bus is gone.
    pub(super) fn watch(bus: zbus::Result<Builder<'_>>, mut tell: impl FnMut(DesktopSettings)) {
        pollster::block_on(async {
            let Ok(connection) = connect(bus).await else {
                tell(DesktopSettings::default());
                return;
            };
            // Subscribed before the settings are read, so that no change is missed.
            let changes = changes(&connection).await;
            let mut last = read_all(&connection).await.unwrap_or_default();
            tell(last);
            let Ok(mut changes) = changes else { return };
            while let Some(change) = changes.next().await {
                if !change.is_ok_and(|change| concerns(&change)) {
                    continue;
                }
                // Read again instead of taken from the signal: two settings control motion, and the signal has one of
                // them.
                if let Some(settings) = read_all(&connection).await.filter(|settings| *settings != last) {
                    last = settings;
                    tell(settings);
                }
            }
        });
    }

    async fn connect(bus: zbus::Result<Builder<'_>>) -> zbus::Result<Connection> {
        bus?.method_timeout(PATIENCE).build().await
    }

    /// Returns portal signals about changes, and bus signals about portals that start or end: a restarted portal may
    /// have other settings without signalling them.
    async fn changes(connection: &Connection) -> zbus::Result<Join<MessageStream, MessageStream>> {
        let rule = || MatchRule::builder().msg_type(Type::Signal);
        let setting = rule().sender(SERVICE)?.path(PATH)?.interface(INTERFACE)?.member("SettingChanged")?.build();
        let owner = rule().sender(BUS)?.interface(BUS)?.member("NameOwnerChanged")?.arg(0, SERVICE)?.build();
        let settings = MessageStream::for_match_rule(setting, connection, None).await?;
        Ok(join(settings, MessageStream::for_match_rule(owner, connection, None).await?))
    }

    /// Returns whether a signal is about a setting read here, or a portal that has started.
    fn concerns(change: &Message) -> bool {
        let body = change.body();
        if change.header().member().is_some_and(|member| *member == "NameOwnerChanged") {
            let names: zbus::Result<(String, String, String)> = body.deserialize();
            return names.is_ok_and(|(_, _, owner)| !owner.is_empty());
        }
        let named: zbus::Result<(String, String, OwnedValue)> = body.deserialize();
        named.is_ok_and(|(namespace, _, _)| namespace == APPEARANCE || namespace == GNOME)
    }

    /// Reads the settings; `None` without a portal that responds, such as during a restart.
    async fn read_all(connection: &Connection) -> Option<DesktopSettings> {
        let scheme = read(connection, APPEARANCE, "color-scheme").await.ok()?;
        let reduced = read(connection, APPEARANCE, "reduced-motion").await.ok()?;
        // Older GNOME only has a setting for its own animations.
        let animates = read(connection, GNOME, "enable-animations").await.ok()?;
        let contrast = read(connection, APPEARANCE, "contrast").await.ok()?;
        // The only font size setting of desktops; others than GNOME use the same name.
        let text_scale = read(connection, GNOME, "text-scaling-factor").await.ok()?;
        Some(DesktopSettings {
            shade: scheme.as_deref().and_then(shade),
            has_high_contrast: is(contrast.as_deref(), &Value::U32(1)),
            text_percent: text_scale.as_deref().and_then(percent).unwrap_or(100),
            reduces_motion: is(reduced.as_deref(), &Value::U32(1)) || is(animates.as_deref(), &Value::Bool(false)),
        })
    }

    /// Reads a setting; `None` if the portal does not have it. Returns the error of the bus if no portal responds.
    async fn read(connection: &Connection, namespace: &str, key: &str) -> zbus::Result<Option<OwnedValue>> {
        // `Read` is the older method, which wraps the value once more.
        for method in ["ReadOne", "Read"] {
            let answer = connection.call_method(Some(SERVICE), PATH, Some(INTERFACE), method, &(namespace, key)).await;
            match answer {
                Ok(answer) => return Ok(answer.body().deserialize().ok()),
                Err(error) if is_of_nobody(&error) => return Err(error),
                Err(_) => {} // an older portal, or one without that setting
            }
        }
        Ok(None)
    }

    /// Returns whether an error comes from the bus rather than the portal.
    fn is_of_nobody(error: &zbus::Error) -> bool {
        /// Bus errors for a portal that does not exist, or no longer exists.
        const OF_THE_BUS: [&str; 3] = ["ServiceUnknown", "NameHasNoOwner", "NoReply"];
        let zbus::Error::MethodError(name, ..) = error else { return true };
        name.strip_prefix("org.freedesktop.DBus.Error.").is_some_and(|name| OF_THE_BUS.contains(&name))
    }

    fn plain<'a>(value: &'a Value<'a>) -> &'a Value<'a> {
        match value {
            Value::Value(inner) => plain(inner),
            value => value,
        }
    }

    fn is(value: Option<&Value<'_>>, expected: &Value<'_>) -> bool {
        value.is_some_and(|value| plain(value) == expected)
    }

    fn shade(value: &Value<'_>) -> Option<Shade> {
        match plain(value) {
            Value::U32(1) => Some(Shade::Dark),
            Value::U32(2) => Some(Shade::Light),
            _ => None,
        }
    }

    /// Converts a factor to percent, within the range that stays readable and fits in a window.
    fn percent(value: &Value<'_>) -> Option<u16> {
        match plain(value) {
            Value::F64(factor) if factor.is_finite() => Some((factor * 100.0).round().clamp(50.0, 300.0) as u16),
            _ => None,
        }
    }

    #[cfg(test)]
    mod tests {
        use std::collections::HashMap;
        use std::io::{BufRead, BufReader};
        use std::process::{Child, Command, Stdio};
        use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
        use std::sync::{Arc, Mutex};

        use super::*;

        /// Far longer than a local bus takes.
        const LONG: Duration = Duration::from_secs(30);

        /// A bus that ends with the test.
        struct Bus(Child, String);

        impl Bus {
            fn new() -> Self {
                let mut command = Command::new("dbus-daemon");
                command.args(["--session", "--nofork", "--print-address"]).stdout(Stdio::piped());
                let mut child =
                    command.spawn().unwrap_or_else(|error| panic!("dbus-daemon: {error}; `.ci/setup` installs it"));
                let mut address = String::new();
                BufReader::new(child.stdout.take().unwrap()).read_line(&mut address).unwrap();
                Self(child, address.trim().to_owned())
            }

            /// Returns the settings of its desktop, in the order of their changes, until the bus ends.
            fn watch_settings(&self) -> Receiver<DesktopSettings> {
                let (sender, receiver) = channel();
                let address = self.1.clone();
                std::thread::spawn(move || {
                    watch(Builder::address(address.as_str()), |settings| {
                        sender.send(settings).ok(); // the test has ended
                    });
                });
                receiver
            }
        }

        impl Drop for Bus {
            fn drop(&mut self) {
                self.0.kill().ok(); // it may have ended by itself
                self.0.wait().ok();
            }
        }

        type Settings = Arc<Mutex<HashMap<(String, String), OwnedValue>>>;

        /// A portal with these settings, of an old or a new desktop.
        struct Portal {
            settings: Settings,
            is_old: bool,
        }

        impl Portal {
            fn find(&self, namespace: &str, key: &str) -> zbus::fdo::Result<OwnedValue> {
                let value = self.settings.lock().unwrap().get(&(namespace.to_owned(), key.to_owned())).cloned();
                value.ok_or(zbus::fdo::Error::Failed("no such setting".to_owned()))
            }
        }

        #[zbus::interface(name = "org.freedesktop.portal.Settings")]
        impl Portal {
            fn read_one(&self, namespace: &str, key: &str) -> zbus::fdo::Result<OwnedValue> {
                if self.is_old {
                    return Err(zbus::fdo::Error::UnknownMethod("ReadOne".to_owned()));
                }
                self.find(namespace, key)
            }

            fn read(&self, namespace: &str, key: &str) -> zbus::fdo::Result<OwnedValue> {
                let value = Value::from(self.find(namespace, key)?);
                OwnedValue::try_from(Value::Value(Box::new(value)))
                    .map_err(|error| zbus::fdo::Error::Failed(error.to_string()))
            }
        }

        /// A desktop on a bus, whose settings can be changed.
        struct Desktop {
            connection: Connection,
            settings: Settings,
        }

        impl Desktop {
            fn new(bus: &Bus, is_old: bool, settings: &[(&str, &str, Value<'_>)]) -> Self {
                let owned = settings.iter().map(|(namespace, key, value)| {
                    (((*namespace).to_owned(), (*key).to_owned()), value.try_to_owned().unwrap())
                });
                let settings: Settings = Arc::new(Mutex::new(owned.collect()));
                let portal = Portal { settings: Arc::clone(&settings), is_old };
                let connection = pollster::block_on(async {
                    let builder = Builder::address(bus.1.as_str()).unwrap().name(SERVICE).unwrap();
                    builder.serve_at(PATH, portal).unwrap().build().await.unwrap()
                });
                Self { connection, settings }
            }

            fn set(&self, namespace: &str, key: &str, value: Value<'_>) {
                let setting = (namespace.to_owned(), key.to_owned());
                self.settings.lock().unwrap().insert(setting, value.try_to_owned().unwrap());
                self.say(namespace, key, value);
            }

            fn say(&self, namespace: &str, key: &str, value: Value<'_>) {
                let body = (namespace, key, value);
                pollster::block_on(self.connection.emit_signal(None::<&str>, PATH, INTERFACE, "SettingChanged", &body))
                    .unwrap();
            }
        }

        #[test]
        fn old_and_new_portals_give_the_settings_of_the_desktop() {
            for is_old in [false, true] {
                let settings_of = |settings: &[(&str, &str, Value<'_>)]| {
                    let bus = Bus::new();
                    let _desktop = Desktop::new(&bus, is_old, settings);
                    bus.watch_settings().recv_timeout(LONG).unwrap()
                };
                let dark = settings_of(&[(APPEARANCE, "color-scheme", Value::U32(1))]);
                assert_eq!(dark, DesktopSettings { shade: Some(Shade::Dark), ..DesktopSettings::default() });
                let light =
                    [(APPEARANCE, "color-scheme", Value::U32(2)), (APPEARANCE, "reduced-motion", Value::U32(1))];
                let expected = DesktopSettings { reduces_motion: true, ..DesktopSettings::default() };
                assert_eq!(settings_of(&light), DesktopSettings { shade: Some(Shade::Light), ..expected });
                let still = settings_of(&[(GNOME, "enable-animations", Value::Bool(false))]);
                assert_eq!(still, expected);
                let large = [(APPEARANCE, "contrast", Value::U32(1)), (GNOME, "text-scaling-factor", Value::F64(1.25))];
                let expected =
                    DesktopSettings { has_high_contrast: true, text_percent: 125, ..DesktopSettings::default() };
                assert_eq!(settings_of(&large), expected);
                for (factor, text_percent) in [(f64::NAN, 100), (1e9, 300), (-1.0, 50)] {
                    let settings = settings_of(&[(GNOME, "text-scaling-factor", Value::F64(factor))]);
                    assert_eq!(settings, DesktopSettings { text_percent, ..DesktopSettings::default() }, "{factor}");
                }
                let moving = settings_of(&[(GNOME, "enable-animations", Value::Bool(true))]);
                assert_eq!(moving, DesktopSettings::default());
            }
        }

        #[test]
        fn each_change_of_a_setting_is_reported_once_and_unrelated_ones_never() {
            let bus = Bus::new();
            let desktop = Desktop::new(&bus, false, &[(APPEARANCE, "color-scheme", Value::U32(1))]);
            let received = bus.watch_settings();
            let dark = DesktopSettings { shade: Some(Shade::Dark), ..DesktopSettings::default() };
            assert_eq!(received.recv_timeout(LONG).unwrap(), dark);
            // An unrelated setting, and a signal without a change: both are ignored, or the next settings would differ.
            desktop.set("org.example.other", "color-scheme", Value::U32(2));
            desktop.say(APPEARANCE, "color-scheme", Value::U32(1));
            desktop.set(APPEARANCE, "color-scheme", Value::U32(2));
            let light = DesktopSettings { shade: Some(Shade::Light), ..DesktopSettings::default() };
            assert_eq!(received.recv_timeout(LONG).unwrap(), light);
            desktop.set(GNOME, "enable-animations", Value::Bool(false));
            assert_eq!(received.recv_timeout(LONG).unwrap(), DesktopSettings { reduces_motion: true, ..light });
            desktop.set(APPEARANCE, "color-scheme", Value::U32(0));
            assert_eq!(
                received.recv_timeout(LONG).unwrap(),
                DesktopSettings { reduces_motion: true, ..DesktopSettings::default() }
            );
            // When the desktop ends, so does the thread that watches it.
            drop((desktop, bus));
            assert_eq!(received.recv_timeout(LONG), Err(RecvTimeoutError::Disconnected));
        }

        #[test]
        fn a_restarted_portal_is_queried_and_watched_again() {
            let bus = Bus::new();
            let received = {
                let _desktop = Desktop::new(&bus, false, &[(APPEARANCE, "color-scheme", Value::U32(1))]);
                let received = bus.watch_settings();
                let dark = DesktopSettings { shade: Some(Shade::Dark), ..DesktopSettings::default() };
                assert_eq!(received.recv_timeout(LONG).unwrap(), dark);
                received
            };
            // No signal reports the end of the portal. The next portal starts soon, and sends no signal by itself.
            let desktop = Desktop::new(&bus, false, &[(APPEARANCE, "color-scheme", Value::U32(2))]);
            let light = DesktopSettings { shade: Some(Shade::Light), ..DesktopSettings::default() };
            assert_eq!(received.recv_timeout(LONG).unwrap(), light);
            desktop.set(APPEARANCE, "reduced-motion", Value::U32(1));
            assert_eq!(received.recv_timeout(LONG).unwrap(), DesktopSettings { reduces_motion: true, ..light });
        }

        #[test]
        fn without_a_bus_or_a_desktop_the_settings_are_the_defaults() {
            assert_eq!(Bus::new().watch_settings().recv_timeout(LONG).unwrap(), DesktopSettings::default());
            let mut received = Vec::new();
            watch(Builder::address("unix:path=/nowhere/at/all"), |settings| received.push(settings));
            assert_eq!(received, [DesktopSettings::default()]);
        }
    }
}
