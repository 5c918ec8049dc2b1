// Reply: the right to answer one request, now or later.
#pragma once

#include "console/http/response.hpp"
#include "console/http/stream.hpp"

#include <memory>

namespace agentcore::detail::console {

class Connection;

// The first answer counts. A Reply that is destroyed without one answers 500. If the client is gone, nothing
// happens. @loop_thread
class Reply {
 public:
  explicit Reply(std::weak_ptr<Connection> connection) noexcept : connection_(std::move(connection)) {}
  Reply(Reply&& other) noexcept : connection_(std::move(other.connection_)) {}
  Reply& operator=(Reply&& other) = delete;
  ~Reply();

  void send(Response response);
  // The head of `response`, and then `stream` as its body, until the stream ends or the client is gone.
  void send(Response response, std::unique_ptr<Stream> stream);

 private:
  std::weak_ptr<Connection> connection_;  // empty: answered
};

}  // namespace agentcore::detail::console
