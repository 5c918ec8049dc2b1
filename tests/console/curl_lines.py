#!/usr/bin/env python3
"""Runs the lines of docs/console.md that have the mark <!-- curl --> against a real console, and compares what they print.

usage: curl_lines.py STANDIN CONSOLE
All lines run in one shell, in their order. In the output that the document shows, "..." stands for any text; white space
does not count.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

DOCUMENT = pathlib.Path(__file__).resolve().parents[2] / "docs/console.md"
BLOCK = re.compile(r"<!-- curl -->\n```sh\n(.*?)```\n(?:```(?:json|text)\n(.*?)```\n)?", re.S)
SHOWN_ADDRESS = "http://127.0.0.1:8700"
MARK = "=== the next block ==="


def start(*command):
    """A server, and the URL in the first line that it prints."""
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                              env={"PATH": os.environ["PATH"], "no_proxy": "*"})
    return server, server.stdout.readline().split()[-1].rstrip("/")


def pattern_of(expected):
    parts = ["".join(part.split()) for part in expected.split("...")]
    return ".*?".join(re.escape(part) for part in parts)


def compare(blocks, outputs):
    for (commands, expected), output in zip(blocks, outputs, strict=True):
        if expected and not re.fullmatch(pattern_of(expected), "".join(output.split()), re.S):
            sys.exit(f"{DOCUMENT}: these lines\n{commands}print\n{output}\nand not\n{expected}")


def main(standin, console):
    if shutil.which("curl") is None:
        print("nothing was tested: there is no program curl")
        return
    blocks = BLOCK.findall(DOCUMENT.read_text(encoding="utf-8"))
    assert len(blocks) > 4 and SHOWN_ADDRESS in blocks[0][0], "docs/console.md has no marked lines any more"
    with tempfile.TemporaryDirectory() as folder:
        model, model_url = start(standin, "--tokens", "5", "--rate", "0", "--first-token-ms", "0")
        host, url = start(console, "--port", "0", "--base-url", model_url, "--model", "m", "--agent", "planner",
                          "--agent", "planner/scout")
        try:
            script = f"\necho; echo '{MARK}'\n".join(commands for commands, _ in blocks)
            done = subprocess.run(["bash", "-c", script.replace(SHOWN_ADDRESS, url)], cwd=folder, timeout=60, text=True,
                                  stdout=subprocess.PIPE, env={"PATH": os.environ["PATH"], "no_proxy": "*"}, check=False)
        finally:
            for server in (host, model):
                server.terminate()
                server.wait()
    compare(blocks, done.stdout.split(MARK))
    print(len(blocks), "blocks of lines print what", DOCUMENT.name, "shows")


if __name__ == "__main__":
    main(*sys.argv[1:])
