//! The members of a line of a Playwright trace, by version.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::formats::json::lenient::{or_default, text};

/// A line of any type.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PlaywrightLine<'a> {
    #[serde(rename = "type", default, deserialize_with = "text")]
    pub(super) kind: String,
    #[serde(borrow)]
    pub(super) wall_time: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) monotonic_time: Option<&'a RawValue>,
    #[serde(default, deserialize_with = "text")]
    pub(super) call_id: String,
    /// The call that contains this one.
    #[serde(default, deserialize_with = "text")]
    pub(super) parent_id: Option<String>,
    #[serde(borrow)]
    pub(super) start_time: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) end_time: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) time: Option<&'a RawValue>,
    /// The call as written by the user.
    #[serde(default, deserialize_with = "text")]
    pub(super) title: Option<String>,
    /// The object of the call, such as the URL of a request.
    #[serde(default, deserialize_with = "text")]
    pub(super) subtitle: Option<String>,
    #[serde(default, deserialize_with = "text")]
    pub(super) api_name: Option<String>,
    #[serde(default, deserialize_with = "text")]
    pub(super) class: Option<String>,
    #[serde(default, deserialize_with = "text")]
    pub(super) method: Option<String>,
    #[serde(borrow)]
    pub(super) params: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
    /// Source positions of the call or the error, innermost first.
    #[serde(borrow)]
    pub(super) stack: Option<&'a RawValue>,
    #[serde(default, deserialize_with = "text")]
    pub(super) message: Option<String>,
    #[serde(borrow)]
    pub(super) snapshot: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) log: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) metadata: Option<&'a RawValue>,
    /// Id of an object of version 4.
    #[serde(default, deserialize_with = "text")]
    pub(super) guid: String,
    #[serde(borrow)]
    pub(super) initializer: Option<&'a RawValue>,
}

/// A console message, or output of the program.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PrintedLine<'a> {
    #[serde(rename = "type", default, deserialize_with = "text")]
    pub(super) kind: String,
    #[serde(borrow)]
    pub(super) time: Option<&'a RawValue>,
    /// The time of program output.
    #[serde(borrow)]
    pub(super) timestamp: Option<&'a RawValue>,
    #[serde(default, deserialize_with = "text")]
    pub(super) message_type: Option<String>,
    #[serde(default, deserialize_with = "text")]
    pub(super) text: Option<String>,
    /// Program output that is not text.
    #[serde(default, deserialize_with = "text")]
    pub(super) base64: Option<String>,
}

/// A call or an event as versions up to 3 have it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CallMetadata<'a> {
    #[serde(default, deserialize_with = "text")]
    pub(super) id: String,
    #[serde(rename = "type", default, deserialize_with = "text")]
    pub(super) class: Option<String>,
    #[serde(default, deserialize_with = "text")]
    pub(super) method: Option<String>,
    #[serde(default, deserialize_with = "text")]
    pub(super) api_name: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) internal: bool,
    #[serde(borrow)]
    pub(super) start_time: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) end_time: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) wall_time: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) params: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) log: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
}

/// The console message that an event of version 3 creates.
#[derive(Deserialize)]
pub(super) struct CreatedMessage {
    pub(super) initializer: ConsoleText,
}

/// Kind and text of a console message of versions up to 4.
#[derive(Debug, Default, Deserialize)]
pub(super) struct ConsoleText {
    #[serde(rename = "type", default, deserialize_with = "text")]
    pub(super) kind: Option<String>,
    #[serde(default, deserialize_with = "text")]
    pub(super) text: Option<String>,
}

/// The console message of an event of version 4, by the id of its object.
#[derive(Deserialize)]
pub(super) struct MessageEvent {
    pub(super) message: ObjectId,
}

#[derive(Deserialize)]
pub(super) struct ObjectId {
    #[serde(default, deserialize_with = "text")]
    pub(super) guid: String,
}

/// The parameters of an event `pageerror`.
#[derive(Deserialize)]
pub(super) struct PageErrorEvent<'a> {
    #[serde(borrow)]
    pub(super) error: ThrownValue<'a>,
}

/// An error, or another value that a page threw.
#[derive(Deserialize)]
pub(super) struct ThrownValue<'a> {
    #[serde(default, deserialize_with = "or_default")]
    pub(super) error: Option<ThrownError>,
    #[serde(borrow)]
    pub(super) value: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
pub(super) struct ThrownError {
    #[serde(default, deserialize_with = "text")]
    pub(super) message: String,
    #[serde(default, deserialize_with = "text")]
    pub(super) stack: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct StackPosition {
    #[serde(default, deserialize_with = "text")]
    pub(super) file: String,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) line: u64,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) column: u64,
}
