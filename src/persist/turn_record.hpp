// The record of a turn in progress: a part of the record of its agent.
#pragma once

#include "persist/fields.hpp"
#include "turn/stored_turn.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace agentcore::detail::persist {

// A call is a number: most turns have more calls than anything else.
std::vector<std::uint32_t> numbers_of(const std::vector<turn::StoredCall>& calls);
// Throws json::exception.
std::vector<turn::StoredCall> calls_of(const std::vector<std::uint32_t>& numbers);

template <typename Io, Of<Usage> T>
void fields(Io& io, T& usage) {
  io.field("prompt", usage.prompt_tokens);
  io.field("completion", usage.completion_tokens);
  io.field("total", usage.total_tokens);
  io.field("cached", usage.cached_tokens);
  io.field("reasoning", usage.reasoning_tokens);
  io.field("cache_write", usage.cache_write_tokens);
  io.field("complete", usage.complete, true);
}

// A store of an earlier version has no hashes.
template <typename Io, Of<turn::RestoredQuestion> T>
void items(Io& io, T& question) {
  io.item(question.number);
  io.item(question.call_id);
  io.item(question.is_approval);
  io.item(question.hash);
}

template <typename Io, Of<turn::StoredTurn> T>
void fields(Io& io, T& turn) {
  io.need("number", turn.number);
  io.need("message", turn.message.value);
  io.field("asked", turn.asked);
  io.field("delegated", turn.delegated);
  io.field("over", turn.over);
  io.field("has_words", turn.has_words);
  io.template deadline<std::chrono::nanoseconds>(turn.deadline);
  io.field("deadline_of_message", turn.deadline_of_message);
  io.duration("allowed", turn.allowed, Duration::zero());
  io.field("attempt", turn.attempt, 1U);
  io.field("model_calls", turn.model_calls);
  io.field("repairs", turn.repairs);
  io.field("unreadable", turn.unreadable);
  io.field("was_cut_off", turn.was_cut_off);
  io.value("usage", turn.usage, Usage());
  io.field("cost", turn.cost);
  std::vector<std::uint32_t> calls;
  if constexpr (!Io::reads) calls = numbers_of(turn.calls);
  io.field("calls", calls);
  if constexpr (Io::reads) turn.calls = calls_of(calls);
  io.list("questions", turn.questions);
  if constexpr (Io::reads)
    if (turn.cost && !(*turn.cost >= 0)) refuse_field("cost", "is negative");
}

std::string to_json(const turn::StoredTurn& turn);
// Throws json::exception.
turn::StoredTurn read_turn(const json& object);

}  // namespace agentcore::detail::persist
