"""Asks SQL of what `longspan dump` prints, with the tables that Perfetto's tests ask.

stdin: a JSON object a line, {"dump": [lines of the dump], "query": SQL, "strip": whether keys of arguments lose "args."}.
stdout: a JSON text a line: the answer as comma-separated text, or "error: ..". Needs nothing but Python's own sqlite3.
"""

import json
import re
import sqlite3
import sys

TABLES = {
    "process": "upid id pid name start_ts end_ts uid cmdline arg_set_id machine_id",
    "thread": "utid id tid name upid start_ts end_ts is_main_thread arg_set_id machine_id",
    "every_track": "id name type utid upid cpu parent_id source_arg_set_id dimension_arg_set_id unit is_counter machine_id",
    "slice": "id slice_id ts dur name category cat track_id depth parent_id thread_ts thread_dur arg_set_id",
    "counter": "id ts track_id value arg_set_id",
    "flow": "slice_out slice_in",
    "sched": "ts dur cpu ucpu utid end_state priority",
    "thread_state": "ts dur cpu ucpu utid state io_wait blocked_function waker_utid waker_id irq_context",
    "cpu": "ucpu cpu cluster_id processor capacity machine_id arg_set_id",
    "stats": "name idx value severity source description machine_id trace_id",
    "metadata": "name key_type int_value str_value machine_id trace_id",
    "_trace_import_logs": "ts severity name arg_set_id",
    "args": "id arg_set_id key flat_key string_value int_value real_value value_type display_value",
}

TRACK = "id, name, type, parent_id, source_arg_set_id, dimension_arg_set_id, machine_id"
SLICE = "slice.id, slice.ts, slice.dur, slice.category, slice.name, slice.track_id, slice.depth, slice.arg_set_id"
VIEWS = {
    "track": f"SELECT {TRACK} FROM every_track",
    "thread_track": f"SELECT {TRACK}, utid FROM every_track WHERE utid IS NOT NULL AND NOT is_counter",
    "process_track": f"SELECT {TRACK}, upid FROM every_track WHERE upid IS NOT NULL AND NOT is_counter",
    "cpu_track": f"SELECT {TRACK}, cpu FROM every_track WHERE cpu IS NOT NULL AND NOT is_counter",
    "counter_track": f"SELECT {TRACK}, unit FROM every_track WHERE is_counter",
    "process_counter_track": f"SELECT {TRACK}, unit, upid FROM every_track WHERE is_counter AND upid IS NOT NULL",
    "thread_counter_track": f"SELECT {TRACK}, unit, utid FROM every_track WHERE is_counter AND utid IS NOT NULL",
    "cpu_counter_track": f"SELECT {TRACK}, unit, cpu FROM every_track WHERE is_counter AND cpu IS NOT NULL",
    "slices": "SELECT * FROM slice",
    "counters": "SELECT counter.*, name, unit FROM counter JOIN every_track ON track_id = every_track.id",
    "trace_bounds": "SELECT min(ts) AS start_ts, max(ts + max(dur, 0)) AS end_ts FROM slice",
    "sched_slice": "SELECT * FROM sched",
    "thread_slice": f"""SELECT {SLICE}, thread.name AS thread_name, utid, tid, process.name AS process_name, upid, pid
        FROM thread_track JOIN thread USING (utid) LEFT JOIN process USING (upid)
        JOIN slice ON slice.track_id = thread_track.id""",
    "process_slice": f"""SELECT {SLICE}, NULL AS thread_name, NULL AS utid, NULL AS tid, process.name AS process_name,
        upid, pid FROM process_track JOIN process USING (upid) JOIN slice ON slice.track_id = process_track.id""",
    "thread_or_process_slice": "SELECT * FROM thread_slice UNION ALL SELECT * FROM process_slice",
}


class Answers:
    """The tables of one dump."""

    def __init__(self, strip):
        self.db, self.strip, self.sets, self.counters = sqlite3.connect(":memory:"), strip, 0, 0
        for name, columns in TABLES.items():
            columns = columns.replace(" ", ", ").replace("id,", "id INTEGER PRIMARY KEY,", columns.startswith("id "))
            self.db.execute(f"CREATE TABLE {name} ({columns})")
        for name, query in VIEWS.items():
            self.db.execute(f"CREATE VIEW {name} AS {query}")
        for name in ("extract_arg", "EXTRACT_ARG"):
            self.db.create_function(name, 2, self.argument)

    def insert(self, table, **row):
        marks = ", ".join("?" * len(row))
        self.db.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", list(row.values()))

    def argument(self, of, key):
        query = "SELECT coalesce(string_value, int_value, real_value) FROM args WHERE arg_set_id = ? AND key = ?"
        row = self.db.execute(query, (of, key)).fetchone()
        return row and row[0]

    def arguments(self, pairs):
        if not pairs:
            return None
        self.sets += 1
        for key, value in pairs:
            key = key.removeprefix("args.") if self.strip else key
            row = {"arg_set_id": self.sets, "key": key, "flat_key": re.sub(r"\[\d+\]", "", key)}
            if isinstance(value, (dict, list)) or isinstance(value, int) and abs(value) >= 1 << 63:
                value = json.dumps(value)
            if isinstance(value, bool):
                row |= {"int_value": int(value), "value_type": "bool", "display_value": str(value).lower()}
            elif value is not None:
                kind = {int: "int", float: "real", str: "string"}[type(value)]
                row |= {f"{kind}_value": value, "value_type": kind, "display_value": str(value)}
            self.insert("args", **row)
        return self.sets

    def add(self, line):
        args = self.arguments(line.get("args"))
        get = line.get
        match line["t"]:
            case "process":
                self.insert("process", upid=get("upid"), id=get("upid"), pid=get("pid"), name=get("name"),
                            start_ts=get("start_ts"), end_ts=get("end_ts"), uid=get("uid"), cmdline=get("cmdline"),
                            arg_set_id=args, machine_id=0)
            case "thread":
                self.insert("thread", utid=get("utid"), id=get("utid"), tid=get("tid"), name=get("name"),
                            upid=get("upid"), start_ts=get("start_ts"), end_ts=get("end_ts"),
                            is_main_thread=get("main"), arg_set_id=args, machine_id=0)
            case "track":
                self.insert("every_track", id=get("id"), name=get("name"), type=get("type"), utid=get("utid"),
                            upid=get("upid"), cpu=get("cpu"), parent_id=get("parent"), source_arg_set_id=args,
                            unit=get("unit"), is_counter=get("counter"), machine_id=0)
            case "slice":
                self.insert("slice", id=get("id"), slice_id=get("id"), ts=get("ts"), dur=get("dur"), name=get("name"),
                            category=get("cat"), cat=get("cat"), track_id=get("track"), depth=get("depth"),
                            parent_id=get("parent"), thread_ts=get("thread_ts"), thread_dur=get("thread_dur"),
                            arg_set_id=args)
            case "counter":
                self.insert("counter", id=self.counters, ts=get("ts"), track_id=get("track"), value=get("value"),
                            arg_set_id=args)
                self.counters += 1
            case "flow":
                self.insert("flow", slice_out=get("out"), slice_in=get("in"))
            case "thread_state":
                self.insert("thread_state", ts=get("ts"), dur=get("dur"), cpu=get("cpu"), ucpu=get("ucpu"),
                            utid=get("utid"), state=get("state"), io_wait=get("io_wait"),
                            blocked_function=get("blocked_function"), waker_utid=get("waker_utid"))
            case "sched":
                self.insert("sched", ts=get("ts"), dur=get("dur"), cpu=get("cpu"), ucpu=get("cpu"), utid=get("utid"),
                            end_state=get("end_state"), priority=get("priority"))
            case "cpu":
                self.insert("cpu", ucpu=get("ucpu"), cpu=get("cpu"), machine_id=0)
            case "stat":
                self.insert("stats", name=get("name"), value=get("value"))
            case "metadata":
                self.insert("metadata", name=get("name"), str_value=get("str"), int_value=get("int"))

    def ask(self, query):
        query = re.sub(r"INCLUDE\s+PERFETTO\s+MODULE\s+[\w.*]+\s*;", "", query)
        query = re.sub(r"CREATE\s+PERFETTO\s+(TABLE|VIEW)", r"CREATE \1", query)
        answer, part = None, ""
        for piece in re.split("(;)", query):
            part += piece
            if piece == ";" and sqlite3.complete_statement(part):
                answer, part = self.run(part) or answer, ""
        return self.run(part) or answer

    def run(self, statement):
        if not re.sub(r"--[^\n]*", "", statement).strip(" \n\t;"):
            return None
        cursor = self.db.execute(statement)
        if not cursor.description:
            return None
        shown = lambda value: (
            '"[NULL]"' if value is None else f"{value:f}" if isinstance(value, float)
            else str(value) if isinstance(value, int) else f'"{value}"'
        )
        head = ",".join(f'"{column[0]}"' for column in cursor.description)
        return "\n".join([head] + [",".join(map(shown, row)) for row in cursor.fetchall()])


for line in sys.stdin:
    case = json.loads(line)
    answers = Answers(case["strip"])
    try:
        for row in case["dump"]:
            answers.add(json.loads(row))
        print(json.dumps(answers.ask(case["query"])), flush=True)
    except sqlite3.Error as error:
        print(json.dumps(f"error: {error}"), flush=True)
