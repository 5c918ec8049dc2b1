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
  begun_before = 32,
  no_arguments = 64,
  all = 127
};

unsigned number_of(const StoredCall& call) noexcept {
  const unsigned flags = (call.success ? success : 0U) | (call.by_host ? by_host : 0U) |
                         (call.ends_turn ? ends_turn : 0U) | (call.readable ? 0U : unreadable) |
                         (call.may_begin ? may_begin : 0U) | (call.begun_before ? begun_before : 0U) |
                         (call.no_arguments ? no_arguments : 0U);
  return static_cast<unsigned>(call.state) | static_cast<unsigned>(call.outcome) << outcome_shift |
         flags << flags_shift;
}

StoredCall read_call(const json& value) {
  std::uint64_t number = 0;
  read_value(value, "calls", number);
  const auto state = static_cast<unsigned>(number & 7U);
  const auto outcome = static_cast<unsigned>(number >> outcome_shift & 7U);
  const std::uint64_t flags = number >> flags_shift;
  if (state > static_cast<unsigned>(turn::PendingCall::State::done) ||
      outcome > static_cast<unsigned>(ToolOutcome::abandoned) || flags > all)
    refuse_field("calls", "has an unknown value");
  return {.state = static_cast<turn::PendingCall::State>(state),
          .outcome = static_cast<ToolOutcome>(outcome),
          .success = (flags & success) != 0,
          .by_host = (flags & by_host) != 0,
          .ends_turn = (flags & ends_turn) != 0,
          .readable = (flags & unreadable) == 0,
          .may_begin = (flags & may_begin) != 0,
          .begun_before = (flags & begun_before) != 0,
          .no_arguments = (flags & no_arguments) != 0};
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

std::string question_json(const RestoredQuestion& question) {
  std::string entry = "[";
  RecordText::add_number(entry, question.number);
  ((entry += ',') += RecordText::string(question.call_id)) += question.is_approval ? ",true" : ",false";
  if (question.hash) RecordText::add_number(entry += ',', *question.hash);
  return entry += ']';
}

// A store of an earlier version has no hashes.
RestoredQuestion read_question(const json& entry) {
  const bool has_hash = entry.is_array() && entry.size() == 4;
  RestoredQuestion question;
  read_value(entry_of(entry, "questions", 0, has_hash ? 4 : 3), "questions", question.number);
  read_value(entry[1], "questions", question.call_id);
  read_value(entry[2], "questions", question.is_approval);
  if (has_hash) read_value(entry[3], "questions", question.hash.emplace());
  return question;
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
  text.put("over", turn.over);
  text.put("has_words", turn.has_words);
  if (turn.deadline) {
    add_deadline<std::chrono::nanoseconds>(text, *turn.deadline);
    text.put("deadline_of_message", turn.deadline_of_message);
    text.put_duration("allowed", turn.allowed, Duration::zero());
  }
  text.put("attempt", turn.attempt, 1U);
  text.put("model_calls", turn.model_calls);
  text.put("repairs", turn.repairs);
  text.put("unreadable", turn.unreadable);
  text.put("was_cut_off", turn.was_cut_off);
  if (!(turn.usage == Usage{})) text.add_json("usage", usage_json(turn.usage));
  text.put("cost", turn.cost);
  if (!turn.calls.empty()) text.add_json("calls", calls_json(turn.calls));
  if (!turn.questions.empty()) text.add_json("questions", RecordText::array(turn.questions, question_json));
  return text.take();
}

StoredTurn read_turn(const json& object) {
  StoredTurn turn;
  need(object, "number", turn.number);
  need(object, "message", turn.message.value);
  get(object, "asked", turn.asked);
  get(object, "delegated", turn.delegated);
  get(object, "over", turn.over);
  get(object, "has_words", turn.has_words);
  turn.deadline = read_deadline<std::chrono::nanoseconds>(object);
  get(object, "deadline_of_message", turn.deadline_of_message);
  get(object, "attempt", turn.attempt);
  get_duration(object, "allowed", turn.allowed);
  get(object, "model_calls", turn.model_calls);
  get(object, "repairs", turn.repairs);
  get(object, "unreadable", turn.unreadable);
  get(object, "was_cut_off", turn.was_cut_off);
  get_object(object, "usage", [&](const json& usage) { turn.usage = read_usage(usage); });
  get(object, "cost", turn.cost);
  if (turn.cost && !(*turn.cost >= 0)) refuse_field("cost", "is negative");
  get_each(object, "calls", [&](const json& call) { turn.calls.push_back(read_call(call)); });
  get_each(object, "questions",
           [&](const json& question) { turn.questions.push_back(read_question(question)); });
  return turn;
}

}  // namespace agentcore::detail::persist
