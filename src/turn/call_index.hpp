// CallIndex: finds calls for the verbs of other threads, and decides who ends one: the loop, or a verb.
#pragma once

#include "core/mutex.hpp"
#include "core/node.hpp"
#include "core/references.hpp"
#include "turn/call.hpp"

#include <agentcore/error.hpp>
#include <agentcore/llm_client.hpp>

#include <cstddef>
#include <memory>
#include <set>
#include <stop_token>
#include <string_view>

namespace agentcore::detail::turn {

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

// Has each tool call of a turn in progress, from when it is listed until the turn ends, and each background
// task until its operation is closed. The first claim of a call ends it; each later one is refused. Nothing
// of the host runs under the mutex, and no stop source is triggered or destroyed.
class CallIndex {
 public:
  // A verb ends the call, if its agent may act. `ending` is taken over if the reason is `none`. @threadsafe
  CallVerdict end(CallKey key, std::unique_ptr<CallEnding>& ending) noexcept;

  // @loop_thread, as all that follows
  void add(std::shared_ptr<Call> call);
  // The operation of the call was registered, with that stop source.
  void set_stop(Call& call, StopSource stop) noexcept;
  // The loop ends the call. False: it is over, or a verb was first.
  bool claim(Call& call) noexcept;
  bool is_over(const Call& call) const noexcept;
  // What a verb has left, once; null: nothing.
  std::unique_ptr<CallEnding> take(Call& call) noexcept;
  // True if a verb has ended the call so, and nothing has taken that yet.
  bool has_ending(const Call& call, bool by_host) const noexcept;
  // Null: there is none.
  std::shared_ptr<Call> find(CallKey key) const noexcept;
  // From now on no verb finds the call, and it is over.
  void remove(Call& call) noexcept;
  // The same for the calls of the agent's turn. Returns how many results of the host nothing has taken.
  std::size_t remove_turn(core::NodeId agent) noexcept;
  // The tree has closed: releases the tools of all calls.
  void release_tools() noexcept;
  // How many calls and tasks of these agents there are (for leak tests).
  std::size_t count(const core::References& refers) const noexcept;

 private:
  struct Less {
    using is_transparent = void;
    static CallKey key(CallKey of) noexcept { return of; }
    static CallKey key(const std::shared_ptr<Call>& of) noexcept {
      return {of->is_task() ? 0 : of->agent, of->names.id};
    }
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const noexcept {
      const CallKey left = key(a), right = key(b);
      return left.agent != right.agent ? left.agent < right.agent : left.id < right.id;
    }
  };
  using Calls = std::set<std::shared_ptr<Call>, Less>;
  static bool may_act(const Call& call) noexcept;

  // Guards the private members of the calls, and `calls_` against other threads. The loop thread, which alone
  // writes it, reads it without the mutex.
  mutable core::Mutex mutex_;
  Calls calls_;
};

}  // namespace agentcore::detail::turn
