//! Units of a build as in the page, in all versions of cargo. Old versions call dependents `unlocked_units`, and have
//! the time of the metadata instead of parts.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::formats::json::lenient::{LenientList, text};
use crate::formats::output::args::ArgsWriter;

/// Mode of a compiled unit. Newer versions write a mode for every unit.
const COMPILED: &str = "todo";

/// Names of the parts of units whose metadata has a time.
const FRONTEND: &str = "frontend";
const CODEGEN: &str = "codegen";

#[derive(Debug, Deserialize)]
pub(super) struct BuildUnit<'a> {
    #[serde(borrow)]
    i: Option<&'a RawValue>,
    #[serde(default, deserialize_with = "text")]
    name: String,
    #[serde(default, deserialize_with = "text")]
    version: String,
    #[serde(default, deserialize_with = "text")]
    mode: String,
    /// Begins with a space unless it is empty.
    #[serde(default, deserialize_with = "text")]
    target: String,
    #[serde(borrow)]
    features: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) start: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) duration: Option<&'a RawValue>,
    #[serde(borrow)]
    rmeta_time: Option<&'a RawValue>,
    #[serde(default, alias = "unblocked_units")]
    unlocked_units: LenientList<i64>,
    #[serde(default, alias = "unblocked_rmeta_units")]
    unlocked_rmeta_units: LenientList<i64>,
    #[serde(borrow, default)]
    sections: LenientList<(String, SectionTimes<'a>)>,
}

/// Times of a part, from the start of its unit.
#[derive(Debug, Deserialize)]
struct SectionTimes<'a> {
    #[serde(borrow)]
    start: Option<&'a RawValue>,
    #[serde(borrow)]
    end: Option<&'a RawValue>,
}

/// The numbers of units at a time.
#[derive(Debug, Deserialize)]
pub(super) struct ConcurrencyPoint<'a> {
    #[serde(borrow)]
    pub(super) t: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) active: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) waiting: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) inactive: Option<&'a RawValue>,
}

/// A unit that waits for another unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Dependent {
    pub(super) number: i64,
    /// Time at which its wait ends.
    pub(super) ready_ns: i64,
}

/// Name of a part with its start and end, from the start of its unit. Without an end, it ends with the unit.
type Part<'a, 's> = (&'s str, Option<&'a RawValue>, Option<&'a RawValue>);

impl<'a> BuildUnit<'a> {
    /// Returns the name as the table of cargo shows it.
    pub(super) fn title(&self) -> String {
        let name = if self.name.is_empty() { "(unnamed)" } else { &*self.name };
        let version = if self.version.is_empty() { String::new() } else { format!(" v{}", self.version) };
        format!("{name}{version}{}", self.target)
    }

    pub(super) fn number(&self) -> Option<i64> {
        self.i?.get().trim_matches('"').parse().ok()
    }

    /// Returns the number of elements of other types in its lists.
    pub(super) fn bad_count(&self) -> u64 {
        self.unlocked_units.bad_count + self.unlocked_rmeta_units.bad_count + self.sections.bad_count
    }

    /// Returns its parts. Old versions record only the time of the metadata, which separates two parts.
    pub(super) fn parts(&self) -> Vec<Part<'a, '_>> {
        /// The start of the first part, which the page does not contain.
        const ZERO: &str = "0";
        let zero = || serde_json::from_str::<&RawValue>(ZERO).ok();
        match self.metadata_time() {
            _ if !self.sections.is_empty() => {
                self.sections.iter().map(|(name, times)| (&**name, times.start, times.end)).collect()
            }
            Some(time) => vec![(FRONTEND, zero(), Some(time)), (CODEGEN, Some(time), None)],
            None => Vec::new(),
        }
    }

    /// Returns the name of the part after which the metadata is ready.
    pub(super) fn rmeta_part(&self) -> Option<&str> {
        let first = self.sections.first().map(|(name, _)| &**name);
        first.or(self.metadata_time().map(|_| FRONTEND))
    }

    /// Returns the units that wait for its end or for its metadata.
    pub(super) fn dependents(&self, end_ns: i64, metadata_ns: i64) -> Vec<Dependent> {
        let at = |ready_ns| move |&number: &i64| Dependent { number, ready_ns };
        let for_metadata = self.unlocked_rmeta_units.iter().map(at(metadata_ns));
        self.unlocked_units.iter().map(at(end_ns)).chain(for_metadata).collect()
    }

    /// Writes its arguments: the mode if it says anything, the enabled features, and the time of the metadata.
    pub(super) fn write_args(&self, args: &mut ArgsWriter) {
        args.clear();
        if !self.mode.is_empty() && self.mode != COMPILED {
            args.text("mode", self.mode.as_bytes());
        }
        let features = self.features.filter(|features| !matches!(features.get(), "[]" | "null"));
        for (key, value) in [("features", features), ("rmeta_time", self.metadata_time())] {
            if let Some(value) = value {
                args.key("", key.as_bytes());
                args.json.push_str(value.get());
            }
        }
    }

    fn metadata_time(&self) -> Option<&'a RawValue> {
        self.rmeta_time.filter(|time| time.get() != "null")
    }
}
