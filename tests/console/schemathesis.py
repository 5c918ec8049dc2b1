#!/usr/bin/env python3
"""The console's API against its description, by schemathesis: thousands of requests, right ones and wrong ones.

usage: schemathesis.py STANDIN CONSOLE [--max-examples N] [--seed N] [further options of "schemathesis run"]
scripts/check-api installs schemathesis, and runs this.

There are three runs: with the cookie of a login, with the token, which has most of the requests, and without either against a
console that has no token. The streams of events are left out. They are read meanwhile, and each event must match its schema.
"""
import http.client
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
RIGHT = [200, 201, 404, 409, 413, 429]
CONFIG = f"""
hooks = "{FOLDER / 'schemathesis_hooks.py'}"
request-timeout = 20
[checks.positive_data_acceptance]
expected-statuses = {RIGHT}
[[operations]]
include-path = "/login"
[operations.checks.positive_data_acceptance]
expected-statuses = {[*RIGHT, 401]}
[checks.negative_data_rejection]
expected-statuses = [400, 401, 403, 404, 409, 413, 415, 429, 431]
[checks.missing_required_header]
expected-statuses = [400, 401, 415]
"""


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


def ask(url, method, path, body=None):
    connection = http.client.HTTPConnection(urllib.parse.urlsplit(url).netloc)
    connection.request(method, path, body, {"Authorization": "Bearer " + TOKEN, "Content-Type": "application/json"})
    return connection.getresponse()


def events_of_tasks(url):
    """The events of the newest tasks that have ended."""
    tasks = json.load(ask(url, "GET", "/tasks"))["tasks"]
    ended = [task["taskId"] for task in tasks if task["status"] not in ("pending", "running")]
    streams = [Events(url, f"/tasks/{task}/events") for task in ended[:20]]
    for stream in streams:
        stream.join()
    return [event for stream in streams for event in stream.events]


def log_in(url):
    """The value of the cookie."""
    cookie = ask(url, "POST", "/login", json.dumps({"token": TOKEN})).getheader("Set-Cookie")
    return cookie.split("=", 1)[1].split(";")[0]


def run(url, auth, *options, without=()):
    """Sends the requests. True: all answers were right. `auth`: lines of the configuration; `without`: checks to leave out."""
    checks = ",".join((*without, "use_after_free"))  # the hooks create agents again that were deleted
    with tempfile.TemporaryDirectory() as folder:
        config = pathlib.Path(folder) / "schemathesis.toml"
        config.write_text(CONFIG + auth)
        command = [sys.executable, "-P", "-c", "import schemathesis.cli; schemathesis.cli.schemathesis()",
                   "--config-file", str(config), "run", url + "openapi.json", "--url", url, "--checks", "all",
                   "--exclude-checks", checks, "--exclude-path-regex", "/events$", "--generation-database", "none",
                   "--no-color", "--continue-on-failure", *options]
        environment = {**os.environ, "CONSOLE_URL": url, "CONSOLE_TOKEN": TOKEN, "no_proxy": "*"}
        return subprocess.run(command, cwd=folder, env=environment, check=False).returncode == 0


def run_all(url, url_without_token, options):
    few = (*options, "--max-examples", "5", "--phases", "examples,fuzzing")
    return all([  # the cookie first: each run logs in, and the console keeps some logins only
        run(url, f'[auth.openapi.cookie]\napi_key = "{log_in(url)}"\n', *few, "--exclude-path", "/logout"),
        run(url, f'[auth.openapi.bearer]\nbearer = "{TOKEN}"\n', *options),
        run(url_without_token, "", *few, without=("ignored_auth",))])


class Servers:
    def __init__(self, folder):
        self.folder, self.started = folder, []

    def start(self, *command):
        """A server, and the URL in the first line that it prints."""
        self.started.append(subprocess.Popen(command, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                             text=True, env={"PATH": os.environ["PATH"], "no_proxy": "*"}))
        return self.started[-1], self.started[-1].stdout.readline().split()[-1]

    def kill(self):
        for server in self.started:
            server.kill()
            server.wait()


def main(standin, console, *options):
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "token").write_text(TOKEN + "\n")
        servers = Servers(folder)
        try:
            _, model = servers.start(standin, "--tokens", "5", "--rate", "0", "--first-token-ms", "0")
            command = (console, "--port", "0", "--base-url", model, "--model", "m", "--agent", "planner",
                       "--agent", "planner/scout")
            _, url_without_token = servers.start(*command, "--approve", "*")
            host, url = servers.start(*command, "--token-file", "token", "--receipts", "receipts", "--store", "store")
            events = Events(url, "/api/events?text=planner&text=scout")
            right = run_all(url, url_without_token, options or ("--max-examples", "50", "--seed", "1"))
            of_tasks = events_of_tasks(url)
            host.terminate()
            events.join()
            assert host.wait() == 0, host.returncode
        finally:
            servers.kill()
    document = json.loads((FOLDER / "../../src/console/page/openapi.json").read_text())
    for schema, found in (("Event", events.events), ("TaskEvent", of_tasks)):
        types = check_events(document, schema, found)
        print(len(found), "events of", types, "types match the schema", schema)
        assert types > 3, "too few events to say anything"
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main(*(str(pathlib.Path(program).resolve()) for program in sys.argv[1:3]), *sys.argv[3:]))
