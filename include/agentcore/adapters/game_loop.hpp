// GameLoop: gives a Runtime the rest of each frame of a game.
#pragma once

#include <agentcore/adapters/failures.hpp>
#include <agentcore/error.hpp>
#include <agentcore/loop_attachment.hpp>

#include <algorithm>
#include <chrono>
#include <memory>

namespace agentcore::adapters {

/// Drives a Runtime from a loop that draws frame after frame: one poll() per frame, with a time budget. Needs
/// no library and no descriptor.
///
///     agentcore::Runtime runtime;
///     agentcore::adapters::GameLoop attached{runtime, std::chrono::milliseconds(14)};
///     while (running) {
///       attached.begin_frame();
///       read_input();
///       update_world();
///       draw();
///       attached.poll();  // until 14 ms after begin_frame()
///       wait_for_the_screen();
///     }
///
/// Work that arrives after poll() waits for the next frame. A stop takes effect at once all the same, on the
/// thread that calls it: see Agent::stop().
///
/// Threads. The thread that calls poll() is the loop thread. Lifetime. May be destroyed at any time, before
/// and after the Runtime; poll() then does nothing.
///
/// @loop_thread
class GameLoop {
 public:
  /// `frame`: how long after begin_frame() poll() may take; below the time of a frame, so that time is left
  /// to present it. `at_least`: what poll() may take even if the frame is late, so that agents of a slow game
  /// make progress. Throws std::invalid_argument unless 0 <= `at_least` <= `frame`.
  explicit GameLoop(Runtime& runtime, Duration frame = std::chrono::milliseconds(14),
                    Duration at_least = std::chrono::microseconds(500))
      : attachment_(runtime), frame_(frame), at_least_(at_least) {
    if (!are_valid(frame, at_least)) detail::throw_invalid_argument(problem);
  }
  /// As the constructor, for hosts without exceptions. Errors: invalid_config.
  static Result<std::unique_ptr<GameLoop>> make(Runtime& runtime,
                                                Duration frame = std::chrono::milliseconds(14),
                                                Duration at_least = std::chrono::microseconds(500)) {
    if (!are_valid(frame, at_least)) return Error{Errc::invalid_config, problem};
    return std::make_unique<GameLoop>(runtime, frame, at_least);
  }

  /// Starts a frame. Without a call, the first frame starts with the object.
  void begin_frame() noexcept { begin_ = std::chrono::steady_clock::now(); }

  /// What is left of the frame, but not less than `at_least`.
  Duration rest() const noexcept {
    return std::max<Duration>(at_least_, begin_ + frame_ - std::chrono::steady_clock::now());
  }

  /// As Runtime::poll(rest()): returns at once if there is no work, and true if there is more than the frame
  /// had time for. Does nothing, and returns false, if the Runtime was destroyed.
  bool poll() { return attachment_.poll(rest()); }

 private:
  static constexpr const char* problem = "GameLoop: 0 <= at_least <= frame is required";
  static constexpr bool are_valid(Duration frame, Duration at_least) noexcept {
    return at_least >= Duration(0) && frame >= at_least;
  }

  LoopAttachment attachment_;
  Duration frame_;
  Duration at_least_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace agentcore::adapters
