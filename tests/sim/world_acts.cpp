// What each command of a World does.
#include "sim/held_call.hpp"
#include "sim/world.hpp"
#include "sim/world_run.hpp"

#include <agentcore/conversation.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <new>
#include <utility>

#include <nlohmann/json.hpp>

namespace agentcore::sim {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr const char* reason_of_host = "SECRET reason";  // so short that it needs no heap

template <typename T, std::size_t size>
T one_of(const std::array<T, size>& choices, std::uint32_t n) {
  return choices[n % size];
}

Duration duration(std::uint32_t n) {
  return one_of(std::array<Duration, 7>{milliseconds(1), seconds(1), seconds(6), minutes(2), minutes(11),
                                        hours(2), Duration(0)},
                n);
}

StopOptions stop_options(const Command& command) {
  const test::HostCode host;
  StopOptions options;
  options.cascade = command.n[1] % 4 != 3;
  options.descendants_only = command.n[1] % 7 == 6;
  options.reason = reason_of_host;
  options.when = one_of(std::array{StopWhen::now, StopWhen::now, StopWhen::after_step, StopWhen::after_turn},
                        command.n[2]);
  if (command.n[2] % 5 == 4) options.escalate_after = duration(command.n[2] / 5);
  if (command.n[1] % 3 == 2) options.grace = duration(command.n[1] / 3);
  options.cut = one_of(std::array{StopCut::all, StopCut::few, StopCut::none}, command.n[2] / 4);
  return options;
}

// Returns out_of_memory, and throws nothing.
bool returns_its_error(Act act) {
  return act >= Act::create_root && act <= Act::terminate;
}

}  // namespace

Agent World::agent(std::uint32_t n) const {
  const test::HostCode host;
  if (restored_) return *restored_;
  if (here_ && n % 16 == 14) return *here_;
  if (!handles_.empty() && n % 16 == 15) return handles_[n / 16 % handles_.size()];
  std::vector<Agent> all;
  if (run_->tree) run_->tree->walk([&](const Agent& one) { all.push_back(one); });
  return all.empty() ? Agent() : all[n % all.size()];
}

World::HeldCall* World::held(std::uint32_t n) const {
  return held_.empty() ? nullptr : held_[n % held_.size()].get();
}

test::FakeClient::Call* World::model_call(std::uint32_t n) const {
  const test::HostCode host;
  const auto open = run_->llm.open_calls();
  return open.empty() ? nullptr : open[n % open.size()];
}

MessageId World::some_message(std::uint32_t n) const {
  return sent_.empty() ? MessageId() : sent_[sent_.size() - 1 - n % sent_.size()];
}

std::string World::some_call(const Agent& agent, TaskKind kind, std::uint32_t n) const {
  const test::HostCode host;
  if (!call_here_.empty() && n % 16 == 14) return call_here_;
  std::vector<std::string> ids;
  if (run_->tree)
    for (const RunningTask& task : run_->tree->tasks())
      if (task.kind == kind && (kind == TaskKind::background || task.agent_id == agent.id()))
        ids.push_back(task.id);
  return ids.empty() ? "c" + std::to_string(calls_) : ids[n % ids.size()];
}

std::string World::some_question(std::uint32_t n) const {
  const test::HostCode host;
  const auto open = run_->tree->questions();
  return open.empty() ? "q_0" : open[n % open.size()].id;
}

AgentSpec World::spec(std::uint32_t kind) {
  const test::HostCode host;
  AgentSpec spec;
  spec.id = "a" + std::to_string(kind / 16 % 8);
  spec.tools = tools_;
  spec.code.tools = "tools";
  spec.prices = {.prompt = 2, .completion = 8};
  spec.stream = kind / 128 % 4 != 3;
  if (kind % 3 == 0) {
    spec.llm = &run_->client(1);
    spec.code.llm = "other_llm";
  }
  switch (kind % 16) {
    case 1:
      spec.auto_resume = true;
      break;
    case 2:
      spec.role = AgentRole::user;
      break;
    case 3:
      spec.role = AgentRole::system;
      break;
    case 4:
      spec.handler = handler();
      spec.code.handler = "handler";
      break;
    case 5:
      spec.budget = {.turns = 3};
      break;
    case 6:
      spec.lease = minutes(10);
      break;
    case 7:
      spec.parallel_tools = 3;
      spec.background_tasks = 2;
      spec.partial_answers = PartialAnswers::keep;
      break;
    case 8:
      spec.context = {.max_tokens = 1'500, .target_tokens = 300, .min_conversation_tokens = 1};
      spec.context.compact = Compaction{.prompt = "Summarize.", .max_tokens = 500};
      break;
    case 9:
      spec.mailbox_limit = std::uint16_t{2};
      break;
    case 10:
      spec.tool_protocol = ToolProtocol::text;
      break;
    case 11:
      spec.tool_policy = policy();
      spec.code.tool_policy = "policy";
      break;
    case 12:
      spec.response_format = {.kind = ResponseFormat::Kind::json_object};
      break;
    case 13:
      spec.turn_timeout = minutes(5);
      spec.budget.wall_clock = hours(1);
      break;
    case 14:
      spec.subtree_budget = {.turns = 8, .tokens = 2'000};
      spec.partial_answers = PartialAnswers::keep_acknowledged;
      break;
    default:
      break;
  }
  return spec;
}

void World::settled(std::size_t number) {
  const test::HostCode host;
  ++events_;
  say("settled");
  if (!killed_) reports_.called(number);
  run_pending(place_of(Callback::settled));
  throw_if_due();
}

std::optional<TimePoint> World::escalation(std::optional<Duration> after) const {
  if (!after) return std::nullopt;
  return clock_.now() + std::max(*after, Duration(0));
}

Message World::message(bool urgent) {
  const test::HostCode host;
  Message message;
  message.text = "m" + std::to_string(++texts_);
  if (texts_ % 3 == 0) message.text += ' ' + std::string(2'000, 'x');  // so that contexts are trimmed
  message.priority = urgent ? MessagePriority::urgent : MessagePriority::normal;
  return message;
}

SendOptions World::send_options(std::uint32_t n) {
  const test::HostCode host;
  SendOptions options;
  if (n % 2 == 0) return options;
  options.on_end = [this](const MessageEnd& end) {
    const test::HostCode in_callback;
    ++events_;
    say("on_end " + to_string(end.message));
    if (!killed_) messages_.called_back(end);
    run_pending(place_of(Callback::message_end));
    throw_if_due();
  };
  return options;
}

// What follows in a command is of the host.
void World::note(const Command& command, const std::string& outcome) {
  test::runs_host_code = true;
  counts_.add(std::string(to_string(command.act)) + ": " + outcome);
  say("= " + outcome);
}

template <typename R>
void World::note_result(const Command& command, const R& result) {
  test::runs_host_code = true;
  if constexpr (requires { result.status; }) {
    const std::string why = result.reason == Errc::none ? "" : ' ' + std::string(to_string(result.reason));
    note(command, std::string(to_string(result.status)) + why);
    // All verbs are called on the loop thread.
    verdict_.require(result.quiet, "G1", std::string(to_string(command.act)) + " is not quiet");
  } else if constexpr (requires { result.reason; }) {
    note(command, result.accepted() ? "done" : "refused " + std::string(to_string(result.reason)));
  } else {
    note(command, result ? "done" : "refused " + std::string(to_string(result.error().code)));
  }
}

void World::note_send(const Command& command, const Agent& agent, const SendResult& sent, bool watched) {
  note_result(command, sent);
  // What the callbacks of a regenerate() and a steer() do comes after the message. A tool may be refused for
  // the state of its own agent.
  const bool is_plain =
      command.act != Act::regenerate && command.act != Act::steer && command.act != Act::tool_sends;
  if (!killed_ && !tree_is_destroyed_ && is_plain) gates_.answered(agent, sent);
  if (!sent || killed_) return;
  sent_.push_back(sent.id);
  const std::string id = agent.id();
  messages_.accepted(sent.id, id, watched);
  if (resumes_by_itself_.contains(id)) note_resumed(id, true);
}

void World::note_resumed(const std::string& id, bool cascade) {
  resumed_in_restore_ = true;
  note_opened(gates_.resumed(id, cascade));
}

void World::note_opened(const std::set<std::string>& opened) {
  for (const std::string& id : opened) {
    stops_.erase(id);
    resumed_.insert(id);
  }
}

void World::act(const Command& command) {
  say("> " + to_string(command));
  if (command.act > Act::run_job && !act_as_client(command)) {
    ++verbs_;
    opened_.clear();
  }
  if (!run_->tree) return;
  if (is_verb(command.act)) note_coverage(command);
  try {
    const test::LibraryCode library;
    act_by_kind(command);
  } catch (const std::bad_alloc&) {
    say("= no memory");
    counts_.add(std::string(to_string(command.act)) + ": no memory");
    verdict_.require(!returns_its_error(command.act), "G16",
                     std::string(to_string(command.act)) + " throws where memory is short");
  }
}

void World::act_by_kind(const Command& command) {
  if (act_on_loop(command) || act_on_agent(command) || act_by_stop(command) || act_on_mailbox(command) ||
      act_on_conversation(command) || act_on_tree(command) || act_as_model(command) || act_as_tool(command) ||
      act_as_program(command))
    return;
  act_as_fault(command);
}

void World::note_coverage(const Command& command) {
  const Agent who = agent(command.n[0]);
  const auto seen = states_.find(who.id());
  if (seen == states_.end()) return;
  AgentState state = seen->second;  // Agent::state() would stop an agent whose lease is over
  if (gates_.is_leased(who.id())) state = who.state().value_or(state);
  const Fault fault = store_.fails() ? Fault::store
                      : throws_      ? Fault::callback
                      : !has_budget_ ? Fault::no_budget
                                     : Fault::none;
  counts_.coverage.add({command.act, state, command.place, fault});
}

bool World::act_on_loop(const Command& command) {
  switch (command.act) {
    case Act::poll:
      if (in_poll_)
        verdict_.require(!run_->runtime.poll() && !run_->runtime.poll(seconds(1)), "G16",
                         "a poll within a callback says that work is left");
      else
        poll();
      return true;
    case Act::poll_until_quiet:
      if (!in_poll_) poll_until_quiet();
      return true;
    case Act::calm:
      calm(command);
      return true;
    case Act::poll_without_budget:
      if (!in_poll_) poll(Duration(0));
      return true;
    case Act::time_passes:
      clock_.advance(duration(command.n[0]));
      woken_ = woken_ || depth_ != 0;  // a slow callback: its caller asks for the deadline afterwards
      return true;
    case Act::next_timer:
      if (const auto next = run_->runtime.next_deadline(); next && *next > clock_.now())
        clock_.advance(*next - clock_.now());
      return true;
    case Act::run_job:
      note(command, executor_.run_one() ? "ran" : "none");
      return true;
    default:
      return false;
  }
}

bool World::act_on_agent(const Command& command) {
  const Agent who = agent(command.n[0]);
  switch (command.act) {
    case Act::create_root:
    case Act::create_child: {
      AgentSpec wanted = spec(command.n[1]);
      const bool resumes = wanted.auto_resume;
      const std::string id = wanted.id;
      const Duration lease = wanted.lease;
      const bool root = command.act == Act::create_root;
      const bool may_be_made = gates_.may_create(root ? std::string() : who.id());
      const auto made = root ? run_->tree->create(std::move(wanted)) : who.create_child(std::move(wanted));
      note_result(command, made);
      if (made && lease != no_limit) gates_.lease_begins(id, lease);
      verdict_.require(!made || may_be_made, "G2", "an agent was created behind a closed gate: " + id);
      if (made && resumes)
        resumes_by_itself_.insert(id);
      else if (made)
        resumes_by_itself_.erase(id);
      return true;
    }
    case Act::create_many: {
      std::uint32_t made = 0;
      AgentSpec wanted = spec(0);
      wanted.id.clear();
      const auto shared = std::make_shared<const AgentSpec>(std::move(wanted));
      while (made < 500 + command.n[1] * 3 && who.create_child(shared)) ++made;
      note(command, made != 0 ? "done" : "refused");
      return true;
    }
    case Act::grant:
      transfer_rules_.budget_changed(who.id());
      note_result(command, who.grant({.turns = command.n[1] % 5 + 1}));
      return true;
    case Act::grant_subtree:
      note_result(command, who.grant_subtree({.tokens = command.n[1] % 5 * 1'000}));
      return true;
    case Act::set_model:
      note_result(command, who.set_model("model" + std::to_string(command.n[1] % 3)));
      return true;
    case Act::set_llm:
      note_result(command,
                  who.set_llm(&run_->client(command.n[1] % 2), command.n[1] % 2 == 0 ? "llm" : "other_llm"));
      return true;
    case Act::set_system_prompt:
      note_result(command, who.set_system_prompt("prompt " + std::to_string(command.n[1] % 3)));
      return true;
    case Act::set_tools:
      note_result(command, who.set_tools(tools_, "tools"));
      return true;
    default:
      return false;
  }
}

bool World::act_by_stop(const Command& command) {
  const Agent who = agent(command.n[0]);
  const std::string id = who.id();
  const bool drops = command.act == Act::abort || command.act == Act::interrupt || command.act == Act::stop ||
                     command.act == Act::terminate;
  if (drops) {
    const test::HostCode host;
    for (const std::string& below : gates_.subtree(id)) messages_.may_drop(below);
  }
  switch (command.act) {
    case Act::abort: {
      const VerbResult result = who.abort({.clear_queue = command.n[1] % 2 == 1, .reason = reason_of_host});
      note_result(command, result);
      if (result.took_effect()) gates_.turn_cut(id);
      return true;
    }
    case Act::interrupt: {
      InterruptOptions options;
      options.scope = command.n[1] % 3 == 2 ? InterruptScope::subtree : InterruptScope::turn;
      options.queue =
          one_of(std::array{QueueAction::deliver, QueueAction::hold, QueueAction::drop}, command.n[2]);
      if (command.n[1] % 5 == 4) options.message = some_message(command.n[2]);
      options.reason = reason_of_host;
      const bool of_message = bool(options.message), below = options.scope == InterruptScope::subtree;
      const VerbResult result = who.interrupt(std::move(options));
      note_result(command, result);
      if (!result.took_effect() || of_message) return true;
      if (below)
        gates_.turns_cut_below(id);
      else
        gates_.turn_cut(id);
      return true;
    }
    case Act::pause: {
      const std::size_t report = reports_.add();
      const VerbResult result =
          who.pause({.reason = reason_of_host, .on_rest = [this, report] { settled(report); }});
      note_result(command, result);
      if (result.took_effect()) gates_.paused(id, true);
      return true;
    }
    case Act::unpause: {
      const VerbResult result = who.unpause();
      note_result(command, result);
      if (result.took_effect()) gates_.paused(id, false);
      return true;
    }
    case Act::renew: {
      const VerbResult result = who.renew();
      note_result(command, result);
      if (result.took_effect()) gates_.lease_renewed(id);
      return true;
    }
    case Act::stop: {
      StopOptions options = stop_options(command);
      const std::size_t report = reports_.add();
      options.on_settled = [this, report](const StopReport&) { settled(report); };
      may_cut_later(options);
      reports_.grace(options.grace.value_or(Duration(0)));
      const StopWhen when = options.when;
      const bool now = when == StopWhen::now, cascade = options.cascade;
      const std::optional<TimePoint> escalates = escalation(options.escalate_after);
      const bool below = options.descendants_only;
      const std::vector<std::string> children =
          gates_.children(id);  // a callback of the stop may create more
      const VerbResult result = who.stop(std::move(options));
      note_result(command, result);
      if (now && (below ? result.took_effect() : result.accepted())) reports_.due(report);
      if (result.took_effect() && !below) resumed_.erase(id);
      // The agent is as the verb would leave it, and stays so until it is resumed.
      if (result.accepted() && !result.took_effect() && now && !below && run_->tree) {
        gates_.stopped(id, false);
        cuts_later_ = true;  // a lease has closed it, and the next poll cuts
      }
      if (result.took_effect() && !now)
        for (const std::string& one : below ? children : std::vector{id})
          gates_.deferred(one, below || cascade, when, escalates);
      if (!result.took_effect() || !now) return true;
      if (below)
        for (const std::string& child : children) gates_.stopped(child, true);
      else
        gates_.stopped(id, cascade);
      if (run_->tree) gates_.check(*run_->tree);
      return true;
    }
    case Act::resume: {
      const bool cascade = command.n[1] % 4 != 3;
      const VerbResult result = who.resume({.cascade = cascade});
      note_result(command, result);
      if (result.took_effect()) note_resumed(id, cascade);
      return true;
    }
    case Act::terminate: {
      TerminateOptions options;
      options.reason = reason_of_host;
      options.when = stop_options(command).when;
      options.escalate_after = stop_options(command).escalate_after;
      options.forks = command.n[1] % 5 == 4 ? Forks::terminate : Forks::keep;
      const StopWhen when = options.when;
      const bool now = when == StopWhen::now;
      const std::optional<TimePoint> escalates = escalation(options.escalate_after);
      if (command.n[1] % 3 == 2) options.grace = duration(command.n[1] / 3);
      reports_.grace(options.grace.value_or(Duration(0)));
      const std::size_t report = reports_.add();
      options.on_settled = [this, report](const TerminateReport&) { settled(report); };
      const VerbResult result = who.terminate(std::move(options));
      note_result(command, result);
      if (now && result.accepted()) reports_.due(report);
      if (result.took_effect()) resumed_.erase(id);
      if (result.took_effect() && now) gates_.stopped(id, true);
      if (result.took_effect() && !now) gates_.deferred(id, true, when, escalates);
      if (run_->tree) gates_.check(*run_->tree);
      return true;
    }
    default:
      return false;
  }
}

bool World::act_on_mailbox(const Command& command) {
  const Agent who = agent(command.n[0]);
  if (command.act == Act::clear_queue || command.act == Act::remove_queued) messages_.may_drop(who.id());
  switch (command.act) {
    case Act::send:
    case Act::send_urgent: {
      SendOptions options = send_options(command.n[1]);
      const bool watched = bool(options.on_end);
      note_send(command, who, who.send(message(command.act == Act::send_urgent), std::move(options)),
                watched);
      return true;
    }
    case Act::send_with_deadline: {
      SendOptions options = send_options(command.n[1]);
      const bool watched = bool(options.on_end);
      options.deadline = clock_.now() + duration(command.n[2]);
      note_send(command, who, who.send(message(), std::move(options)), watched);
      return true;
    }
    case Act::simulate:
      note_send(command, who, who.simulate("simulated " + std::to_string(++texts_)), false);
      return true;
    case Act::steer: {
      SteerOptions options;
      options.when = command.n[1] % 2 == 1 ? SteerWhen::now : SteerWhen::next_step;
      options.fallback = command.n[2] % 3 == 2 ? SteerFallback::give_back : SteerFallback::queue;
      const SteerResult steered = who.steer(message(), options);
      note_send(command, who, {steered.reason, steered.id}, false);
      if (steered && options.fallback == SteerFallback::give_back && !killed_)
        messages_.goes_back(steered.id);
      return true;
    }
    case Act::release_queue:
      note_result(command, who.release_queue());
      return true;
    case Act::clear_queue:
      note_result(command, who.clear_queue());
      return true;
    case Act::edit_queued:
    case Act::remove_queued: {
      const auto queued = who.queued();
      const MessageId id = queued && !queued.value().empty()
                               ? queued.value()[command.n[1] % queued.value().size()].id
                               : some_message(command.n[1]);
      if (command.act == Act::edit_queued)
        note_result(command, who.edit_queued(id, message()));
      else
        note_result(command, who.remove_queued(id));
      return true;
    }
    case Act::cancel_call:
    case Act::complete_call: {
      const std::string call = some_call(who, TaskKind::tool_call, command.n[1]);
      const bool gives = command.act == Act::complete_call;
      const VerbResult result =
          gives ? who.complete_call(call, ToolResult::done("by the host")) : who.cancel_call(call, {});
      note_result(command, result);
      if (result.took_effect() && !killed_) tool_rules_.ended_by_verb(call, gives);
      if (result.took_effect() && !killed_) process_rules_.ended_by_verb(call);
      return true;
    }
    default:
      return false;
  }
}

bool World::act_on_conversation(const Command& command) {
  const Agent who = agent(command.n[0]);
  if (command.act == Act::rewind || command.act == Act::regenerate) messages_.may_drop(who.id());
  const auto turn = [&] {
    const auto turns = turns_of(who);
    return turns && !turns.value().empty() ? turns.value()[command.n[1] % turns.value().size()].turn
                                           : std::uint64_t{1};
  };
  switch (command.act) {
    case Act::acknowledge:
      note_result(command, acknowledge(who, {some_message(command.n[1]), 1, command.n[2] % 8}));
      return true;
    case Act::truncate_answer:
      note_result(command, truncate_answer(who, some_message(command.n[1]), command.n[2] % 8));
      return true;
    case Act::rewind:
      note_result(command, rewind(who, turn()));
      return true;
    case Act::regenerate: {
      SendOptions options = send_options(command.n[1]);
      const bool watched = bool(options.on_end);
      note_send(command, who, regenerate(who, std::move(options)), watched);
      return true;
    }
    case Act::fork: {
      ForkOptions options{.id = "f" + std::to_string(command.n[2] % 4)};
      if (command.n[2] % 2 == 1) options.at = turn();
      const std::string id = options.id;
      const auto made = fork(who, std::move(options));
      transfer_rules_.budget_changed(id);
      note_result(command, made);
      if (made && resumes_by_itself_.contains(who.id()))
        resumes_by_itself_.insert(id);
      else if (made)
        resumes_by_itself_.erase(id);
      return true;
    }
    default:
      return false;
  }
}

bool World::act_on_tree(const Command& command) {
  AgentTree& tree = *run_->tree;
  switch (command.act) {
    case Act::stop_all: {
      StopOptions options = stop_options(command);
      options.cascade = true;
      options.descendants_only = false;
      may_cut_later(options);
      const StopWhen when = options.when;
      const bool now = when == StopWhen::now;
      {
        const test::HostCode host;
        tree.walk([this](const Agent& one) { messages_.may_drop(one.id()); });
      }
      const std::size_t report = reports_.add();
      options.on_settled = [this, report](const StopReport&) { settled(report); };
      reports_.grace(options.grace.value_or(Duration(0)));
      const VerbResult result = tree.stop_all(std::move(options));
      note_result(command, result);
      if (now && result.accepted()) reports_.due(report);
      if (result.took_effect() && now) gates_.stopped_all();
      if (result.took_effect() && !now) gates_.deferred({}, true, when, {});
      return true;
    }
    case Act::resume_all: {
      const VerbResult result = tree.resume_all();
      note_result(command, result);
      if (!result.took_effect()) return true;
      resumed_in_restore_ = true;
      note_opened(gates_.resumed_all());
      return true;
    }
    case Act::pause_all: {
      const VerbResult result = tree.pause_all({.reason = reason_of_host});
      note_result(command, result);
      if (result.took_effect()) gates_.paused_all(true);
      return true;
    }
    case Act::unpause_all: {
      const VerbResult result = tree.unpause_all();
      note_result(command, result);
      if (result.took_effect()) gates_.paused_all(false);
      return true;
    }
    case Act::answer:
      note_result(command, tree.answer(some_question(command.n[0]), "an answer"));
      return true;
    case Act::approve: {
      const std::string question = some_question(command.n[0]);
      const GrantScope scope =
          one_of(std::array{GrantScope::once, GrantScope::agent, GrantScope::subtree}, command.n[1]);
      {
        const test::HostCode host;
        approvals_.approves(question, scope);
      }
      const AnswerResult result = tree.approve(question, scope);
      note_result(command, result);
      if (!result) approvals_.approve_was_refused();
      return true;
    }
    case Act::decline: {
      const std::string question = some_question(command.n[0]);
      const AnswerResult result = tree.decline(question, "no");
      note_result(command, result);
      if (result && !killed_) approvals_.declined(question);
      return true;
    }
    case Act::revoke: {
      const auto grants = tree.grants();
      note_result(command, tree.revoke(grants.empty() ? 1 : grants[command.n[0] % grants.size()].id));
      return true;
    }
    case Act::cancel_task: {
      const std::string task = some_call({}, TaskKind::background, command.n[0]);
      const VerbResult result = tree.cancel_task(task);
      note_result(command, result);
      if (result.took_effect() && !killed_) process_rules_.ended_by_verb(task);
      return true;
    }
    case Act::flush: {
      {
        const test::HostCode host;
        tool_rules_.flush_begins();
        messages_.flush_begins();
      }
      const auto flushed = tree.flush();
      note_result(command, flushed);
      if (flushed && depth_ == 0 && !killed_ && setup_[Knob::store] != 0) {
        tool_rules_.flushed();
        messages_.flushed();
      }
      return true;
    }
    default:
      return false;
  }
}

std::vector<ToolCall> World::tool_calls(std::uint32_t n) {
  // The second half: Knob::programs.
  static constexpr std::array<const char*, 20> names = {
      "safe",     "never",   "careful", "task",    "blocking", "finish", "ask_human",
      "delegate", "unknown", "safe",    "program", "program",  "hasty",  "program",
      "service",  "program", "hasty",   "program", "program",  "program"};
  const std::size_t count = setup_[Knob::programs] != 0 && !is_real() ? names.size() : names.size() / 2;
  const test::HostCode host;
  std::vector<ToolCall> calls;
  for (std::uint32_t i = 0; i <= n % 3; ++i) {
    ToolCall call;
    call.id = "c" + std::to_string(++calls_);
    tool_rules_.asked(call.id);
    call.name = names[(n / 3 + i * (n / 30)) % count];
    call.arguments = setup_[Knob::plain_arguments] != 0 ? "{}"
                     : call.name == "ask_human"         ? R"({"question":"Which?"})"
                     : call.name == "delegate" ? R"({"message":"work )" + std::to_string(++texts_) + "\"}"
                     : n % 17 == 16            ? "no object"
                                               : "{}";
    calls.push_back(std::move(call));
  }
  return calls;
}

void World::end_model_call(test::FakeClient::Call& call, ChatOutcome outcome) {
  outcome.usage = {.prompt_tokens = 20, .completion_tokens = 10, .total_tokens = 30};
  test::FakeClient::finish(call, std::move(outcome));
}

bool World::act_as_model(const Command& command) {
  if (act_as_server(command)) return true;
  test::FakeClient::Call* const call = model_call(command.n[0]);
  switch (command.act) {
    case Act::model_text:
      if (call) call->sink.delta("t" + std::to_string(++texts_) + ' ');
      return true;
    case Act::model_reasoning:
      if (call) call->sink.reasoning("r" + std::to_string(++texts_));
      return true;
    case Act::model_answers:
      if (!call) return true;
      if (command.n[1] % 8 != 7) call->sink.delta(command.n[1] % 3 == 2 ? R"({"a":1})" : "an answer");
      if (call->open())
        end_model_call(
            *call, ChatOutcome::completed(one_of(std::array{FinishReason::complete, FinishReason::complete,
                                                            FinishReason::unknown, FinishReason::refusal},
                                                 command.n[2])));
      return true;
    case Act::model_calls: {
      if (!call) return true;
      ChatOutcome outcome = ChatOutcome::completed(FinishReason::tool_calls);
      outcome.tool_calls = tool_calls(command.n[1]);
      end_model_call(*call, std::move(outcome));
      return true;
    }
    case Act::model_is_cut: {
      if (!call) return true;
      ChatOutcome outcome = ChatOutcome::completed(one_of(
          std::array{FinishReason::length, FinishReason::content_filter, FinishReason::other}, command.n[2]));
      if (command.n[1] % 2 == 1) outcome.tool_calls = tool_calls(command.n[1]);
      end_model_call(*call, std::move(outcome));
      return true;
    }
    case Act::model_fails: {
      if (!call) return true;
      ChatError error{Errc::network_error, "the simulated network fails"};
      error.retryable = command.n[1] % 2 == 0;
      end_model_call(*call, ChatOutcome::failed(std::move(error)));
      return true;
    }
    default:
      return false;
  }
}

bool World::act_as_tool(const Command& command) {
  HeldCall* const call = held(command.n[0]);
  if (command.act < Act::tool_done || command.act > Act::tool_creates) return false;
  if (!call) return true;
  switch (command.act) {
    case Act::tool_done: {
      ToolResult result = ToolResult::done("a result");
      result.end_turn = command.n[1] % 5 == 4;
      end_tool(*call, std::move(result));
      return true;
    }
    case Act::tool_fails:
      end_tool(*call, ToolResult::failed("a failure"));
      return true;
    case Act::tool_dropped:
      end_tool(*call, std::nullopt);
      return true;
    default:
      tell_context(command, *call);
      return true;
  }
}

bool World::act_as_fault(const Command& command) {
  if (act_on_disk(command)) return true;
  switch (command.act) {
    case Act::store_refuses:
      if (!healed_) store_.refuse(1 + command.n[0] % 3);
      return true;
    case Act::store_is_unknown:
      if (!healed_) store_.answer_wrongly(1 + command.n[0] % 2);
      return true;
    case Act::callback_throws:
      throws_ = true;
      return true;
    case Act::destroy_tree:
      run_->audit.closed = true;
      tree_is_destroyed_ = true;
      if (depth_ != 0) messages_.ends_are_unheard();
      run_->shown.reset();
      run_->tree.reset();
      return true;
    case Act::kill:
      if (in_poll_) kill_process(command.n[0]);
      return true;
    default:  // restart: run() does it, between two polls
      return true;
  }
}

}  // namespace agentcore::sim
