#include "core/without_exceptions.hpp"
#include "loop/engine.hpp"
#include "platform/descriptor.hpp"

#include <agentcore/loop_attachment.hpp>

#include <cerrno>
#include <system_error>

namespace agentcore {

namespace {

[[noreturn]] void raise(std::error_code code, const char* why) {
  throw std::system_error(code, why);
}

}  // namespace

LoopAttachment::LoopAttachment(Runtime& runtime) noexcept : engine_(detail::loop::engine_of(runtime)) {
}

LoopAttachment::~LoopAttachment() {
  if (descriptor_ >= 0) detail::platform::close_descriptor(descriptor_);
}

int LoopAttachment::open_descriptor() {
  if (descriptor_ >= 0) return descriptor_;
  const auto engine = engine_.lock();
  if (!engine || engine->closed())
    raise(std::make_error_code(std::errc::operation_canceled), "LoopAttachment: the Runtime was destroyed");
  if (engine->refuses_thread("LoopAttachment::open_descriptor"))
    raise(std::make_error_code(std::errc::operation_not_permitted),
          detail::loop::wrong_thread("LoopAttachment::open_descriptor").message.c_str());
  const int descriptor = engine->driver()->poll_descriptor();
  if (descriptor < 0)
    raise(
        std::make_error_code(std::errc::too_many_files_open),
        "LoopAttachment: the system has no descriptor left for the loop: close some, or raise RLIMIT_NOFILE");
  if (!engine->driver()->descriptor_reports_all())
    raise(std::make_error_code(std::errc::not_supported),
          "LoopAttachment: the descriptor of this Runtime does not report timers: use the SystemClock and "
          "LoopBackend::automatic, on a system with epoll and timerfd_create()");
  descriptor_ = detail::platform::duplicate_descriptor(descriptor);
  if (descriptor_ < 0)
    raise(
        {errno, std::generic_category()},
        "LoopAttachment: the system has no descriptor left for the loop: close some, or raise RLIMIT_NOFILE");
  return descriptor_;
}

Result<int> LoopAttachment::try_open_descriptor() {
  return detail::core::without_exceptions([this]() -> Result<int> {
    try {
      return open_descriptor();
    } catch (const std::system_error& error) {
      if (error.code() == std::errc::operation_canceled) return Error{Errc::runtime_gone, error.what()};
      if (error.code() == std::errc::operation_not_permitted)
        return detail::loop::wrong_thread("LoopAttachment::try_open_descriptor");
      if (error.code() == std::errc::not_supported) return Error{Errc::invalid_config, error.what()};
      throw;  // no descriptor is left
    }
  });
}

// The pointer keeps the engine alive: a callback may destroy the Runtime, and this object.
bool LoopAttachment::poll() {
  const auto engine = engine_.lock();
  return engine && engine->driver()->poll();
}

bool LoopAttachment::poll(Duration budget) {
  const auto engine = engine_.lock();
  return engine && engine->driver()->poll(budget);
}

bool LoopAttachment::is_attached() const noexcept {
  const auto engine = engine_.lock();
  return engine && !engine->closed();
}

}  // namespace agentcore
