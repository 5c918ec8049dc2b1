#include "loop/host_log.hpp"

#include <cassert>
#include <span>

namespace agentcore::detail::loop {

void HostLog::write(LogLevel level, std::string_view message,
                    std::initializer_list<LogField> fields) noexcept {
  assert(core::holds_no_mutex());
  if (!sink_ || writing_ || state_.closed) return;
  writing_ = true;
  try {
    sink_({level, message, std::span<const LogField>(fields.begin(), fields.size())});
  } catch (...) {  // the sink itself threw: there is no other place to report it
  }
  writing_ = false;
  if (state_.closed) sink_ = nullptr;  // the sink closed the engine while it ran
}

void HostLog::close() {
  if (!writing_) sink_ = nullptr;
}

}  // namespace agentcore::detail::loop
