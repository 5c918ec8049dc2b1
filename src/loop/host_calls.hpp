// HostCalls: calls code of the host, and keeps the loop still while that code runs.
#pragma once

#include "core/internal_api.hpp"
#include "core/mutex.hpp"
#include "loop/host_log.hpp"
#include "loop/loop_descriptors.hpp"
#include "loop/loop_state.hpp"
#include "loop/loop_work.hpp"
#include "loop/waker.hpp"

#include <cassert>
#include <exception>
#include <string_view>
#include <utility>
#include <vector>

namespace agentcore::detail::loop {

// Within a callback nothing is driven (docs/design/nested-loops.md). The first attempt to drive the loop in
// a callback makes the descriptor and on_wake silent, so that a nested loop of the host can sleep. The
// silence ends when the outermost callback, or the poll around it, has returned. @loop_thread
class AGENTCORE_INTERNAL_API HostCalls {
 public:
  HostCalls(LoopState& state, HostLog& log, LoopDescriptors& descriptors, const LoopWork& work, Waker& waker)
      : state_(state), log_(log), descriptors_(descriptors), work_(work), waker_(waker) {}

  // Runs a callback of the host: an exception ends here, as a log record naming `what` (G16). True when it
  // returned normally. Until then poll() and its like do nothing.
  template <typename Function>
  bool guarded(std::string_view what, Function&& function) noexcept AGENTCORE_RUNS_HOST_CODE {
    assert(core::holds_no_mutex());
    const RunningCall call(*this);
    try {
      std::forward<Function>(function)();
      return true;
    } catch (const std::exception& error) {
      report_throw(what, error.what());
    } catch (...) {
      report_throw(what, "not a std::exception");
    }
    return false;
  }

  // Logs that the callback `what` threw `why`.
  void report_throw(std::string_view what, std::string_view why) noexcept AGENTCORE_RUNS_HOST_CODE;

  // Logs LoopState::called_on_wrong_thread, once for each function: one that is called in each frame must not
  // fill the log.
  void report_wrong_thread() noexcept AGENTCORE_RUNS_HOST_CODE;

  // True while a guarded callback runs.
  bool is_calling() const noexcept { return depth_ != 0; }

  // True when the loop must not be driven: it is closed, or a poll or a callback is running. In the latter
  // case the silence begins, if it runs on this thread.
  bool refuses_to_drive() noexcept;

  // Ends the silence, if there is one: at the end of a poll, or of a callback outside of a poll.
  void end_silence() noexcept;

 private:
  // Counts the callbacks that are running.
  class RunningCall {
   public:
    explicit RunningCall(HostCalls& calls) noexcept : calls_(calls) { ++calls_.depth_; }
    ~RunningCall() {
      if (--calls_.depth_ == 0 && calls_.descriptors_.is_muted() && !calls_.state_.in_poll)
        calls_.end_silence();
    }
    RunningCall(const RunningCall&) = delete;
    RunningCall& operator=(const RunningCall&) = delete;

   private:
    HostCalls& calls_;
  };

  LoopState& state_;
  HostLog& log_;
  LoopDescriptors& descriptors_;  // muted: the silence has begun
  const LoopWork& work_;
  Waker& waker_;
  int depth_ = 0;  // how many guarded callbacks are on the stack
  std::vector<const char*> logged_wrong_threads_;
};

}  // namespace agentcore::detail::loop
