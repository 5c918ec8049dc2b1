#!/usr/bin/env python3
"""The terminal chat (examples/09_terminal_chat) in a real terminal, before the stand-in server.

usage: run.py STANDIN CHAT
Waits for output, never for time; what does not come within PATIENCE seconds is a failure.
"""
import contextlib
import http.client
import json
import os
import pathlib
import pty
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
import urllib.parse

PATIENCE = 20
CTRL_C = b"\x03"
CTRL_D = b"\x04"
ESCAPE = b"\x1b"
UP = b"\x1b[A"

# Neither a proxy nor a key of the person who runs the tests.
ENVIRONMENT = {"PATH": os.environ["PATH"], "TERM": "dumb", "no_proxy": "*"}
for name in ("LD_LIBRARY_PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "LSAN_OPTIONS"):
    if name in os.environ:
        ENVIRONMENT[name] = os.environ[name]


class Output:
    """What comes out of a descriptor, waited for."""

    def __init__(self, descriptor):
        self.descriptor = descriptor
        self.text = ""  # not waited for yet

    def expect(self, pattern):
        """Waits until the pattern comes, and passes over all up to its end. Returns the match."""
        deadline = time.monotonic() + PATIENCE
        while not (found := re.search(pattern, self.text)):
            ready, _, _ = select.select([self.descriptor], [], [], max(0, deadline - time.monotonic()))
            assert ready, f"no {pattern!r} within {PATIENCE} s, but {self.text!r}"
            assert self._read(), f"no {pattern!r} before the end, but {self.text!r}"
        self.text = self.text[found.end():]
        return found

    def _read(self):
        try:
            data = os.read(self.descriptor, 4096)
        except OSError:  # a terminal that its last user has left
            data = b""
        self.text += data.decode(errors="replace")
        return data


class Terminal(Output):
    """The chat in a terminal of its own, so that a Ctrl-C that is typed is a signal."""

    def __init__(self, chat, *arguments):
        self.pid, descriptor = pty.fork()
        if self.pid == 0:
            os.execve(chat, [chat, *arguments], ENVIRONMENT)
        super().__init__(descriptor)

    def type(self, keys):
        os.write(self.descriptor, keys if isinstance(keys, bytes) else keys.encode())

    def exit_status(self):
        with contextlib.suppress(AssertionError):
            self.expect("(?!)")  # until its end
        os.close(self.descriptor)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


class Server:
    """A stand-in whose answers have no end, but where the message dictates them."""

    def __init__(self, standin, *arguments):
        self.process = subprocess.Popen([standin, "--tokens", "0", "--log", *arguments], stdout=subprocess.PIPE)
        self.log = Output(self.process.stdout.fileno())
        self.url = self.log.expect(r"listening on (\S+)\n")[1]

    def requests(self):
        """How many requests for an answer came so far."""
        connection = http.client.HTTPConnection(urllib.parse.urlsplit(self.url).netloc, timeout=PATIENCE)
        with contextlib.closing(connection):
            connection.request("GET", "/standin/stats")
            return json.loads(connection.getresponse().read())["requests"]

    @contextlib.contextmanager
    def frozen(self):
        """Nothing of an answer comes meanwhile."""
        self.process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.process.send_signal(signal.SIGCONT)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()


def run(chat, *arguments, typed=""):
    """The chat without a terminal: exit status, output, complaints."""
    done = subprocess.run([chat, *arguments], input=typed, env=ENVIRONMENT, timeout=PATIENCE, text=True,
                          capture_output=True, check=False)
    return done.returncode, done.stdout, done.stderr


def roles_and_texts(path):
    return [(message["role"], message["content"]) for message in json.loads(path.read_text())]


def test_a_talk_in_a_terminal(standin, chat, folder):
    history = folder / "talk.json"
    with Server(standin) as server:
        options = ("--base-url", server.url, "--model", "m", "--history", str(history))
        terminal = Terminal(chat, *options, "--system", "Be brief.")
        terminal.expect("> ")
        terminal.type("//say Hello, sea\n")
        terminal.expect(r"\nHello, sea\r\n> ")
        server.log.expect(r"completed after")

        # An answer without end: what is seen of it came before its end, so it was streamed.
        terminal.type("Talk, please\n")
        terminal.expect(r"said: \"Talk, please\"")
        terminal.type(CTRL_C)
        terminal.expect(r"\[stopped\]\r\n> ")
        server.log.expect(r"client_(closed|reset) after")

        terminal.type("//say Still here\n")
        terminal.expect(r"\nStill here\r\n> ")
        terminal.type(CTRL_C)  # nothing runs
        assert terminal.exit_status() == 130

        talk = roles_and_texts(history)
        seen = talk.pop(4)  # what was shown of the answer that was stopped
        assert seen[0] == "assistant" and seen[1].startswith('You said: "Talk, please"'), seen
        assert talk == [("system", "Be brief."), ("user", "/say Hello, sea"), ("assistant", "Hello, sea"),
                        ("user", "Talk, please"), ("user", "/say Still here"), ("assistant", "Still here")], talk
        talk.insert(4, seen)
        assert os.listdir(folder) == [history.name]

        # Another run goes on with it, and its system prompt is the last one that was given.
        for arguments, system in (((), "Be brief."), (("--system", "Be kind."), "Be kind.")):
            status, out, err = run(chat, *options, *arguments, "/say And again")
            assert (status, out, err) == (0, "And again\n", ""), (status, out, err)
            talk = [("system", system), *talk[1:], ("user", "/say And again"), ("assistant", "And again")]
            assert roles_and_texts(history) == talk


def test_keys_while_it_answers(standin, chat, folder):
    history = folder / "talk.json"
    with Server(standin) as server:
        terminal = Terminal(chat, "--base-url", server.url, "--model", "m", "--history", str(history))
        terminal.expect("> ")
        terminal.type("Talk, please\n")
        terminal.expect(r"said: \"Talk, please\"")

        # A line steers: the answer ends on the wire, and the next one has the line. What was seen stays.
        terminal.type(UP)  # no Esc, and no part of a line
        terminal.type("Shorterx\x7f, please\n")
        terminal.expect(r"\[asking again\]\r\n")
        server.log.expect(r"client_(closed|reset) after")
        terminal.expect(r"said: \"Shorter, please\"")

        # Esc interrupts, and the agent is usable at once.
        terminal.type(ESCAPE)
        terminal.expect(r"\[interrupted\]\r\n> ")
        server.log.expect(r"client_(closed|reset) after")
        terminal.type("//say Still here\n")
        terminal.expect(r"\nStill here\r\n> ")

        # Ctrl-C stops; the next message resumes.
        terminal.type("Talk\n")
        terminal.expect(r"said: \"Talk\"")
        terminal.type(CTRL_C)
        terminal.expect(r"\[stopped\]\r\n> ")
        terminal.type("//say And here\n")
        terminal.expect(r"\nAnd here\r\n> ")
        terminal.type(CTRL_D)
        assert terminal.exit_status() == 0
    talk = json.loads(history.read_text())
    assert [message["role"] for message in talk] == ["user", "assistant"] * 5, talk
    questions = [message["content"] for message in talk[::2]]
    assert questions == ["Talk, please", "Shorter, please", "/say Still here", "Talk", "/say And here"], questions
    marks = [(message.get("interruption"), message.get("steered")) for message in talk]
    assert marks[:4] == [("interrupted", None), ("steered", None), (None, True), ("interrupted", None)], marks
    assert marks[6:8] == [("stopped", None), ("stopped", None)], marks


def test_two_ways_to_leave(standin, chat, _folder):
    with Server(standin) as server:
        for first, then, expected in ((CTRL_C, CTRL_C, 130), (CTRL_C, CTRL_D, 0)):
            terminal = Terminal(chat, "--base-url", server.url, "--model", "m")
            terminal.expect("> ")
            terminal.type("Talk\n")
            terminal.expect("said:")
            terminal.type(first)
            terminal.expect(r"\[stopped\]\r\n> ")
            terminal.type(then)
            status = terminal.exit_status()
            assert status == expected, status
            server.log.expect(r"client_(closed|reset) after")


def test_the_end_of_input_while_the_keyboard_changes(standin, chat, _folder):
    """Ctrl-D is heard at any instant between the keys of an answer and the line after it."""
    with Server(standin) as server:
        for awaited in ("said:", r"\nHello", r"\nHello\r\n", r"\nHello\r\n> ") * 5:
            terminal = Terminal(chat, "--base-url", server.url, "--model", "m")
            terminal.expect("> ")
            terminal.type("Talk\n" if awaited == "said:" else "//say Hello\n")
            terminal.expect(awaited)
            terminal.type(ESCAPE + CTRL_D if awaited == "said:" else CTRL_D)
            status = terminal.exit_status()
            assert status == 0, (awaited, status)


PAUSED = r"\[paused: [^]]*/unpause goes on\]\r\n"


def begin_endless_answer_and_pause(terminal):
    terminal.type("Talk, please\n")
    terminal.expect(r"said: \"Talk, please\"")
    terminal.type("/pause\n")
    terminal.expect(PAUSED)


def test_a_pause_while_an_answer_streams(standin, chat, folder):
    """The answer ends, and what is typed meanwhile waits."""
    history = folder / "talk.json"
    with Server(standin, "--tokens", "60") as server:
        terminal = Terminal(chat, "--base-url", server.url, "--model", "m", "--history", str(history))
        terminal.expect("> ")
        terminal.type("Talk, please\n")
        terminal.expect(r"said: \"Talk, please\"")
        with server.frozen():  # the answer is still open when the agent is paused
            terminal.type("/pause\n")
            terminal.expect(PAUSED)
            terminal.type("//say Later\n")
            terminal.expect(r"\[queued: 1 waiting\]\r\n")
        terminal.expect(r"\w.*\r\npaused> ")
        server.log.expect(r"completed after")
        terminal.type("//say Last\n")
        terminal.expect(r"\[queued: 2 waiting\]\r\npaused> ")
        assert server.requests() == 1

        terminal.type("/unpause\n")
        terminal.expect(r"\[unpaused\]\r\nLater\r\nLast\r\n> ")
        assert server.requests() == 3
        terminal.type(CTRL_D)
        assert terminal.exit_status() == 0
    talk = json.loads(history.read_text())
    assert [message["role"] for message in talk] == ["user", "assistant"] * 3, talk
    assert [message["content"] for message in talk[2:]] == ["/say Later", "Later", "/say Last", "Last"], talk
    assert not any("interruption" in message for message in talk), talk


def test_escape_through_a_pause(standin, chat, _folder):
    with Server(standin) as server:
        terminal = Terminal(chat, "--base-url", server.url, "--model", "m")
        terminal.expect("> ")
        begin_endless_answer_and_pause(terminal)
        terminal.type("//say Later\n")
        terminal.expect(r"\[queued: 1 waiting\]\r\n")
        terminal.type(ESCAPE)
        terminal.expect(r"\[interrupted\]\r\npaused> ")
        server.log.expect(r"client_(closed|reset) after")
        terminal.type("\n")  # ends the hold of the queue, and not the pause
        terminal.expect("paused> ")
        assert server.requests() == 1
        terminal.type("/unpause\n")
        terminal.expect(r"\[unpaused\]\r\nLater\r\n> ")

        # /unpause alone ends both.
        begin_endless_answer_and_pause(terminal)
        terminal.type("//say And now\n")
        terminal.expect(r"\[queued: 1 waiting\]\r\n")
        terminal.type(ESCAPE)
        terminal.expect(r"\[interrupted\]\r\npaused> ")
        terminal.type("/unpause\n")
        terminal.expect(r"\[unpaused\]\r\nAnd now\r\n> ")

        # The pause withholds the model call that a line asked for, and the line goes back to the queue. (If the
        # terminal gave the two lines one by one, the model has been asked again.)
        terminal.type("Talk\n")
        terminal.expect("said:")
        terminal.type("Shorter\n/pause\n")
        terminal.expect(PAUSED)
        terminal.type(ESCAPE)
        terminal.expect(r"\[interrupted\]\r\n(\[queued\]\r\n)?paused> ")
        terminal.type(CTRL_D)
        assert terminal.exit_status() == 0


def test_ctrl_c_through_a_pause(standin, chat, _folder):
    with Server(standin) as server:
        terminal = Terminal(chat, "--base-url", server.url, "--model", "m")
        terminal.expect("> ")
        begin_endless_answer_and_pause(terminal)
        terminal.type("Later\n")
        terminal.expect(r"\[queued: 1 waiting\]\r\n")
        terminal.type(CTRL_C)
        terminal.expect(r"\[stopped\]\r\n\[dropped: Later\]\r\npaused> ")
        server.log.expect(r"client_(closed|reset) after")

        # Nothing runs, but a message waits.
        terminal.type("//say Nothing\n")
        terminal.expect(r"\[queued: 1 waiting\]\r\npaused> ")
        terminal.type(CTRL_C)
        terminal.expect(r"\r\n\[dropped: /say Nothing\]\r\npaused> ")
        assert server.requests() == 1

        terminal.type("//say Still here\n")
        terminal.expect(r"\[queued: 1 waiting\]\r\npaused> ")
        terminal.type("/unpause\n")
        terminal.expect(r"\[unpaused\]\r\nStill here\r\n> ")
        terminal.type("/pause\n")
        terminal.expect(PAUSED + "paused> ")
        terminal.type(CTRL_C)
        assert terminal.exit_status() == 130


def test_the_end_of_input_in_a_pause(standin, chat, _folder):
    with Server(standin, "--tokens", "60") as server:
        terminal = Terminal(chat, "--base-url", server.url, "--model", "m")
        terminal.expect("> ")
        terminal.type("/pause\n")
        terminal.expect(PAUSED + "paused> ")
        terminal.type("Later\n")
        terminal.expect(r"\[queued: 1 waiting\]\r\npaused> ")
        terminal.type(CTRL_D)
        terminal.expect(r"\[not sent: 1\]")
        assert terminal.exit_status() == 0
        assert server.requests() == 0

        # A turn that the pause withholds has no end of its own.
        terminal = Terminal(chat, "--base-url", server.url, "--model", "m")
        terminal.expect("> ")
        terminal.type("Talk\n")
        terminal.expect("said:")
        terminal.type("Shorter\n/pause\n")
        terminal.expect(PAUSED)
        terminal.type(CTRL_D)
        assert terminal.exit_status() == 0


def test_commands(standin, chat, _folder):
    with Server(standin) as server:
        terminal = Terminal(chat, "--base-url", server.url, "--model", "m")
        terminal.expect(r"\[/help [^]]*\]\r\n> ")
        terminal.type("/help\n")
        terminal.expect(r"/pause .*\r\n/unpause (.*\r\n)*> ")
        terminal.type("/unpause \n")  # a space at the end does not matter
        terminal.expect(r"\[not paused\]\r\n> ")
        for text in ("/paus\n", "/pause it\n", "/\n", "/usr/bin is full\n"):
            terminal.type(text)
            terminal.expect(r"\[unknown command: [^]]*\]\r\n> ")
        terminal.type("/pause\n")
        terminal.expect(PAUSED + "paused> ")
        terminal.type("/pause\n")
        terminal.expect(PAUSED + "paused> ")
        terminal.type("/unpause\n")
        terminal.expect(r"\[unpaused\]\r\n> ")
        assert server.requests() == 0

        # While it answers, a command is no line that steers.
        terminal.type("Talk\n")
        terminal.expect("said:")
        terminal.type("/paus\n")
        terminal.expect(r"\[unknown command: ")
        terminal.type("/help\n")
        terminal.expect(r"/pause .*\r\n/unpause ")
        terminal.type(CTRL_C)
        terminal.expect(r"\[stopped\]\r\n> ")
        assert server.requests() == 1
        terminal.type(CTRL_D)
        assert terminal.exit_status() == 0


def test_retry_rewind_and_fork(standin, chat, folder):
    history = folder / "talk.json"
    with Server(standin) as server:
        terminal = Terminal(chat, "--base-url", server.url, "--model", "m", "--history", str(history))
        terminal.expect("> ")
        for word in ("one", "two", "three"):
            terminal.type(f"//say {word}\n")
            terminal.expect(rf"\n{word}\r\n> ")

        # The last question again: also while it is answered, and after Esc.
        terminal.type("/retry\n")
        terminal.expect(r"\nthree\r\n> ")
        assert server.requests() == 4
        terminal.type("Talk\n")
        terminal.expect(r"said: \"Talk\"")
        terminal.type("/retry\n")
        terminal.expect(r"\[interrupted\]\r\n")
        server.log.expect(r"client_(closed|reset) after")
        terminal.expect(r"said: \"Talk\"")
        terminal.type(ESCAPE)
        terminal.expect(r"\[interrupted\]\r\n> ")
        terminal.type("/retry\n")
        terminal.expect(r"said: \"Talk\"")
        terminal.type(ESCAPE)
        terminal.expect(r"\[interrupted\]\r\n> ")

        # "Talk" and "/say three" go.
        terminal.type("/rewind 2\n")
        terminal.expect(r"\[rewound to before: /say three\]\r\n> ")
        told = [("user", "/say one"), ("assistant", "one"), ("user", "/say two"), ("assistant", "two")]
        assert roles_and_texts(history) == told
        for count in ("9", "0", "-1", "two", "1 2x"):
            terminal.type(f"/rewind {count}\n")
            terminal.expect(r"\[(there are 2 to remove|how many\? [^]]*)\]\r\n> ")

        # A copy goes on by itself, and the first conversation is as it was.
        terminal.type("/fork\n")
        terminal.expect(r"\[this is copy 1; [^]]*\]\r\n> ")
        terminal.type("//say in the copy\n")
        terminal.expect(r"\nin the copy\r\n> ")
        assert roles_and_texts(history) == [*told, ("user", "/say in the copy"), ("assistant", "in the copy")]
        terminal.type("/back\n")
        terminal.expect(r"\[this is the first conversation\]\r\n> ")
        assert roles_and_texts(history) == told
        terminal.type("/back\n")
        terminal.expect(r"\[this is no copy\]\r\n> ")
        terminal.type("/rewind\n")
        terminal.expect(r"\[rewound to before: /say two\]\r\n> ")
        terminal.type(CTRL_D)
        assert terminal.exit_status() == 0
        assert roles_and_texts(history) == told[:2]


def test_as_a_filter(standin, chat, _folder):
    with Server(standin) as server:
        status, out, err = run(chat, "--base-url", server.url, "--model", "m", typed="/say one\n\n/say two")
        assert (status, out, err) == (0, "one\ntwo\n", ""), (status, out, err)
        status, out, err = run(chat, "--base-url", server.url, "--model", "m")
        assert (status, out, err) == (0, "", ""), (status, out, err)


def test_errors_in_words(standin, chat, folder):
    def complaint(expected_status, *arguments):
        status, out, err = run(chat, *arguments)
        assert (status, out) == (expected_status, ""), (arguments, status, out, err)
        return err

    said = complaint(1, "--base-url", "http://127.0.0.1:1/v1", "--model", "m", "hi")
    assert "Is the server running" in said, said
    with Server(standin, "--api-key", "right") as server:
        said = complaint(1, "--base-url", server.url, "--model", "m", "hi")
        assert "HTTP 401" in said and "Is the key right" in said, said
        said = complaint(1, "--base-url", server.url, "hi")
        assert "No model is set" in said and "--model" in said, said
    assert "ollama" in complaint(2, "--provider", "nobody", "hi")
    assert "usage:" in complaint(2, "--modle", "m", "hi")
    broken = folder / "broken.json"
    broken.write_text("[{]")
    assert complaint(2, "--base-url", "http://127.0.0.1:1/v1", "--history", str(broken), "hi")
    assert broken.read_text() == "[{]"


def main(standin, chat):
    for name, test in list(globals().items()):
        if not name.startswith("test_"):
            continue
        with tempfile.TemporaryDirectory() as folder:
            test(standin, chat, pathlib.Path(folder))
        print(name.removeprefix("test_").replace("_", " "))


if __name__ == "__main__":
    main(*sys.argv[1:])
