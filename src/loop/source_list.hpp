// SourceList: the sources and services of an engine, and what keeps them until no caller uses them.
#pragma once

#include "core/internal_api.hpp"
#include "loop/loop_state.hpp"
#include "loop/source.hpp"
#include "loop/waker.hpp"

#include <cstddef>
#include <memory>
#include <typeindex>
#include <utility>
#include <vector>

namespace agentcore::detail::loop {

// Invariants:
// 1. A source or service that is removed during a poll is released at the end of that poll, because it may be
//    on the stack: until then it is retired.
// 2. The memory of retired_ suffices for all sources and services, so that retiring one never allocates:
//    destructors do it.
// 3. During a poll no source changes its index: a removed one leaves a null pointer.
// All functions: @loop_thread
class AGENTCORE_INTERNAL_API SourceList {
 public:
  SourceList(const LoopState& state, Waker& waker) : state_(state), waker_(waker) {}

  // No effect when the engine is closed or `source` is null.
  void add(std::shared_ptr<Source> source);
  void remove(const Source* source);

  // How many sources there are, null pointers included.
  std::size_t size() const noexcept { return sources_.size(); }
  // The source at `index`, which is less than size(); null when it was removed during this poll.
  Source* at(std::size_t index) const noexcept { return sources_[index].get(); }
  bool any_has_work() const noexcept;
  bool any_has_pending() const noexcept;

  // One object of type T per engine, made on first need, e.g. the HTTP transport. It is released when the
  // engine is closed.
  template <typename T, typename Make>
  std::shared_ptr<T> service(Make&& make) {
    for (auto& [type, object] : services_)
      if (type == std::type_index(typeid(T))) return std::static_pointer_cast<T>(object);
    std::shared_ptr<T> made = std::forward<Make>(make)();
    prepare_to_retire();
    services_.emplace_back(std::type_index(typeid(T)), made);
    return made;
  }

  // The end of a poll: releases what was retired, and removes the null pointers.
  void release_removed();

  // The end of the engine, in two steps with calls of the host's code in between: takes all sources out and
  // reports the end to each; retires them and the services.
  std::vector<std::shared_ptr<Source>> take_and_report_closed();
  void retire_all(std::vector<std::shared_ptr<Source>> taken);

 private:
  void prepare_to_retire();
  void retire(std::shared_ptr<void> object);
  void release_retired();

  const LoopState& state_;
  Waker& waker_;
  std::vector<std::shared_ptr<Source>> sources_;  // null: removed during this poll
  std::vector<std::pair<std::type_index, std::shared_ptr<void>>> services_;
  std::vector<std::shared_ptr<void>> retired_;
};

}  // namespace agentcore::detail::loop
