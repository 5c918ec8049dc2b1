#include "persist/stored_conversation.hpp"

#include "persist/history_record.hpp"
#include "persist/record_kinds.hpp"

#include <agentcore/history.hpp>

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace agentcore::detail::persist {
namespace {

Result<void> read_piece(const ReadRange& read, const Piece& piece, StoredConversation& to) {
  const std::size_t before = to.messages.size();
  auto done = read(key_of(Kind::history, piece.segment, piece.first),
                   key_of(Kind::history, piece.segment, piece.end() - 1),
                   [&](const RecordKey&, std::string_view body) {
                     StoredMessage stored = read_message(body);
                     if (stored.place) {
                       stored.place->question = to.messages.size();
                       to.turns.push_back(*stored.place);
                     }
                     to.messages.push_back(std::move(stored.message));
                   });
  if (done && to.messages.size() - before != piece.count)
    throw std::runtime_error("segment " + std::to_string(piece.segment) + " has " +
                             std::to_string(to.messages.size() - before) + " messages instead of " +
                             std::to_string(piece.count));
  return done;
}

void check(const StoredConversation& conversation, std::uint64_t turns) {
  if (!is_valid_history(conversation.messages))
    throw std::runtime_error("its messages are no valid history (is_valid_history())");
  if (!begins_with_turn(conversation)) throw std::runtime_error("its messages do not begin with a turn");
  std::uint64_t before = 0;
  for (const turn::TurnPlace& place : conversation.turns) {
    if (place.turn <= before || place.turn > turns)
      throw std::runtime_error("turn " + std::to_string(place.turn) + " is out of order");
    before = place.turn;
  }
}

}  // namespace

bool begins_with_turn(const StoredConversation& conversation) noexcept {
  const std::size_t first =
      conversation.turns.empty() ? conversation.messages.size() : conversation.turns.front().question;
  return std::all_of(conversation.messages.begin(),
                     conversation.messages.begin() + static_cast<std::ptrdiff_t>(first),
                     [](const ChatMessage& message) { return message.summary; });
}

Result<StoredConversation> read_conversation(const ReadRange& read, const std::vector<Piece>& history,
                                             std::uint64_t turns) {
  StoredConversation conversation;
  for (const Piece& piece : history)
    if (auto done = read_piece(read, piece, conversation); !done) return done.error();
  check(conversation, turns);
  return conversation;
}

}  // namespace agentcore::detail::persist
