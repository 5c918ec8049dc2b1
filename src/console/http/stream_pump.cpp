#include "console/http/stream_pump.hpp"

#include "console/http/connection.hpp"

#include <cstddef>
#include <exception>
#include <new>

namespace agentcore::detail::console {
namespace {

// About a millisecond. Timers and what arrives come before the next ones.
constexpr std::size_t most_per_poll = 64;

}  // namespace

void StreamPump::add(Connection& connection) {
  ready_.push_back(&connection);
  connection.stream_place_ = std::prev(ready_.end());
  connection.stream_list_ = &ready_;
  engine_.waker()->notify();
}

void StreamPump::remove(Connection& connection) {
  connection.stream_list_->erase(connection.stream_place_);
  connection.stream_list_ = nullptr;
}

void StreamPump::move(Connection& connection, List& to) {
  to.splice(to.end(), *connection.stream_list_, connection.stream_place_);
  connection.stream_list_ = &to;
}

void StreamPump::serve(Connection& connection) {
  if (connection.stream_list_ == &ready_) return;
  move(connection, ready_);
  engine_.waker()->notify();
}

void StreamPump::wake() {
  if (waiting_.empty() || timer_ != 0) return;
  const TimePoint now = engine_.now();
  if (woken_ == TimePoint::min() || now - woken_ >= interval_) return make_ready();
  try {
    timer_ = engine_.start_timer(
        woken_ + interval_,
        [this] {
          timer_ = 0;
          make_ready();
        },
        loop::TimerUse::watch);
  } catch (const std::bad_alloc&) {
    make_ready();  // without a timer they do not wait
  }
}

void StreamPump::make_ready() {
  woken_ = engine_.now();
  while (!waiting_.empty()) move(*waiting_.front(), ready_);
  if (!ready_.empty()) engine_.waker()->notify();
}

void StreamPump::close() {
  if (timer_ != 0) engine_.cancel_timer(timer_);
  timer_ = 0;
}

bool StreamPump::has_work() const noexcept {
  return !ready_.empty() && served_ < most_per_poll;
}

void StreamPump::run_round(loop::PollBudget& budget) {
  const auto self = shared_from_this();
  while (has_work() && budget.spend_slow()) {
    ++served_;
    Connection& connection = *ready_.front();
    const auto keep = connection.shared_from_this();
    Stream::Next next = Stream::Next::end;
    try {
      next = connection.pump();
    } catch (const std::exception&) {  // no memory
      connection.close();
    }
    if (!connection.is_streaming()) continue;  // it was closed, and has been removed
    move(connection, connection.has_output() ? blocked_ : next == Stream::Next::wait ? waiting_ : ready_);
  }
}

}  // namespace agentcore::detail::console
