// Transport: HTTP requests on the engine's loop, by libcurl's multi interface and its socket callbacks. The
// only part of agentcore that knows curl. One per engine.
#pragma once

#include <agentcore/clock.hpp>
#include <agentcore/error.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agentcore::loop {
class Engine;
}

namespace agentcore::net {

class Cut;  // src/net/cut.hpp: ends one transfer, from any thread

struct HttpRequest {
  std::string url;
  std::vector<std::string> headers;  // "Name: value"
  std::string body;                  // POST
  Duration connect_timeout;
  Duration first_byte_timeout;
  Duration stall_timeout;
  Duration total_timeout = Duration::max();  // from start() on; Duration::max(): none
  TimePoint deadline = TimePoint::max();     // the caller's own; TimePoint::max(): none
  std::size_t max_response_bytes;            // decompressed
  std::uint32_t max_redirects = 0;           // 307 and 308, followed within one origin only
  bool compressed = false;                   // the answer may come compressed: gzip or deflate is offered
  std::string ca_file;                       // empty: the system's
  std::string proxy;                         // empty: as the environment says; "none": no proxy
};

// How a transfer ended. `code` is `none` when the whole answer arrived, whatever its status; `cancelled` when
// it was cut; else a timeout, deadline_exceeded, resolve_failed, network_error, tls_error,
// response_too_large, invalid_response (no HTTP, a coding that was not offered, or the handler asked to end),
// invalid_config (an address or a proxy that makes no sense) or callback_failed (the handler threw).
// `message` says what happened, where and what to change, but no secret; of an answer that is a redirect, why
// it was not followed.
struct HttpEnd {
  Errc code = Errc::none;
  std::string message;
  int status = 0;
  bool request_sent = true;  // false: it ended before anything of the request was sent
};

// The head of an answer.
struct HttpHead {
  int status = 0;
  std::string content_type = {};  // lower case, without parameters; empty when the answer named none
  std::vector<std::pair<std::string, std::string>> fields =
      {};  // of those that anybody reads; lower-case names

  // Empty when there is none of that name, which must be in lower case.
  std::string_view field(std::string_view name) const noexcept {
    for (const auto& [key, value] : fields)
      if (key == name) return value;
    return {};
  }
};

// Receives one answer. Called on the loop thread, never after on_end(), never after the transfer was cut but
// for on_end() itself. Destroyed after on_end(); without any call when the Runtime goes first. May start and
// cut transfers, its own included, and destroy the Runtime from each of its functions. Of a redirect that is
// followed it hears nothing.
class HttpHandler {
 public:
  virtual ~HttpHandler() = default;
  // The final answer's head, before any body byte.
  virtual void on_head(const HttpHead& head) = 0;
  // A piece of the body, as it arrives. False ends the transfer with `invalid_response`.
  virtual bool on_body(std::string_view bytes) = 0;
  virtual void on_end(HttpEnd end) = 0;
};

class Transport {
 public:
  virtual ~Transport() = default;

  // The engine's transport, made on first need. @loop_thread
  static std::shared_ptr<Transport> of(loop::Engine& engine);

  // What can end a transfer of this transport. @loop_thread
  virtual std::shared_ptr<Cut> make_cut() = 0;

  // Starts a transfer; never calls the handler before it returns. `cut` ends it from any thread; a cut that
  // came before the start ends it too, in the next poll, without a connection. @loop_thread
  virtual void start(HttpRequest request, std::shared_ptr<Cut> cut, std::unique_ptr<HttpHandler> handler) = 0;

  // A client keeps the result as long as it may start transfers. When the last one is released, the kept
  // connections are closed. Null: there is nothing to keep. @loop_thread
  virtual std::shared_ptr<const void> hold() { return nullptr; }

  // Transfers without an on_end() yet. @loop_thread
  virtual std::size_t open() const noexcept = 0;
};

}  // namespace agentcore::net
