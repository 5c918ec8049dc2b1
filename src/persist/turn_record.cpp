#include "persist/turn_record.hpp"

#include "persist/deadline_fields.hpp"
#include "persist/json_fields.hpp"
#include "persist/record_text.hpp"

#include <chrono>

namespace agentcore::detail::persist {
namespace {

using turn::RestoredQuestion;
using turn::StoredCall;
using turn::StoredTurn;

// A call is a number: most turns have more calls than anything else.
constexpr unsigned outcome_shift = 3, flags_shift = 6;
enum CallFlag : unsigned {
  success = 1,
  by_host = 2,
  ends_turn = 4,
  unreadable = 8,
  may_begin = 16,
  all = 31
};

unsigned number_of(const StoredCall& call) noexcept {
  const unsigned flags = (call.success ? success : 0U) | (call.by_host ? by_host : 0U) |
                         (call.ends_turn ? ends_turn : 0U) | (call.readable ? 0U : unreadable) |
                         (call.may_begin ? may_begin : 0U);
  return static_cast<unsigned>(call.state) | static_cast<unsigned>(call.outcome) << outcome_shift |
         flags << flags_shift;
}

StoredCall read_call(const json& value) {
  const auto number = value.get<std::uint64_t>();
  const auto state = static_cast<unsigned>(number & 7U);
  const auto outcome = static_cast<unsigned>(number >> outcome_shift & 7U);
  const std::uint64_t flags = number >> flags_shift;
  if (state > static_cast<unsigned>(turn::PendingCall::State::done) ||
      outcome > static_cast<unsigned>(ToolOutcome::abandoned) || flags > all)
    throw json::other_error::create(501, "a call has an unknown value", &value);
  return {.state = static_cast<turn::PendingCall::State>(state),
          .outcome = static_cast<ToolOutcome>(outcome),
          .success = (flags & success) != 0,
          .by_host = (flags & by_host) != 0,
          .ends_turn = (flags & ends_turn) != 0,
          .readable = (flags & unreadable) == 0,
          .may_begin = (flags & may_begin) != 0};
}

std::string usage_json(const Usage& usage) {
  RecordText text;
  text.put("prompt", usage.prompt_tokens);
  text.put("completion", usage.completion_tokens);
  text.put("total", usage.total_tokens);
  text.put("cached", usage.cached_tokens);
  text.put("reasoning", usage.reasoning_tokens);
  text.put("cache_write", usage.cache_write_tokens);
  text.put("complete", usage.complete, true);
  return text.take();
}

std::string calls_json(const std::vector<StoredCall>& calls) {
  std::string list;
  for (const StoredCall& call : calls)
    RecordText::add_number(list += list.empty() ? '[' : ',', number_of(call));
  return list += ']';
}

std::string questions_json(const std::vector<RestoredQuestion>& questions) {
  json list = json::array();
  for (const RestoredQuestion& one : questions) list.push_back({one.number, one.call_id, one.is_approval});
  return list.dump(-1, ' ', false, json::error_handler_t::replace);
}

Usage read_usage(const json& object) {
  Usage usage;
  get(object, "prompt", usage.prompt_tokens);
  get(object, "completion", usage.completion_tokens);
  get(object, "total", usage.total_tokens);
  get(object, "cached", usage.cached_tokens);
  get(object, "reasoning", usage.reasoning_tokens);
  get(object, "cache_write", usage.cache_write_tokens);
  get(object, "complete", usage.complete);
  return usage;
}

}  // namespace

std::string to_json(const StoredTurn& turn) {
  RecordText text;
  text.add("number", turn.number);
  text.add("message", turn.message.value);
  text.put("asked", turn.asked);
  text.put("delegated", turn.delegated);
  if (turn.deadline) {
    add_deadline<std::chrono::nanoseconds>(text, *turn.deadline);
    text.put("deadline_of_message", turn.deadline_of_message);
  }
  text.put("model_calls", turn.model_calls);
  text.put("repairs", turn.repairs);
  if (!(turn.usage == Usage{})) text.add_json("usage", usage_json(turn.usage));
  if (turn.cost) text.add_json("cost", json(*turn.cost).dump());
  if (!turn.calls.empty()) text.add_json("calls", calls_json(turn.calls));
  if (!turn.questions.empty()) text.add_json("questions", questions_json(turn.questions));
  return text.take();
}

StoredTurn read_turn(const json& object) {
  StoredTurn turn;
  object.at("number").get_to(turn.number);
  object.at("message").get_to(turn.message.value);
  get(object, "asked", turn.asked);
  get(object, "delegated", turn.delegated);
  turn.deadline = read_deadline<std::chrono::nanoseconds>(object);
  get(object, "deadline_of_message", turn.deadline_of_message);
  get(object, "model_calls", turn.model_calls);
  get(object, "repairs", turn.repairs);
  if (const auto usage = object.find("usage"); usage != object.end()) turn.usage = read_usage(*usage);
  get(object, "cost", turn.cost);
  if (const auto calls = object.find("calls"); calls != object.end())
    for (const json& call : *calls) turn.calls.push_back(read_call(call));
  if (const auto questions = object.find("questions"); questions != object.end())
    for (const json& one : *questions)
      turn.questions.push_back(
          {one.at(1).get<std::string>(), one.at(2).get<bool>(), one.at(0).get<std::uint64_t>()});
  return turn;
}

}  // namespace agentcore::detail::persist
