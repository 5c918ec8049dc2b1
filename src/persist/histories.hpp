// Histories: where the messages of conversations are in a store, and who shares them.
#pragma once

#include "core/node.hpp"
#include "persist/agent_record.hpp"
#include "turn/conversation.hpp"

#include <agentcore/store.hpp>

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace agentcore::detail::persist {

// A conversation is a list of pieces of segments. A segment is a sequence of records that only grows at its
// end: a fork shares the pieces of its origin, and writes on in a segment of its own. So no message is
// copied, and a record is erased when the last conversation that has it lets it go.
//
// Invariant: a record of a segment is in a piece of some agent, or it is erased. All @loop_thread.
class Histories {
 public:
  std::uint64_t next_segment() const noexcept { return next_segment_; }
  void begin_at(std::uint64_t segment) noexcept { next_segment_ = segment; }

  // Writes what has changed in the conversation of `agent`, and updates its pieces.
  void write(StoreBatch& batch, core::NodeId agent, std::vector<Piece>& pieces,
             const turn::Conversation& conversation, const turn::ConversationChanges& changes);
  // The agent is gone.
  void erase(StoreBatch& batch, core::NodeId agent, std::vector<Piece>& pieces);
  // The pieces of the first `messages` messages of `origin`, which `agent` shares from now on.
  std::vector<Piece> share(core::NodeId origin, const std::vector<Piece>& pieces, core::NodeId agent,
                           std::size_t messages);
  // The pieces of an agent were read from a store: to be called for all agents, before anything is written.
  void add(core::NodeId agent, const std::vector<Piece>& pieces);
  void end_adding();

 private:
  struct Use {
    core::NodeId agent = 0;
    std::uint64_t first = 0;
    std::uint64_t end = 0;
  };
  using Uses = std::vector<Use>;

  void drop_front(StoreBatch& batch, core::NodeId agent, std::vector<Piece>& pieces, std::size_t count);
  void cut(StoreBatch& batch, core::NodeId agent, std::vector<Piece>& pieces, std::size_t kept);
  void append(StoreBatch& batch, core::NodeId agent, std::vector<Piece>& pieces,
              const turn::Conversation& conversation, std::size_t from);
  bool can_grow(core::NodeId agent, const Piece& piece) const noexcept;
  void replace(StoreBatch& batch, core::NodeId agent, const Piece& before, const Piece& after);
  void note(core::NodeId agent, const Piece& piece);
  void unshare(core::NodeId agent, std::uint64_t segment) noexcept;

  std::uint64_t next_segment_ = 1;
  std::unordered_map<std::uint64_t, Uses> shared_;  // of segments with several users
};

}  // namespace agentcore::detail::persist
