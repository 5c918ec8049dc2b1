#!/usr/bin/env python3
"""What LangGraph offers for the same work: a graph of one node, a thread per agent, its SQLite checkpointer.

usage: langgraph_messages.py FOLDER
"""
import json
import os
import sqlite3
import sys
import time

from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, MessagesState, StateGraph

FOLDER = sys.argv[1]
AGENTS = 1000
# What writes as often as ours: once per turn, and at each step.
DURABILITIES = {"exit": ("each_turn",), "sync": ("each_step", "each_message")}


def answer(_state):
    return {"messages": [AIMessage("a" * 200)]}


def config(number):
    return {"configurable": {"thread_id": str(number % AGENTS)}, "max_concurrency": 2}


def message():
    return {"messages": [HumanMessage("q" * 100)]}


def one_at_a_time(graph, count, durability):
    for number in range(count):
        graph.invoke(message(), config(number), durability=durability)


def all_at_once(graph, count, durability):
    for first in range(0, count, AGENTS):
        numbers = range(first, min(first + AGENTS, count))
        graph.batch([message() for _ in numbers], [config(number) for number in numbers], durability=durability)


def measure(sync, together, durability):
    path = os.path.join(FOLDER, f"bench-{os.getpid()}.db")
    clock = time.monotonic if sync == "disk" else time.process_time
    connection = sqlite3.connect(path, check_same_thread=False)
    try:
        saver = SqliteSaver(connection)
        saver.setup()
        connection.execute("PRAGMA synchronous = " + ("FULL" if sync == "disk" else "NORMAL"))
        builder = StateGraph(MessagesState)
        builder.add_node("answer", answer)
        builder.add_edge(START, "answer")
        builder.add_edge("answer", END)
        graph = builder.compile(checkpointer=saver)
        count = 1000 if together == "1000 at a time" else 300
        begin = clock()
        (all_at_once if count == 1000 else one_at_a_time)(graph, count, durability)
        rate = count / (clock() - begin)
        for ours in DURABILITIES[durability]:
            print(json.dumps({"id": "store_messages", "variant": f"{ours}, {sync}, {together}", "value": rate,
                              "unit": "1/s", "peer": "LangGraph SqliteSaver"}), flush=True)
    finally:
        connection.close()
        for end in "", "-wal", "-shm":
            if os.path.exists(path + end):
                os.unlink(path + end)


for sync in "process", "disk":
    for together in "1000 at a time", "one at a time":
        for durability in DURABILITIES:
            measure(sync, together, durability)
