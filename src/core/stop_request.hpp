// request_stop(): triggers a stop token.
#pragma once

#include "core/mutex.hpp"
#include "core/thread_schedule.hpp"

#include <stop_token>

namespace agentcore::detail::core {

// As std::stop_source::request_stop(), in whose place the library calls this one. A thread that destroys a
// stop callback while another one runs it waits for that in a way that no ThreadSchedule sees; so a build
// with yield points has none in here. The callbacks of the token may be the host's.
inline bool request_stop(std::stop_source& source) noexcept AGENTCORE_RUNS_HOST_CODE {
#ifdef AGENTCORE_YIELD_POINTS
  const QuietSection quiet;
#endif
  return source.request_stop();
}

}  // namespace agentcore::detail::core
