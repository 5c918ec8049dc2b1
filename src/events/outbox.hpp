// Entry and Fifo: what the steps of a tree have for the host, in the order of its causes.
#pragma once

#include "core/node.hpp"
#include "core/operation_id.hpp"

#include <agentcore/event.hpp>
#include <agentcore/log.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace agentcore::detail::events {

// Why the state of an agent changes.
struct Why {
  StopCause cause = StopCause::user;
  StopOrigin origin = {};
};

// What an entry asks when it is taken out; if it is refused, it is not delivered.
enum class Asks : std::uint8_t {
  nothing,  // it is a fact
  turn,     // whether the gates admit the turn of its epoch
  idle,     // whether the agent is open and idle
};

// An event whose number is given when it is delivered. Its handle is empty until then.
struct HeldEvent {
  detail::EventBody body = {};
  std::unique_ptr<const std::string> text = {};  // what the body's text refers to; null: the body has none
};

// A change of state. What it changes from is known when it is delivered.
struct HeldState {
  AgentState to = AgentState::idle;
  Why why = {};
};

struct HeldLog {
  LogLevel level = LogLevel::debug;
  std::string_view message = {};                                      // a literal
  std::vector<std::pair<std::string_view, std::string>> fields = {};  // keys are literals
};

// A callback of the host.
struct HeldCall {
  std::string_view what = {};  // for the log; a literal
  std::function<void()> function = {};
};

struct Entry {
  core::NodeId agent = 0;  // 0: the tree
  std::variant<HeldEvent, HeldState, HeldLog, HeldCall> what = {};
  Asks asks = Asks::nothing;
  std::uint32_t epoch = 0;      // for Asks::turn
  core::OperationId call = {};  // of a delta: its model call
};

static_assert(std::is_nothrow_move_constructible_v<Entry> && std::is_nothrow_move_assignable_v<Entry>);

// First in, first out. Its memory is kept, so that few steps allocate. @loop_thread
template <typename T>
class Fifo {
 public:
  Fifo() { all_.reserve(usual_size); }

  bool empty() const noexcept { return next_ == all_.size(); }
  const T& newest() const noexcept { return all_.back(); }
  // Throws std::bad_alloc; then nothing is appended.
  void append(T&& one) { all_.push_back(std::move(one)); }
  // Takes the oldest one out.
  T take() noexcept {
    T one = std::move(all_[next_++]);
    if (empty()) {
      all_.clear();
      next_ = 0;
    } else if (next_ >= usual_size && 2 * next_ >= all_.size()) {
      all_.erase(all_.begin(), all_.begin() + static_cast<std::ptrdiff_t>(next_));
      next_ = 0;
    }
    return one;
  }
  void clear() noexcept {
    next_ = 0;
    // Their ends may run the host's code.
    const std::vector<T> dropped = std::exchange(all_, {});
  }
  template <typename Visit>
  void for_each(Visit&& visit) const {
    for (std::size_t i = next_; i < all_.size(); ++i) visit(all_[i]);
  }

 private:
  static constexpr std::size_t usual_size = 16;
  std::vector<T> all_;
  std::size_t next_ = 0;
};

}  // namespace agentcore::detail::events
