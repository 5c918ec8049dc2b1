// LibuvLoop: drives a Runtime from libuv's event loop (1.x).
#pragma once

#include <agentcore/adapters/failures.hpp>
#include <agentcore/error.hpp>
#include <agentcore/loop_attachment.hpp>

#include <memory>
#include <string>
#include <utility>

#include <uv.h>

namespace agentcore::adapters {

/// Drives a Runtime from a uv_loop_t.
///
///     uv_loop_t* loop = uv_default_loop();
///     agentcore::Runtime runtime;
///     agentcore::adapters::LibuvLoop attached{loop, runtime};
///     uv_run(loop, UV_RUN_DEFAULT);
///
/// Threads. The thread that calls uv_run() is the loop thread.
///
/// Lifetime. The destructor ends the adapter. It may be called in any callback, and before and after the end
/// of the Runtime. It closes a handle, which libuv releases in the next uv_run(): call uv_run() before
/// uv_loop_close(), which returns UV_EBUSY otherwise. A host that closes all handles of its loop (uv_walk())
/// may do so while the adapter exists; it must run the loop until they are closed before it destroys the
/// adapter.
///
/// As long as the adapter exists, uv_run(UV_RUN_DEFAULT) does not return by itself: call uv_stop(), or
/// destroy the adapter. If the Runtime is destroyed in one of its callbacks, the adapter lets uv_run()
/// return.
///
/// If there is more work than RuntimeOptions::poll_budget allows, the adapter continues in the next iteration
/// of the loop, after the other handles.
///
/// @loop_thread
class LibuvLoop {
 public:
  /// Attaches `runtime` to `loop`. Throws std::system_error for the reasons that
  /// LoopAttachment::open_descriptor() names, and if libuv cannot watch one more descriptor.
  LibuvLoop(uv_loop_t* loop, Runtime& runtime) : watch_(std::make_shared<Watch>(runtime)) {
    // libuv's errors are the negative numbers of the system's.
    if (const int error = start(watch_, loop, watch_->attachment.open_descriptor()); error != 0)
      detail::throw_system_error(-error, "LibuvLoop");
  }
  /// As the constructor, for hosts without exceptions. Errors: those of
  /// LoopAttachment::try_open_descriptor(); out_of_memory if libuv cannot watch one more descriptor.
  static Result<std::unique_ptr<LibuvLoop>> make(uv_loop_t* loop, Runtime& runtime) {
    auto watch = std::make_shared<Watch>(runtime);
    const Result<int> descriptor = watch->attachment.try_open_descriptor();
    if (!descriptor) return descriptor.error();
    if (const int error = start(watch, loop, *descriptor); error != 0)
      return Error{Errc::out_of_memory,
                   std::string("LibuvLoop: libuv cannot watch one more descriptor: ") + uv_strerror(error)};
    return std::unique_ptr<LibuvLoop>(new LibuvLoop(std::move(watch)));
  }
  /// Detaches. No poll() follows.
  ~LibuvLoop() { watch_->close(); }
  LibuvLoop(const LibuvLoop&) = delete;
  LibuvLoop& operator=(const LibuvLoop&) = delete;

 private:
  struct Watch;
  explicit LibuvLoop(std::shared_ptr<Watch> watch) noexcept : watch_(std::move(watch)) {}

  // Owns itself from uv_poll_init() until libuv has closed the handle.
  struct Watch {
    explicit Watch(Runtime& runtime) : attachment(runtime) {}

    void close() {
      auto* const closing = reinterpret_cast<uv_handle_t*>(&handle);
      if (uv_is_closing(closing) != 0) return self.reset();  // the host has closed it
      uv_close(closing, [](uv_handle_t* closed) { static_cast<Watch*>(closed->data)->self.reset(); });
    }

    LoopAttachment attachment;
    uv_poll_t handle{};
    std::shared_ptr<Watch> self;
  };

  // 0, or the error of libuv.
  static int start(const std::shared_ptr<Watch>& watch, uv_loop_t* loop, int descriptor) {
    if (const int error = uv_poll_init(loop, &watch->handle, descriptor); error != 0) return error;
    watch->handle.data = watch.get();
    watch->self = watch;
    const int error = uv_poll_start(&watch->handle, UV_READABLE, on_readable);
    if (error != 0) watch->close();
    return error;
  }

  static void on_readable(uv_poll_t* handle, int, int) {
    const auto watch = static_cast<Watch*>(handle->data)->self;  // a callback may destroy the adapter
    watch->attachment.poll();
    const bool closing = uv_is_closing(reinterpret_cast<uv_handle_t*>(handle)) != 0;
    if (!closing && !watch->attachment.is_attached()) uv_poll_stop(handle);
  }

  std::shared_ptr<Watch> watch_;
};

}  // namespace agentcore::adapters
