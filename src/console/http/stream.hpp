// Stream: the body of a response that has no known end, such as a stream of events.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace agentcore::detail::console {

// What a connection sends behind the head of a response. Destroyed when the connection ends. @loop_thread
class Stream {
 public:
  enum class Next : std::uint8_t {
    more,  // more is ready than there was room for
    wait,  // nothing more is ready; StreamPump::wake() reports when that changes
    end    // that was all: the connection is closed after it
  };

  Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  virtual ~Stream() = default;

  // Appends what is ready to `out`: whole events, until `out` has `max_bytes` or somewhat more.
  virtual Next fill(std::string& out, std::size_t max_bytes) = 0;
  // What is sent when nothing was sent for a while, so that both ends notice a connection that is gone.
  virtual std::string heartbeat() const = 0;
};

}  // namespace agentcore::detail::console
