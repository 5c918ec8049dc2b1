#include "persist/conversation_reader.hpp"

#include "persist/context_record.hpp"
#include "persist/history_record.hpp"
#include "persist/record_kinds.hpp"
#include "turn/stable_part.hpp"
#include "turn/turn_data.hpp"

#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace agentcore::detail::persist {

Result<void> ConversationReader::read(core::Node& node, StoredAgent& agent) {
  std::vector<ChatMessage> messages;
  std::vector<turn::TurnPlace> turns;
  for (const Piece& piece : agent.history)
    if (auto done = read_piece(piece, messages, turns); !done) return done;
  std::optional<turn::SentContext> sent;
  const RecordKey context = key_of(Kind::context, agent.key);
  if (agent.has_context)
    if (auto done = persistence_.read(
            context, context, [&](const RecordKey&, std::string_view body) { sent = read_context(body); });
        !done)
      return done;
  if (agent.has_context && !sent) throw std::runtime_error("the record of what is sent is missing");
  turn::TurnData& data = turn::data_of(node);
  if (sent) data.sent = *std::move(sent);
  data.conversation.load(std::move(messages), std::move(turns));
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

Result<void> ConversationReader::read_piece(const Piece& piece, std::vector<ChatMessage>& messages,
                                            std::vector<turn::TurnPlace>& turns) {
  const std::size_t before = messages.size();
  auto done = persistence_.read(key_of(Kind::history, piece.segment, piece.first),
                                key_of(Kind::history, piece.segment, piece.end() - 1),
                                [&](const RecordKey&, std::string_view body) {
                                  StoredMessage stored = read_message(body);
                                  if (stored.place) {
                                    stored.place->question = messages.size();
                                    turns.push_back(*stored.place);
                                  }
                                  messages.push_back(std::move(stored.message));
                                });
  if (done && messages.size() - before != piece.count)
    throw std::runtime_error("segment " + std::to_string(piece.segment) + " has " +
                             std::to_string(messages.size() - before) + " messages instead of " +
                             std::to_string(piece.count));
  return done;
}

}  // namespace agentcore::detail::persist
