// Selects the part of an agent's history, tools and windows that a model is sent.
#pragma once

#include "context/trim.hpp"
#include "turn/turn.hpp"
#include "turn/turn_context.hpp"

#include <agentcore/chat.hpp>

namespace agentcore::detail::turn {

// Trims the context of the turn's agent and writes it into `request`: messages, tools, windows, and the
// refused answer with its correction, if there is one. Runs the host's TokenCounter; if it throws, everything
// is sent. @loop_thread
void write_context(TurnContext& context, Turn turn, ChatRequest& request);

// What write_context() would send. Changes nothing of what is sent. Runs the host's TokenCounter, and throws
// what it throws. @loop_thread
context::Trimmed plan_context(Turn turn);
// The windows that `plan` leaves out are not sent from now on. To be called with the windows of the plan.
void hide_windows(Turn turn, const context::Trimmed& plan);

}  // namespace agentcore::detail::turn
