// ActiveCalls: the registry of the open model calls of one client, by agent. Any thread can stop a call.
#pragma once

#include "core/internal_api.hpp"
#include "core/mutex.hpp"
#include "core/stoppable.hpp"

#include <agentcore/chat.hpp>

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace agentcore::detail::llm {

// The agent that a call is made for. Agents of the same id in two trees are different callers.
struct CallerKey {
  std::string_view agent_id;
  std::uint64_t tree = 0;  // ChatRequest::tree

  auto operator<=>(const CallerKey&) const = default;  // NOLINT: clang-tidy 14 sees a null pointer
};

class ActiveCalls;

// The entry of one call, removed with this object. A registration removes only its own entry, never the entry
// of a later call of the same agent (X11). @loop_thread
class AGENTCORE_INTERNAL_API Registration {
 public:
  Registration() = default;  // empty: anonymous calls are not registered (A4)
  Registration(Registration&& other) noexcept = default;
  Registration& operator=(Registration&& other) noexcept;
  ~Registration() { reset(); }

  void reset() noexcept;
  // The entry is that of `call` from now on: another attempt of the same call. At no moment is there no
  // entry.
  void move_to(std::shared_ptr<core::Stoppable> call) noexcept;

 private:
  friend class ActiveCalls;

  std::weak_ptr<ActiveCalls> calls_;
  std::string agent_id_;
  std::uint64_t tree_ = 0;
  const core::Stoppable* call_ = nullptr;
};

// The open calls of one client by agent. A stopped call counts as removed at once, on the thread that stopped
// it, so the call itself does not depend on the registry. Held by shared_ptr. @threadsafe
class AGENTCORE_INTERNAL_API ActiveCalls : public std::enable_shared_from_this<ActiveCalls> {
 public:
  // Registers a call. Empty when the caller has an open call already.
  std::optional<Registration> add(const CallerKey& caller, std::shared_ptr<core::Stoppable> call);
  // Stops the open calls of all agents of that id, whatever their tree. False when there is none (A5).
  bool abort(std::string_view agent_id) noexcept;
  bool contains(std::string_view agent_id) const noexcept;

  // The error of a call that add() refused. `client`: "client", or the name that the host gave it.
  static ChatError in_progress(std::string_view client);

 private:
  friend class Registration;

  // By agent id, then by tree. Can be searched by CallerKey without an allocation.
  struct ById {
    using is_transparent = void;
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const noexcept {
      const int order = std::string_view(a.agent_id).compare(b.agent_id);
      return order != 0 ? order < 0 : a.tree < b.tree;
    }
  };
  struct Key {
    std::string agent_id;
    std::uint64_t tree;
  };

  void remove(const CallerKey& caller, const core::Stoppable* call) noexcept;
  void replace(const CallerKey& caller, const core::Stoppable* call,
               std::shared_ptr<core::Stoppable> by) noexcept;
  // Returns the open call of that agent id with the lowest tree number >= `tree`, and sets `tree` to that
  // number. Null: there is none.
  std::shared_ptr<core::Stoppable> next_open(std::string_view agent_id, std::uint64_t& tree) const noexcept;

  mutable core::Mutex mutex_;  // held for the map only, never while a call is stopped or destroyed
  std::map<Key, std::shared_ptr<core::Stoppable>, ById> calls_ AGENTCORE_GUARDED_BY(mutex_);
};

}  // namespace agentcore::detail::llm
