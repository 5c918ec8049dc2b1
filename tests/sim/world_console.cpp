// What people do at the console, and what its answers mean for the rules.
#include "sim/held_call.hpp"
#include "sim/world.hpp"
#include "sim/world_run.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

namespace agentcore::sim {

using nlohmann::json;

namespace {

struct Line {
  const char* method;
  const char* target;  // "*" is the agent
  const char* body;    // "*" is the agent, "#" a number
};

// Of each Request, in their order.
constexpr std::array<Line, static_cast<std::size_t>(Request::last)> lines = {{
    {"POST", "/api/agent/*/send", R"({"text":"h#"})"},
    {"POST", "/api/agent/*/steer", R"({"text":"h#"})"},
    {"POST", "/api/agent/*/stop", ""},
    {"POST", "/api/agent/*/stop?wait=gate", ""},
    {"POST", "/api/agent/*/stop?wait=settled", ""},
    {"POST", "/api/agent/*/stop", R"({"when":"after_step"})"},
    {"DELETE", "/api/agent/*", ""},
    {"POST", "/api/agent/*/resume", ""},
    {"POST", "/api/agent/*/pause", ""},
    {"POST", "/api/agent/*/unpause", ""},
    {"POST", "/api/agent/*/interrupt", R"({"queue":"hold"})"},
    {"POST", "/api/agent/*/abort", R"({"clearQueue":true})"},
    {"POST", "/api/agent/*/release", ""},
    {"POST", "/api/agents", R"({"parentId":"*"})"},
    {"POST", "/tasks", R"({"agentId":"*","prompt":"h#"})"},
    {"POST", "/api/tree/stop", ""},
    {"POST", "/api/tree/resume", ""},
    {"POST", "/api/tree/pause", ""},
    {"POST", "/api/tree/unpause", ""},
    {"GET", "/api/agents", ""},
    {"GET", "/api/agent/*", ""},
    {"GET", "/api/agent/*/conversation", ""},
    {"POST", "/api/agent/*/send", "{\"text\":"},
    {"PUT", "/api/nothing", ""},
}};

std::string filled(std::string_view text, const std::string& agent, std::uint32_t number) {
  std::string all;
  for (const char c : text) {
    if (c == '*')
      all += agent;
    else if (c == '#')
      all += std::to_string(number);
    else
      all += c;
  }
  return all;
}

std::string text_of(Request request, const std::string& agent, std::uint32_t number) {
  const Line& line = lines[static_cast<std::size_t>(request)];
  const std::string body = filled(line.body, agent, number);
  std::string text = std::string(line.method) + ' ' + filled(line.target, agent, number) +
                     " HTTP/1.1\r\nHost: 127.0.0.1:8700\r\n";
  if (!body.empty())
    text += "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n";
  return text + "\r\n" + body;
}

bool is_stop(Request request) {
  return request == Request::stop || request == Request::stop_at_once ||
         request == Request::stop_to_the_end || request == Request::stop_all;
}

// What the console may answer. 500 says that it has failed.
bool is_known(int status) {
  constexpr std::array known = {200, 201, 202, 204, 400, 404, 405, 408, 409, 429, 503};
  return std::ranges::find(known, status) != known.end();
}

}  // namespace

bool World::act_as_client(const Command& command) {
  switch (command.act) {
    case Act::http_request: {
      if (!run_->console) return true;
      const Agent who = agent(command.n[0]);
      const auto request = Request(command.n[1] % static_cast<std::uint32_t>(Request::last));
      Asked asked{.request = request, .agent = who.id(), .verbs_before = verbs_};
      const std::string text = text_of(request, asked.agent, ++texts_);
      const std::size_t bytes = command.n[2] % 4 == 3 ? command.n[2] % text.size() : text.size();
      note(command, client_.ask(*network_, std::move(asked), text, bytes) ? "done" : "refused");
      if (in_poll_) expect_requests();  // this poll may read it
      return true;
    }
    case Act::http_moves:
      note(command, client_.unsent() != 0 ? "done" : "nothing");
      client_.send(command.n[0] % 2 == 0 ? client_.unsent() : command.n[0] % 100, verbs_);
      return true;
    case Act::http_follows:
      if (run_->console) note(command, viewer_.follow(*network_) ? "done" : "refused");
      return true;
    case Act::http_leaves:
      note(command, "done");
      (command.n[0] % 2 == 0 ? client_ : viewer_).leave(command.n[1] % 2 == 0);
      return true;
    default:
      return false;
  }
}

// A request that is on its way may take effect in the next poll. What it allows is allowed from here on, what
// it forbids is forbidden from its answer on.
void World::expect_requests() {
  client_.for_each_open([this](const Asked& asked) {
    if (asked.is_complete) may_take_effect(asked);
  });
}

void World::may_take_effect(const Asked& asked) {
  switch (asked.request) {
    case Request::resume:
      note_resumed(asked.agent, true);
      break;
    case Request::send:
    case Request::steer:
    case Request::task:
      if (resumes_by_itself_.contains(asked.agent)) note_resumed(asked.agent, true);
      break;
    case Request::resume_all:
      note_opened(gates_.resumed_all());
      break;
    case Request::unpause:
      gates_.paused(asked.agent, false);
      break;
    case Request::unpause_all:
      gates_.paused_all(false);
      break;
    case Request::stop_all:
      run_->tree->walk([this](const Agent& one) { messages_.may_drop(one.id()); });
      break;
    default:
      for (const std::string& below : gates_.subtree(asked.agent)) messages_.may_drop(below);
      break;
  }
}

void World::take_answers() {
  static_cast<void>(viewer_.take());
  while (const auto answer = client_.take()) on_answer(*answer);
}

void World::on_answer(const Answered& answer) {
  const Asked& asked = answer.asked;
  say("answer " + std::to_string(answer.status) + ' ' + asked.agent);
  counts_.add("answer " + std::to_string(answer.status));
  if (answer.status == 0) {
    verdict_.require(answer.was_warned || !asked.is_complete, "console", "a request has no answer");
    return;
  }
  const bool has_no_tree = answer.body.find("society_not_initialized") != std::string::npos;
  verdict_.require(is_known(answer.status) || (has_no_tree && !run_->tree), "console",
                   "an answer " + std::to_string(answer.status) + ": " + answer.body);
  const json body = json::parse(answer.body, nullptr, false);
  verdict_.require(body.is_object(), "console", "an answer that is no JSON object: " + answer.body);
  if (answer.status >= 300 || !run_->tree || !body.is_object()) return;
  const bool stored = body.value("persisted", false);
  const bool is_exact = asked.verbs_before == verbs_;  // nobody has called a verb since
  if (!is_exact) may_take_effect(asked);               // perhaps after a verb of a callback
  const auto found = run_->tree->find(asked.agent);
  const bool is_closed = found && !can_process(found.value().state().value());
  for (const char* const name : {"messageId", "taskId"}) {
    if (!body.contains(name)) continue;
    const MessageId id{std::stoull(body[name].get<std::string>().substr(1))};
    sent_.push_back(id);
    messages_.accepted(id, asked.agent, false);
    if (stored && asked.request != Request::steer) messages_.stored(id);
  }
  if (asked.request == Request::terminate && body.value("terminated", false)) {
    verdict_.require(!is_exact || !found || is_closed, "console", "a deleted agent is open: " + asked.agent);
    gates_.goes(asked.agent, false);
    if (stored && !found) stops_[asked.agent] = true;
  }
  if (is_stop(asked.request) && body.value("stopped", false) && is_exact) {
    if (asked.request == Request::stop_all) {
      gates_.stopped_all();
    } else {
      verdict_.require(!found || is_closed, "console", "a stopped agent is open: " + asked.agent);
      gates_.stopped(asked.agent, true);
      if (stored && is_closed) stops_[asked.agent] = false;
    }
  }
  if (asked.request == Request::pause && body.value("paused", false) && is_exact)
    gates_.paused(asked.agent, true);
  if (asked.request == Request::pause_all && body.value("paused", false) && is_exact) gates_.paused_all(true);
  if (asked.request == Request::resume && body.value("resumed", false) && is_exact && stored && !is_closed)
    opened_.insert(asked.agent);
}

}  // namespace agentcore::sim
