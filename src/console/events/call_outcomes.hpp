// CallOutcomes: how the last tool calls have ended, for the messages of conversations.
#pragma once

#include <agentcore/tool.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace agentcore::detail::console {

struct CallEnd {
  ToolOutcome outcome = ToolOutcome::completed;
  std::optional<bool> success = {};  // of a call that has completed
};

// A conversation has the text of a result, and not how its call ended: events say that. The last ends of all
// agents are kept; of an older call it is not known. @loop_thread
class CallOutcomes {
 public:
  // `agent`: its serial. The last end of a call counts: one that was interrupted may be abandoned later.
  void note(std::uint64_t agent, const std::string& call_id, CallEnd end) {
    const Key key{agent, call_id};
    if (ends_.insert_or_assign(key, end).second) order_.push_back(key);
    if (order_.size() <= kept) return;
    ends_.erase(order_.front());
    order_.pop_front();
  }
  std::optional<CallEnd> find(std::uint64_t agent, const std::string& call_id) const {
    const auto found = ends_.find({agent, call_id});
    return found == ends_.end() ? std::nullopt : std::optional(found->second);
  }
  void clear() noexcept {
    ends_.clear();
    order_.clear();
  }

 private:
  static constexpr std::size_t kept = 20'000;
  using Key = std::pair<std::uint64_t, std::string>;

  std::map<Key, CallEnd> ends_;
  std::deque<Key> order_;  // the oldest first
};

}  // namespace agentcore::detail::console
