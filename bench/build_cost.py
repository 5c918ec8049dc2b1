#!/usr/bin/env python3
"""What it costs to use the library: CPU time to compile its header, size of a program with the component core.

usage: bench/build_cost.py compile COMPILER HEADER PEER FLAG...   PEER: "" if the header is ours
       bench/build_cost.py size PROGRAM VARIANT
       bench/build_cost.py small COMPILER         a program of the amalgamation, with -Os
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


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


def small_binary(compiler):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([ROOT / "scripts" / "amalgamate", folder], check=True, stdout=sys.stderr)
        program = f"{folder}/program"
        subprocess.run([compiler, "-std=c++20", "-Os", "-DNDEBUG", "-DAGENTCORE_BUNDLED_JSON", "-ffunction-sections",
                        "-fdata-sections", f"-I{folder}", ROOT / "tests/package/amalgamation/main.cpp",
                        f"{folder}/agentcore.cpp", "-pthread", "-Wl,--gc-sections", "-o", program], check=True)
        binary_size(program, f"two files, -Os, {compiler}")


{"compile": compile_cost, "size": binary_size, "small": small_binary}[sys.argv[1]](*sys.argv[2:])
