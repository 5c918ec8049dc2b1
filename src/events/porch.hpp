// Porch: the one place at which the steps of a tree call observers, and go on with turns.
#pragma once

#include "core/mutex.hpp"
#include "core/node.hpp"
#include "core/operation_id.hpp"
#include "events/outbox.hpp"
#include "loop/engine.hpp"

#include <cstdint>
#include <exception>
#include <functional>
#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

namespace agentcore::detail::events {

class EventHub;

// What the porch calls besides the host. @loop_thread
class PorchListener {
 public:
  // The next phase of that turn may run, unless the turn is over.
  virtual void go_on(core::NodeId agent, std::uint64_t turn) noexcept = 0;
  // An operation or a turn of the agent has ended; 0: of any agent, because there was no memory to note
  // which.
  virtual void on_activity_ended(core::NodeId agent) noexcept = 0;
  // A delta that has waited is delivered next.
  virtual void on_delivered_delta(core::NodeId agent, std::uint32_t epoch,
                                  std::string_view text) noexcept = 0;
  // A delta of that model call was not delivered, because its turn is no longer admitted.
  virtual void on_refused_delta(core::OperationId call) noexcept = 0;

 protected:
  ~PorchListener() = default;
};

// A step handles one input of the loop: an outcome, a result, a timer, the operation of a verb, the next
// phase of a turn. While it runs, nothing is delivered: events, log records and callbacks are put into the
// outbox. At the end of the outermost step drain() delivers them; then agents whose activity has ended
// settle or take their next messages; then turns go on, each phase as a step of its own. docs/design/porch.md
// says why. Invariants:
// 1. While depth_ > 0, or a callback runs, no function of the library calls an observer.
// 2. Only one drain() of the stack takes anything but deliveries: draining_ is true while it runs.
// 3. After the end of the tree the outbox is empty.
// All @loop_thread.
class Porch {
 public:
  Porch(EventHub& hub, loop::Engine& engine) noexcept : hub_(hub), engine_(engine) {}
  Porch(const Porch&) = delete;
  Porch& operator=(const Porch&) = delete;

  // On the stack while a step runs. If an exception leaves the step, its entries stay for the next one.
  class Step {
   public:
    // `goes_on`: agents settle and turns go on at its end; otherwise they do so when the loop leaves the
    // tree.
    explicit Step(Porch& porch, bool goes_on = true) noexcept : porch_(porch), goes_on_(goes_on) {
      ++porch_.depth_;
    }
    ~Step() {
      if (--porch_.depth_ != 0 || !porch_.has_entries() || std::uncaught_exceptions() != exceptions_) return;
      goes_on_ ? porch_.drain() : porch_.deliver();
    }
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;

   private:
    Porch& porch_;
    const bool goes_on_;
    const int exceptions_ = std::uncaught_exceptions();
  };

  // On the stack of a step while a client, a tool or a handler of the host begins. What it causes is
  // delivered at once, but no turn goes on before it has returned.
  class Beginning {
   public:
    explicit Beginning(Porch& porch) noexcept
        : porch_(porch),
          depth_(std::exchange(porch.depth_, 0)),
          draining_(std::exchange(porch.draining_, true)),
          beginning_(std::exchange(porch.beginning_, true)) {}
    ~Beginning() {
      porch_.depth_ = depth_;
      porch_.draining_ = draining_;
      porch_.beginning_ = beginning_;
    }
    Beginning(const Beginning&) = delete;
    Beginning& operator=(const Beginning&) = delete;

   private:
    Porch& porch_;
    int depth_;
    bool draining_;
    bool beginning_;
  };

  // True if what happens now has to wait for the end of a step or of a callback.
  bool holds() const noexcept { return depth_ != 0 || calling_; }
  // True while a callback of drain(), or an observer, runs.
  bool is_calling() const noexcept { return calling_; }
  // True if nothing waits to be delivered, and a step that is not within any callback may go on at once.
  bool may_go_on() const noexcept { return depth_ == 1 && !calling_ && !beginning_ && !has_deliveries(); }
  // True if a delivery at the end of this step would be the next one, with nothing in between.
  bool delivers_next() const noexcept { return depth_ <= 1 && !calling_ && !has_deliveries(); }
  bool has_deliveries() const noexcept { return !outbox_.empty() || lost_event_; }
  bool has_entries() const noexcept {
    return has_deliveries() || !ended_.empty() || !phases_.empty() || lost_end_;
  }

  // Throws std::bad_alloc; then nothing is put in.
  void append(Entry&& entry) { outbox_.append(std::move(entry)); }
  // The turn goes on at the next drain(). Throws std::bad_alloc.
  void append_phase(core::NodeId agent, std::uint64_t turn) { phases_.append({agent, turn}); }
  // PorchListener::on_activity_ended() is called at the next drain().
  void note_ended(core::NodeId agent) noexcept;

  // Passes a record to the log sink: at the end of the step, or at once. `message` and the keys are literals.
  void log(LogLevel level, std::string_view message,
           std::initializer_list<LogField> fields) noexcept AGENTCORE_RUNS_HOST_CODE;
  // Calls a function of the host at the end of the step. `what` is a literal. Throws std::bad_alloc.
  void call(std::string_view what, std::function<void()> function) {
    append({.what = HeldCall{what, std::move(function)}});
  }
  // An event could not be built, or put in, because an allocation failed: that is logged, in a step at its
  // end.
  void note_lost() noexcept AGENTCORE_RUNS_HOST_CODE;

  // Delivers, then goes on with turns, until nothing is left. Within a callback it does nothing; within a
  // beginning, or within another drain(), it only delivers.
  void drain() noexcept AGENTCORE_RUNS_HOST_CODE;
  // Delivers alone. Within a callback it does nothing.
  void deliver() noexcept AGENTCORE_RUNS_HOST_CODE;
  // Delivers one that was taken out.
  void deliver(const HeldLog& record) noexcept AGENTCORE_RUNS_HOST_CODE;
  void deliver(const HeldCall& call) noexcept AGENTCORE_RUNS_HOST_CODE;

  // Null: nothing but deliveries is taken out.
  PorchListener* listener = nullptr;

  // Marks that a callback of the host runs. Returns what was marked before.
  bool set_calling(bool calling) noexcept { return std::exchange(calling_, calling); }

  void clear() noexcept;
  template <typename Visit>
  void for_each(Visit&& visit) const {
    outbox_.for_each(visit);
  }

 private:
  struct Phase {
    core::NodeId agent;
    std::uint64_t turn;
  };
  void log_lost() noexcept AGENTCORE_RUNS_HOST_CODE;
  bool end_activities() noexcept AGENTCORE_RUNS_HOST_CODE;
  bool go_on() noexcept AGENTCORE_RUNS_HOST_CODE;

  EventHub& hub_;
  loop::Engine& engine_;
  Fifo<Entry> outbox_;
  Fifo<core::NodeId> ended_;  // agents of which an activity has ended
  bool lost_end_ = false;     // and others, which could not be noted
  bool lost_event_ = false;
  Fifo<Phase> phases_;
  int depth_ = 0;
  bool calling_ = false;
  bool delivering_ = false;
  bool draining_ = false;
  bool beginning_ = false;
};

}  // namespace agentcore::detail::events
