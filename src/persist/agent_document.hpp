// AgentDocument: agents as one JSON text, for export and import.
#pragma once

#include "core/internal_api.hpp"
#include "persist/agent_record.hpp"
#include "persist/mail_record.hpp"
#include "persist/spec_json.hpp"
#include "persist/stored_conversation.hpp"
#include "turn/sent_context.hpp"

#include <agentcore/error.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agentcore::detail::persist {

// AgentRecord::parent is the number of the parent, from 1; 0: the first agent, which has none.
// AgentRecord::spec is a position in AgentDocument::specs. What refers to a store or to work in progress is
// not set.
struct DocumentAgent {
  AgentRecord record;
  StoredConversation conversation;
  std::optional<turn::SentContext> sent;  // nothing: all messages are sent
  std::vector<MailRecord> mail;           // in the order of taking
};

struct AgentDocument {
  static constexpr std::uint64_t version_now = 1;

  std::vector<DocumentAgent> agents;  // parents before children
  std::vector<std::string> specs;     // as to_json() makes them
};

// What is above the first agent of a document, outside of it.
struct AboveDocument {
  bool is_closed = false;  // also by a deferred stop of an ancestor with its descendants
  bool is_paused = false;
  bool is_held = false;
};

// The record is as a store has it, and the conversation, the context and the messages are complete: leaves
// out what refers to other agents, to a store, or to work in progress. `in_turn`: the conversation ends with
// a turn in progress. `above`: null if the parent is in the document. Throws std::bad_alloc.
AGENTCORE_INTERNAL_API void make_portable(DocumentAgent& agent, bool in_turn, const AboveDocument* above);
// After that, if the first agent is a person and something above it is stopped: an import stops no person, so
// the record of each agent below says that it is stopped.
AGENTCORE_INTERNAL_API void close_below_first(AgentDocument& document) noexcept;

AGENTCORE_INTERNAL_API std::string to_json(const AgentDocument& document);
struct DocumentLimits {
  std::size_t bytes = 0;         // of the text
  std::size_t agents = 0;        // for which the tree has room
  std::uint32_t max_agents = 0;  // TreeOptions::max_agents
};
// Checks all but what depends on a tree. Errors: `invalid_config`, `invalid_history`, `agent_limit`. Throws
// std::bad_alloc.
Result<AgentDocument> read_document(std::string_view text, const DocumentLimits& limits);

}  // namespace agentcore::detail::persist
