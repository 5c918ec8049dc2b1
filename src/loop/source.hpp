// Source: what the loop drives, for example an agent tree; its share of a poll; the list of all sources.
#pragma once

#include "core/internal_api.hpp"

#include <agentcore/clock.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <typeindex>
#include <utility>
#include <vector>

namespace agentcore::detail::loop {

// Limits the time and the steps that a source has in one poll(). @loop_thread
class AGENTCORE_INTERNAL_API PollBudget {
 public:
  PollBudget(const Clock& clock, TimePoint end, std::uint32_t steps)
      : clock_(clock), end_(end), steps_(steps) {}

  // Asks for one step. False when time or steps are used up: do not take it then. The first step is always
  // granted, so that each source makes progress. The clock is read before the steps 2, 3, 5, 9, ... 65 and
  // then before every 64th, so that quick steps cost nothing and slow ones are noticed early.
  bool spend() noexcept {
    if (used_ == next_check_) return take(used_ > 0);
    ++used_;
    return true;
  }
  // The same for a step that takes some microseconds, such as a call of the system: always reads the clock.
  bool spend_slow() noexcept;
  bool exhausted() const noexcept { return exhausted_; }
  std::uint32_t used() const noexcept { return used_; }

 private:
  bool take(bool reads_clock) noexcept;
  std::uint32_t next_check() const noexcept;

  const Clock& clock_;
  TimePoint end_;
  std::uint32_t steps_;
  std::uint32_t used_ = 0;
  std::uint32_t next_check_ = 0;  // the value of used_ at which spend() reads the clock, or finds the end
  bool exhausted_ = false;
};

// Something that the loop drives. All calls come from the loop thread, inside a poll, unless stated
// otherwise.
class Source {
 public:
  // Control operations (stop, abort, ...): called first, and before every round.
  virtual void run_control(PollBudget& budget) = 0;
  // One round: at most one step per agent.
  virtual void run_round(PollBudget& budget) = 0;
  // True when run_control() or run_round() would find something to do now. May be called at any time.
  virtual bool has_work() const noexcept = 0;
  // The last call of a poll, after all rounds of all sources.
  virtual void end_poll() {}
  // True when end_poll() would find something to do now.
  virtual bool has_end_work() const noexcept { return false; }
  // True while an operation is open whose end will come through a descriptor, a timer or a post.
  virtual bool has_pending() const noexcept = 0;
  // The Runtime is being destroyed: no other function of this source is called from now on. Called once,
  // before any code of the host runs because of the end; the source may be on the stack.
  virtual void on_engine_closed() noexcept {}

 protected:
  ~Source() = default;
};

// The sources and services of an engine, and what keeps them until no caller uses them. Invariants:
// 1. A source or service that is removed during a poll is released at the end of that poll, because it may be
//    on the stack: until then it is retired.
// 2. The memory of retired_ suffices for all sources and services, so that retiring one never allocates:
//    destructors do it.
// 3. During a poll no source changes its index: a removed one leaves a null pointer.
// All functions: @loop_thread
class AGENTCORE_INTERNAL_API SourceList {
 public:
  void add(std::shared_ptr<Source> source);
  void remove(const Source* source, bool in_poll);

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
  void retire_all(std::vector<std::shared_ptr<Source>> taken, bool in_poll);

 private:
  void prepare_to_retire();
  void retire(std::shared_ptr<void> object, bool in_poll);
  void release_retired();

  std::vector<std::shared_ptr<Source>> sources_;  // null: removed during this poll
  std::vector<std::pair<std::type_index, std::shared_ptr<void>>> services_;
  std::vector<std::shared_ptr<void>> retired_;
};

}  // namespace agentcore::detail::loop
