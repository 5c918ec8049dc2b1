#!/usr/bin/env python3
"""Ends agentcore-console by SIGINT while agents work, and starts it again on the same store: the turns were ended, no agent was
stopped, and what waited still waits. A part of an answer is kept only if that was asked for.

usage: ending.py STANDIN CONSOLE
"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

ENVIRONMENT = {"PATH": os.environ["PATH"], "no_proxy": "*"}


def start(*command):
    """A server, and the URL in the first line that it prints."""
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=ENVIRONMENT)
    return server, server.stdout.readline().split()[-1].rstrip("/")


def ask(url, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url + path, data, {"Content-Type": "application/json"})
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=30) as answer:
        return json.load(answer)


def until(what, condition):
    give_up = time.monotonic() + 30
    while not condition():
        if time.monotonic() > give_up:
            sys.exit("not seen: " + what)


def expect(what, found, expected):
    if found != expected:
        sys.exit(f"{what}: {found!r}, and not {expected!r}")


def run(console, model, store, keep):
    command = [console, "--port", "0", "--base-url", model, "--model", "m", "--store", str(store), "--secure-delete",
               "--agent", "lead", "--agent", "lead/scout", *(["--keep-partial-answers"] if keep else [])]
    host, url = start(*command)
    answer = ask(url, "/api/agent/scout/send", {"text": "go"})
    expect("the message is in the store", answer["persisted"], True)
    until("a part of the answer", lambda: (ask(url, "/api/agent/scout/conversation")["live"] or {}).get("text"))
    ask(url, "/api/agent/scout/send", {"text": "next"})
    host.send_signal(signal.SIGINT)
    expect("the exit status", host.wait(timeout=30), 0)
    host, url = start(*command)
    try:
        agents = {agent["id"]: agent for agent in ask(url, "/api/agents")["agents"]}
        expect("the agents", sorted(agents), ["lead", "scout"])
        for agent in agents.values():
            expect("the state of " + agent["id"], (agent["computeStatus"], agent["queueHeld"]), ("idle", True))
        expect("what waits", [one["text"] for one in ask(url, "/api/agent/scout/queue")["messages"]], ["next"])
        messages = ask(url, "/api/agent/scout/conversation")["messages"]
        expect("partial answers", any(message["partial"] for message in messages), keep)
        ask(url, "/api/agent/lead/release", {})
        ask(url, "/api/agent/scout/release", {})
        until("the next turn", lambda: ask(url, "/api/agent/scout")["agent"]["computeStatus"] == "waiting_llm")
    finally:
        host.kill()
        host.wait()


def main(standin, console):
    model, model_url = start(standin, "--tokens", "100000", "--rate", "50", "--first-token-ms", "0")
    try:
        with tempfile.TemporaryDirectory() as folder:
            for keep in (False, True):
                run(console, model_url, pathlib.Path(folder) / f"agents-{keep}.db", keep)
    finally:
        model.kill()
        model.wait()
    print("SIGINT ends turns, and no agent")


if __name__ == "__main__":
    main(*sys.argv[1:])
