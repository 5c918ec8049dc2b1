// What people do at the console, and what a request that is on its way may change.
#include "sim/held_call.hpp"
#include "sim/world.hpp"
#include "sim/world_run.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

namespace agentcore::sim {
namespace {

bool is_message(Request request) {
  return request == Request::send || request == Request::send_urgent || request == Request::send_long ||
         request == Request::steer || request == Request::steer_now || request == Request::task ||
         request == Request::task_with_key;
}

bool is_approval(Request request) {
  return request == Request::approve || request == Request::approve_for_agent ||
         request == Request::approve_below;
}

}  // namespace

ConsoleOptions World::console_options() {
  ConsoleOptions options;
  options.port = 8700;  // Sockets::listen() chooses
  options.host_names = {"console"};
  options.max_writes_per_second = 1'000'000;
  options.agent = spec(7);
  options.agent.id.clear();
  options.receipts_to = &people_;
  if (has_token()) options.token = token_of_console;
  options.durable_answers = setup_[Knob::console] < 3;
  if (setup_[Knob::small_limits] != 0) {
    options.max_connections = 3;
    options.max_viewers = 1;
    options.kept_tasks = 1;
    options.max_writes_per_second = 20;
  }
  if (setup_[Knob::small_bytes] != 0) {
    options.max_body_bytes = 1 << 10;
    options.max_event_bytes = 64 << 10;
  }
  if (setup_[Knob::short_times] == 1) options.task_retention = std::chrono::seconds(1);
  people_.tasks.shown(options.task_retention, options.kept_tasks);
  return options;
}

bool World::has_token() const noexcept {
  return setup_[Knob::console] % 2 == 0;
}

std::string World::access_header(AccessBy by) const {
  if (by == AccessBy::token) return "Authorization: Bearer " + std::string(token_of_console) + "\r\n";
  return by == AccessBy::cookie ? "Cookie: " + people_.cookie + "\r\n" : std::string();
}

// Any; while a person is asked, or a tool runs, often one about that.
Request World::request_about(const Command& command) const {
  const test::HostCode host;
  const auto any_of = [&](std::initializer_list<Request> some) {
    return *(some.begin() + command.n[1] % some.size());
  };
  const bool is_asked = run_->tree && !run_->tree->questions().empty();
  if (is_asked && command.n[2] % 5 == 4)
    return any_of({Request::approve, Request::approve_for_agent, Request::approve_below, Request::decline,
                   Request::answer, Request::interact, Request::interact_to_approve,
                   Request::interact_to_decline, Request::show_questions});
  if (!held_.empty() && command.n[2] % 11 == 10)
    return any_of({Request::cancel_call, Request::cancel_background, Request::show_agent});
  return Request(command.n[1] % static_cast<std::uint32_t>(Request::last));
}

Asked World::request_of(const Command& command) {
  const Agent who = agent(command.n[0]);
  Asked asked{.request = request_about(command), .verbs_before = verbs_};
  Subject& about = asked.about;
  about.agent = who.id();
  about.number = ++texts_;
  about.question = some_question(command.n[0]);
  about.call = some_call(who, TaskKind::tool_call, command.n[0] / 16);
  about.background = some_call({}, TaskKind::background, command.n[0]);
  about.task = people_.tasks.any(command.n[0]);
  const auto queued = who.queued();
  about.message =
      to_string(queued && !queued.value().empty() ? queued.value().front().id : some_message(command.n[0]));
  if (has_key(asked.request)) about.key = "key " + std::to_string(command.n[2] / 8 % 4);
  if (has_token() && command.n[2] % 32 != 31)
    asked.access = people_.cookie.empty() || about.number % 2 == 0 ? AccessBy::token : AccessBy::cookie;
  asked.body_bytes = body_of(asked.request, about).size();
  return asked;
}

bool World::act_as_client(const Command& command) {
  switch (command.act) {
    case Act::http_request: {
      if (!run_->console) return true;
      Asked asked = request_of(command);
      const std::string text = text_of(asked.request, asked.about, access_header(asked.access));
      if (asked.request == Request::log_out) people_.cookie.clear();
      const std::size_t bytes = command.n[2] % 4 == 3 ? command.n[2] % text.size() : text.size();
      ConsoleClient& client = people_.clients[command.n[2] / 4 % 2];
      note(command, client.ask(clients_network(), std::move(asked), text, bytes) ? "done" : "refused");
      if (in_poll_) expect_requests();  // this poll may read it
      return true;
    }
    case Act::http_moves: {
      ConsoleClient& client = people_.clients[command.n[1] % 2];
      note(command, client.unsent() != 0 ? "done" : "nothing");
      client.send(command.n[0] % 2 == 0 ? client.unsent() : command.n[0] % 100, verbs_);
      if (in_poll_) expect_requests();
      return true;
    }
    case Act::http_follows: {
      if (!run_->console) return true;
      EventViewer& viewer = people_.viewers[command.n[0] % 2];
      const AccessBy by = has_token() ? AccessBy::token : AccessBy::nothing;
      note(command, viewer.follow(access_header(by)) ? "done" : "refused");
      viewer.move(clients_network(), clock_.now());
      return true;
    }
    case Act::http_reads:
      note(command, people_.viewers[1].is_off() ? "nothing" : "done");
      people_.viewers[1].read(command.n[0] % 2 == 0 ? std::size_t{1} << 20 : command.n[0] * 10);
      return true;
    case Act::http_leaves:
      note(command, "done");
      if (command.n[0] % 2 == 0)
        people_.leaves(people_.clients[command.n[0] / 2 % 2], command.n[1] % 2 == 0);
      else
        people_.viewers[command.n[0] / 2 % 2].leave(command.n[1] % 2 == 0);
      return true;
    default:
      return false;
  }
}

// A request that is on its way may take effect in the next poll. What it allows is allowed from here on, what
// it forbids is forbidden from its answer on.
void World::expect_requests() {
  // Two at once, or one without an answer: nobody knows which came last.
  std::size_t open = 0;
  for (const ConsoleClient& client : people_.clients)
    open += client.has_left() ? 2 : std::min<std::size_t>(client.open_changes(), 1);
  if (open > 1) ++verbs_;
  std::size_t tasks = 0;
  for (ConsoleClient& client : people_.clients)
    client.for_each_open([&](Asked& asked) {
      if (asked.is_complete) expect(asked);
      tasks += asked.is_complete && makes_task(asked.request) ? 1 : 0;
    });
  people_.tasks.are_asked(tasks);
}

void World::expect(Asked& asked) {
  const Subject& about = asked.about;
  if (!std::exchange(asked.is_expected, true)) {
    asked.events_before = events_;
    asked.task_was_over = people_.tasks.is_over(about.task);
  }
  const Request request = asked.request;
  if (is_approval(request)) {
    const GrantScope scope = request == Request::approve             ? GrantScope::once
                             : request == Request::approve_for_agent ? GrantScope::agent
                                                                     : GrantScope::subtree;
    if (!asked.approvals.contains(about.question))
      asked.approvals[about.question] = approvals_.approves(about.question, scope);
  } else if (request == Request::interact_to_approve && run_->tree) {
    for (const OpenQuestion& question : run_->tree->questions())
      if (question.kind == QuestionKind::approval && !asked.approvals.contains(question.id))
        asked.approvals[question.id] = approvals_.approves(question.id, GrantScope::once);
  }
  may_take_effect(asked);
}

void World::may_take_effect(const Asked& asked) {
  const Subject& about = asked.about;
  const Request request = asked.request;
  if (is_message(request) && resumes_by_itself_.contains(about.agent)) note_resumed(about.agent, true);
  if (request == Request::resume) note_resumed(about.agent, true);
  if (request == Request::resume_all) note_opened(gates_.resumed_all());
  if (request == Request::unpause) gates_.paused(about.agent, false);
  if (request == Request::unpause_all) gates_.paused_all(false);
  const bool is_of_all = request == Request::stop_all || request == Request::stop_all_later;
  if (is_of_all && run_->tree) run_->tree->walk([this](const Agent& one) { may_drop(one.id()); });
  all_deferred_ = all_deferred_ || request == Request::stop_all_later;
  if (use_of(request) == RequestUse::stop || request == Request::remove_queued)
    for (const std::string& below : gates_.subtree(about.agent)) may_drop(below);
  if (request == Request::terminate_task) may_drop(people_.tasks.agent_of(about.task));
  if (is_terminate(request)) people_.created.clear();
}

void World::take_answers() {
  for (EventViewer& viewer : people_.viewers) {
    viewer.move(clients_network(), clock_.now());
    const char* const name = &viewer == people_.viewers.data() ? "viewer 0 " : "viewer 1 ";
    for (const std::string& news : viewer.take_news()) say(name + news);
  }
  for (ConsoleClient& client : people_.clients)
    while (const auto answer = client.take()) on_answer(*answer);
}

// Nothing is due any more.
void World::check_console() {
  if (!run_->console || !run_->tree) return;
  people_.tasks.check_quiet(*run_->tree);
  const auto deadline = run_->runtime.next_deadline();
  // Events are merged for 20 ms, and sent together for as long.
  if (deadline && *deadline <= clock_.now() + std::chrono::milliseconds(40)) return;
  for (const EventViewer& viewer : people_.viewers)
    if (viewer.is_current()) check_viewer(viewer);
  check_late_viewer();
}

// It has what happened since it has loaded all agents, in its order, and shows what is.
void World::check_viewer(const EventViewer& viewer) {
  const std::vector<std::string>& seen = viewer.lines();
  const std::vector<std::string>& all = people_.lines;
  const std::size_t count = std::min(seen.size(), all.size());
  const auto [one, other] =
      std::mismatch(seen.rbegin(), seen.rbegin() + static_cast<std::ptrdiff_t>(count), all.rbegin());
  verdict_.require(seen.size() <= all.size() && one == seen.rend(), "viewer",
                   "a viewer has missed an event, or got one twice: " +
                       (other == all.rend() ? std::string("more than there were") : *other) +
                       ", and it has " + (one == seen.rend() ? std::string("none") : *one));
  for (const auto& [key, text] : viewer.texts()) {
    const std::string& whole = people_.texts[key];
    verdict_.require(
        whole.ends_with(text), "viewer",
        "a viewer has another text of " + std::get<0>(key) + ": \"" + text + "\" of \"" + whole + '"');
  }
  std::size_t agents = 0;
  run_->tree->walk([&](const Agent& agent) {
    ++agents;
    check_shown(viewer, agent);
  });
  verdict_.require(agents == viewer.agents().size(), "viewer", "a viewer shows agents that are gone");
  counts_.add("a viewer was compared");
}

void World::check_shown(const EventViewer& viewer, const Agent& agent) {
  const std::string id = agent.id();
  const auto found = viewer.agents().find(id);
  verdict_.require(found != viewer.agents().end(), "viewer", "a viewer does not show " + id);
  if (found == viewer.agents().end() || !gates_.is_leased(id)) return;
  const ShownAgent& shown = found->second;
  const AgentStatus status = agent.status().value();
  const auto parent = agent.parent();
  const std::string of = " of " + id + ", which is " + std::string(to_string(status.state));
  verdict_.require(shown.state == to_string(status.state), "viewer",
                   "a viewer shows the state " + shown.state + of);
  verdict_.require(shown.paused == status.paused, "viewer", "a viewer shows another pause" + of);
  verdict_.require(
      // There is no event of a hold that grows.
      shown.held == status.queue_held || hold_grows_, "viewer",
      std::string("a viewer shows a mailbox that is ") + (shown.held ? "" : "not ") + "held" + of);
  verdict_.require(shown.parent == (parent ? parent.value().id() : std::string()), "viewer",
                   "a viewer shows the parent " + shown.parent + of);
  const UsageSeen spent = people_.spent[id];
  verdict_.require(viewer.has_pages() || (shown.turns == spent.turns && shown.tokens == spent.tokens),
                   "viewer", "a viewer shows another usage" + of);
  // There is no event of a deferred stop of all agents.
  verdict_.require(status.stop_pending || shown.stop_pending.empty() || all_deferred_, "viewer",
                   "a viewer shows a stop that is pending" + of);
  if (!healed_ || agent.busy()) return;  // what C++ code sends is shown with the next event
  verdict_.require(shown.waiting == agent.queue_length().value(), "viewer",
                   "a viewer shows " + std::to_string(shown.waiting) + " messages that wait" + of);
}

// The server does not wait for a viewer for more than half a minute. One that was closed connects again.
void World::check_late_viewer() {
  const EventViewer& viewer = people_.viewers[1];
  if (!viewer.is_blocking() || std::exchange(blocked_stream_, viewer.streams()) != viewer.streams())
    blocked_.clear();
  if (!viewer.is_blocking()) return;
  const auto step = std::chrono::seconds(2);
  if (blocked_.empty() || clock_.now() - blocked_.back() >= step) blocked_.push_back(clock_.now());
  const bool is_late = blocked_.size() > 3 && blocked_.back() - blocked_[1] > std::chrono::seconds(62);
  verdict_.require(!is_late || viewer.is_closed(), "viewer", "a viewer that does not read is not closed");
}

}  // namespace agentcore::sim
