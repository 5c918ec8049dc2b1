#!/usr/bin/env python3
"""Links our programs to the C++ SDKs that they are compared with, and that the user has built.

    link.py DIR OUTPUT

DIR holds a checkout of each SDK under its name, built as its documentation says, statically and with
optimization, in the folder that is named below. NAME/streams.cpp becomes OUTPUT/rival_NAME, with the compiler and
the flags that the build used. What is missing is said on stderr, and that program is left out.
"""
import pathlib
import re
import shlex
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


class Rival:
    """Paths are below its checkout; an archive with a ? may be missing."""

    def __init__(self, includes, archives, build="build", defines="", libraries="ssl crypto"):
        self.build, self.includes, self.archives = build, includes.split(), archives.split()
        self.options = [f"-D{name}" for name in defines.split()] + ["-pthread"]
        self.libraries = [f"-l{name}" for name in libraries.split()]


RIVALS = {
    "agent-sdk": Rival(
        "src thirdparty/asio/asio/include thirdparty/json/include thirdparty/spdlog/include",
        "build/libagent_sdk.a build/thirdparty/spdlog/libspdlog.a",
        defines="ASIO_STANDALONE SPDLOG_COMPILED_LIB"),
    "gaia": Rival(
        "cpp/include cpp/build/include cpp/build/_deps/json-src/include",
        "cpp/build/libgaia_core.a cpp/build/_deps/yaml-cpp-build/libyaml-cpp.a?", build="cpp/build",
        defines="GAIA_CORE_STATIC_DEFINE"),
    "NeoGraph": Rival(
        "include deps deps/asio/include deps/yyjson",
        "build/libneograph_llm.a build/libneograph_async.a build/libneograph_core.a build/libyyjson.a",
        defines="ASIO_STANDALONE ASIO_NO_DEPRECATED NEOGRAPH_STATIC_BUILD", libraries="curl ssl crypto"),
    "ai-sdk-cpp": Rival(
        "include third_party/nlohmann_json_patched/include",
        "build/libai-sdk-cpp-openai.a build/libai-sdk-cpp-core.a",
        defines="AI_SDK_HAS_OPENAI=1", libraries="ssl crypto z"),
}


def say(text):
    print(f"bench: {text}", file=sys.stderr, flush=True)


def cached(checkout, rival, name):
    """A word of the cache of the rival's CMake build."""
    cache = (checkout / rival.build / "CMakeCache.txt").read_text()
    found = re.search(rf"^{name}:\w+=(.*)$", cache, re.MULTILINE)
    return found.group(1) if found else ""


def missing(checkout, rival):
    needs = [f"{rival.build}/CMakeCache.txt", *(path for path in rival.archives if not path.endswith("?"))]
    return next((path for path in needs if not (checkout / path).exists()), None)


def command(name, rival, checkout, program):
    archives = [checkout / path.rstrip("?") for path in rival.archives]
    includes = [word for path in rival.includes for word in ("-isystem", str(checkout / path))]
    return [cached(checkout, rival, "CMAKE_CXX_COMPILER"), *shlex.split(cached(checkout, rival, "CMAKE_CXX_FLAGS")),
            "-std=c++20", "-O2", "-DNDEBUG", f"-I{HERE.parent}", *includes, *rival.options,
            str(HERE / name / "streams.cpp"), *(str(path) for path in archives if path.exists()), *rival.libraries,
            "-Wl,--gc-sections", "-o", str(program)]


def link(name, rival, folder, output):
    checkout, program = folder / name, output / f"rival_{name}"
    program.unlink(missing_ok=True)
    if path := missing(checkout, rival):
        return say(f"{name}: no {path} in {checkout}")
    if subprocess.run(command(name, rival, checkout, program)).returncode != 0:
        say(f"{name} cannot be linked")


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: link.py DIR OUTPUT")
    for name, rival in RIVALS.items():
        link(name, rival, pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve())


main()
