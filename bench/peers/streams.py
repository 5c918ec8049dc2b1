#!/usr/bin/env python3
"""What Python offers for the same work: asyncio streams, one task for each, stopped by Task.cancel().

usage: streams.py PORT RECORD STREAMS SECONDS STOPS
"""
import asyncio
import json
import mmap
import os
import random
import resource
import struct
import sys
import time

PORT, RECORD = int(sys.argv[1]), sys.argv[2]
STREAMS, SECONDS, STOPS = int(sys.argv[3]), float(sys.argv[4]), int(sys.argv[5])

# The server's record; bench/stream_record.hpp has its layout.
with open(RECORD, "rb") as file:
    record = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)


def word(i):
    return struct.unpack_from("Q", record, 8 * i)[0]


def opened():
    return word(0)


def closed():
    return word(1)


def seen(stream):
    return word(4 + stream)


def resident():
    """Memory that only this process has, without the pages of files."""
    with open("/proc/self/statm") as statm:
        _, pages, shared, *_ = map(int, statm.read().split())
    return (pages - shared) * mmap.PAGESIZE


def report(name, detail, value, unit):
    print(json.dumps({"id": name, "variant": f"{STREAMS}{detail}", "value": value, "unit": unit,
                      "peer": "Python asyncio"}), flush=True)


def quantile(samples, share):
    return sorted(samples)[min(len(samples) - 1, int(share * len(samples)))]


async def until(what, done):
    end = time.monotonic() + 60
    while not done():
        await asyncio.sleep(0.001)
        if time.monotonic() > end:
            print(f"gave up: {what}", file=sys.stderr)
            sys.exit(4)  # slow, not wrong


chunks = 0


async def stream(number):
    global chunks
    reader, writer = await asyncio.open_connection("127.0.0.1", PORT)
    try:
        body = f'{{"model":"m","stream":true,"messages":[{{"role":"user","content":"stream {number}"}}]}}'
        writer.write(f"POST /chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
                     f"Content-Length: {len(body)}\r\n\r\n{body}".encode())
        while await reader.readline() != b"\r\n":
            pass
        while True:
            size = int(await reader.readline(), 16)
            chunks += (await reader.readexactly(size + 2)).count(b"\n\n")
    finally:
        writer.close()


async def open_all():
    tasks = []

    def step():
        while len(tasks) < STREAMS and len(tasks) - opened() < 400:
            tasks.append(asyncio.create_task(stream(len(tasks))))
        return opened() == STREAMS

    await until("opening streams", step)
    return tasks


async def receive():
    before, cpu = chunks, time.process_time()
    await asyncio.sleep(SECONDS)
    report("chunk_cpu", "", (time.process_time() - cpu) * 1e6 / (chunks - before), "us")


async def stop_some(tasks, order):
    called = {}
    for number in order:
        await asyncio.sleep(0.003)
        called[number] = time.monotonic_ns()
        tasks[number].cancel()
    await until("single stops", lambda: closed() >= len(order))
    samples = [(seen(number) - at) / 1e3 for number, at in called.items()]
    report("stop_wire", ", median", quantile(samples, 0.5), "us")
    report("stop_wire", ", p99", quantile(samples, 0.99), "us")


async def stop_all(tasks, order):
    called = time.monotonic_ns()
    for number in order:
        tasks[number].cancel()
    await until("stopping all", lambda: closed() == STREAMS)
    report("stop_wire_all", "", (max(seen(number) for number in order) - called) / 1e6, "ms")


async def main():
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    before = resident()
    tasks = await open_all()
    report("stream_bytes", "", (resident() - before) / STREAMS, "bytes")
    await receive()
    order = random.sample(range(STREAMS), STREAMS)
    await stop_some(tasks, order[:STOPS])
    await stop_all(tasks, order[STOPS:])
    sys.stdout.flush()
    os._exit(0)  # the rest is only taking apart


asyncio.run(main())
