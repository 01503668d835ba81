"""Typed arguments of track events as Google's protobuf library reads them, with the descriptors that the capture holds.

python3 typed_args.py CAPTURE OUT.csv.gz: each path and value with how often it is there. Needs `pip install protobuf`.
"""

import collections
import csv
import gzip
import io
import sys

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

STRING, MESSAGE, UINT32, ENUM, INT32, UINT64, BOOL = 9, 11, 13, 14, 5, 4, 8


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


def fields(data):
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 0:
            value, at = varint(data, at)
        else:
            length = {1: 8, 5: 4}.get(tag & 7)
            if length is None:
                length, at = varint(data, at)
            value, at = data[at:at + length], at + length
        yield tag >> 3, value


def base_types():
    """What the format itself defines, as far as captures of Chromium need it."""
    base = descriptor_pb2.FileDescriptorProto(name="base.proto", package="perfetto.protos", syntax="proto2")

    def message(name, rows):
        made = base.message_type.add(name=name)
        for number, field, kind, repeated in rows:
            made.field.add(name=field, number=number, type=kind, label=3 if repeated else 1)
        return made

    event = message("TrackEvent", [])
    message("Mojo", [(1, "watcher_notify_interface_tag", STRING, 0), (2, "ipc_hash", UINT32, 0),
                     (3, "mojo_interface_tag", STRING, 0), (4, "mojo_interface_method_iid", UINT64, 0),
                     (5, "is_reply", BOOL, 0), (6, "payload_size", UINT64, 0), (7, "data_num_bytes", UINT64, 0)])
    message("Active", [(1, "pid", INT32, 1)])
    message("SourceLocation", [])
    message("DebugAnnotation", [])
    for number, name, kind in [(38, "chrome_mojo_event_info", "Mojo"), (49, "chrome_active_processes", "Active")]:
        event.field.add(name=name, number=number, type=MESSAGE, type_name=f".perfetto.protos.{kind}", label=1)
    event.extension_range.add(start=1000, end=2**29 - 1)
    return base


def track_event_type(files):
    pool = descriptor_pool.DescriptorPool()
    pool.Add(base_types())
    there = {file.name for file in files}
    for name in {name for file in files for name in file.dependency} - there:
        alias = descriptor_pb2.FileDescriptorProto(name=name, syntax="proto2", dependency=["base.proto"])
        alias.public_dependency.append(0)
        pool.Add(alias)
    for file in files:
        pool.Add(file)
    for file in files:
        pool.FindFileByName(file.name)
    message_factory.GetMessageClassesForFiles(sorted(there), pool)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("perfetto.protos.TrackEvent"))


def shown(field, value):
    if field.type == ENUM:
        known = field.enum_type.values_by_number.get(value)
        return known.name if known else str(value)
    return str(value).lower() if field.type == BOOL else str(value)


def walk(message, path, counts):
    for field, value in message.ListFields():
        here = path + field.name
        values = [(f"{here}[{at}]", item) for at, item in enumerate(value)] if field.is_repeated else [(here, value)]
        for where, item in values:
            if field.type == MESSAGE:
                walk(item, where + ".", counts)
            else:
                counts[where, shown(field, item)] += 1


def main(capture, output):
    data = open(capture, "rb").read()
    data = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    files, events = [], []
    for _, packet in fields(data):
        for number, value in fields(packet):
            if number == 72:
                for _, found in fields(value):
                    files += descriptor_pb2.FileDescriptorSet.FromString(bytes(found)).file
            elif number == 11:
                events.append(bytes(value))
    track_event = track_event_type(files)
    counts = collections.Counter()
    for event in events:
        walk(track_event.FromString(event), "", counts)
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(["path", "value", "count"])
    writer.writerows([*key, count] for key, count in sorted(counts.items()))
    with open(output, "wb") as out:
        out.write(gzip.compress(table.getvalue().encode(), 9, mtime=0))


main(*sys.argv[1:])
