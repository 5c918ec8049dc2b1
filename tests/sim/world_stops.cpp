// The verbs of an agent that end, pause and resume, and those of the tree.
#include "sim/choices.hpp"
#include "sim/world.hpp"
#include "sim/world_result.hpp"
#include "sim/world_run.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace agentcore::sim {
namespace {

StopOptions stop_options(const Command& command) {
  const test::HostCode host;
  StopOptions options;
  options.scope = command.n[1] % 7 == 6   ? Scope::descendants
                  : command.n[1] % 4 == 3 ? Scope::agent
                                          : Scope::subtree;
  options.reason = reason_of_host;
  options.when = one_of(std::array{StopWhen::now, StopWhen::now, StopWhen::after_step, StopWhen::after_turn},
                        command.n[2]);
  if (command.n[2] % 5 == 4) options.escalate_after = duration(command.n[2] / 5);
  if (command.n[1] % 3 == 2) options.grace = duration(command.n[1] / 3);
  options.cut = one_of(std::array{StopCut::all, StopCut::few, StopCut::none}, command.n[2] / 4);
  options.cause =
      one_of(std::array{StopCause::user, StopCause::deadline, StopCause::shutdown, StopCause::budget},
             options_in(command.n[1]) / 4);
  return options;
}

}  // namespace

void World::settled(std::size_t number) {
  const test::HostCode host;
  ++events_;
  say("settled");
  if (!killed_) reports_.called(number);
  run_pending(place_of(Callback::settled));
  throw_if_due();
}

void World::may_drop(const std::string& agent) {
  messages_.may_drop(agent);
  people_.tasks.may_drop(agent);
}

std::string World::caller(const Command& command, const std::string& id) const {
  const test::HostCode host;
  const std::uint32_t options = options_in(command.n[1]);
  if (options % 4 == 1) return gates_.parent_of(id);
  return options % 4 == 2 ? agent(options).id() : std::string();
}

// An agent stops and deletes only its own children, and with Scope::descendants those of itself.
void World::check_caller(const std::string& caller, const std::string& id, const VerbResult& result) {
  if (caller.empty() || caller == id || killed_) return;
  const bool is_gone = result.status == VerbStatus::no_effect && result.reason == Errc::agent_terminating;
  verdict_.require(result.status == VerbStatus::refused || is_gone || gates_.parent_of(id) == caller, "G1",
                   caller + " has stopped " + id + ", which is no child of it");
}

// One that no other answer has.
std::string World::text_for(const std::string& question, std::string_view word) {
  const test::HostCode host;
  std::string text = std::string(word) + std::to_string(++texts_);
  questions_.verb_begins(question, text);
  return text;
}

// In a callback an event may be outstanding.
std::uint64_t World::turn_between_polls(const std::string& id) const {
  return in_poll_ || depth_ != 0 ? 0 : gates_.turn_of(id);
}

std::optional<TimePoint> World::escalation(std::optional<Duration> after) const {
  if (!after) return std::nullopt;
  return clock_.now() + std::max(*after, Duration(0));
}

bool World::act_by_stop(const Command& command) {
  const Agent who = agent(command.n[0]);
  const std::string id = who.id();
  const bool drops = command.act == Act::abort || command.act == Act::interrupt || command.act == Act::stop ||
                     command.act == Act::terminate;
  if (drops) {
    const test::HostCode host;
    for (const std::string& below : gates_.subtree(id)) may_drop(below);
  }
  switch (command.act) {
    case Act::abort: {
      const std::uint64_t turn = turn_between_polls(id);
      const VerbResult result =
          who.abort({.queue = command.n[1] % 2 == 1 ? QueueAction::drop : QueueAction::deliver,
                     .reason = reason_of_host});
      note_result(command, result);
      if (result.took_effect()) gates_.turn_cut(id);
      if (result.took_effect()) turn_rules_.ended_by_verb(id, turn, TurnOutcome::aborted);
      return true;
    }
    case Act::interrupt: {
      InterruptOptions options;
      options.scope = command.n[1] % 3 == 2 ? Scope::subtree : Scope::agent;
      options.queue =
          one_of(std::array{QueueAction::deliver, QueueAction::hold, QueueAction::drop}, command.n[2]);
      if (command.n[1] % 5 == 4) options.message = some_message(command.n[2]);
      options.reason = reason_of_host;
      options.cut = one_of(std::array{StopCut::all, StopCut::few, StopCut::none}, options_in(command.n[1]));
      cuts_later_ = cuts_later_ || options.cut != StopCut::all;
      const bool of_message = bool(options.message), below = options.scope == Scope::subtree;
      const std::uint64_t turn = turn_between_polls(id);
      if (below && options.queue == QueueAction::hold && who.status().value_or(AgentStatus()).queue_held)
        hold_grows_ = true;
      const VerbResult result = who.interrupt(std::move(options));
      note_result(command, result);
      if (!result.took_effect() || of_message) return true;
      if (below)
        gates_.turns_cut_below(id);
      else
        gates_.turn_cut(id);
      if (!below) turn_rules_.ended_by_verb(id, turn, TurnOutcome::interrupted);
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
      const std::string by = caller(command, id);
      options.caller = by;
      reports_.grace(options.grace.value_or(Duration(0)));
      const StopWhen when = options.when;
      const bool now = when == StopWhen::now, cascade = options.scope == Scope::subtree;
      const std::optional<TimePoint> escalates = escalation(options.escalate_after);
      const bool below = options.scope == Scope::descendants;
      const std::vector<std::string> children =
          gates_.children(id);  // a callback of the stop may create more
      const VerbResult result = who.stop(std::move(options));
      note_result(command, result);
      check_caller(by, id, result);
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
      const VerbResult result = who.resume({.scope = cascade ? Scope::subtree : Scope::agent});
      note_result(command, result);
      if (result.took_effect()) note_resumed(id, cascade);
      return true;
    }
    case Act::terminate: {
      TerminateOptions options;
      options.reason = reason_of_host;
      options.when = stop_options(command).when;
      options.escalate_after = stop_options(command).escalate_after;
      const bool with_forks = command.n[1] % 5 == 4;
      if (with_forks) options.scope = Scope::with_forks;
      const StopWhen when = options.when;
      const bool now = when == StopWhen::now;
      const std::optional<TimePoint> escalates = escalation(options.escalate_after);
      if (command.n[1] % 3 == 2) options.grace = duration(command.n[1] / 3);
      reports_.grace(options.grace.value_or(Duration(0)));
      const std::size_t report = reports_.add();
      options.on_settled = [this, report](const StopReport&) { settled(report); };
      const std::string by = caller(command, id);
      options.caller = by;
      options.cut = one_of(std::array{StopCut::all, StopCut::few, StopCut::none}, options_in(command.n[1]));
      cuts_later_ = cuts_later_ || options.cut != StopCut::all;
      const VerbResult result = who.terminate(std::move(options));
      note_result(command, result);
      check_caller(by, id, result);
      if (now && result.accepted()) reports_.due(report);
      if (result.took_effect()) resumed_.erase(id);
      if (result.took_effect()) gates_.goes(id, with_forks);
      if (result.took_effect()) people_.created.clear();
      if (result.took_effect() && now) gates_.stopped(id, true);
      if (result.took_effect() && !now) gates_.deferred(id, true, when, escalates);
      if (run_->tree) gates_.check(*run_->tree);
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
      options.scope = Scope::subtree;
      may_cut_later(options);
      const StopWhen when = options.when;
      const bool now = when == StopWhen::now;
      {
        const test::HostCode host;
        tree.walk([this](const Agent& one) { may_drop(one.id()); });
      }
      const std::size_t report = reports_.add();
      options.on_settled = [this, report](const StopReport&) { settled(report); };
      reports_.grace(options.grace.value_or(Duration(0)));
      const VerbResult result = tree.stop_all(std::move(options));
      note_result(command, result);
      if (now && result.accepted()) reports_.due(report);
      if (result.took_effect() && now) gates_.stopped_all();
      if (result.took_effect() && !now) gates_.deferred({}, true, when, {});
      all_deferred_ = all_deferred_ || !now;
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
    case Act::answer: {
      const std::string question = some_question(command.n[0]);
      const std::string text = text_for(question, "answer ");
      const Result<void> result = tree.answer(question, text);
      note_result(command, result);
      if (!killed_) questions_.verb_ended(question, text, result.has_value(), QuestionOutcome::answered);
      return true;
    }
    case Act::approve: {
      const std::string question = some_question(command.n[0]);
      const GrantScope scope =
          one_of(std::array{GrantScope::once, GrantScope::agent, GrantScope::subtree}, command.n[1]);
      const std::size_t approval = [&] {
        const test::HostCode host;
        return approvals_.approves(question, scope);
      }();
      const Result<void> result = tree.approve(question, scope);
      note_result(command, result);
      if (!killed_) questions_.verb_ended(question, {}, result.has_value(), QuestionOutcome::answered);
      if (!result) approvals_.was_refused(approval);
      return true;
    }
    case Act::decline: {
      const std::string question = some_question(command.n[0]);
      const std::string text = text_for(question, "no ");
      const Result<void> result = tree.decline(question, text);
      note_result(command, result);
      if (!killed_) questions_.verb_ended(question, text, result.has_value(), QuestionOutcome::declined);
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
      flushes_ = true;
      const auto flushed = tree.flush();
      flushes_ = false;
      note_result(command, flushed);
      if (flushed && depth_ == 0 && !killed_ && setup_[Knob::store] != 0) {
        tool_rules_.flushed();
        messages_.flushed();
        approvals_.flushed();
      }
      return true;
    }
    default:
      return false;
  }
}

}  // namespace agentcore::sim
