// StreamPump: gives each connection that streams its turn.
#pragma once

#include "loop/engine.hpp"
#include "loop/source.hpp"

#include <agentcore/clock.hpp>

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>

namespace agentcore::detail::console {

class Connection;

// wake() makes all streams ready, at most once in an interval, so that events which follow each other quickly
// are sent together. run_round() then serves one connection for each step of its budget, and a limited number
// in one poll. So a thousand viewers delay the loop by what these few cost, and not by what the events would.
//
// Invariant: each connection that streams is in exactly one list. `ready_`: run_round() serves it.
// `waiting_`: its stream has nothing, and its socket takes more. `blocked_`: its socket takes no more. All
// functions: @loop_thread
class StreamPump final : public loop::Source, public std::enable_shared_from_this<StreamPump> {
 public:
  StreamPump(loop::Engine& engine, Duration interval) : engine_(engine), interval_(interval) {}
  ~StreamPump() { close(); }
  StreamPump(const StreamPump&) = delete;
  StreamPump& operator=(const StreamPump&) = delete;

  void add(Connection& connection);
  void remove(Connection& connection);
  // The socket of the connection takes more again, or a heartbeat is due.
  void serve(Connection& connection);
  // The streams may have something new.
  void wake();
  // No more calls of the engine.
  void close();
  std::size_t size() const noexcept { return ready_.size() + waiting_.size() + blocked_.size(); }

  void run_control(loop::PollBudget& /*budget*/) override {}
  void run_round(loop::PollBudget& budget) override;
  bool has_work() const noexcept override;
  void end_poll() override { served_ = 0; }
  bool has_pending() const noexcept override { return false; }

 private:
  using List = std::list<Connection*>;

  static void move(Connection& connection, List& to);
  void make_ready();

  loop::Engine& engine_;
  const Duration interval_;
  List ready_, waiting_, blocked_;
  TimePoint woken_ = TimePoint::min();
  std::size_t served_ = 0;   // in this poll
  std::uint64_t timer_ = 0;  // runs until the interval has passed; 0: none
};

}  // namespace agentcore::detail::console
