#!/usr/bin/env python3
"""What it costs to use the library: CPU time to compile its header, size of a program with the component core.

usage: bench/build_cost.py compile COMPILER HEADER PEER FLAG...   PEER: "" if the header is ours
       bench/build_cost.py size PROGRAM VARIANT
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile


def report(name, variant, peer, value, unit):
    print(json.dumps({"id": name, "variant": variant, "peer": peer, "value": value, "unit": unit}))


def cpu_seconds(command):
    process = os.posix_spawnp(command[0], command, os.environ)
    _, status, usage = os.wait4(process, 0)
    if status != 0:
        sys.exit(f"build_cost: failed: {' '.join(command)}")
    return usage.ru_utime + usage.ru_stime


def compile_cost(compiler, header, peer, *flags):
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "only.cpp"
        source.write_text(f"#include <{header}>\n")
        command = [compiler, "-std=c++20", "-O0", *flags, "-c", str(source), "-o", f"{folder}/only.o"]
        cpu_seconds(command)  # reads the headers into the cache of the system
        report("compile_cost", compiler, peer, 1000 * min(cpu_seconds(command) for _ in range(2)), "ms")


def binary_size(program, variant):
    with tempfile.TemporaryDirectory() as folder:
        copy = shutil.copy(program, folder)
        subprocess.run(["strip", copy], check=True)
        report("binary_size", variant, "", os.path.getsize(copy) / 1e6, "MB")


{"compile": compile_cost, "size": binary_size}[sys.argv[1]](*sys.argv[2:])
