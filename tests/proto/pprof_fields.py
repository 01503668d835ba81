"""Writes the table of field numbers that the tests compare the constants of src/formats/profiles/pprof/fields.rs with.

The definitions are those that pprof publishes, https://github.com/google/pprof/blob/main/proto/profile.proto:

    python3 tests/proto/pprof_fields.py profile.proto > tests/proto/pprof_fields.csv

A row is a message, a field and its number. The messages below are those that the reader and the writer use.
"""

import re
import sys

PACKAGE = "perftools.profiles"
MESSAGES = "Profile ValueType Sample Label Mapping Location Line Function".split()


def main():
    text = re.sub(r"//.*", "", open(sys.argv[1], encoding="utf-8").read())
    print("message,field,number")
    for message, body in re.findall(r"^message (\w+) \{(.*?)^\}", text, re.MULTILINE | re.DOTALL):
        for field, number in re.findall(r"(\w+)\s*=\s*(\d+)\s*;", body):
            if message in MESSAGES:
                print(f"{PACKAGE}.{message},{field},{number}")


main()
