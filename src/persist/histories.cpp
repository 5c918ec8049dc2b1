#include "persist/histories.hpp"

#include "persist/history_record.hpp"
#include "persist/record_kinds.hpp"

#include <algorithm>

namespace agentcore::detail::persist {
namespace {

void erase_records(StoreBatch& batch, std::uint64_t segment, std::uint64_t first, std::uint64_t end) {
  if (first < end)
    batch.erase(key_of(Kind::history, segment, first), key_of(Kind::history, segment, end - 1));
}

std::size_t size_of(const std::vector<Piece>& pieces) noexcept {
  std::size_t size = 0;
  for (const Piece& piece : pieces) size += piece.count;
  return size;
}

}  // namespace

void Histories::write(StoreBatch& batch, core::NodeId agent, std::vector<Piece>& pieces,
                      const turn::Conversation& conversation, const turn::ConversationChanges& changes) {
  drop_front(batch, agent, pieces, changes.removed_in_front);
  const std::size_t from = std::min({changes.from, size_of(pieces), conversation.messages().size()});
  cut(batch, agent, pieces, from);
  append(batch, agent, pieces, conversation, from);
}

void Histories::drop_front(StoreBatch& batch, core::NodeId agent, std::vector<Piece>& pieces,
                           std::size_t count) {
  while (count > 0 && !pieces.empty()) {
    Piece& piece = pieces.front();
    const auto dropped = std::min<std::uint64_t>(count, piece.count);
    const Piece after{piece.segment, piece.first + dropped, piece.count - dropped};
    replace(batch, agent, piece, after);
    count -= dropped;
    piece = after;
    if (piece.count == 0) pieces.erase(pieces.begin());
  }
}

// Keeps the first `kept` messages.
void Histories::cut(StoreBatch& batch, core::NodeId agent, std::vector<Piece>& pieces, std::size_t kept) {
  std::size_t before = size_of(pieces);
  while (before > kept) {
    Piece& piece = pieces.back();
    const auto lost = std::min<std::uint64_t>(before - kept, piece.count);
    const Piece after{piece.segment, piece.first, piece.count - lost};
    replace(batch, agent, piece, after);
    before -= lost;
    piece = after;
    if (piece.count == 0) pieces.pop_back();
  }
}

void Histories::append(StoreBatch& batch, core::NodeId agent, std::vector<Piece>& pieces,
                       const turn::Conversation& conversation, std::size_t from) {
  const std::vector<ChatMessage>& messages = conversation.messages();
  if (from >= messages.size()) return;
  if (pieces.empty() || !can_grow(agent, pieces.back())) pieces.push_back({next_segment_++, 0, 0});
  Piece& piece = pieces.back();
  const auto& turns = conversation.turns();
  auto place = std::lower_bound(turns.begin(), turns.end(), from,
                                [](const turn::TurnPlace& at, std::size_t i) { return at.question < i; });
  for (std::size_t i = from; i < messages.size(); ++i) {
    const bool begins_turn = place != turns.end() && place->question == i;
    batch.put(key_of(Kind::history, piece.segment, piece.end()),
              to_json(messages[i], begins_turn ? &*place : nullptr));
    if (begins_turn) ++place;
    ++piece.count;
  }
  note(agent, piece);
}

// True if no other conversation has a record at the end of the piece, or behind it.
bool Histories::can_grow(core::NodeId agent, const Piece& piece) const noexcept {
  const auto found = shared_.find(piece.segment);
  return found == shared_.end() ||
         std::all_of(found->second.begin(), found->second.end(),
                     [&](const Use& use) { return use.agent == agent || use.end <= piece.end(); });
}

// Erases the records of `before` that are neither in `after` nor in a piece of another agent.
void Histories::replace(StoreBatch& batch, core::NodeId agent, const Piece& before, const Piece& after) {
  const auto found = shared_.find(before.segment);
  Uses alone;
  Uses& uses = found == shared_.end() ? alone : found->second;
  std::erase_if(uses, [&](const Use& use) { return use.agent == agent; });
  if (after.count != 0) uses.push_back({agent, after.first, after.end()});
  std::sort(uses.begin(), uses.end(), [](const Use& a, const Use& b) { return a.first < b.first; });
  std::uint64_t next = before.first;
  for (const Use& use : uses) {
    erase_records(batch, before.segment, next, std::min(use.first, before.end()));
    next = std::max(next, use.end);
  }
  erase_records(batch, before.segment, next, before.end());
  if (found != shared_.end() && uses.size() <= 1) shared_.erase(found);
}

// The piece of a shared segment has grown.
void Histories::note(core::NodeId agent, const Piece& piece) {
  const auto found = shared_.find(piece.segment);
  if (found == shared_.end()) return;
  for (Use& use : found->second)
    if (use.agent == agent) use.end = piece.end();
}

void Histories::erase(StoreBatch& batch, core::NodeId agent, std::vector<Piece>& pieces) {
  cut(batch, agent, pieces, 0);
}

std::vector<Piece> Histories::share(core::NodeId origin, const std::vector<Piece>& pieces, core::NodeId agent,
                                    std::size_t messages) {
  std::vector<Piece> shared;
  shared.reserve(pieces.size());
  std::size_t left = messages;
  try {
    for (const Piece& piece : pieces) {
      if (left == 0) break;
      const Piece part{piece.segment, piece.first, std::min<std::uint64_t>(piece.count, left)};
      shared.push_back(part);
      Uses& uses = shared_[piece.segment];
      if (uses.empty()) uses.push_back({origin, piece.first, piece.end()});
      uses.push_back({agent, part.first, part.end()});
      left -= part.count;
    }
  } catch (...) {
    for (const Piece& part : shared) unshare(agent, part.segment);
    throw;
  }
  return shared;
}

void Histories::unshare(core::NodeId agent, std::uint64_t segment) noexcept {
  const auto found = shared_.find(segment);
  if (found == shared_.end()) return;
  std::erase_if(found->second, [&](const Use& use) { return use.agent == agent; });
  if (found->second.size() <= 1) shared_.erase(found);
}

void Histories::add(core::NodeId agent, const std::vector<Piece>& pieces) {
  for (const Piece& piece : pieces) shared_[piece.segment].push_back({agent, piece.first, piece.end()});
}

void Histories::end_adding() {
  std::erase_if(shared_, [](const auto& entry) { return entry.second.size() <= 1; });
}

}  // namespace agentcore::detail::persist
