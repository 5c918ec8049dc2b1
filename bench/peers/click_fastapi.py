#!/usr/bin/env python3
"""What Python offers for a host with an HTTP API: FastAPI on uvicorn with uvloop, and a task for each agent that
reads its stream with aiohttp, ended by Task.cancel().

usage: click_fastapi.py PORT STREAMS

A host of bench/click_bench.cpp, which describes what it serves.
"""
import asyncio
import contextlib
import os
import socket
import sys
import threading

import aiohttp
import uvicorn
from fastapi import FastAPI, HTTPException
from pydantic import BaseModel

PORT, STREAMS = int(sys.argv[1]), int(sys.argv[2])
URL = f"http://127.0.0.1:{PORT}/chat/completions"


class Message(BaseModel):
    text: str


class Agent:
    def __init__(self):
        self.task = None
        self.chunks = 0

    def ask(self, session, text):
        self.task = asyncio.create_task(self.stream(session, text))

    async def stream(self, session, text):
        body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": text}]}
        async with session.post(URL, json=body) as response:
            async for piece in response.content.iter_any():
                self.chunks += piece.count(b"\n\n")


agents = {f"agent-{number}": Agent() for number in range(STREAMS)}
sessions = []


@contextlib.asynccontextmanager
async def lifespan(_app):
    timeout = aiohttp.ClientTimeout(total=None)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), timeout=timeout) as session:
        sessions.append(session)
        for number, agent in enumerate(agents.values()):
            agent.ask(session, f"stream {number}")
        yield


app = FastAPI(lifespan=lifespan, openapi_url=None)


def found(agent_id):
    if agent_id not in agents:
        raise HTTPException(404, "agent_not_found")
    return agents[agent_id]


@app.post("/api/agent/{agent_id}/abort")
async def abort(agent_id: str):
    found(agent_id).task.cancel()
    return {"ok": True, "agentId": agent_id, "aborted": True}


@app.post("/api/agent/{agent_id}/send")
async def send(agent_id: str, message: Message):
    found(agent_id).ask(sessions[0], message.text)
    return {"ok": True, "agentId": agent_id}


def end_with_input():
    sys.stdin.read()
    os._exit(0)


listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
threading.Thread(target=end_with_input, daemon=True).start()
config = uvicorn.Config(app, loop="uvloop", http="httptools", log_level="warning", access_log=False)
uvicorn.Server(config).run(sockets=[listener])
