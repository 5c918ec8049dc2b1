#include "persist/stored_conversation.hpp"

#include "persist/history_record.hpp"
#include "persist/record_kinds.hpp"

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

}  // namespace

Result<StoredConversation> read_conversation(const ReadRange& read, const std::vector<Piece>& history) {
  StoredConversation conversation;
  for (const Piece& piece : history)
    if (auto done = read_piece(read, piece, conversation); !done) return done.error();
  return conversation;
}

}  // namespace agentcore::detail::persist
