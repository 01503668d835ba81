//! Fields that this program adds to pprof's messages, for data that pprof has no field for. Only this program reads
//! them; others skip unknown fields. The number is above all numbers that pprof assigns or protobuf reserves.

use crate::formats::protobuf::numbers::proto_numbers;

proto_numbers! {
    fields own_mapping = "perftools.profiles.Mapping" {
        // The kind of the module, which defines the base of its addresses.
        MODULE_KIND = 20_000,
    }
}
