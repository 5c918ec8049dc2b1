// LoopAttachment: what an adapter to a host's event loop holds of a Runtime.
#pragma once

#include <agentcore/error.hpp>
#include <agentcore/export.hpp>
#include <agentcore/runtime.hpp>

#include <memory>

namespace agentcore {

/// A Runtime as an adapter to a foreign loop sees it: a descriptor to watch, and a poll() that is safe at any
/// time. An attachment may outlive its Runtime; its poll() then does nothing. The adapters in
/// agentcore/adapters/ are made with it, and one for another loop needs nothing else:
///
///     agentcore::LoopAttachment attachment{runtime};
///     my_loop.watch_readable(attachment.open_descriptor(), [&] {
///       attachment.poll();
///       if (!attachment.is_attached()) my_loop.unwatch(attachment.open_descriptor());
///     });
///
/// If poll() returns true, the descriptor stays readable. A loop that reports readable descriptors in each of
/// its turns therefore continues with the next turn, and its own events run in between.
///
/// @loop_thread
class AGENTCORE_API LoopAttachment {
 public:
  /// An attachment to `runtime`, without a descriptor yet.
  explicit LoopAttachment(Runtime& runtime) noexcept;
  /// Closes the descriptor: end the watch of the foreign loop before. May be called in a callback, also
  /// within poll() of this attachment.
  ~LoopAttachment();
  LoopAttachment(const LoopAttachment&) = delete;
  LoopAttachment& operator=(const LoopAttachment&) = delete;

  /// Returns a descriptor that is readable whenever poll() has work, timers included. The first call opens
  /// it. It is a duplicate of Runtime::poll_descriptor(), which the attachment owns: it stays valid, and its
  /// number in use, until the end of the attachment, even if the Runtime is destroyed before. Once the
  /// Runtime is destroyed it is of no use, and may be readable without end.
  ///
  /// Throws std::system_error:
  /// - too_many_files_open, or another error of the system: the system has no descriptor left;
  /// - not_supported: the descriptor of this Runtime does not report everything, because its clock is not the
  ///   SystemClock, its backend is LoopBackend::poll, or the system has no epoll or no timerfd_create();
  /// - operation_canceled: the Runtime was destroyed;
  /// - operation_not_permitted: this is another thread than that of the loop.
  int open_descriptor();
  /// As open_descriptor(), for hosts without exceptions. Errors: out_of_memory (no descriptor is left, or no
  /// memory), invalid_config (not supported by this Runtime), runtime_gone, wrong_thread.
  Result<int> try_open_descriptor();

  /// As Runtime::poll(). Returns false, and does nothing, if the Runtime was destroyed.
  bool poll();
  /// As Runtime::poll(Duration), with the same exception.
  bool poll(Duration budget);

  /// True until the Runtime is destroyed.
  bool is_attached() const noexcept;

 private:
  std::weak_ptr<detail::loop::Engine> engine_;
  int descriptor_ = -1;
};

}  // namespace agentcore
