// Thinking in a request to Anthropic: what its API refuses beside it.
#pragma once

#include "llm/dialects/request_body.hpp"
#include "llm/dialects/wire_format.hpp"

#include <agentcore/chat.hpp>

#include <string_view>

namespace agentcore::detail::llm {

// What fit_thinking() has changed.
struct ThinkingChanges {
  bool is_off_for_turn = false;    // the running turn has no reasoning to send back: see lacks_reasoning()
  bool is_off_for_choice = false;  // a call is demanded
  bool is_off_for_limit = false;   // the answer may have no more tokens than the least budget
  bool has_other_budget = false;   // it was not below the limit of the answer
  bool has_usual_sampling = false;

  bool any() const noexcept { return *this != ThinkingChanges{}; }
  bool operator==(const ThinkingChanges&) const = default;
  // For a log; "": nothing was changed.
  std::string_view text() const noexcept;
};

// Changes a whole body so that the API takes it. Depends on the request and the options alone, so equal
// requests stay equal. A body without thinking is not changed.
//
// - `thinking` becomes "disabled" where the turn, or a `tool_choice` that demands a call, does not go with
// it,
//   or where `max_tokens` leaves no room for the least budget of 1,024 tokens.
// - `budget_tokens` must be below `max_tokens`. If nobody has set a limit, the answer gets the usual one on
// top;
//   if not, half of the limit is the budget, and at least the least one. With the beta "interleaved-thinking"
//   a budget is one of the whole turn and may be larger.
// - `temperature` and `top_k` are left out, and `top_p` below 0.95.
ThinkingChanges fit_thinking(RequestBody& body, const ChatRequest& request, const BodyDefaults& defaults);

// What fit_thinking() changes in the body of that request.
ThinkingChanges thinking_changes(const ChatRequest& request, const BodyDefaults& defaults);

}  // namespace agentcore::detail::llm
