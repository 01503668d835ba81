#!/usr/bin/env python3
"""The spans of a Chrome JSON trace, computed the slow and obvious way, as CSV on stdout.

This is the specification that `longspan spans` is held against. It shares nothing with it: the whole file is parsed by
Python's json, times are Decimals, every thread is sorted and nested by a loop over all open spans. It refuses files
that are not JSON, except for an array that was never closed.

    python3 tests/oracle/spans.py tests/data/go_trace.json > tests/data/expected/go_trace.json.spans.csv
"""

import collections
import csv
import gzip
import json
import sys
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation

COLUMNS = ["ts", "dur", "depth", "name", "category", "pid", "tid"]


class Span:
    """A span while its end is looked for. `end` None: the capture has none."""

    def __init__(self, start, end, event, order):
        self.start = start
        self.end = end
        self.unfinished = False
        self.event = event
        self.order = order
        self.depth = None


def main(path):
    spans = []
    threads = collections.defaultdict(list)
    asyncs = collections.defaultdict(list)
    for order, event in enumerate(events_of(path)):
        phase = event.get("ph")
        if phase in ("B", "E", "X"):
            threads[thread_of(event)].append((nanoseconds(event["ts"]), order, event))
        elif phase in ("b", "e"):
            asyncs[async_id_of(event)].append((nanoseconds(event["ts"]), order, event))
        elif phase in ("S", "T", "p", "F"):
            sys.exit(f"{path}: asynchronous steps are not part of this oracle")
    for events in list(threads.values()) + list(asyncs.values()):
        spans.extend(nested(paired(events)))

    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(COLUMNS)
    rows = []
    for span in spans:
        event = span.event
        pid, tid = thread_of(event)
        dur = -1 if span.unfinished else span.end - span.start
        tid = "" if event["ph"] == "b" else tid
        rows.append([span.start, dur, span.depth, text(event.get("name", "")), event.get("cat", ""), pid, tid])
    writer.writerows(sorted(rows, key=lambda row: [row[0], row[2], str(row)]))


def events_of(path):
    with open(path, "rb") as file:
        content = file.read()
    if content[:2] == b"\x1f\x8b":
        content = gzip.decompress(content)
    content = content.decode("utf-8-sig")
    try:
        trace = json.loads(content, parse_float=Decimal)
    except json.JSONDecodeError:
        trace = json.loads(content.rstrip().rstrip(",") + "]", parse_float=Decimal)
    return trace if isinstance(trace, list) else trace["traceEvents"]


def nanoseconds(microseconds):
    """Exact; halves go away from zero."""
    try:
        return int((Decimal(microseconds) * 1000).to_integral_value(ROUND_HALF_UP))
    except (InvalidOperation, TypeError):
        return None


def text(name):
    return name if isinstance(name, str) else json.dumps(name)


def thread_of(event):
    pid = event.get("pid", "")
    return pid, event.get("tid", pid)


def async_id_of(event):
    group = event.get("scope", event.get("cat"))
    for key, local in (("id", False), ("global", False), ("local", True)):
        holder = event if key == "id" else event.get("id2", {})
        if key in holder:
            return group, str(holder[key]), event.get("pid") if local else None
    sys.exit(f"an asynchronous event without an id: {event}")


def paired(events):
    """Ends find their begins. Returns the spans of one thread (or one asynchronous id) in the order they nest."""
    spans, opened = [], []
    last = max(time + (nanoseconds(event.get("dur")) or 0) for time, _, event in events)
    groups = collections.defaultdict(list)
    for time, order, event in events:
        groups[time].append((order, event))
    for time in sorted(groups):
        begins, closers, inner = [], [], []
        # in the order of the file, but that of a thread's ends, one which closes what began at another time goes first
        for order, event in sorted(groups[time], key=lambda pair: pair[0]):
            if event["ph"] != "E":
                begins.append((order, event))
                if event["ph"] == "B":
                    inner.append(event)
                continue
            own = next((begun for begun in reversed(inner) if closes(event, begun)), None)
            if own is None:
                closers.append(event)
            else:
                inner.remove(own)
                begins.append((order, event))
        for event in closers:
            close(opened, event, time)
        # the longer of two complete spans is the outer one, whichever comes first in the file
        slots = [at for at, (_, event) in enumerate(begins) if event["ph"] == "X"]
        longest_first = sorted((begins[at] for at in slots), key=lambda pair: -(nanoseconds(pair[1].get("dur")) or 0))
        for at, pair in zip(slots, longest_first):
            begins[at] = pair
        for order, event in begins:
            if event["ph"] in "Ee":
                close(opened, event, time)
                continue
            dur = nanoseconds(event.get("dur")) if event["ph"] == "X" else None
            span = Span(time, None if dur is None else time + max(dur, 0), event, len(spans))
            spans.append(span)
            if event["ph"] in "Bb":
                opened.append(span)
    for span in spans:
        if span.end is None:
            span.end, span.unfinished = max(last, span.start), True
    return spans


def closes(end, begin):
    return "name" not in end or end["name"] == begin.get("name", "")


def close(opened, event, time):
    """The innermost open span of the end's name closes, with all above it; if there is none, no span does.

    Asynchronous spans need not nest: only the one of the end's name closes.
    """
    named = [at for at, span in enumerate(opened) if closes(event, span.event)]
    if event["ph"] == "e":
        if named:
            opened.pop(named[-1]).end = time
        return
    if not named:
        return
    for span in opened[named[-1]:]:
        span.end = time
    del opened[named[-1]:]


def nested(spans):
    """Each span goes one below the innermost span around it; where that lane is taken, to the next free one."""
    placed = []
    for span in spans:
        still_open = [other for other in placed if other.end > span.start]
        around = [other for other in still_open if other.end >= span.end]
        depth = max((other.depth for other in around), default=-1) + 1
        taken = {other.depth for other in still_open}
        while depth in taken:
            depth += 1
        span.depth = depth
        placed = still_open + [span]
    return spans


if __name__ == "__main__":
    main(sys.argv[1])
