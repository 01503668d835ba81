"""Writes the types of messages that Perfetto defines and its traces leave out, as src/formats/perfetto/types.txt.

The definitions are the descriptors that Perfetto publishes with its Python package:

    pip install --target FOLDER perfetto==0.59.1
    python3 tests/proto/perfetto_types.py FOLDER > src/formats/perfetto/types.txt

Those are the messages below with what they refer to. A line `message NAME` is followed by a line for each field: number,
type (as FieldDescriptorProto.Type numbers it, with `*` if it is repeated), name, and the message or enumeration that it
is of. A line `enum NAME` is followed by numbers and names. Names leave out the package `perfetto.protos`.
"""

import importlib
import sys

PACKAGE = "perfetto.protos."
ROOTS = ["TrackEvent"]
# Of kernel events, those that are read by name.
KERNEL = """
""".split()


def main():
    sys.path.insert(0, sys.argv[1])
    file = importlib.import_module("perfetto.protos.perfetto.trace.perfetto_trace_pb2").DESCRIPTOR
    kernel = {field.name: field for field in file.message_types_by_name["FtraceEvent"].fields}
    messages, enums = {}, {}

    def short(descriptor):
        return descriptor.full_name.removeprefix(PACKAGE)

    def message(descriptor, fields):
        messages[short(descriptor)] = fields
        for field in fields:
            if field.message_type and short(field.message_type) not in messages:
                message(field.message_type, list(field.message_type.fields))
            if field.enum_type:
                enums[short(field.enum_type)] = field.enum_type.values

    for root in ROOTS:
        message(file.message_types_by_name[root], list(file.message_types_by_name[root].fields))
    if KERNEL:
        message(file.message_types_by_name["FtraceEvent"], [kernel[name] for name in KERNEL])
    for name, fields in messages.items():
        print("message", name)
        for field in sorted(fields, key=lambda field: field.number):
            of = field.message_type or field.enum_type
            repeated = "*" if field.is_repeated else ""
            print(*[f"{field.number} {field.type}{repeated} {field.name}"] + ([short(of)] if of else []))
    for name, values in enums.items():
        print("enum", name)
        for value in values:
            print(value.number, value.name)


main()
