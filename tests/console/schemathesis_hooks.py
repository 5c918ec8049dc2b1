"""Hooks of schemathesis.py: requests often name agents, tasks and questions that exist, and each wait has an end."""
import http.client
import json
import os
import urllib.parse

import schemathesis
from schemathesis.core.parameters import ParameterLocation

TOKEN = os.environ["CONSOLE_TOKEN"]
AGENTS = ["planner", "scout", "a/b%20c", "\u00e9\U0001f600"]
TAKEN_AS_IT_IS = 4  # of so many requests, one keeps the ids that schemathesis has made up

requests = 0
connection = http.client.HTTPConnection(urllib.parse.urlsplit(os.environ["CONSOLE_URL"]).netloc)


def ask(method, path, body=None):
    headers = {"Authorization": "Bearer " + TOKEN, "Content-Type": "application/json"}
    connection.request(method, path, json.dumps(body) if body is not None else None, headers)
    return json.load(connection.getresponse())


def path_of(agent):
    return "/api/agent/" + urllib.parse.quote(agent, safe="")


def agents():
    return ask("GET", "/api/agents?limit=1000")["agents"]


def agent_that_exists():
    root, name = AGENTS[0], AGENTS[requests % len(AGENTS)]
    there = [agent["id"] for agent in agents()]  # a read: the number of writes in a second is limited
    if root not in there:
        ask("POST", "/api/agents", {"id": root})
    if name not in there and name != root:
        ask("POST", "/api/agents", {"id": name, "parentId": root})
    return name


def open_question():
    """One that is open, or None. A task of an agent of its own asks it."""
    if not ask("GET", "/api/questions")["questions"]:
        ask("POST", "/tasks", {"prompt": '/call ask_human {"question": "Which?"}'})
    for _ in range(100):
        if questions := ask("GET", "/api/questions")["questions"]:
            return questions[0]
    return None


def waiting_message(agent):
    ask("POST", path_of(agent) + "/pause")
    ask("POST", path_of(agent) + "/send", {"text": "Later."})
    waiting = ask("GET", path_of(agent) + "/queue").get("messages")
    return waiting[0]["messageId"] if waiting else None


def task_that_exists(path):
    tasks = ask("GET", "/tasks")["tasks"]
    if path.endswith("/interact") and (question := open_question()):
        tasks = [task for task in tasks if task["agentId"] == question["agentId"]]
    return tasks[requests % len(tasks)]["taskId"] if tasks else None


def ids_that_exist(path):
    """For the parameters of `path`; a value is None if there is nothing of that kind."""
    if path == "/api/agent/{id}/calls/{callId}/cancel":
        question = open_question()
        return {"id": question["agentId"], "callId": question["callId"]} if question else {}
    if path.startswith("/api/agent/"):
        agent = agent_that_exists()
        return {"id": agent, "messageId": waiting_message(agent)} if "{messageId}" in path else {"id": agent}
    if path.startswith("/tasks/"):
        return {"id": task_that_exists(path)}
    if path.startswith("/api/questions/"):
        question = open_question()
        return {"id": question and question["id"]}
    return {}


def let_all_end():
    """What is paused or held, or asks a person, never ends, nor does a request that waits for it."""
    for held in [agent["id"] for agent in agents() if agent["queueHeld"]]:
        ask("POST", path_of(held) + "/release")
    if paused := [agent["id"] for agent in agents() if agent["paused"]]:
        ask("POST", "/api/tree/unpause")
        for agent in paused:
            ask("POST", path_of(agent) + "/unpause")
    for question in ask("GET", "/api/questions")["questions"]:
        ask("POST", f"/api/questions/{question['id']}/decline")


def resume_all():
    """Else most requests would meet agents that are stopped."""
    ask("POST", "/api/tree/resume")
    for agent in agents():
        if agent["computeStatus"] == "stopped" and agent["id"] in AGENTS:
            ask("POST", path_of(agent["id"]) + "/resume")


@schemathesis.hook
def before_call(_context, case, _kwargs):
    global requests
    requests += 1
    if requests % 20 == 0:
        resume_all()
    if requests % TAKEN_AS_IT_IS and case.meta is not None:
        use_ids_that_exist(case)
    if case.query and "wait" in case.query:
        let_all_end()


def use_ids_that_exist(case):
    if case.path_parameters and not case.meta.is_negative_at(ParameterLocation.PATH):
        for name, found in ids_that_exist(case.operation.path).items():
            if found is not None and name in case.path_parameters:
                case.path_parameters[name] = urllib.parse.quote(found, safe="")
    body = case.body
    if isinstance(body, dict) and not case.meta.is_negative_at(ParameterLocation.BODY):
        for name in ("agentId", "parentId"):
            if isinstance(body.get(name), str):
                body[name] = agent_that_exists()
        if "token" in body and requests % 2:
            body["token"] = TOKEN
        if "response" in body and (question := open_question()) and question["kind"] == "approval":
            body["response"] = ("approve", "decline")[requests % 2]  # no other text is an answer to that
