// The names under which the tools of a request are sent: servers differ in what they take as a name.
#pragma once

#include "llm/dialects/wire_format.hpp"

#include <agentcore/chat.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace agentcore::detail::llm {

// A tool that is offered under another name than its own.
struct SentName {
  std::string own;
  std::string sent;

  bool operator==(const SentName&) const = default;
};

// True for a name that the server takes: 1 to 64 letters, digits, '_' and '-', and what `defaults` demands.
bool is_tool_name(std::string_view name, const BodyDefaults& defaults);

// The name with '_' for each other byte, as long as the server wants it. A name that the server takes is not
// changed.
std::string similar_tool_name(std::string name, const BodyDefaults& defaults);

// Those of the tools whose names the server does not take, sorted by `own`. No two names of a request are
// equal: a similar name that another tool has, or would get, too, has a hash of its own name behind it. The
// result depends on the names and not on their order.
std::vector<SentName> sent_names(std::span<const ToolDescription> tools, const BodyDefaults& defaults);

// Null: the tool is sent under its own name, or not offered.
const SentName* find_own(std::span<const SentName> names, std::string_view own) noexcept;

// Gives the calls of an answer the own names of their tools.
void restore_names(std::vector<ToolCall>& calls, std::span<const SentName> names);

}  // namespace agentcore::detail::llm
