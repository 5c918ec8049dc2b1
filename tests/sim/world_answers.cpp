// What the console's answers say, and what they mean for the rules.
#include "sim/random.hpp"
#include "sim/world.hpp"
#include "sim/world_run.hpp"

#include <agentcore/conversation.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <set>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

namespace agentcore::sim {

using nlohmann::json;

namespace {

// What the console may answer. 500 says that it has failed.
bool is_known(int status) {
  constexpr std::array known = {200, 201, 400, 401, 403, 404, 405, 408, 409, 413, 429, 503};
  return std::ranges::find(known, status) != known.end();
}

bool is_json_object(Request request) {
  return request != Request::show_page && request != Request::show_file && request != Request::follow_agent &&
         request != Request::follow_task;
}

// Its answer waits for the store, and says whether that has the change.
bool is_stored_by(Request request) {
  return changes(request) && request != Request::abort && request != Request::cancel_call &&
         request != Request::cancel_background && request != Request::stop_at_once;
}

std::string text_in(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

bool flag_in(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_boolean() && found->get<bool>();
}

std::set<std::string> ids_in(const json& list, const char* name) {
  std::set<std::string> ids;
  for (const json& one : list) ids.insert(text_in(one, name));
  return ids;
}

// Not of the page and its files, which are long, and the same each time.
std::string digest_of(const std::string& body) {
  if (body.empty() || body.size() > (8 << 10)) return std::to_string(body.size());
  std::uint64_t hash = 0;
  for (const char c : body) hash = mixed(hash, static_cast<unsigned char>(c));
  return std::to_string(body.size()) + '#' + std::to_string(hash % 10'000);
}

// The console has no place for its connection, and has read nothing of it.
bool is_without_place(const Answered& answer) {
  if (answer.status != 503) return false;
  if (answer.asked.request == Request::follow_agent) return answer.header("Connection") == "close";  // HEAD
  return answer.body.find("as many connections as") != answer.body.npos;
}

std::optional<Errc> refusal_of_message(const std::string& error) {
  for (const Errc code : {Errc::agent_stopped, Errc::agent_stopping, Errc::agent_terminating})
    if (error == to_string(code)) return code;
  return std::nullopt;
}

// Below an agent that a tool may have made for one call: it is deleted with that agent.
bool may_go_with_call(const People& people, const Agent& agent) {
  for (auto above = agent.parent(); above; above = above.value().parent())
    if (const std::string id = above.value().id(); id.starts_with('@') && !people.created.contains(id))
      return true;
  return false;
}

}  // namespace

// Memory, or a call of the system, has failed: the console may have lost a connection or an answer.
bool World::console_may_fail() const noexcept {
  return lost_calls_ || (allocations_ && allocations_->failed());
}

// Nobody has called a verb since.
bool World::is_last_verb(const Asked& asked) const noexcept {
  return asked.verbs_before == verbs_ && !asked.is_followed;
}

void World::on_answer(const Answered& answer) {
  const Asked& asked = answer.asked;
  say("answer " + std::to_string(answer.status) + ' ' + asked.about.agent + ' ' + digest_of(answer.body));
  counts_.add("answer " + std::to_string(answer.status));
  if (changes(asked.request))  // perhaps after what is answered next
    for (ConsoleClient& client : people_.clients)
      client.for_each_open([](Asked& other) { other.is_followed = true; });
  if (answer.status == 0) {
    if (makes_task(asked.request)) people_.tasks.may_be_created();
    const bool is_short = setup_[Knob::small_limits] != 0 || network_->faults.was_short();
    const bool was_closed = answer.was_broken || (is_short && !answer.was_read);  // for a new connection
    verdict_.require(answer.was_warned || !asked.is_complete || was_closed || console_may_fail(), "console",
                     "a request has no answer");
    return;
  }
  check_status(answer);
  const json body = json::parse(answer.body, nullptr, false);
  const bool is_object =
      is_json_object(asked.request) || (asked.request == Request::follow_task && answer.status != 200);
  verdict_.require(!is_object || body.is_object(), "console",
                   "an answer that is no JSON object: " + answer.body);
  if (!run_->tree) {
    if (makes_task(asked.request)) people_.tasks.may_be_created();
    return;
  }
  if (asked.request == Request::follow_task && answer.status == 200 && !console_may_fail() &&
      !answer.was_broken)
    people_.tasks.says_events(asked.about.task, answer.body);
  if (!body.is_object()) return;
  if (answer.status >= 300) return on_refusal(asked, body);
  may_take_effect(asked);  // perhaps after a verb of a callback, or an earlier request
  counts_.add("answered request " + std::to_string(static_cast<int>(asked.request)));
  check_stored(asked, body);
  on_message_accepted(asked, body);
  on_verb_done(asked, body);
  if (asked.request == Request::log_in) {
    people_.cookie = answer.header("Set-Cookie");
    people_.cookie = people_.cookie.substr(0, people_.cookie.find(';'));
    people_.cookie_since = clock_.now();
  }
  people_.has_logged_out = people_.has_logged_out || asked.request == Request::log_out;
  const bool is_alone = std::ranges::all_of(people_.clients, [](const ConsoleClient& client) {
    return client.open_changes() == 0 && !client.has_left();  // no other one may have come before it
  });
  if (is_alone && is_last_verb(asked) && asked.events_before == events_) check_read(asked, body);
}

void World::check_status(const Answered& answer) {
  const Asked& asked = answer.asked;
  const Request request = asked.request;
  const int status = answer.status;
  const RequestUse use = use_of(request);
  const auto require = [&](bool holds, const std::string& what) {
    verdict_.require(holds, "console",
                     what + ": " + std::to_string(status) + ' ' + answer.body.substr(0, 300));
  };
  const bool says_no_tree = answer.body.empty() ||  // to HEAD
                            answer.body.find("society_not_initialized") != std::string::npos;
  const bool has_no_tree = says_no_tree && !run_->tree;
  require(is_known(status) || has_no_tree || (status == 500 && console_may_fail()), "an answer");
  const bool needs_access = has_token() && use != RequestUse::open && use != RequestUse::login &&
                            request != Request::no_such_route && request != Request::other_site;
  require(status != 408 || asked.in_pieces || setup_[Knob::small_io] > 1, "a request that came at once");
  if (status == 408) return;
  if (is_without_place(answer))
    return require(setup_[Knob::small_limits] != 0 || console_may_fail(), "too many");
  require((status == 403) == (request == Request::other_site) || !asked.is_complete, "of another site");
  if (needs_access && asked.access == AccessBy::nothing && asked.is_complete)
    require(status == 401 || status == 413, "a request without a token");
  if (status == 401) {
    const bool cookie_is_over =
        people_.may_have_logged_out() || clock_.now() - people_.cookie_since >= std::chrono::hours(12);
    require(use == RequestUse::login ||
                (needs_access &&
                 (asked.access == AccessBy::nothing || (asked.access == AccessBy::cookie && cookie_is_over))),
            "a token is not known");
    if (asked.access == AccessBy::cookie) people_.cookie.clear();
  }
  require(request != Request::log_in_wrongly || status == 401 || status == 408 || status == 429,
          "a wrong token");
  require(status != 429 || use == RequestUse::write || use == RequestUse::login,
          "too many, and it ends something");
  const bool is_short = setup_[Knob::small_bytes] != 0 && asked.body_bytes > 500;
  require(status != 413 || is_short, "too large");
  require(status != 503 || setup_[Knob::small_limits] != 0 || console_may_fail(), "too many");
  if (request == Request::not_json || request == Request::unknown_member ||
      request == Request::unknown_parameter)
    require(status >= 400, "a request that is wrong");
}

// A request was refused.
void World::on_refusal(const Asked& asked, const json& body) {
  for (const auto& [question, approval] : asked.approvals) approvals_.was_refused(approval);
  const std::string error = text_in(body, "error");
  if (error == "task_not_found" || text_in(body, "message") == "Task not found")
    people_.tasks.says_unknown(asked.about.task);
  if (error == "task_not_ended") people_.tasks.says_not_ended(asked.about.task, asked.task_was_over);
  if (error == "task_terminated" && !console_may_fail()) people_.tasks.says_no_result(asked.about.task);
  if (!is_last_verb(asked) || asked.events_before != events_) return;
  const auto found = run_->tree->find(asked.about.agent);
  verdict_.require(error != "agent_not_found" || !found || is_json_object(asked.request) == false ||
                       makes_task(asked.request),
                   "console", "an agent is not found: " + asked.about.agent);
  if (const auto reason = refusal_of_message(error); reason && found)
    if (asked.request == Request::send || asked.request == Request::send_urgent ||
        asked.request == Request::task)
      gates_.answered(found.value(), {.reason = *reason});
}

// It says that the store has the change, or has waited a second for it.
void World::check_stored(const Asked& asked, const json& body) {
  const bool is_durable = setup_[Knob::console] < 3 && setup_[Knob::store] != 0;
  const auto persisted = body.find("persisted");
  const std::string text = body.dump(-1, ' ', false, json::error_handler_t::replace).substr(0, 300);
  const bool says = persisted != body.end() && asked.request != Request::show_receipts;
  verdict_.require(says == (is_durable && is_stored_by(asked.request)) || console_may_fail(), "console",
                   "an answer says too much or too little of the store: " + text);
  if (!says || persisted->get<bool>()) return;
  const bool store_fails = store_.failed() || store_.refusals != 0 || store_.unknown_outcomes != 0 ||
                           seen_of_disk_ != decltype(seen_of_disk_)() || executor_.dropped.failed() ||
                           executor_.refused.failed() || setup_[Knob::store] > 1 || is_left_;
  // The changes may need more polls than the time has.
  const bool has_waited = setup_[Knob::background_store] != 0 || setup_[Knob::small_batches] != 0;
  verdict_.require(store_fails || has_waited || console_may_fail(), "console",
                   "the store works, and an answer says that it has no change: " + text);
}

void World::on_message_accepted(const Asked& asked, const json& body) {
  const bool stored = flag_in(body, "persisted");
  const bool is_steer = asked.request == Request::steer || asked.request == Request::steer_now;
  const bool is_removed = asked.request == Request::remove_queued;
  const std::string task = makes_task(asked.request) ? text_in(body, "taskId") : std::string();
  const std::string name = task.empty() ? text_in(body, "messageId") : task;
  if (name.size() < 2) return;
  const MessageId id{std::stoull(name.substr(1))};
  if (is_removed) return messages_.removed(id);
  const std::string agent = text_in(body, "agentId");
  const bool is_alone = asked.request == Request::task_alone ||
                        asked.request == Request::task_alone_with_key || asked.about.agent.empty();
  verdict_.require(is_alone ? !agent.empty() : agent == asked.about.agent, "console",
                   "a message was accepted for another agent: " + agent);
  sent_.push_back(id);
  messages_.accepted(id, agent, false, is_steer);
  if (stored && !is_steer) messages_.stored(id);
  people_.tasks.got(agent, id);
  if (task.empty()) return;
  people_.tasks.created(task, agent, is_alone, stored);
  if (!asked.about.key.empty())
    people_.tasks.has_key(asked.about.key, body_of(asked.request, asked.about), task);
}

void World::on_verb_done(const Asked& asked, const json& body) {
  const Request request = asked.request;
  const std::string& id = asked.about.agent;
  const bool stored = flag_in(body, "persisted");
  const bool is_exact = is_last_verb(asked);
  const auto found = run_->tree->find(id);
  const bool is_closed = found && !can_process(found.value().state().value());
  if (is_terminate(request) && flag_in(body, "terminated")) {
    const bool now = request != Request::terminate_later;
    verdict_.require(!now || !is_exact || !found || is_closed, "console", "a deleted agent is open: " + id);
    gates_.goes(id, false);
    if (now && stored && !found) stops_[id] = true;
    if (now && is_exact && found && is_closed) gates_.stopped(id, true);
    if (!now && is_exact && found) gates_.deferred(id, true, StopWhen::after_turn, {});
  }
  if (is_stop(request) && flag_in(body, "stopped") && is_exact) {
    if (request == Request::stop_all) {
      gates_.stopped_all();
    } else {
      verdict_.require(!found || is_closed, "console", "a stopped agent is open: " + id);
      gates_.stopped(id, request != Request::stop_alone);
      if (stored && is_closed) stops_[id] = false;
    }
  }
  if (flag_in(body, "stopped") && is_exact) {
    if (request == Request::stop_later && found) gates_.deferred(id, true, StopWhen::after_step, {});
    if (request == Request::stop_after_turn && found) gates_.deferred(id, true, StopWhen::after_turn, {});
    if (request == Request::stop_all_later) gates_.deferred({}, true, StopWhen::after_step, {});
  }
  if (request == Request::pause && flag_in(body, "paused") && is_exact) gates_.paused(id, true);
  if (request == Request::pause_all && flag_in(body, "paused") && is_exact) gates_.paused_all(true);
  if (request == Request::resume && flag_in(body, "resumed") && is_exact && stored && !is_closed)
    opened_.insert(id);
  const bool is_approved = request == Request::approve || request == Request::approve_for_agent ||
                           request == Request::approve_below;
  if (is_approved || request == Request::answer)
    questions_.verb_ended(asked.about.question, {}, true, QuestionOutcome::answered);
  if (request == Request::decline) {
    approvals_.declined(asked.about.question);
    questions_.verb_ended(asked.about.question, {}, true, QuestionOutcome::declined);
  }
  if (request == Request::cancel_call && flag_in(body, "cancelled")) {
    tool_rules_.ended_by_verb(id, asked.about.call, false);
    process_rules_.ended_by_verb(call_key(id, asked.about.call));
  }
  if (request == Request::cancel_background && flag_in(body, "cancelled"))
    process_rules_.ended_by_verb(asked.about.background);
  if (request == Request::create || request == Request::create_named) {
    verdict_.require(!is_exact || gates_.may_create(id), "G2",
                     "an agent was created behind a closed gate: below " + id);
    const std::string made = text_in(body["agent"], "id");
    const auto child = run_->tree->find(made);
    if (stored && is_exact && !gates_.may_go(id) && child && !may_go_with_call(people_, child.value()))
      people_.created.insert(made);
  }
  if (request == Request::terminate_task) people_.tasks.says_terminated(asked.about.task);
  if (request == Request::show_task)
    people_.tasks.says_status(asked.about.task, text_in(body, "status"), asked.task_was_over);
  if (request == Request::list_tasks)
    for (const json& task : body["tasks"])
      people_.tasks.says_status(text_in(task, "taskId"), text_in(task, "status"), false);
  if (request == Request::show_result || request == Request::await_result)
    people_.tasks.says_result(asked.about.task, flag_in(body, "success"));
}

// Nothing has happened since the request was complete: what it shows is so.
void World::check_read(const Asked& asked, const json& body) {
  AgentTree& tree = *run_->tree;
  const std::string& id = asked.about.agent;
  const auto found = tree.find(id);
  const auto require = [&](bool holds, const std::string& what) {
    verdict_.require(holds, "console",
                     "it shows other " + what + ": " +
                         body.dump(-1, ' ', false, json::error_handler_t::replace).substr(0, 600));
  };
  counts_.add("a request was compared");
  switch (asked.request) {
    case Request::send:
    case Request::send_urgent:
      if (found) gates_.answered(found.value(), {.id = MessageId{1}});
      return;
    case Request::show_agents:
      require(body.value("total", std::size_t{0}) == tree.size(), "agents");
      for (const json& agent : body["agents"]) check_agent(agent);
      return;
    case Request::show_agent: {
      check_agent(body["agent"]);
      std::set<std::string> calls;
      for (const RunningTask& task : tree.tasks())
        if (task.agent_id == id && (task.kind == TaskKind::tool_call || task.kind == TaskKind::background))
          calls.insert(task.id);
      return require(ids_in(body["calls"], "callId") == calls, "calls");
    }
    case Request::show_reach: {
      std::size_t agents = 0;
      tree.walk([&](const Agent& one) {
        for (Result<Agent> at = one; at; at = at.value().parent()) agents += at.value().id() == id ? 1 : 0;
      });
      return require(body.value("agents", std::size_t{0}) == agents,
                     "a reach than " + std::to_string(agents));
    }
    case Request::show_conversation: {
      if (!found) return;
      const auto page = found.value().conversation_page(50, {});
      if (!page) return;
      require(body.value("total", std::size_t{0}) == page.value().total &&
                  body["messages"].size() == page.value().messages.size(),
              "messages");
      for (std::size_t i = 0; i < std::min(body["messages"].size(), page.value().messages.size()); ++i)
        require(text_in(body["messages"][i], "content") == page.value().messages[i].content() &&
                    text_in(body["messages"][i], "role") == to_string(page.value().messages[i].role),
                "contents");
      return;
    }
    case Request::show_queue: {
      if (!found) return;
      std::set<std::string> waiting;
      for (const QueuedMessage& one : found.value().queued().value()) waiting.insert(to_string(one.id));
      return require(ids_in(body["messages"], "messageId") == waiting, "messages that wait");
    }
    case Request::show_questions: {
      std::set<std::string> open;
      for (const OpenQuestion& question : tree.questions()) open.insert(question.id);
      return require(ids_in(body["questions"], "id") == open, "questions");
    }
    case Request::show_receipts: {
      std::vector<std::string> shown;
      for (const json& receipt : body["receipts"])
        shown.push_back(text_in(receipt, "verb") + ' ' + text_in(receipt, "agentId"));
      // One may have come since in the same poll.
      const bool is_front = shown.size() <= people_.receipts.size() &&
                            shown.size() + 1 >= people_.receipts.size() &&
                            std::equal(shown.begin(), shown.end(), people_.receipts.begin());
      return require(is_front || people_.receipts.size() > 1000 || console_may_fail(), "receipts");
    }
    case Request::show_usage: {
      UsageSeen all;
      tree.walk([&](const Agent& one) {
        all.turns += people_.spent[one.id()].turns;
        all.tokens += people_.spent[one.id()].tokens;
      });
      return require(body["total"].value("turns", std::uint64_t{0}) == all.turns &&
                         body["total"].value("totalTokens", std::uint64_t{0}) == all.tokens,
                     "usage than " + std::to_string(all.turns) + " turns and " + std::to_string(all.tokens));
    }
    case Request::show_session: {
      const bool is_in = asked.access != AccessBy::nothing;
      const std::string login = text_in(body, "login");
      return require(!has_token() ? login == "none"
                     : is_in      ? login == "done" || asked.access == AccessBy::cookie
                                  : login == "required",
                     "logins");
    }
    default:
      return;
  }
}

void World::check_agent(const json& shown) {
  const std::string id = text_in(shown, "id");
  const auto found = run_->tree->find(id);
  verdict_.require(bool(found), "console", "it shows an agent that is gone: " + id);
  if (!found || !gates_.is_leased(id)) return;
  const AgentStatus status = found.value().status().value();
  const auto parent = found.value().parent();
  const bool is_open = status.state != AgentState::stopped && status.state != AgentState::terminating;
  const std::string pending =
      status.stop_pending ? std::string(to_string(*status.stop_pending)) : std::string();
  const bool is_same = text_in(shown, "computeStatus") == to_string(status.state) &&
                       flag_in(shown, "paused") == status.paused &&
                       flag_in(shown, "queueHeld") == status.queue_held &&
                       (!is_open || text_in(shown, "stopPending") == pending) &&
                       text_in(shown, "parentAgentId") == (parent ? parent.value().id() : std::string()) &&
                       shown.value("queueLength", std::size_t{0}) == found.value().queue_length().value();
  verdict_.require(is_same, "console",
                   "it shows an agent otherwise than it is: " +
                       shown.dump(-1, ' ', false, json::error_handler_t::replace));
}

// A request that waits for nothing but the store has its answer within a second. Without a descriptor for its
// connection it waits for that, too.
void World::check_answered() {
  for (ConsoleClient& client : people_.clients)
    client.with_first([&](Asked& asked) {
      if (network_->faults.was_short() && !client.is_read()) return asked.since.reset();
      if (!asked.is_complete || waits(asked.request)) return;
      if (!asked.since) asked.since = clock_.now();
      verdict_.require(clock_.now() <= *asked.since + std::chrono::seconds(1) || console_may_fail(),
                       "console", "a request has no answer after a second");
    });
}

}  // namespace agentcore::sim
