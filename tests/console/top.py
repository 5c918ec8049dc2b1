#!/usr/bin/env python3
"""agentcore-console top in a real terminal, that of tmux, before the console and the stand-in server.

usage: top.py STANDIN CONSOLE
Waits for what is on the screen, never for time; what does not come within TIMEOUT seconds is a failure.
"""
import contextlib
import json
import os
import pathlib
import re
import select
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request

TIMEOUT = 20

# Neither a proxy nor a key of the person who runs the tests.
ENVIRONMENT = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "no_proxy": "*"}
for name in ("LD_LIBRARY_PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "LSAN_OPTIONS"):
    if name in os.environ:
        ENVIRONMENT[name] = os.environ[name]


class Server:
    """A program that says in a line where it listens."""

    def __init__(self, pattern, *command):
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, env=ENVIRONMENT)
        text = ""
        deadline = time.monotonic() + TIMEOUT
        while not (found := re.search(pattern, text)):
            ready, _, _ = select.select([self.process.stdout], [], [], max(0, deadline - time.monotonic()))
            assert ready, f"no {pattern!r} within {TIMEOUT} s, but {text!r}"
            piece = os.read(self.process.stdout.fileno(), 4096)
            assert piece, f"no {pattern!r} before the end, but {text!r}"
            text += piece.decode()
        self.url = found[1]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


class Terminal:
    """A program in a terminal of tmux, on a socket of its own."""

    def __init__(self, folder, *command, size=(80, 24)):
        self.socket = str(folder / "tmux")
        self.exit_file = folder / "exit"
        shell = f"{shlex.join(command)}; echo $? >{shlex.quote(str(self.exit_file))}; exec cat"
        width, height = map(str, size)
        output = folder / "output"  # says that something has changed on the screen
        os.mkfifo(output)
        self.output = os.open(output, os.O_RDWR | os.O_NONBLOCK)
        self._tmux("-f", "/dev/null", "new-session", "-d", "-x", width, "-y", height, shell)
        self._tmux("pipe-pane", "-O", f"exec cat >{shlex.quote(str(output))}")

    def _tmux(self, *arguments):
        return subprocess.run(["tmux", "-S", self.socket, *arguments], env=ENVIRONMENT, timeout=TIMEOUT, check=True,
                              capture_output=True).stdout.decode()

    def press(self, *keys):
        self._tmux("send-keys", *keys)

    def type(self, text):
        self._tmux("send-keys", "-l", text)

    def resize(self, width, height):
        self._tmux("resize-window", "-x", str(width), "-y", str(height))

    def screen(self):
        return self._tmux("capture-pane", "-p")

    def expect(self, *patterns):
        """Waits until each pattern is on the screen at the same time. Returns the screen."""
        return self.expect_that(lambda screen: all(re.search(each, screen, re.M) for each in patterns), patterns)

    def expect_that(self, holds, what):
        deadline = time.monotonic() + TIMEOUT
        while not holds(screen := self.screen()):
            assert time.monotonic() < deadline, f"not {what!r} within {TIMEOUT} s, but\n{screen}"
            if select.select([self.output], [], [], 0.3)[0]:
                os.read(self.output, 1 << 20)
        return screen

    def exit_status(self):
        self.expect_that(lambda _: self.exit_file.exists() and self.exit_file.read_text().endswith("\n"), "its end")
        return int(self.exit_file.read_text())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(subprocess.SubprocessError):
            self._tmux("kill-server")
        os.close(self.output)


def post(url, path, body):
    request = urllib.request.Request(url + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=TIMEOUT) as answer:
        return json.load(answer)


@contextlib.contextmanager
def served(standin, console, *options, port=0, rate=50):
    """A console whose agents answer without an end."""
    with (Server(r"listening on (\S+)\n", standin, "--tokens", "0", "--rate", str(rate)) as model,
          Server(r"the console is at (\S+)\n", console, "--port", str(port), "--base-url", model.url, "--model", "m",
                 *options) as server):
        yield server


TREE = ("--agent", "planner", "--agent", "planner/scout", "--agent", "planner/scout/reader", "--agent", "writer")


def test_an_agent_gets_a_message_is_stopped_and_deleted(standin, console, folder):
    with served(standin, console, *TREE) as server, Terminal(folder, console, "top", "--url", server.url) as terminal:
        terminal.expect(r"4 agents, 0 running, 0 stopped", r"^▾ planner +idle", r"^  ▾ scout +idle",
                        r"^      reader +idle", r"^  writer +idle", "q quit$")
        terminal.press("Down", "Enter")
        terminal.expect("^Message to scout: *$")
        terminal.type("Tell me of \u4f60\u597d")
        terminal.expect("^Message to scout: Tell me of \u4f60\u597d$")
        terminal.press("Enter")
        first = terminal.expect("scout +model", "> Tell me of \u4f60\u597d", 'You said: "Tell me of \u4f60\u597d"', "▌",
                                "1 running")

        # It streams.
        terminal.expect_that(lambda screen: "▌" in screen and screen != first, "more text")

        # A message while a turn runs goes into the turn.
        terminal.press("m")
        terminal.expect("^Steer scout: *$")
        terminal.type("shorter")
        terminal.press("Enter")
        terminal.expect("scout: the message goes into the running turn")

        terminal.press("s")
        terminal.expect(r"^Stop scout: 2 agents\? y/n$")
        terminal.press("n")
        terminal.expect("nothing was done", "scout +model")
        terminal.press("s")
        terminal.expect(r"^Stop scout: 2 agents\? y/n$")
        terminal.press("y")
        terminal.expect("^scout: stopped$", "^  ▾ scout +stopped", "^      reader +stopped", "^  writer +idle",
                        "0 running, 2 stopped",
                        # The mark of the turn stands above the text, which may be longer than the screen.
                        r"\[stopped\]|\[this answer was cut, and is not kept\]")

        terminal.press("r")
        terminal.expect("^scout: resumed$", "^  ▾ scout +idle")
        terminal.press("d")
        terminal.expect(r"^Delete scout: 2 agents\? y/n$")
        terminal.press("y")
        screen = terminal.expect("2 agents, 0 running, 0 stopped", "^scout: deleted$")
        assert "reader" not in screen, screen
        terminal.press("q")
        assert terminal.exit_status() == 0


def test_turns_are_interrupted_aborted_and_paused(standin, console, folder):
    with served(standin, console, *TREE) as server, Terminal(folder, console, "top", "--url", server.url) as terminal:
        terminal.expect("4 agents")
        terminal.press("/")
        terminal.type("WRIT")
        terminal.press("Enter")
        terminal.expect("│ writer$")
        for key, what in (("i", "the turn was interrupted"), ("x", "the model call was stopped")):
            terminal.press("m")
            terminal.type("Talk")
            terminal.press("Enter")
            terminal.expect("writer +model", "▌")
            terminal.press(key)
            terminal.expect("^writer: " + what, "writer +idle")
        terminal.press("i")
        terminal.expect(r"^writer: no effect")
        terminal.press("p")
        terminal.expect("^writer: paused$", "writer +paused")
        terminal.press("m")
        terminal.type("Later")
        terminal.press("Enter")
        terminal.expect("writer +paused +1", "1 in the queue")
        terminal.press("p")
        terminal.expect("^writer: unpaused$", "writer +model", "> Later")
        terminal.press("C-c")
        assert terminal.exit_status() == 0


def test_every_size_and_names_that_would_control_the_terminal(standin, console, folder):
    with served(standin, console, "--agent", "planner") as server, \
            Terminal(folder, console, "top", "--url", server.url) as terminal:
        terminal.expect("1 agent, ")
        post(server.url, "api/agents", {"id": "\x1b[2J\x1b]0;x\x07 \u202e \u4f60\u597d"})
        for i in range(300):
            post(server.url, "api/agents", {"id": f"worker {i}", "parentId": "planner"})
        terminal.expect("302 agents")
        terminal.press("End")
        terminal.expect(r"^  \\u001b\[2J", r"│ \\u001b\[2J\\u001b\]0;x\\u0007 \\u202e \u4f60\u597d$")
        for width, height in ((40, 16), (30, 6), (12, 3), (2, 2), (1, 1), (200, 50), (80, 24)):
            terminal.resize(width, height)
            terminal.press("Up", "NPage", "PPage", "End", "s")
            if height > 2:
                terminal.expect(r"^Stop")
            terminal.press("Escape", "/", "x", "Escape")
        terminal.expect(r"302 agents, 0 running, 0 stopped", "q quit$")
        terminal.press("Home", "Left")
        terminal.expect(r"^▸ planner +\+300 +idle")
        terminal.press("Right", "PPage", "NPage")
        terminal.expect(r"^    worker 19", r"│ worker 19")
        terminal.press("q")
        assert terminal.exit_status() == 0


def ask(server, agent, question, *then, **more):
    """Lets an agent ask a person, and then say something."""
    call = "/call ask_human " + json.dumps({"question": question, **more})
    post(server.url, f"api/agent/{agent}/send", {"text": "\n".join((call, *then, "/then", "/say Thank you."))})


def open_questions(server):
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(server.url + "api/questions", timeout=TIMEOUT) as answer:
        return json.load(answer)["questions"]


def test_questions_are_answered(standin, console, folder):
    with served(standin, console, *TREE) as server, Terminal(folder, console, "top", "--url", server.url) as terminal:
        terminal.expect("4 agents, 0 running, 0 stopped$", "^m message")
        terminal.press("a")
        terminal.expect("^there is no open question$")
        ask(server, "reader", "Which \x1b[2J city?", choices=["Rome", "Oslo"])
        terminal.expect("0 stopped, 1 question$", "^      reader +asks", "^a answer m message", "q quit$")
        terminal.press("Left")
        terminal.expect(r"^\u25b8 planner \+2\? ")
        terminal.press("a")
        terminal.expect("^Answer to reader: *$", r"│ question:", r"│ ┃ Which \\u001b\[2J city\?$", "│ ┃ 2: Oslo$",
                        "^      reader +asks")
        terminal.type("2")
        terminal.expect("^Answer to reader: Oslo$")
        terminal.press("Enter")
        screen = terminal.expect("^reader: answered$", "0 stopped$", "^      reader +idle", "Oslo$", "Thank you.")
        assert "┃" not in screen, screen

        ask(server, "writer", "How long?")
        terminal.expect("1 question$", "^  writer +asks")
        terminal.press("a")
        terminal.type("3 days, \u4f60\u597d")
        terminal.press("Enter")
        terminal.expect("^writer: answered$", "3 days, \u4f60\u597d$", "0 stopped$")

        ask(server, "writer", "Really?")
        terminal.expect("1 question$")
        terminal.press("a")
        terminal.type("ye")
        terminal.press("Escape")
        terminal.expect("^not answered: a opens it again$", r"│ question, a answers:$", r"│ ┃ Really\?$")
        terminal.press("a", "C-d")
        terminal.type("too late in the day")
        terminal.press("Enter")
        terminal.expect("^writer: declined$", "0 stopped$", "tool: error: the person declined to answer:$", "│   too late in the day$")


def test_tool_calls_are_approved(standin, console, folder):
    with served(standin, console, *TREE, "--approve", "*") as server, \
            Terminal(folder, console, "top", "--url", server.url) as terminal:
        terminal.expect("4 agents")
        ask(server, "writer", "First?")
        terminal.expect("1 question$", "^  writer +approve\\?")
        terminal.press("a")
        terminal.expect(r"^writer: approve this call of ask_human\? y/n$", "│ approval of ask_human:$",
                        r'│ ┃ {"question": ?"First\?"}$', "^y approve n decline s for how long Esc later$")
        terminal.press("n")
        terminal.expect("^Decline, reason \\(or none\\): *$")
        terminal.type("not now")
        terminal.press("Enter")
        terminal.expect("^writer: declined$", "0 stopped$", "not now")

        # For longer: the same call needs no approval the next time.
        ask(server, "writer", "Second?")
        terminal.expect("1 question$")
        terminal.press("a", "s")
        terminal.expect(r"^writer: approve all such calls of ask_human\? y/n$")
        terminal.press("y")
        terminal.expect("^writer: approved, and all such calls from now on$", "^  writer +asks", "1 question$")
        terminal.press("a")
        terminal.expect("^Answer to writer: *$")
        terminal.type("one")
        terminal.press("Enter")
        terminal.expect("^writer: answered$", "0 stopped$", "^  writer +idle")
        ask(server, "writer", "Second?")
        terminal.expect("^  writer +asks")
        assert [each["kind"] for each in open_questions(server)] == ["question"]

        # Once: another agent has to ask again.
        ask(server, "scout", "Third?")
        terminal.expect("2 questions$")
        terminal.press("Home", "Down", "a", "y")
        terminal.expect("^scout: approved$", "^  ▾ scout +asks", "^  writer +asks")


def test_a_question_that_another_person_has_answered(standin, console, folder):
    with served(standin, console, *TREE) as server, Terminal(folder, console, "top", "--url", server.url) as terminal:
        terminal.expect("4 agents")
        ask(server, "writer", "Who is first?")
        terminal.expect("1 question$")
        terminal.press("a")
        terminal.type("stop, y or n")  # keys that would do something else if the line closed by itself
        terminal.expect("^Answer to writer: stop, y or n$")
        post(server.url, f"api/questions/{open_questions(server)[0]['id']}/answer", {"text": "I am"})
        terminal.expect("^Answer to writer: stop, y or n$", "│ closed, an answer is too late:$", "0 stopped$",
                        "^  writer +idle", "I am$")
        terminal.press("Enter")
        terminal.expect("^writer: too late, this question is closed$")


def test_a_long_question_on_every_screen_while_text_streams(standin, console, folder):
    long = "".join(f"\u202eline {i}. \x1b[2J\n" for i in range(1, 500))  # 10 kB
    with served(standin, console, *TREE, rate=2000) as server, \
            Terminal(folder, console, "top", "--url", server.url) as terminal:
        terminal.expect("4 agents")
        post(server.url, "api/agent/planner/send", {"text": "Talk"})
        ask(server, "writer", long)
        terminal.expect("2 running, 0 stopped, 1 question$", "▌")
        terminal.press("a")
        terminal.expect(r"┃ \\u202eline 1\. \\u001b\[2J$", r"lines 1-15 of 499: up, down")
        terminal.press("Down", "NPage")
        terminal.expect(r"lines 16-30 of 499: up, down", r"line 16\.")
        for width, height in ((63, 14), (40, 10), (30, 5), (200, 50), (80, 24)):
            terminal.resize(width, height)
            terminal.expect("^Answer to writer: *$", r"┃ .*line \d+\.", "lines ")
        terminal.type("yes")
        terminal.press("Enter")
        terminal.expect("^writer: answered$", "1 running, 0 stopped$")


def test_a_server_that_is_gone(standin, console, folder):
    token = folder / "token"
    token.write_text("secret\n")
    options = ("--token-file", str(token))
    with served(standin, console, "--agent", "first", *options) as server:
        port = server.url.rstrip("/").rsplit(":", 1)[1]
        with Terminal(folder, console, "top", "--url", server.url) as terminal:
            terminal.expect("NOT CONNECTED", r"--token-file")
            terminal.press("q")
            assert terminal.exit_status() == 0
        again = folder / "again"
        again.mkdir()
        terminal = Terminal(again, console, "top", "--url", server.url, *options)
        terminal.expect("1 agent, ", "^  first +idle")
    with terminal:
        terminal.expect("NOT CONNECTED", rf"^no answer from http://127.0.0.1:{port}: ", "^  first +idle")
        with served(standin, console, "--agent", "second", *options, port=port):
            screen = terminal.expect("1 agent, ", "^  second +idle")
            assert "first" not in screen and "NOT CONNECTED" not in screen, screen
            terminal.press("q")
            assert terminal.exit_status() == 0


def test_no_terminal(_standin, console, folder):
    done = subprocess.run([console, "top"], env=ENVIRONMENT, timeout=TIMEOUT, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "needs a terminal" in done.stderr, done
    done = subprocess.run([console, "top", "--token-file", str(folder / "none")], env=ENVIRONMENT, timeout=TIMEOUT,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "has no token" in done.stderr, done


def main(standin, console):
    if shutil.which("tmux") is None:
        print("nothing was tested: tmux was not found")
        return
    for name, test in list(globals().items()):
        if not name.startswith("test_"):
            continue
        with tempfile.TemporaryDirectory() as folder:
            test(standin, console, pathlib.Path(folder))
        print(name.removeprefix("test_").replace("_", " "))


if __name__ == "__main__":
    main(*sys.argv[1:])
