#include "turn/stored_turn.hpp"

#include "core/gates.hpp"
#include "core/json_depth.hpp"
#include "tools/arguments.hpp"

#include <string_view>

#include <nlohmann/json.hpp>

namespace agentcore::detail::turn {
namespace {

// True if tools::parse_arguments() reads the text. Makes no JSON value, whose destructor would allocate.
bool is_object(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n", mark = "\xEF\xBB\xBF";
  if (tools::is_without_arguments(text)) return true;
  if (core::json_depth(text) > core::max_json_depth || !nlohmann::json::accept(text)) return false;
  if (text.starts_with(mark)) text.remove_prefix(mark.size());
  return text[text.find_first_not_of(blanks)] == '{';
}

bool is_readable(const Call& call) {
  return call.state != Call::State::waiting  // else it was looked up
         || is_object(call.arguments);
}

std::vector<StoredCall> stored_calls(const ActiveTurn& active) {
  std::vector<StoredCall> calls;
  calls.reserve(active.result->calls.size());
  for (const ToolCallRecord& step : active.result->calls)
    calls.push_back({.outcome = step.outcome, .success = step.success, .by_host = step.by_host});
  for (const std::shared_ptr<Call>& call : active.calls) {
    StoredCall& stored = calls[call->step];
    stored.state = call->state;
    stored.ends_turn = call->ends_turn;
    stored.readable = is_readable(*call);
    stored.no_arguments = call->state == Call::State::waiting && tools::is_without_arguments(call->arguments);
    stored.begun_before = call->begun_before && call->state != Call::State::done;
  }
  return calls;
}

}  // namespace

StoredTurn stored_turn(const core::Node& node, const Questions& questions, const loop::Engine& engine) {
  const ActiveTurn& active = *active_turn(node);
  StoredTurn turn;
  turn.number = node.turns;
  turn.message = active.message;
  turn.asked = !active.simulated;
  turn.delegated = active.delegated;
  turn.over = !core::admits_turn(node, node.load().generation(), active.epoch);
  turn.has_words = !active.result->text.empty();
  if (active.deadline) {
    turn.deadline = loop::wall_deadline(active.deadline->when, engine.clock());
    turn.deadline_of_message = active.deadline->limit == TurnDeadline::Limit::message;
    turn.allowed = active.deadline->when - active.deadline->begun;
  }
  turn.attempt = active.attempt;
  turn.model_calls = active.model_calls;
  turn.repairs = active.repairs;
  turn.unreadable = active.unreadable;
  turn.was_cut_off = active.was_cut_off;
  turn.usage = active.result->usage;
  if (active.usage_pending) turn.usage.complete = false;
  turn.cost = active.result->cost;
  turn.calls = stored_calls(active);
  turn.questions = questions.restorable(node.id(), node.turns);
  // Those that a restart has not asked again yet.
  turn.questions.insert(turn.questions.end(), active.questions.begin(), active.questions.end());
  return turn;
}

}  // namespace agentcore::detail::turn
