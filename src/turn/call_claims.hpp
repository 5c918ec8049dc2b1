// CallClaims: decides who ends a tool call or a background task: the loop, or a verb on any thread.
#pragma once

#include "core/mutex.hpp"
#include "core/node.hpp"
#include "core/operation_id.hpp"
#include "core/references.hpp"

#include <agentcore/error.hpp>
#include <agentcore/llm_client.hpp>
#include <agentcore/tool.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

namespace agentcore::detail::turn {

// How a verb ends a call. Made on the thread of the verb, written by the loop thread.
struct CallEnding {
  bool by_host = false;                       // false: the call is cancelled
  std::string reason = {};                    // of a cancel
  ToolResult result = {};                     // of the host
  SharedOrBorrowed<ToolRegistry> tools = {};  // for the loop thread: what the agent had when the call began
};

// Names a tool call of an agent, or, with agent 0, a background task.
struct CallKey {
  core::NodeId agent = 0;
  std::string_view id = {};
};

inline CallKey task_key(std::string_view id) noexcept {
  return {0, id};
}

// Whether a verb has ended a call.
struct CallVerdict {
  Errc reason = Errc::none;           // `call_not_found`, `call_over`
  StopSource stop{std::nostopstate};  // if it has: what to trigger; without a state: nothing has begun
};

// Each tool call of a turn in progress has an entry, from when it is listed until the turn ends; so has each
// background task until its operation is closed. The first claim of an entry ends the call; each later one is
// refused. Nothing of the host runs under the mutex, and no stop source is triggered or destroyed.
class CallClaims {
 public:
  // A verb ends the call, if its agent may act. `ending` is taken over if the reason is `none`. @threadsafe
  CallVerdict end(CallKey key, std::unique_ptr<CallEnding>& ending) noexcept;

  // @loop_thread, as all that follows
  // `epoch`: of the turn of the call. A task outlives its turn, and has none.
  void add(CallKey key, const core::Node& node, std::optional<std::uint32_t> epoch);
  // The operation of the call was opened, with that stop source.
  void set_operation(CallKey key, core::OperationId operation, StopSource stop) noexcept;
  // The loop ends the call. False: it is over, or a verb was first.
  bool claim(CallKey key) noexcept;
  bool is_over(CallKey key) const noexcept;
  // What a verb has left, once; null: nothing.
  std::unique_ptr<CallEnding> take(CallKey key) noexcept;
  // True if the host has supplied the result of the call, and nothing has taken it yet.
  bool has_host_result(CallKey key) const noexcept;
  // Of a call that is not over, or that a verb has ended.
  core::OperationId operation_of(CallKey key) const noexcept;
  void remove(CallKey key) noexcept;
  // How many calls and tasks of these agents there are (for leak tests).
  std::size_t count(const core::References& refers) const noexcept;
  // Removes the calls of the agent's turn. Returns how many results of the host nothing has taken.
  std::size_t remove_turn(core::NodeId agent) noexcept;

 private:
  struct Entry {
    const core::Node* node = nullptr;
    core::NodeId agent = 0;
    std::optional<std::uint32_t> epoch = {};
    core::OperationId operation = {};
    StopSource stop{std::nostopstate};  // for the verb that ends the call
    bool over = false;
    std::unique_ptr<CallEnding> ending = {};
  };
  struct Less {
    using is_transparent = void;
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const noexcept {
      return a.agent != b.agent ? a.agent < b.agent : std::string_view(a.id) < std::string_view(b.id);
    }
  };
  struct OwnedKey {
    core::NodeId agent = 0;
    std::string id = {};
  };
  static bool may_act(const Entry& entry) noexcept;
  using Entries = std::map<OwnedKey, Entry, Less>;

  mutable core::Mutex mutex_;
  Entries entries_ AGENTCORE_GUARDED_BY(mutex_);
};

}  // namespace agentcore::detail::turn
