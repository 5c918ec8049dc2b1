// StoredTurn: what a store keeps of a turn in progress, beside the conversation.
#pragma once

#include "loop/time.hpp"
#include "turn/questions.hpp"
#include "turn/turn_data.hpp"

#include <agentcore/chat.hpp>
#include <agentcore/clock.hpp>
#include <agentcore/message.hpp>
#include <agentcore/turn_result.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace agentcore::detail::turn {

// One tool call of the turn. Its id, its tool and its result are in the conversation.
struct StoredCall {
  Call::State state = Call::State::done;
  ToolOutcome outcome = ToolOutcome::not_started;
  bool success = false;
  bool by_host = false;
  bool ends_turn = false;     // Call::ends_turn
  bool readable = true;       // false: the arguments of the model are no object; the conversation has "{}"
  bool may_begin = false;     // with ToolReplay::never: the store has that it begins
  bool begun_before = false;  // Call::begun_before
  bool no_arguments = false;  // none came from the model; the conversation has "{}"

  bool operator==(const StoredCall&) const = default;
};

struct StoredTurn {
  std::uint64_t number = 0;
  MessageId message;
  bool asked = false;  // its question is in the conversation; false: it is one of a simulated answer
  bool delegated = false;
  bool over = false;         // a verb has ended it, and the loop has not read that yet: it does not go on
  bool has_words = false;    // TurnResult::text has the words of the last answer
  bool was_cut_off = false;  // an answer with calls was, and the model has been informed
  std::optional<loop::WallDeadline> deadline;
  bool deadline_of_message = false;  // TurnDeadline::Limit::message
  std::uint32_t attempt = 1;         // how often it was begun, or gone on with by a restart
  Duration allowed{};                // from the begin of the turn to the deadline; zero: not known
  std::uint32_t model_calls = 0;
  std::uint32_t repairs = 0;
  std::uint32_t unreadable = 0;
  Usage usage;
  std::optional<double> cost;
  std::vector<StoredCall> calls;  // in the order of the model
  std::vector<RestoredQuestion> questions;
};

// The turn of `node` that is in progress. Its operations are in `operations`, its questions in `questions`.
// Throws std::bad_alloc. @loop_thread
StoredTurn stored_turn(const core::Node& node, const Questions& questions, const loop::Engine& engine);

}  // namespace agentcore::detail::turn
