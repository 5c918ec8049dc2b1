// The routes that send to agents, and that end, hold and open them.
#include "console/routes/arguments.hpp"
#include "console/routes/refused.hpp"
#include "console/routes/router.hpp"
#include "console/routes/twice.hpp"

#include <agentcore/agent_tree.hpp>

#include <exception>
#include <memory>
#include <utility>

namespace agentcore::detail::console {
namespace {

// {"ok":true,"agentId":...,"stopped":true}, with the reason if the verb had no effect. Throws Refused if it
// was refused. `done`: the name of the member that says if the verb took effect.
Json verb_json(const VerbResult& result, std::string_view agent_id, std::string_view done) {
  if (!result.accepted()) throw refused_verb(result.reason);
  Json json = {{"ok", true}};
  if (!agent_id.empty()) json.set("agentId", agent_id);
  json.set(done, result.took_effect());
  if (!result.took_effect()) json.set("reason", verb_word(result.reason));
  return json;
}

Response verb_response(const VerbResult& result, std::string_view agent_id, std::string_view done) {
  return twice([&] { return json_response(verb_json(result, agent_id, done)); });
}

// One record for each stop and delete: which, who, and why. The answer does not depend on it.
void audit(const RouteCall& call, std::string_view verb, std::string_view agent_id, std::string_view reason,
           const VerbResult& result) {
  call.core.engine->guarded("a log record", [&] {
    const std::string* const agent = call.request.header("user-agent");
    call.core.engine->log(LogLevel::info, "console: a person used a verb",
                          {{"verb", verb},
                           {"agent", agent_id},
                           {"client", call.request.client},
                           {"user_agent", agent != nullptr ? std::string_view(*agent).substr(0, 200) : ""},
                           {"reason", reason},
                           {"result", result.took_effect() ? "done" : verb_word(result.reason)}});
  });
}

std::optional<Response> send_message(RouteCall& call) {
  const Arguments arguments(call.request, {"text", "priority"});
  const Agent agent = call.agent();
  const auto priority = arguments.one_of<MessagePriority>(
      "priority", {{"normal", MessagePriority::normal}, {"urgent", MessagePriority::urgent}});
  const AgentEntry& entry = call.entry();
  const SendResult sent = agent.send(Message{.text = arguments.text("text"), .priority = priority});
  if (!sent) throw Refused(sent.reason);
  call.core.feed.look_at_queue(entry);
  return twice([&] {
    return json_response({{"ok", true}, {"agentId", call.ids[0]}, {"messageId", to_string(sent.id)}});
  });
}

std::optional<Response> steer(RouteCall& call) {
  const Arguments arguments(call.request, {"text", "when"});
  const auto when =
      arguments.one_of<SteerWhen>("when", {{"next_step", SteerWhen::next_step}, {"now", SteerWhen::now}});
  const AgentEntry& entry = call.entry();
  const SendResult steered = call.agent().steer(arguments.text("text"), {.when = when});
  if (!steered) throw Refused(steered.reason);
  call.core.feed.look_at_queue(entry);
  return twice([&] {
    return json_response({{"ok", true},
                          {"agentId", call.ids[0]},
                          {"messageId", to_string(steered.id)},
                          {"when", to_string(steered.ended_call ? SteerWhen::now : SteerWhen::next_step)}});
  });
}

std::optional<Response> abort_call(RouteCall& call) {
  if (call.ids[0].empty()) throw Refused(Errc::missing_agent_id);
  const Arguments arguments(call.request, {"clearQueue", "reason"});
  AbortOptions options;
  if (arguments.flag_or("clearQueue", false)) options.queue = QueueAction::drop;
  options.reason = arguments.reason_or("console");
  const VerbResult result = call.agent().abort(options);
  if (const AgentEntry* const entry = call.core.feed.directory().find(call.ids[0]))
    call.core.feed.look_at_queue(*entry);
  call.core.engine->guarded("a log record", [&] {
    call.core.engine->log(LogLevel::info, "处理 LLM 中断请求",
                          {{"agentId", call.ids[0]}, {"aborted", result.took_effect() ? "true" : "false"}});
  });
  return verb_response(result, call.ids[0], "aborted");
}

std::optional<Response> interrupt(RouteCall& call) {
  const Arguments arguments(call.request, {"queue", "scope", "reason"});
  InterruptOptions options;
  options.queue = arguments.one_of<QueueAction>(
      "queue", {{"deliver", QueueAction::deliver}, {"hold", QueueAction::hold}, {"drop", QueueAction::drop}});
  options.scope = arguments.one_of<Scope>("scope", {{"turn", Scope::agent}, {"subtree", Scope::subtree}});
  options.reason = arguments.reason_or("");
  const VerbResult result = call.agent().interrupt(options);
  return verb_response(result, call.ids[0], "interrupted");
}

std::optional<Response> pause(RouteCall& call) {
  const Arguments arguments(call.request, {"reason"});
  return verb_response(call.agent().pause({.reason = arguments.reason_or("")}), call.ids[0], "paused");
}

std::optional<Response> unpause(RouteCall& call) {
  const Arguments arguments(call.request, {});
  const UnpauseResult result = call.agent().unpause();
  return twice([&] {
    Json json = verb_json(result, call.ids[0], "unpaused");
    json.set("paused", result.still_paused);
    if (result.still_paused) json.set("pausedBy", result.paused_by);
    return json_response(json);
  });
}

std::optional<Response> release(RouteCall& call) {
  const Arguments arguments(call.request, {});
  return verb_response(call.agent().release_queue(), call.ids[0], "released");
}

std::optional<Response> resume(RouteCall& call) {
  const Arguments arguments(call.request, {});
  return verb_response(call.agent().resume(), call.ids[0], "resumed");
}

StopWhen when_of(const Arguments& arguments) {
  return arguments.one_of<StopWhen>(
      "when",
      {{"now", StopWhen::now}, {"after_step", StopWhen::after_step}, {"after_turn", StopWhen::after_turn}});
}

// What DELETE has beside verb_json(): which agent is deleted, or why none is.
Json delete_json(const VerbResult& result, std::string_view agent_id) {
  Json json = verb_json(result, agent_id, "terminated");
  if (result.took_effect())
    json.set("terminatedAgentId", agent_id);
  else
    json.set("error", verb_word(result.reason));
  return json;
}

Json stop_json(const VerbResult& result, std::string_view agent_id) {
  return verb_json(result, agent_id, "stopped");
}

// A request that waits until its stop or delete has settled, and that is in the store.
struct SettledReply {
  SettledReply(Reply&& the_reply, Storing&& the_storing)
      : reply(std::move(the_reply)), storing(std::move(the_storing)) {}
  // A deferred stop that is withdrawn never settles.
  ~SettledReply() {
    if (json.is_null() || has_settled) return;
    try {
      reply.send(json_response({{"error", "withdrawn"}}, 409));
    } catch (const std::exception&) {  // no memory: see ~Reply()
    }
  }
  SettledReply(const SettledReply&) = delete;
  SettledReply& operator=(const SettledReply&) = delete;

  Reply reply;
  const Storing storing;
  Json json = nullptr;  // null: the verb was not accepted
  bool has_settled = false;
};

// A route that answers when a stop or a delete has settled, or at once.
class SettledAnswer {
 public:
  explicit SettledAnswer(RouteCall& call) {
    if (call.wait == Wait::settled)
      waiting_ = std::make_shared<SettledReply>(std::move(call.reply), call.storing());
  }

  // For on_settled of the verb. `list`: the name of the member with the descendants.
  std::function<void(const StopReport&)> on_settled(std::string_view list) const {
    if (!waiting_) return {};
    return [waiting = waiting_, list](const StopReport& report) {
      waiting->has_settled = true;
      Response response = twice([&] {
        Json json = waiting->json;
        json.set(list, report.descendants);
        json.set("cascadeFailed", report.abandoned);
        return json_response(json);
      });
      reply_when_stored(waiting->storing, std::move(waiting->reply), std::move(response));
    };
  }
  // After the verb: the answer to a request that does not wait, or whose verb was refused. `json_of`: of a
  // verb that was accepted.
  std::optional<Response> answer(const VerbResult& result, std::string_view agent_id,
                                 Json (*json_of)(const VerbResult&, std::string_view)) const {
    if (!waiting_) return twice([&] { return json_response(json_of(result, agent_id)); });
    if (!result.accepted())
      waiting_->reply.send(twice([&] {
        const Refused refused = refused_verb(result.reason);
        return json_response({{"error", refused.code}}, refused.status);
      }));
    else
      waiting_->json = twice([&] { return json_of(result, agent_id); });
    return std::nullopt;
  }

 private:
  std::shared_ptr<SettledReply> waiting_;  // null: the request does not wait
};

std::optional<Response> stop(RouteCall& call) {
  const Arguments arguments(call.request, {"reason", "when", "cascade"});
  const Agent agent = call.agent();
  call.stop_of = call.ids[0];
  StopOptions options;
  options.reason = arguments.reason_or("");
  options.when = when_of(arguments);
  options.scope = arguments.flag_or("cascade", true) ? Scope::subtree : Scope::agent;
  const std::string reason = options.reason;
  const SettledAnswer answer(call);
  options.on_settled = answer.on_settled("cascadeStopped");
  const VerbResult result = agent.stop(std::move(options));
  audit(call, "stop", call.ids[0], reason, result);
  return answer.answer(result, call.ids[0], stop_json);
}

std::optional<Response> terminate(RouteCall& call) {
  const Arguments arguments(call.request, {"reason", "when"});
  const Agent agent = call.agent();
  call.stop_of = call.ids[0];
  TerminateOptions options;
  options.reason = arguments.reason_or(text_in_query(call.request, "reason"));
  options.when = when_of(arguments);
  const std::string reason = options.reason;
  const SettledAnswer answer(call);
  options.on_settled = answer.on_settled("cascadeTerminated");
  const VerbResult result = agent.terminate(std::move(options));
  audit(call, "terminate", call.ids[0], reason, result);
  return answer.answer(result, call.ids[0], delete_json);
}

std::optional<Response> stop_all(RouteCall& call) {
  const Arguments arguments(call.request, {"reason", "when"});
  call.stop_of = "";
  StopOptions options;
  options.reason = arguments.reason_or("");
  options.when = when_of(arguments);
  const std::string reason = options.reason;
  const VerbResult result = call.tree().stop_all(std::move(options));
  audit(call, "stop_all", "", reason, result);
  return verb_response(result, "", "stopped");
}

std::optional<Response> resume_all(RouteCall& call) {
  const Arguments arguments(call.request, {});
  return verb_response(call.tree().resume_all(), "", "resumed");
}

std::optional<Response> pause_all(RouteCall& call) {
  const Arguments arguments(call.request, {"reason"});
  return verb_response(call.tree().pause_all({.reason = arguments.reason_or("")}), "", "paused");
}

std::optional<Response> unpause_all(RouteCall& call) {
  const Arguments arguments(call.request, {});
  return verb_response(call.tree().unpause_all(), "", "unpaused");
}

std::optional<Response> cancel_call(RouteCall& call) {
  const Arguments arguments(call.request, {"reason"});
  const VerbResult result = call.agent().cancel_call(call.ids[1], {.reason = arguments.reason_or("")});
  return verb_response(result, call.ids[0], "cancelled");
}

std::optional<Response> cancel_background(RouteCall& call) {
  const Arguments arguments(call.request, {"reason"});
  const VerbResult result = call.tree().cancel_task(call.ids[0], {.reason = arguments.reason_or("")});
  return verb_response(result, "", "cancelled");
}

}  // namespace

std::vector<Route> verb_routes() {
  return {{"POST", "/api/agent/*/abort", RouteUse::stop, abort_call, Waits::never, true},
          {"POST", "/api/agent/*/stop", RouteUse::stop, stop, Waits::settled, true},
          {"DELETE", "/api/agent/*", RouteUse::stop, terminate, Waits::settled, true, "reason"},
          {"POST", "/api/agent/*/interrupt", RouteUse::stop, interrupt, Waits::store},
          {"POST", "/api/agent/*/pause", RouteUse::stop, pause, Waits::store},
          {"POST", "/api/agent/*/unpause", RouteUse::write, unpause, Waits::store},
          {"POST", "/api/agent/*/release", RouteUse::write, release, Waits::store},
          {"POST", "/api/agent/*/resume", RouteUse::write, resume, Waits::store},
          {"POST", "/api/agent/*/send", RouteUse::write, send_message, Waits::store},
          {"POST", "/api/agent/*/steer", RouteUse::write, steer, Waits::store},
          {"POST", "/api/agent/*/calls/*/cancel", RouteUse::stop, cancel_call},
          {"POST", "/api/background/*/cancel", RouteUse::stop, cancel_background},
          {"POST", "/api/tree/stop", RouteUse::stop, stop_all, Waits::store},
          {"POST", "/api/tree/resume", RouteUse::write, resume_all, Waits::store},
          {"POST", "/api/tree/pause", RouteUse::stop, pause_all, Waits::store},
          {"POST", "/api/tree/unpause", RouteUse::write, unpause_all, Waits::store}};
}

}  // namespace agentcore::detail::console
