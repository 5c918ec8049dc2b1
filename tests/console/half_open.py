#!/usr/bin/env python3
"""Thousands of connections that send a part of a request and nothing more do not keep anybody out of a console.

usage: half_open.py STANDIN CONSOLE
Waits for what happens, never for time; what does not come within TIMEOUT seconds is a failure.
"""
import contextlib
import http.client
import json
import os
import pathlib
import resource
import select
import socket
import subprocess
import sys
import time

TIMEOUT = 60
HALF_OPEN = 10_000
MARGIN = 200  # descriptors of this script
RAISED = 4096  # what the program asks the system for
PARTS = (b"G", b"GET /api/agents HTTP/1.1\r\nHost: ", b"POST /api/agents HTTP/1.1\r\nHost: localhost:8700\r\n"
         b"Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"id\": ")
FEW = 512
SLOW = 50


class Console:
    """agentcore-console with an agent. `limit`: the descriptors it may have at its start, and at most."""

    def __init__(self, program, model_url, limit):
        self.process = subprocess.Popen(
            [program, "--port", "0", "--base-url", model_url, "--model", "m", "--agent", "planner", "--agent", "planner/scout"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env={**os.environ, "no_proxy": "*"},
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, limit))
        self.port = int(self.process.stdout.readline().split(":")[-1].strip("/\n"))

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), TIMEOUT)

    def ask(self, method, path, body=None):
        """The answer to a request on a connection of its own; it must be 200."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT)
        with contextlib.closing(connection):
            connection.request(method, path, body and json.dumps(body), {"Content-Type": "application/json"} if body else {})
            answer = connection.getresponse()
            text = answer.read()
            assert answer.status == 200, f"{method} {path}: {answer.status} {text}"
            return json.loads(text)

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def limit(self):
        lines = pathlib.Path(f"/proc/{self.process.pid}/limits").read_text().splitlines()
        return int(next(line.split()[3] for line in lines if line.startswith("Max open files")))


def wait_for(events, mark):
    """Reads a stream until an event has `mark`. A stream without events has a line now and then."""
    end = time.monotonic() + TIMEOUT
    for line in events:
        if mark in line:
            return
        assert time.monotonic() < end, f"no event with {mark}"
    raise AssertionError(f"the stream has ended without {mark}")


def see_and_stop(console):
    """What a person does: sees an agent write, and stops it."""
    assert console.ask("GET", "/healthz") == {"ok": True}
    assert [agent["id"] for agent in console.ask("GET", "/api/agents")["agents"]] == ["planner", "scout"]
    viewer = http.client.HTTPConnection("127.0.0.1", console.port, timeout=TIMEOUT)
    with contextlib.closing(viewer):
        viewer.request("GET", "/api/events?text=scout")
        events = viewer.getresponse()
        assert events.status == 200, events.status
        console.ask("POST", "/api/agent/scout/send", {"text": "Write."})
        wait_for(events, b'"type":"text"')
        stopped = console.ask("POST", "/api/agent/planner/stop?wait=settled", {"reason": "test"})
        assert stopped["stopped"] and stopped["cascadeStopped"] == ["scout"] and not stopped["cascadeFailed"], stopped
        wait_for(events, b'"type":"settled"')
    assert console.ask("GET", "/api/agent/scout")["agent"]["computeStatus"] == "stopped"
    assert console.ask("POST", "/api/agent/planner/resume")["resumed"]


def until_descriptors_are(console, before):
    """Requests are what it waits with: the console has seen the ends of connections before it answers often enough."""
    for _ in range(20_000):
        if console.descriptors() <= before:
            return
        console.ask("GET", "/healthz")
    raise AssertionError(f"the console has {console.descriptors()} descriptors, and had {before} before")


def half_open_connections(console):
    with contextlib.ExitStack() as opened:
        for number in range(HALF_OPEN):
            connection = opened.enter_context(console.connect())
            connection.sendall(PARTS[number % len(PARTS)])
            if number % 100 == 0:
                assert console.ask("GET", "/healthz") == {"ok": True}
            if number % 1000 == 0:
                see_and_stop(console)
        for _ in range(10):
            see_and_stop(console)


def slow_viewers(console, opened):
    for _ in range(SLOW):
        viewer = opened.enter_context(socket.socket())
        viewer.settimeout(TIMEOUT)
        viewer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        viewer.connect(("127.0.0.1", console.port))
        viewer.sendall(f"GET /api/events?text=scout HTTP/1.1\r\nHost: 127.0.0.1:{console.port}\r\n\r\n".encode())
        yield viewer


def slow_clients(console):
    """Viewers that read a byte in a second, and clients that send one, until all of these were refused."""
    with contextlib.ExitStack() as opened:
        viewers = list(slow_viewers(console, opened))
        senders = [opened.enter_context(console.connect()) for _ in range(SLOW)]
        waiting = list(senders)
        for byte in b"GET /healthz HTTP/1.1\r\nX: " + b"x" * TIMEOUT:
            for sender in waiting:
                sender.sendall(bytes([byte]))
            assert all(viewer.recv(1) for viewer in viewers)
            see_and_stop(console)
            for sender in select.select(waiting, [], [], 1)[0]:
                assert sender.recv(100).startswith(b"HTTP/1.1 408 ")
                waiting.remove(sender)
            if not waiting:
                return
        raise AssertionError(f"{len(waiting)} clients that send a byte in a second have no answer")


def run(program, model_url, limit):
    console = Console(program, model_url, limit)
    try:
        most = min(limit[1], RAISED) if limit[1] != resource.RLIM_INFINITY else RAISED
        assert console.limit() == max(most, limit[0]), f"the console may have {console.limit()} descriptors"
        see_and_stop(console)
        before = console.descriptors()
        half_open_connections(console)
        until_descriptors_are(console, before)
        if limit[0] > FEW:
            slow_clients(console)
            until_descriptors_are(console, before)
        console.process.terminate()
        assert console.process.wait(TIMEOUT) == 0, console.process.returncode
    finally:
        console.process.kill()
        console.process.wait()
    print(HALF_OPEN, "connections keep nobody out of a console with", most, "descriptors")


def main(standin, program):
    needed, most = HALF_OPEN + MARGIN, resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if most != resource.RLIM_INFINITY and most < needed:
        print(f"nothing was tested: a process may have {most} descriptors here, and the test needs {needed}")
        return 77
    resource.setrlimit(resource.RLIMIT_NOFILE, (needed, most))
    # Its answers are too long to end before somebody stops them.
    model = subprocess.Popen([standin, "--tokens", "1000000", "--rate", "1000", "--first-token-ms", "0"],
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        model_url = model.stdout.readline().split()[-1]
        run(program, model_url, (1024, most))
        run(program, model_url, (FEW, FEW))
    finally:
        model.kill()
        model.wait()
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
