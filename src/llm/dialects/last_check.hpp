// The last check of a request, before its body is written: changes what the server would refuse, again and
// again, because it stands in the history.
#pragma once

#include "llm/dialects/tool_names.hpp"
#include "llm/dialects/wire_format.hpp"

#include <agentcore/chat.hpp>
#include <agentcore/http_llm_client.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace agentcore::detail::llm {

// What was changed.
struct Repairs {
  std::vector<SentName> tools = {};  // offered under another name
  std::size_t names = 0;             // of called tools that are not offered: written with other characters
  std::size_t arguments = 0;         // of calls: written as {}
  std::size_t left_out = 0;          // messages that say nothing
  std::size_t filled = 0;            // the same, where a message must stand: they got a text
  std::size_t bridges = 0;           // answers put between the result of a tool and a user message
  std::size_t schemas = 0;           // of tools: completed

  bool any() const noexcept { return *this != Repairs{}; }
  // For people: "names of called tools changed: 2, schemas completed: 1".
  std::string text() const;
  bool operator==(const Repairs&) const = default;
};

// Changes the request to what the server takes. The history stays as it is. A request that the server takes
// is not changed.
//
// What becomes of a message depends on itself and on those before it, and on nothing behind it: so the stable
// part of a request begins the next one as before. `stable_messages` and `sent_before` count the messages
// that are left.
//
// - The name of an offered tool that the server does not take is written in another way, in all places of the
//   request; Repairs::tools says how, so that the calls of the answer get the name of the tool again.
// - The name of a called tool that a model has invented ("get weather", "<|channel|>") gets '_' for each
//   other byte, and is cut.
// - Arguments that are not a JSON object become {}.
// - An answer without text and calls, and an empty system message, is left out. An empty question is left out
//   behind another user message, and gets a text elsewhere: roles must take turns. An empty result of a tool
//   gets a text, but not in Dialect::anthropic_messages, which takes it.
// - With BodyDefaults::bridge_tool_results, an answer "OK." is put before a user message behind a result.
// - The schema of a tool gets the types and the properties of objects and the items of arrays, where they are
//   missing in it: completed_schema().
Repairs last_check(ChatRequest& request, Dialect dialect, const BodyDefaults& defaults);

}  // namespace agentcore::detail::llm
