// The routes of tasks.
#include "console/events/agent_json.hpp"
#include "console/routes/arguments.hpp"
#include "console/routes/refused.hpp"
#include "console/routes/router.hpp"
#include "console/routes/twice.hpp"

#include <agentcore/agent_tree.hpp>
#include <agentcore/tool_policy.hpp>

#include <memory>
#include <utility>

namespace agentcore::detail::console {
namespace {

constexpr std::size_t most_tasks_listed = 200;
constexpr std::size_t max_key_bytes = 256;

Json json_of_task(const Task& task) {
  Json json = {{"taskId", task.id}, {"agentId", task.agent_id}, {"status", task.status()}};
  if (task.phase == Task::Phase::failed && task.result)
    json.set("errorCode", to_string(task.result->error.code));
  return json;
}

std::shared_ptr<Task> task_of(const RouteCall& call) {
  call.tree();
  auto task = call.core.tasks->find(call.ids[0]);
  if (!task)
    throw Refused(404, "task_not_found", "there is no task with this id, or it is not kept any more");
  return task;
}

// The form of the errors of the routes that have `status` and `message`.
Response status_response(int status, std::string_view word, std::string_view message) {
  return twice([&] { return json_response({{"status", word}, {"message", message}}, status); });
}

// Sends the prompt. An agent that was created for it, and does not take it, is deleted.
std::shared_ptr<Task> send_task(RouteCall& call, const Agent& agent, bool is_new, const std::string& prompt) {
  try {
    return call.core.tasks->create(agent, prompt);
  } catch (...) {
    if (is_new) static_cast<void>(agent.terminate());
    throw;
  }
}

std::optional<Response> create_task(RouteCall& call) {
  const Arguments arguments(call.request, {"agentId", "prompt"});
  const std::string prompt = arguments.text("prompt"), agent_id = arguments.text_or("agentId", "");
  AgentTree& tree = call.tree();
  const std::string* const key = call.request.header("idempotency-key");
  const auto created = [](std::string_view task, std::string_view agent) {
    return twice([&] { return json_response({{"taskId", task}, {"agentId", agent}}, 201); });
  };
  if (key != nullptr) {
    if (key->size() > max_key_bytes)
      throw Refused(400, "invalid_request", "the header Idempotency-Key is longer than 256 bytes");
    if (const KeyedTask* const known = call.core.tasks->find_key(*key, call.request.body))
      return created(known->task_id, known->agent_id);
  }
  Result<Agent> agent = agent_id.empty() ? tree.create(call.core.options.agent) : tree.find(agent_id);
  if (!agent) throw Refused(agent.error());
  const auto task = send_task(call, *agent, agent_id.empty(), prompt);
  if (agent_id.empty()) twice([&] { call.core.task_agents->add(*agent, task->message); });
  if (const AgentEntry* const entry = call.core.feed.directory().find(*agent))
    call.core.feed.look_at_queue(*entry);
  if (key != nullptr) twice([&] { call.core.tasks->set_key(*key, call.request.body, *task); });
  return created(task->id, task->agent_id);
}

std::optional<Response> list_tasks(RouteCall& call) {
  call.tree();
  Json tasks = Json::array();
  for (const auto& task : call.core.tasks->tasks()) {
    if (tasks.size() == most_tasks_listed) break;
    tasks.push_back(json_of_task(*task));
  }
  return json_response({{"tasks", std::move(tasks)}});
}

std::optional<Response> show_task(RouteCall& call) {
  const auto task = task_of(call);
  Json json = json_of_task(*task);
  json.set("result", task->result ? Json::of_text(agentcore::to_json(*task->result)) : Json(nullptr));
  return json_response(json);
}

Response result_response(const Task& task) {
  if (!task.result)
    return Response::error(409, "task_terminated", "the task was ended before its turn began");
  return {.body = agentcore::to_json(*task.result)};
}

std::optional<Response> show_result(RouteCall& call) {
  const auto task = task_of(call);
  const bool waits = query_is(call.request, "wait", "ended");
  if (task->is_over) return result_response(*task);
  if (!waits) throw Refused(409, "task_not_ended", "the task has not ended; wait=ended waits for it");
  const auto reply = std::make_shared<Reply>(std::move(call.reply));
  task->on_end.emplace_back(
      [reply, ended = task.get()] { reply->send(twice([&] { return result_response(*ended); })); });
  return std::nullopt;
}

std::optional<Response> show_events(RouteCall& call) {
  auto stream = std::make_unique<TaskStream>(task_of(call));
  call.check_viewers();
  call.reply.send({.content_type = "text/event-stream"}, std::move(stream));
  return std::nullopt;
}

std::optional<Response> terminate_task(RouteCall& call) {
  const Arguments arguments(call.request, {});
  call.tree();
  const auto task = call.core.tasks->find(call.ids[0]);
  if (!task) return status_response(404, "error", "Task not found");
  constexpr std::string_view done = "Task terminated successfully";
  if (task->phase == Task::Phase::terminated) return status_response(200, "success", done);
  if (task->has_ended() || !call.core.tasks->terminate(*task))
    return status_response(409, task->status(), "Task has already ended");
  call.core.engine->guarded("a log record", [&] {
    call.core.engine->log(LogLevel::info, "console: a person used a verb",
                          {{"verb", "terminate_task"},
                           {"agent", task->agent_id},
                           {"task", task->id},
                           {"client", call.request.client}});
    // The wording is fixed by requirement I10.
    call.core.engine->log(LogLevel::info, "Agent execution was cancelled", {{"agent", task->agent_id}});
  });
  return status_response(200, "success", done);
}

// Answers the oldest open question of the task. To an approval the answer is `approve` or `decline`.
std::optional<Response> interact(RouteCall& call) {
  const Arguments arguments(call.request, {"response"});
  const std::string response = arguments.text("response");
  const auto task = task_of(call);
  AgentTree& tree = call.tree();
  if (task->open_questions.empty()) throw Refused(409, "question_not_found", "the task has no open question");
  const std::string id = task->open_questions.front();
  bool is_approval = false;
  for (const OpenQuestion& question : tree.questions())
    is_approval = is_approval || (question.id == id && question.kind == QuestionKind::approval);
  const Result<void> result = is_approval && response == "approve"   ? tree.approve(id)
                              : is_approval && response == "decline" ? tree.decline(id)
                                                                     : tree.answer(id, response);
  if (!result) throw Refused(result.code());
  return status_response(200, "success", "Response accepted");
}

}  // namespace

std::vector<Route> task_routes() {
  return {{"POST", "/tasks", RouteUse::write, create_task, Waits::store},
          {"GET", "/tasks", RouteUse::read, list_tasks},
          {"GET", "/tasks/*", RouteUse::read, show_task},
          {"GET", "/tasks/*/result", RouteUse::read, show_result, Waits::never, false, "wait"},
          {"GET", "/tasks/*/events", RouteUse::read, show_events},
          {"POST", "/tasks/*/terminate", RouteUse::stop, terminate_task, Waits::store},
          {"POST", "/tasks/*/interact", RouteUse::write, interact, Waits::store}};
}

}  // namespace agentcore::detail::console
