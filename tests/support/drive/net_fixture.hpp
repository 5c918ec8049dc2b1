// Fixtures for the net stage's tests: a recording handler, a driver for the loop, and a check of this
// process.
#pragma once

#include "loop/engine.hpp"
#include "net/call_handle.hpp"
#include "net/curl_transport.hpp"
#include "net/transport.hpp"
#include "support/wire/socket_server.hpp"

#include <agentcore/runtime.hpp>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <poll.h>
#include <unistd.h>

namespace agentcore::test {

// Records the calls of a transfer's handler, and runs the test's code in them.
struct Heard {
  int heads = 0;
  int ends = 0;
  int after_end = 0;  // calls that must not happen
  int status = 0;
  std::string content_type;
  std::string body;
  detail::net::HttpEnd end;
  bool destroyed = false;
  std::function<bool(std::string_view)> on_body;
  std::function<void()> on_end;
};

class RecordingHandler final : public detail::net::HttpHandler {
 public:
  explicit RecordingHandler(std::shared_ptr<Heard> heard) : heard_(std::move(heard)) {}
  ~RecordingHandler() override { heard_->destroyed = true; }
  RecordingHandler(const RecordingHandler&) = delete;
  RecordingHandler& operator=(const RecordingHandler&) = delete;

  void on_head(const detail::net::HttpHead& head) override {
    ++heard_->heads;
    heard_->after_end += heard_->ends;
    heard_->status = head.status;
    heard_->content_type = head.content_type;
  }
  bool on_body(std::string_view bytes) override {
    heard_->after_end += heard_->ends;
    heard_->body += bytes;
    return !heard_->on_body || heard_->on_body(bytes);
  }
  void on_end(detail::net::HttpEnd end) override {
    ++heard_->ends;
    heard_->end = std::move(end);
    if (heard_->on_end) heard_->on_end();
  }

 private:
  std::shared_ptr<Heard> heard_;
};

inline detail::net::HttpRequest request_to(std::string url) {
  detail::net::HttpRequest request;
  request.url = std::move(url);
  request.headers = {"Content-Type: application/json"};
  request.body = R"({"hello":"world"})";
  request.connect_timeout = std::chrono::hours(1);
  request.first_byte_timeout = std::chrono::hours(1);
  request.stall_timeout = std::chrono::hours(1);
  request.max_response_bytes = 1 << 20;
  request.proxy = "none";
  return request;
}

// One started transfer.
struct Call {
  std::shared_ptr<detail::net::CallHandle> handle;
  std::shared_ptr<Heard> heard = std::make_shared<Heard>();
};

inline Call start(Runtime& runtime, detail::net::HttpRequest request) {
  Call call{detail::net::CallHandle::make(*detail::loop::engine_of(runtime))};
  detail::net::Transport::of(*detail::loop::engine_of(runtime))
      ->start(std::move(request), call.handle, std::make_unique<RecordingHandler>(call.heard));
  return call;
}

// Before the first transfer: connection pools of that size, so that few transfers fill several.
inline void use_pools_of(std::size_t size, Runtime& runtime) {
  detail::net::CurlTransport::of(*detail::loop::engine_of(runtime), size);
}

// Polls until `done`, and sleeps on the loop's descriptor and the server's signal meanwhile. False after a
// minute.
inline bool drive(Runtime& runtime, const SocketServer* server, const std::function<bool()>& done) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (std::chrono::steady_clock::now() < limit) {
    const bool more = runtime.poll();
    if (done()) return true;
    if (more) continue;
    pollfd ready[] = {{runtime.poll_descriptor(), POLLIN, 0},
                      {server != nullptr ? server->signal_descriptor() : -1, POLLIN, 0}};
    // libcurl's own timers run in real time, whatever the Runtime's clock; a second is their upper limit
    // here.
    const auto next = runtime.next_deadline();
    const bool soon = next && *next - runtime.now() < std::chrono::seconds(1);
    ::poll(ready, 2, soon ? 1 : 1000);
    std::uint64_t count = 0;
    if (server != nullptr && (ready[1].revents & POLLIN) != 0) [[maybe_unused]]
      const auto got = ::read(server->signal_descriptor(), &count, sizeof(count));
  }
  return false;
}

inline std::size_t open_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

inline std::size_t open_transfers(Runtime& runtime) {
  return detail::net::Transport::of(*detail::loop::engine_of(runtime))->open();
}

inline std::string answer(std::string_view body) {
  return "HTTP/1.1 200 OK\r\nContent-Type: Text/Plain; charset=utf-8\r\nContent-Length: " +
         std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
}

// A stream without an end: the connection closes when it is over.
inline constexpr std::string_view stream_head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";

// A server's script: begins a stream, sends one event and then nothing.
inline void stream_once(Peer& peer) {
  peer.read_request();
  peer.write(stream_head);
  peer.write("data: 1\n\n");
  peer.wait_close();
}

// The same: reads the beginning of a request, and the rest of it after a step.
inline void read_a_piece(Peer& peer) {
  peer.read_piece();
  if (peer.wait_step()) peer.wait_close();
}

}  // namespace agentcore::test
