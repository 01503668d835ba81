//! Units in the names of counters, such as `MemFree (bytes)`: many tracers have no field for them.

/// Returns the unit in brackets at the end of a counter's name. It may also precede the series that Chrome JSON adds,
/// as in `heap (bytes) value`. Other text in brackets is ignored.
#[must_use]
pub(crate) fn unit_in_name(name: &str) -> Option<&str> {
    const UNITS: [&str; 35] = [
        "ns", "us", "µs", "ms", "s", "bytes", "B", "kB", "KB", "KiB", "MB", "MiB", "GB", "GiB", "%", "Hz", "kHz",
        "MHz", "GHz", "V", "mV", "uV", "µV", "A", "mA", "uA", "µA", "W", "mW", "°C", "m°C", "µAh", "µWs", "pWh", "/s",
    ];
    let (name, rest) = name.trim().rsplit_once('(')?;
    let (unit, series) = rest.split_once(')')?;
    let is_series = series.is_empty() || series.starts_with(' ') && !series[1..].contains(' ');
    (!name.is_empty() && is_series && UNITS.contains(&unit)).then_some(unit)
}
