//! Converts the arguments of a span, which both Spall formats store as one text.

use crate::formats::output::args::ArgsWriter;
use crate::formats::output::batch::BatchBuilder;

/// Adds arguments from one text, which may be a JSON object.
pub(super) fn args_detail(args: &[u8], writer: &mut ArgsWriter, batch: &mut BatchBuilder) -> u32 {
    type Object = serde_json::Map<String, serde_json::Value>;
    let object = std::str::from_utf8(args).ok().filter(|text| serde_json::from_str::<Object>(text).is_ok());
    writer.clear();
    let args_json = object.unwrap_or_else(|| {
        writer.text("args", args);
        writer.finish()
    });
    batch.args(args_json)
}
