// Transport: HTTP requests on the engine's loop, by libcurl's multi interface and its socket callbacks. The
// only part of agentcore that uses libcurl. One per engine.
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

namespace agentcore::detail::loop {
class Engine;
}

namespace agentcore::detail::net {

class CallHandle;  // src/net/call_handle.hpp: stops one transfer, from any thread

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
  std::string proxy;                         // empty: from the environment; "none": no proxy
};

// How a transfer ended. `code` is `none` when the whole answer arrived, whatever its status; `cancelled` when
// it was cut; else a timeout, deadline_exceeded, resolve_failed, network_error, tls_error,
// response_too_large, invalid_response (no HTTP, a coding that was not offered, or the handler asked to end),
// invalid_config (an invalid address or proxy) or callback_failed (the handler threw).
// `message` has what happened, where and what to change, but no secret; for a redirect, also why it was not
// followed.
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
      {};  // only those that the library reads; lower-case names

  // Empty when there is no field of that name, which must be in lower case.
  std::string_view field(std::string_view name) const noexcept {
    for (const auto& [key, value] : fields)
      if (key == name) return value;
    return {};
  }
};

// Receives one answer. Called on the loop thread, never after on_end(); after a cut only on_end() is called.
// Destroyed after on_end(); without any call when the Runtime is destroyed first. May start and cut
// transfers, its own included, and destroy the Runtime from each of its functions. A redirect that is
// followed causes no call.
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

  // Initializes libcurl, with OpenSSL in milliseconds, and keeps it so as long as the result exists. A
  // transport does so, too.
  static std::shared_ptr<const void> library();

  // The engine's transport, created when it is first needed: libcurl's, or the installed one. @loop_thread
  static std::shared_ptr<Transport> of(loop::Engine& engine);
  // For tests: of() returns `transport` from now on. Called before the first of(); the engine holds it until
  // it is closed. @loop_thread
  static void install(loop::Engine& engine, std::shared_ptr<Transport> transport);

  // A handle for a transfer of this transport. @loop_thread
  virtual std::shared_ptr<CallHandle> make_handle() = 0;

  // Starts a transfer; never calls the handler before it returns. `handle` stops it from any thread; a stop
  // that came before the start ends the transfer in the next poll, without a connection. @loop_thread
  virtual void start(HttpRequest request, std::shared_ptr<CallHandle> handle,
                     std::unique_ptr<HttpHandler> handler) = 0;

  // A client keeps the result as long as it may start transfers. When the last one is released, the kept
  // connections are closed. Null: no hold is needed. @loop_thread
  virtual std::shared_ptr<const void> hold() { return nullptr; }

  // Transfers without an on_end() yet. @loop_thread
  virtual std::size_t open() const noexcept = 0;
};

}  // namespace agentcore::detail::net
