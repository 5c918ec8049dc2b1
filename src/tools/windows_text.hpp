// The windows in the form for a model.
#pragma once

#include "tools/protocol.hpp"

#include <string>

namespace agentcore::detail::tools {

// Id, description and content of each window that is sent; "" without windows.
std::string windows_text(const ToolRegistry::Impl& registry, const Protocol::Shown& shown);
// The text of one window, to count its tokens.
std::string window_text(const OpenWindow& open);

// Adds a paragraph to the request's system message, which is created if there is none.
void append_to_system(ChatRequest& request, const std::string& text);
// Adds a paragraph that may differ in the next request.
void append_volatile(ChatRequest& request, VolatilePlace place, const std::string& text);

}  // namespace agentcore::detail::tools
