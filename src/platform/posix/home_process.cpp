#include "core/home_process.hpp"

#ifndef _WIN32

#include <unistd.h>

namespace agentcore::detail::core {

std::int64_t process_id() noexcept {
  return ::getpid();
}

}  // namespace agentcore::detail::core

#endif
