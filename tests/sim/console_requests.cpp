#include "sim/console_requests.hpp"

#include <array>
#include <cstddef>

namespace agentcore::sim {
namespace {

struct Line {
  Request request;
  RequestUse use;
  const char* method;
  const char* target;
  const char* body = "";
};

using enum RequestUse;

// Of each Request, in their order. The words in <> are members of Subject.
constexpr std::array<Line, static_cast<std::size_t>(Request::last)> lines = {{
    {Request::send, write, "POST", "/api/agent/<agent>/send", R"({"text":"h<number>"})"},
    {Request::steer, write, "POST", "/api/agent/<agent>/steer", R"({"text":"h<number>"})"},
    {Request::stop, stop, "POST", "/api/agent/<agent>/stop"},
    {Request::stop_at_once, stop, "POST", "/api/agent/<agent>/stop?wait=gate"},
    {Request::stop_to_the_end, stop, "POST", "/api/agent/<agent>/stop?wait=settled"},
    {Request::stop_later, stop, "POST", "/api/agent/<agent>/stop", R"({"when":"after_step"})"},
    {Request::terminate, stop, "DELETE", "/api/agent/<agent>"},
    {Request::resume, write, "POST", "/api/agent/<agent>/resume"},
    {Request::pause, stop, "POST", "/api/agent/<agent>/pause"},
    {Request::unpause, write, "POST", "/api/agent/<agent>/unpause"},
    {Request::interrupt, stop, "POST", "/api/agent/<agent>/interrupt", R"({"queue":"hold"})"},
    {Request::abort, stop, "POST", "/api/agent/<agent>/abort", R"({"clearQueue":true})"},
    {Request::release, write, "POST", "/api/agent/<agent>/release"},
    {Request::create, write, "POST", "/api/agents", R"({"parentId":"<agent>"})"},
    {Request::task, write, "POST", "/tasks", R"({"agentId":"<agent>","prompt":"h<number>"})"},
    {Request::stop_all, stop, "POST", "/api/tree/stop"},
    {Request::resume_all, write, "POST", "/api/tree/resume"},
    {Request::pause_all, stop, "POST", "/api/tree/pause"},
    {Request::unpause_all, write, "POST", "/api/tree/unpause"},
    {Request::show_agents, read, "GET", "/api/agents"},
    {Request::show_agent, read, "GET", "/api/agent/<agent>"},
    {Request::show_conversation, read, "GET", "/api/agent/<agent>/conversation"},
    {Request::not_json, write, "POST", "/api/agent/<agent>/send", "{\"text\":"},
    {Request::no_such_route, read, "PUT", "/api/nothing"},
    {Request::send_urgent, write, "POST", "/api/agent/<agent>/send",
     R"({"text":"h<number>","priority":"urgent"})"},
    {Request::send_long, write, "POST", "/api/agent/<agent>/send", R"({"text":"h<number><long>"})"},
    {Request::steer_now, write, "POST", "/api/agent/<agent>/steer", R"({"text":"h<number>","when":"now"})"},
    {Request::create_named, write, "POST", "/api/agents",
     R"({"id":"h<digit>","parentId":"<agent>","model":"m","systemPrompt":"Be brief."})"},
    {Request::stop_alone, stop, "POST", "/api/agent/<agent>/stop",
     R"({"cascade":false,"reason":"SECRET reason"})"},
    {Request::stop_after_turn, stop, "POST", "/api/agent/<agent>/stop", R"({"when":"after_turn"})"},
    {Request::stop_all_later, stop, "POST", "/api/tree/stop", R"({"when":"after_step"})"},
    {Request::terminate_to_the_end, stop, "DELETE", "/api/agent/<agent>?wait=settled&reason=SECRET"},
    {Request::terminate_later, stop, "DELETE", "/api/agent/<agent>", R"({"when":"after_turn"})"},
    {Request::interrupt_below, stop, "POST", "/api/agent/<agent>/interrupt",
     R"({"queue":"drop","scope":"subtree","reason":"SECRET reason"})"},
    {Request::cancel_call, stop, "POST", "/api/agent/<agent>/calls/<call>/cancel"},
    {Request::cancel_background, stop, "POST", "/api/background/<background>/cancel"},
    {Request::answer, write, "POST", "/api/questions/<question>/answer", R"({"text":"an answer"})"},
    {Request::approve, write, "POST", "/api/questions/<question>/approve"},
    {Request::approve_for_agent, write, "POST", "/api/questions/<question>/approve", R"({"scope":"agent"})"},
    {Request::approve_below, write, "POST", "/api/questions/<question>/approve", R"({"scope":"subtree"})"},
    {Request::decline, write, "POST", "/api/questions/<question>/decline", R"({"reason":"no"})"},
    {Request::show_queue, read, "GET", "/api/agent/<agent>/queue"},
    {Request::remove_queued, write, "DELETE", "/api/agent/<agent>/queue/<message>"},
    {Request::task_with_key, write, "POST", "/tasks", R"({"agentId":"<agent>","prompt":"k<digit>"})"},
    {Request::task_alone, write, "POST", "/tasks", R"({"prompt":"h<number>"})"},
    {Request::task_alone_with_key, write, "POST", "/tasks", R"({"prompt":"k<digit>"})"},
    {Request::list_tasks, read, "GET", "/tasks"},
    {Request::show_task, read, "GET", "/tasks/<task>"},
    {Request::show_result, read, "GET", "/tasks/<task>/result"},
    {Request::await_result, read, "GET", "/tasks/<task>/result?wait=ended"},
    {Request::follow_task, read, "GET", "/tasks/<task>/events"},
    {Request::terminate_task, stop, "POST", "/tasks/<task>/terminate"},
    {Request::interact, write, "POST", "/tasks/<task>/interact", R"({"response":"an answer"})"},
    {Request::interact_to_approve, write, "POST", "/tasks/<task>/interact", R"({"response":"approve"})"},
    {Request::interact_to_decline, write, "POST", "/tasks/<task>/interact", R"({"response":"decline"})"},
    {Request::show_questions, read, "GET", "/api/questions"},
    {Request::show_reach, read, "GET", "/api/agent/<agent>/reach"},
    {Request::show_receipts, read, "GET", "/api/receipts?limit=1000"},
    {Request::show_usage, read, "GET", "/api/usage"},
    {Request::show_session, open, "GET", "/api/session"},
    {Request::show_health, open, "GET", "/healthz"},
    {Request::show_document, open, "GET", "/openapi.json"},
    {Request::show_page, open, "GET", "/"},
    {Request::show_file, open, "GET", "/api.js"},
    {Request::log_in, login, "POST", "/login", R"({"token":"the token of the console"})"},
    {Request::log_in_wrongly, login, "POST", "/login", R"({"token":"the token"})"},
    {Request::log_out, open, "POST", "/logout"},
    {Request::follow_agent, read, "HEAD", "/api/events?subtree=<agent>"},
    {Request::unknown_member, write, "POST", "/api/agent/<agent>/send", R"({"text":"h","priorty":"urgent"})"},
    {Request::unknown_parameter, read, "GET", "/api/agents?limt=1"},
    {Request::other_site, stop, "POST", "/api/tree/stop"},
}};

constexpr bool are_in_order() {
  for (std::size_t i = 0; i < lines.size(); ++i)
    if (static_cast<std::size_t>(lines[i].request) != i) return false;
  return true;
}
static_assert(are_in_order());

const Line& line_of(Request request) {
  return lines[static_cast<std::size_t>(request)];
}

std::string member_of(const Subject& subject, std::string_view name) {
  if (name == "agent") return subject.agent;
  if (name == "question") return subject.question;
  if (name == "message") return subject.message;
  if (name == "call") return subject.call;
  if (name == "background") return subject.background;
  if (name == "task") return subject.task;
  if (name == "digit") return std::to_string(subject.number % 3);
  if (name == "long") return std::string(5'000, 'x');
  return std::to_string(subject.number);
}

std::string filled(std::string_view text, const Subject& subject) {
  std::string all;
  for (std::size_t at = text.find('<'); at != text.npos; at = text.find('<')) {
    const std::size_t end = text.find('>', at);
    all += text.substr(0, at);
    all += member_of(subject, text.substr(at + 1, end - at - 1));
    text.remove_prefix(end + 1);
  }
  return all += text;
}

}  // namespace

RequestUse use_of(Request request) {
  return line_of(request).use;
}

bool is_stop(Request request) {
  return request == Request::stop || request == Request::stop_at_once ||
         request == Request::stop_to_the_end || request == Request::stop_alone ||
         request == Request::stop_all;
}

bool is_terminate(Request request) {
  return request == Request::terminate || request == Request::terminate_to_the_end ||
         request == Request::terminate_later;
}

bool makes_task(Request request) {
  return request == Request::task || request == Request::task_alone || has_key(request);
}

bool has_key(Request request) {
  return request == Request::task_with_key || request == Request::task_alone_with_key;
}

bool waits(Request request) {
  return request == Request::stop_to_the_end || request == Request::terminate_to_the_end ||
         request == Request::await_result || request == Request::follow_task;
}

std::string body_of(Request request, const Subject& subject) {
  return filled(line_of(request).body, subject);
}

std::string text_of(Request request, const Subject& subject, std::string_view access) {
  const Line& line = line_of(request);
  const std::string body = body_of(request, subject);
  std::string text =
      std::string(line.method) + ' ' + filled(line.target, subject) + " HTTP/1.1\r\nHost: 127.0.0.1:8700\r\n";
  text += access;
  if (!subject.key.empty()) text += "Idempotency-Key: " + subject.key + "\r\n";
  if (request == Request::other_site) text += "Origin: http://example.org\r\n";
  if (!body.empty())
    text += "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n";
  return text + "\r\n" + body;
}

}  // namespace agentcore::sim
