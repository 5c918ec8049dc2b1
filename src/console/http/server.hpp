// Server: listens, and has the connections.
#pragma once

#include "console/http/connection.hpp"
#include "console/http/reply.hpp"
#include "console/http/request.hpp"
#include "console/http/request_reader.hpp"
#include "console/http/sockets.hpp"
#include "console/http/stream_pump.hpp"
#include "loop/engine.hpp"
#include "loop/loop_wait.hpp"

#include <agentcore/clock.hpp>
#include <agentcore/error.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace agentcore::detail::console {

struct ServerOptions {
  std::string address = "127.0.0.1";  // a number of IPv4 or IPv6
  std::uint16_t port = 0;             // 0: any that is free
  RequestLimits request = {};
  std::size_t max_connections = 2048;
  std::size_t max_streams = 1500;
  Duration request_timeout = std::chrono::seconds(10);  // from the first byte of a request to its last
  Duration idle_timeout = std::chrono::seconds(60);     // between two requests, and before the first
  Duration stuck_timeout = std::chrono::seconds(30);    // a client takes no bytes of its answer
  Duration heartbeat = std::chrono::seconds(15);        // of a stream with nothing to send
  Duration stream_interval = std::chrono::milliseconds(20);
};

// Answers requests. Called on the loop thread, inside a poll.
class RequestHandler {
 public:
  virtual void handle(const Request& request, Reply reply) = 0;
  // The head of a request has arrived, and its body has not: an answer refuses it, and the body is not read.
  virtual std::optional<Response> refuse(const Request& /*head*/) { return std::nullopt; }
  // An error that was found before a handler had the request, in the form that the route of `head` has for
  // its errors. `head` is empty if it was not read.
  virtual Response in_form(const Request& /*head*/, Response error) { return error; }

 protected:
  ~RequestHandler() = default;
};

// HTTP/1.1 on the loop of a Runtime. All functions: @loop_thread
class Server final : private loop::IoHandler, public std::enable_shared_from_this<Server> {
 public:
  // Listens from now on. `handler` must stay alive until close(). Errors: `invalid_config` (the address),
  // `network_error` (the system refuses the address or the port; the message has the reason).
  static Result<std::shared_ptr<Server>> open(const std::shared_ptr<loop::Engine>& engine,
                                              ServerOptions options, RequestHandler& handler);
  Server(const std::shared_ptr<loop::Engine>& engine, ServerOptions options, RequestHandler& handler);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Closes the listening socket and all connections. May be called in a handler.
  void close();
  std::uint16_t port() const noexcept { return port_; }
  const ServerOptions& options() const noexcept { return options_; }
  std::size_t connections() const noexcept { return connections_.size(); }
  std::size_t streams() const noexcept { return pump_->size(); }
  // The streams may have something new.
  void wake_streams() { pump_->wake(); }

  // For connections.
  loop::Engine& engine() noexcept { return *engine_; }
  StreamPump& pump() noexcept { return *pump_; }
  const std::shared_ptr<Sockets>& sockets() const noexcept { return sockets_; }
  void handle(const Request& request, Reply reply);
  std::optional<Response> refuse(const Request& head) {
    return handler_ != nullptr ? handler_->refuse(head) : std::nullopt;
  }
  Response in_form(const Request& head, Response error) {
    return handler_ != nullptr ? handler_->in_form(head, std::move(error)) : error;
  }
  void forget(Connection& connection);

 private:
  Result<void> listen();
  void on_io(int descriptor, loop::IoEvents events) override;
  bool accept_one(int socket);
  bool has_room(int newest) const noexcept;
  bool make_room();
  std::shared_ptr<Connection> least_needed() const;
  void stop_accepting();
  void check_times();
  void start_check();

  const std::shared_ptr<loop::Engine> engine_;
  const ServerOptions options_;
  RequestHandler* handler_;  // null: closed
  const std::shared_ptr<Sockets> sockets_;
  const std::shared_ptr<StreamPump> pump_;
  int listener_ = -1;
  bool accepting_ = false;  // the listener is watched
  std::uint16_t port_ = 0;
  std::list<std::shared_ptr<Connection>> connections_;  // the oldest first
  std::uint64_t check_timer_ = 0;                       // runs while there are connections; 0: none
};

}  // namespace agentcore::detail::console
