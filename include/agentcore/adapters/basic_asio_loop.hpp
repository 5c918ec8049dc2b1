// BasicAsioLoop: drives a Runtime from Asio's event loop. Include asio.hpp or boost_asio.hpp of this folder.
#pragma once

#include <agentcore/error.hpp>
#include <agentcore/loop_attachment.hpp>

#include <memory>

namespace agentcore::adapters {

/// The adapter for both kinds of Asio; `Descriptor` is their posix::stream_descriptor, `ErrorCode` their
/// error_code. AsioLoop and BoostAsioLoop are its names.
///
/// Threads. The thread that calls run() of the context is the loop thread: exactly one thread may run it.
/// With more threads, give the Runtime a context of its own.
///
/// Lifetime. The destructor ends the adapter. It may be called in any callback, before and after the end of
/// the Runtime, and before and after the end of the context. The descriptor of the adapter is closed when the
/// context runs next, or ends. As long as the adapter exists, run() does not return by itself: stop() the
/// context, or destroy the adapter. If the Runtime is destroyed in one of its callbacks, the adapter lets
/// run() return.
///
/// If there is more work than RuntimeOptions::poll_budget allows, the adapter waits again, so the other
/// handlers of the context run in between.
///
/// @loop_thread
template <typename Descriptor, typename ErrorCode>
class BasicAsioLoop {
 public:
  /// Attaches `runtime` to `where`: a context, e.g. io_context, or an executor. Throws std::system_error for
  /// the reasons that LoopAttachment::open_descriptor() names, and the system_error of Asio if the context
  /// cannot watch one more descriptor.
  template <typename Where>
  BasicAsioLoop(Where&& where, Runtime& runtime) {
    const auto watch = std::make_shared<Watch>(where, runtime);
    watch->descriptor.assign(watch->attachment.open_descriptor());
    start(watch);
  }
  /// As the constructor, without its exceptions. Errors: those of LoopAttachment::try_open_descriptor();
  /// out_of_memory if the context cannot watch one more descriptor.
  template <typename Where>
  static Result<std::unique_ptr<BasicAsioLoop>> make(Where&& where, Runtime& runtime) {
    const auto watch = std::make_shared<Watch>(where, runtime);
    const Result<int> descriptor = watch->attachment.try_open_descriptor();
    if (!descriptor) return descriptor.error();
    ErrorCode problem;
    watch->descriptor.assign(*descriptor, problem);
    if (problem)
      return Error{Errc::out_of_memory,
                   "AsioLoop: the context cannot watch one more descriptor: " + problem.message()};
    std::unique_ptr<BasicAsioLoop> made(new BasicAsioLoop);
    made->start(watch);
    return made;
  }
  /// Detaches. No poll() follows.
  ~BasicAsioLoop() {
    if (const auto watch = watch_.lock()) watch->end();
  }
  BasicAsioLoop(const BasicAsioLoop&) = delete;
  BasicAsioLoop& operator=(const BasicAsioLoop&) = delete;

 private:
  BasicAsioLoop() = default;

  // Owned by the handler that waits: it ends with the context, too.
  struct Watch : std::enable_shared_from_this<Watch> {
    template <typename Where>
    Watch(Where&& where, Runtime& runtime) : attachment(runtime), descriptor(where) {}
    ~Watch() { end(); }
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

    void wait() {
      descriptor.async_wait(Descriptor::wait_read, [watch = this->shared_from_this()](const auto& error) {
        if (error || !watch->descriptor.is_open()) return;
        watch->attachment.poll();
        if (watch->descriptor.is_open() && watch->attachment.is_attached()) watch->wait();
      });
    }
    void end() {
      if (descriptor.is_open()) descriptor.release();  // the attachment closes it
    }

    LoopAttachment attachment;
    Descriptor descriptor;
  };

  void start(const std::shared_ptr<Watch>& watch) {
    watch->wait();
    watch_ = watch;
  }

  std::weak_ptr<Watch> watch_;
};

}  // namespace agentcore::adapters
