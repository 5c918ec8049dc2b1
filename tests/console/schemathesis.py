#!/usr/bin/env python3
"""The console's API against its description, by schemathesis: thousands of requests, right ones and wrong ones.

usage: schemathesis.py STANDIN CONSOLE [--max-examples N] [--seed N] [further options of "schemathesis run"]

Needs schemathesis 4.32, which is no package of scripts/setup; where it is not installed, nothing is tested:
  python3 -m venv venv && venv/bin/pip install schemathesis==4.32.5
  venv/bin/python tests/console/schemathesis.py build/dev/apps/agentcore-standin build/dev/apps/agentcore-console

The streams of events are left out of these requests. They are read meanwhile, and each event must match its schema.
"""
import http.client
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import urllib.parse

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path = [entry for entry in sys.path if pathlib.Path(entry or ".").resolve() != FOLDER]  # has a file of that name

TOKEN = "only for this test"
# What a right request may get. Which state the agents are in, no schema says.
RIGHT = [200, 201, 401, 404, 409, 413, 429]
CONFIG = f"""
hooks = "{FOLDER / 'schemathesis_hooks.py'}"
request-timeout = 20
[checks.positive_data_acceptance]
expected-statuses = {RIGHT}
[checks.negative_data_rejection]
expected-statuses = [400, 401, 403, 404, 409, 413, 415, 429, 431]
[checks.missing_required_header]
expected-statuses = [400, 401, 415]
"""


def start(folder, *command):
    """A server, and the URL in the first line that it prints."""
    server = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                              env={"PATH": os.environ["PATH"], "no_proxy": "*"})
    return server, server.stdout.readline().split()[-1]


class Events(threading.Thread):
    """Reads a stream of events until it is closed."""

    def __init__(self, url, path):
        super().__init__(daemon=True)
        self.connection = http.client.HTTPConnection(urllib.parse.urlsplit(url).netloc)
        self.connection.request("GET", path, headers={"Authorization": "Bearer " + TOKEN})
        self.answer = self.connection.getresponse()
        assert self.answer.getheader("Content-Type") == "text/event-stream", self.answer.headers
        self.events = []
        self.start()

    def run(self):
        for line in self.answer:
            if line.startswith(b"data: "):
                self.events.append(json.loads(line[6:]))


def check_events(document, schema, events):
    """How many types of events there were. Each event must match the schema."""
    import jsonschema_rs  # comes with schemathesis

    # By the type of the event, so that what is wrong is said of its schema and not of all of them.
    prefix = schema + "_"
    validators = {name.removeprefix(prefix): jsonschema_rs.Draft202012Validator(
        {"$ref": "#/components/schemas/" + name, "components": document["components"]})
        for name in document["components"]["schemas"] if name.startswith(prefix)}
    for event in events:
        validator = validators.get(event["type"], validators.get("other"))
        assert validator, f"no schema of the event {event}"
        problem = next(validator.iter_errors(event), None)
        assert problem is None, f"{event}: {problem.message}"
    return len({event["type"] for event in events})


def events_of_tasks(url):
    """The events of the newest tasks that have ended."""
    connection = http.client.HTTPConnection(urllib.parse.urlsplit(url).netloc)
    connection.request("GET", "/tasks", headers={"Authorization": "Bearer " + TOKEN})
    tasks = json.load(connection.getresponse())["tasks"]
    ended = [task["taskId"] for task in tasks if task["status"] not in ("pending", "running")]
    streams = [Events(url, f"/tasks/{task}/events") for task in ended[:20]]
    for stream in streams:
        stream.join()
    return [event for stream in streams for event in stream.events]


def run(folder, url, options):
    config = folder / "schemathesis.toml"
    config.write_text(CONFIG)
    command = [sys.executable, "-P", "-c", "import schemathesis.cli; schemathesis.cli.schemathesis()",
               "--config-file", str(config), "run", url + "openapi.json", "--url", url, "--checks", "all",
               "--exclude-path-regex", "/events$", "--header", "Authorization: Bearer " + TOKEN,
               "--generation-database", "none", "--no-color", "--continue-on-failure", *options]
    environment = {**os.environ, "CONSOLE_URL": url, "CONSOLE_TOKEN": TOKEN, "no_proxy": "*"}
    return subprocess.run(command, cwd=folder, env=environment, check=False).returncode


def main(standin, console, *options):
    standin, console = (str(pathlib.Path(program).resolve()) for program in (standin, console))
    if importlib.util.find_spec("schemathesis") is None:
        print("nothing was tested: schemathesis is not installed; see the beginning of", __file__)
        return 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "token").write_text(TOKEN + "\n")
        model, model_url = start(folder, standin, "--tokens", "5", "--rate", "0", "--first-token-ms", "0")
        host, url = start(folder, console, "--port", "0", "--token-file", "token", "--base-url", model_url, "--model", "m",
                          "--agent", "planner", "--agent", "planner/scout", "--receipts", "receipts", "--store", "store")
        try:
            events = Events(url, "/api/events?text=planner&text=scout")
            status = run(folder, url, options or ("--max-examples", "15", "--seed", "1"))
            of_tasks = events_of_tasks(url)
            host.terminate()
            events.join()
            document = json.loads((FOLDER / "../../src/console/page/openapi.json").read_text())
            for schema, found in (("Event", events.events), ("TaskEvent", of_tasks)):
                types = check_events(document, schema, found)
                print(len(found), "events of", types, "types match the schema", schema)
                assert types > 3, "too few events to say anything"
            return status or host.wait()
        finally:
            for server in (host, model):
                server.kill()
                server.wait()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
