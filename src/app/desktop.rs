//! What the user asks of the whole desktop: a dark or a light theme, no movement. Read from the settings portal of Linux
//! desktops; elsewhere, and where no desktop answers, nothing is asked for.

use crate::scene::color::Shade;

/// What is asked of the desktop, as far as it says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Wishes {
    /// Dark or light.
    pub shade: Option<Shade>,
    /// Whether nothing is to move by itself.
    pub reduces_motion: bool,
}

/// Asks the desktop; takes a second at most, so the window asks in the background.
#[must_use]
pub fn wishes() -> Wishes {
    #[cfg(target_os = "linux")]
    return portal::wishes(zbus::connection::Builder::session());
    #[cfg(not(target_os = "linux"))]
    Wishes::default()
}

#[cfg(target_os = "linux")]
mod portal {
    use std::time::Duration;

    use zbus::Connection;
    use zbus::connection::Builder;
    use zbus::zvariant::{OwnedValue, Value};

    use super::Wishes;
    use crate::scene::color::Shade;

    /// A desktop that is there answers in some milliseconds; one that hangs must not hang this.
    const PATIENCE: Duration = Duration::from_secs(1);

    /// Asks the desktop behind a bus.
    pub fn wishes(bus: zbus::Result<Builder<'_>>) -> Wishes {
        pollster::block_on(async {
            let Ok(connection) = (match bus {
                Ok(bus) => bus.method_timeout(PATIENCE).build().await,
                Err(error) => Err(error),
            }) else {
                return Wishes::default();
            };
            let appearance = "org.freedesktop.appearance";
            let scheme = read(&connection, appearance, "color-scheme").await;
            let reduced = read(&connection, appearance, "reduced-motion").await;
            // Older GNOME knows only whether it animates itself.
            let animates = read(&connection, "org.gnome.desktop.interface", "enable-animations").await;
            Wishes {
                shade: scheme.as_deref().and_then(shade),
                reduces_motion: is(reduced.as_deref(), &Value::U32(1)) || is(animates.as_deref(), &Value::Bool(false)),
            }
        })
    }

    async fn read(connection: &Connection, namespace: &str, key: &str) -> Option<OwnedValue> {
        let (service, path) = ("org.freedesktop.portal.Desktop", "/org/freedesktop/portal/desktop");
        let interface = "org.freedesktop.portal.Settings";
        // `Read` came first and wraps the value once more; it is what older portals have.
        for method in ["ReadOne", "Read"] {
            let answer = connection.call_method(Some(service), path, Some(interface), method, &(namespace, key)).await;
            if let Ok(answer) = answer {
                return answer.body().deserialize().ok();
            }
        }
        None
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

    #[cfg(test)]
    mod tests {
        use std::collections::HashMap;
        use std::io::{BufRead, BufReader};
        use std::process::{Child, Command, Stdio};

        use super::*;

        /// A bus that does not outlive the test.
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

            fn wishes(&self) -> Wishes {
                wishes(Builder::address(self.1.as_str()))
            }
        }

        impl Drop for Bus {
            fn drop(&mut self) {
                self.0.kill().ok(); // it may have ended by itself
                self.0.wait().ok();
            }
        }

        /// A portal with these settings, as an old or as a new desktop has it.
        struct Portal {
            settings: HashMap<(&'static str, &'static str), OwnedValue>,
            is_old: bool,
        }

        impl Portal {
            fn find(&self, namespace: &str, key: &str) -> zbus::fdo::Result<OwnedValue> {
                let found = self.settings.iter().find(|((of, name), _)| (*of, *name) == (namespace, key));
                found.map(|(_, value)| value.clone()).ok_or(zbus::fdo::Error::Failed("no such setting".to_owned()))
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

        fn wishes_of(is_old: bool, settings: &[(&'static str, &'static str, Value<'_>)]) -> Wishes {
            let bus = Bus::new();
            let settings =
                settings.iter().map(|(namespace, key, value)| ((*namespace, *key), value.try_to_owned().unwrap()));
            let portal = Portal { settings: settings.collect(), is_old };
            let _served = pollster::block_on(async {
                let builder = Builder::address(bus.1.as_str()).unwrap().name("org.freedesktop.portal.Desktop").unwrap();
                builder.serve_at("/org/freedesktop/portal/desktop", portal).unwrap().build().await.unwrap()
            });
            bus.wishes()
        }

        #[test]
        fn the_desktop_is_believed_whether_its_portal_is_old_or_new() {
            let appearance = "org.freedesktop.appearance";
            for is_old in [false, true] {
                let dark = wishes_of(is_old, &[(appearance, "color-scheme", Value::U32(1))]);
                assert_eq!(dark, Wishes { shade: Some(Shade::Dark), reduces_motion: false });
                let light =
                    [(appearance, "color-scheme", Value::U32(2)), (appearance, "reduced-motion", Value::U32(1))];
                assert_eq!(wishes_of(is_old, &light), Wishes { shade: Some(Shade::Light), reduces_motion: true });
                let gnome = "org.gnome.desktop.interface";
                let still = wishes_of(is_old, &[(gnome, "enable-animations", Value::Bool(false))]);
                assert_eq!(still, Wishes { shade: None, reduces_motion: true });
                let moving = wishes_of(is_old, &[(gnome, "enable-animations", Value::Bool(true))]);
                assert_eq!(moving, Wishes::default());
            }
        }

        #[test]
        fn a_bus_without_a_desktop_and_no_bus_at_all_ask_for_nothing() {
            assert_eq!(Bus::new().wishes(), Wishes::default());
            assert_eq!(wishes(Builder::address("unix:path=/nowhere/at/all")), Wishes::default());
        }
    }
}
