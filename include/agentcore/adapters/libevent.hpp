// LibeventLoop: drives a Runtime from libevent's event loop (2.1 or newer).
#pragma once

#include <agentcore/adapters/failures.hpp>
#include <agentcore/error.hpp>
#include <agentcore/loop_attachment.hpp>

#include <memory>
#include <utility>

#include <event2/event.h>
#include <event2/event_struct.h>

namespace agentcore::adapters {

/// Drives a Runtime from an event_base.
///
///     event_base* base = event_base_new();
///     agentcore::Runtime runtime;
///     agentcore::adapters::LibeventLoop attached{base, runtime};
///     event_base_dispatch(base);
///
/// Threads. The thread that runs the event_base is the loop thread.
///
/// Lifetime. The destructor ends the adapter. It may be called in any callback, before and after the end of
/// the Runtime, and before and after event_base_free(). As long as the adapter exists, event_base_dispatch()
/// does not return by itself: call event_base_loopbreak(), or destroy the adapter. If the Runtime is
/// destroyed in one of its callbacks, the adapter lets event_base_dispatch() return.
///
/// If there is more work than RuntimeOptions::poll_budget allows, the adapter continues in the next round of
/// the loop, after the other events. Its event has the default priority of the base.
///
/// @loop_thread
class LibeventLoop {
 public:
  /// Attaches `runtime` to `base`. Throws std::system_error for the reasons that
  /// LoopAttachment::open_descriptor() names, and std::runtime_error if libevent cannot watch one more
  /// descriptor.
  LibeventLoop(event_base* base, Runtime& runtime) : watch_(std::make_shared<Watch>(runtime)) {
    if (!start(*watch_, base, watch_->attachment.open_descriptor())) detail::throw_runtime_error(problem);
  }
  /// As the constructor, for hosts without exceptions. Errors: those of
  /// LoopAttachment::try_open_descriptor(); out_of_memory if libevent cannot watch one more descriptor.
  static Result<std::unique_ptr<LibeventLoop>> make(event_base* base, Runtime& runtime) {
    auto watch = std::make_shared<Watch>(runtime);
    const Result<int> descriptor = watch->attachment.try_open_descriptor();
    if (!descriptor) return descriptor.error();
    if (!start(*watch, base, *descriptor)) return Error{Errc::out_of_memory, problem};
    return std::unique_ptr<LibeventLoop>(new LibeventLoop(std::move(watch)));
  }
  /// Detaches. No poll() follows.
  ~LibeventLoop() { watch_->end(); }
  LibeventLoop(const LibeventLoop&) = delete;
  LibeventLoop& operator=(const LibeventLoop&) = delete;

 private:
  static constexpr const char* problem = "LibeventLoop: libevent cannot watch the descriptor of the Runtime";

  struct Watch;
  explicit LibeventLoop(std::shared_ptr<Watch> watch) noexcept : watch_(std::move(watch)) {}

  struct Watch : std::enable_shared_from_this<Watch> {
    explicit Watch(Runtime& runtime) : attachment(runtime) {}
    ~Watch() {
      end();
      event_debug_unassign(&readable);
    }
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

    // event_base_free() removes all events, and event_del() must not be called afterwards.
    void end() {
      if ((readable.ev_evcallback.evcb_flags & EVLIST_INSERTED) != 0) event_del(&readable);
    }

    LoopAttachment attachment;
    event readable{};
  };

  static bool start(Watch& watch, event_base* base, int descriptor) {
    return event_assign(&watch.readable, base, descriptor, EV_READ | EV_PERSIST, on_readable, &watch) == 0 &&
           event_add(&watch.readable, nullptr) == 0;
  }

  static void on_readable(evutil_socket_t, short, void* data) {
    const auto watch = static_cast<Watch*>(data)->shared_from_this();  // a callback may destroy the adapter
    watch->attachment.poll();
    if (!watch->attachment.is_attached()) watch->end();
  }

  std::shared_ptr<Watch> watch_;
};

}  // namespace agentcore::adapters
