#!/usr/bin/env python3
"""Drops a file on a window of another program, as a file manager does: the source's side of XDND version 5.

Prints "accepted" once the target has fetched the file's address and said that it is done with it.
Usage: drop.py WINDOW PATH
"""

import sys
import time
from urllib.parse import quote

from Xlib import X, Xatom, display
from Xlib.protocol import event

SECONDS = 20

connection = display.Display()
target = connection.create_resource_object("window", int(sys.argv[1]))
address = ("file://" + quote(sys.argv[2]) + "\r\n").encode()
screen = connection.screen()
source = screen.root.create_window(0, 0, 1, 1, 0, screen.root_depth)


def atom(name):
    return connection.intern_atom(name)


def send(name, *words):
    message = event.ClientMessage(
        window=target, client_type=atom(name), data=(32, [source.id, *words] + [0] * (4 - len(words)))
    )
    target.send_event(message)
    connection.flush()


def answer(request):
    """Hands over the address of the file."""
    request.requestor.change_property(request.property, request.target, 8, address)
    reply = event.SelectionNotify(
        time=request.time,
        requestor=request.requestor,
        selection=request.selection,
        target=request.target,
        property=request.property,
    )
    request.requestor.send_event(reply)
    connection.flush()


def wait_for(name):
    """Serves the selection until the target sends the message."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        while connection.pending_events():
            got = connection.next_event()
            if got.type == X.SelectionRequest:
                answer(got)
            elif got.type == X.ClientMessage and got.client_type == atom(name):
                return got.data[1]
        time.sleep(0.005)
    sys.exit(f"no {name} within {SECONDS} s")


uris = atom("text/uri-list")
source.set_selection_owner(atom("XdndSelection"), X.CurrentTime)
send("XdndEnter", 5 << 24, uris, 0, 0)
send("XdndPosition", 0, (400 << 16) | 400, X.CurrentTime, atom("XdndActionCopy"))
if not wait_for("XdndStatus")[1] & 1:
    sys.exit("the window does not take the file")
send("XdndDrop", 0, X.CurrentTime)
wait_for("XdndFinished")
print("accepted")
