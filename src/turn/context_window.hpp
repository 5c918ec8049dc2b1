// Selects the part of an agent's history, tools and windows that a model is sent.
#pragma once

#include "turn/environment.hpp"
#include "turn/turn.hpp"

#include <agentcore/chat.hpp>

namespace agentcore::detail::turn {

// Trims the context of the turn's agent and writes it into `request`: messages, tools, windows, and the
// refused answer with its correction, if there is one. Runs the host's TokenCounter; if it throws, everything
// is sent. @loop_thread
void write_context(Environment& environment, Turn turn, ChatRequest& request);

}  // namespace agentcore::detail::turn
