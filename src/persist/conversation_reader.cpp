#include "persist/conversation_reader.hpp"

#include "persist/context_record.hpp"
#include "persist/record_kinds.hpp"
#include "persist/stored_conversation.hpp"
#include "turn/request_ends.hpp"
#include "turn/turn_data.hpp"

#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace agentcore::detail::persist {

Result<void> ConversationReader::read(core::Node& node, StoredAgent& agent) {
  Result<StoredConversation> stored =
      read_conversation([this](const RecordKey& first, const RecordKey& last,
                               const VisitRecord& visit) { return persistence_.read(first, last, visit); },
                        agent.history, node.turns);
  if (!stored) return stored.error();
  std::optional<turn::SentContext> sent;
  const RecordKey context = key_of(Kind::context, agent.key);
  if (agent.has_context)
    if (auto done = persistence_.read(context, context,
                                      [&](const RecordKey&, std::string_view body) {
                                        sent = read_context(body, stored->messages.size());
                                      });
        !done)
      return done;
  if (agent.has_context && !sent) throw std::runtime_error("the record of what is sent is missing");
  turn::TurnData& data = turn::data_of(node);
  if (sent) data.sent = *std::move(sent);
  data.conversation.load(std::move(stored->messages), std::move(stored->turns));
  data.sent.request_ends = turn::ends_of_history(data.conversation.messages());
  if (agent.unread) {
    data.tool_turns = static_cast<std::uint32_t>(agent.unread->tool_turns);
    data.summary_tokens = agent.unread->summary_tokens;
    data.ended_tasks = std::move(agent.unread->ended_tasks);
    agent.unread.reset();
  }
  agent.is_loaded = true;
  return {};
}

}  // namespace agentcore::detail::persist
