"""Writes the types of messages that Perfetto defines and its traces leave out.

The definitions are the descriptors that Perfetto publishes with its Python package:

    pip install --target FOLDER perfetto==0.59.1 protobuf
    python3 tests/proto/perfetto_types.py FOLDER > src/formats/perfetto/types.txt
    python3 tests/proto/perfetto_types.py FOLDER --kernel > src/formats/perfetto/kernel_types.txt
    python3 tests/proto/perfetto_types.py FOLDER --vmstat > src/formats/perfetto/vmstat.txt

The first file has the messages below with what they refer to. A line `message NAME` is followed by a line for each field:
number, type (as FieldDescriptorProto.Type numbers it, with `*` if it is repeated), name, and the message or enumeration
that it is of. A line `enum NAME` is followed by numbers and names. Names leave out the package `perfetto.protos`.

The second file has the kernel events. A line `event NUMBER NAME` is followed by a line for each field: number, type, name.
The third has the lines of `/proc/vmstat`: number and name.
"""

import importlib
import sys

PACKAGE = "perfetto.protos."
ROOTS = ["TrackEvent"]


def short(descriptor):
    return descriptor.full_name.removeprefix(PACKAGE)


def print_types(file):
    messages, enums = {}, {}

    def message(descriptor, fields):
        messages[short(descriptor)] = fields
        for field in fields:
            if field.message_type and short(field.message_type) not in messages:
                message(field.message_type, list(field.message_type.fields))
            if field.enum_type:
                enums[short(field.enum_type)] = field.enum_type.values

    for root in ROOTS:
        message(file.message_types_by_name[root], list(file.message_types_by_name[root].fields))
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


def print_kernel_events(file):
    events = [event for event in file.message_types_by_name["FtraceEvent"].fields if event.message_type]
    for event in sorted(events, key=lambda event: event.number):
        print("event", event.number, event.name)
        for field in sorted(event.message_type.fields, key=lambda field: field.number):
            print(field.number, field.type, field.name)


def print_vmstat(file):
    for value in file.enum_types_by_name["VmstatCounters"].values:
        if value.number:
            print(value.number, value.name.removeprefix("VMSTAT_").lower())


def main():
    sys.path.insert(0, sys.argv[1])
    file = importlib.import_module("perfetto.protos.perfetto.trace.perfetto_trace_pb2").DESCRIPTOR
    print_table = {"--kernel": print_kernel_events, "--vmstat": print_vmstat}.get(sys.argv[-1], print_types)
    print_table(file)


main()
