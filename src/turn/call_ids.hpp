// CallIds: finds out whether a history has a tool call with an id, without reading all of it each time.
#pragma once

#include <agentcore/chat.hpp>

#include <cstddef>
#include <memory>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace agentcore::detail::turn {

// Remembers the ids of the results that it has read, as hashes, and reads only what is new; all of it again
// when something was lost, so that it keeps nothing of messages that are gone. A short history is read each
// time: most agents need no memory for this.
class CallIds {
 public:
  // True if a result in `messages` has that id. Throws std::bad_alloc.
  bool contain(std::string_view id, const std::vector<ChatMessage>& messages);
  // The history has lost or changed messages from this position on.
  void forget_from(std::size_t position) noexcept;

 private:
  struct Read {
    std::unordered_set<std::size_t> hashes;
    std::size_t messages = 0;
  };

  void read(const std::vector<ChatMessage>& messages);

  std::unique_ptr<Read> read_;  // null: nothing was read
};

}  // namespace agentcore::detail::turn
