// WireTransport: the requests of models over real sockets: libcurl on the loop's descriptors, and a server on
// 127.0.0.1 in the same thread, which says what the simulated one says.
#pragma once

#include "sim/sim_transport.hpp"

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <string>

namespace agentcore::sim {

// All functions: @loop_thread
class WireTransport final : public ServedTransport {
 public:
  // The transport of the clients of that engine from now on. It must not have one yet.
  static std::shared_ptr<WireTransport> install(detail::loop::Engine& engine);

  explicit WireTransport(detail::loop::Engine& engine);
  ~WireTransport() override;
  WireTransport(const WireTransport&) = delete;
  WireTransport& operator=(const WireTransport&) = delete;

  // The server does what it can without waiting. True: something has happened.
  bool serve();
  // Every request has reached the server, what it has sent has been read, and what was cut has ended.
  bool is_settled() const;

  const Transfers& transfers() const noexcept override { return open_; }
  void arrive(SimTransfer& transfer, Arrival arrival) override;
  std::shared_ptr<detail::net::CallHandle> make_handle() override;
  void start(detail::net::HttpRequest request, std::shared_ptr<detail::net::CallHandle> handle,
             std::unique_ptr<detail::net::HttpHandler> handler) override;
  std::shared_ptr<const void> hold() override;
  std::size_t open() const noexcept override { return open_.size(); }

 private:
  class Relay;
  struct Connection {
    int descriptor = -1;
    std::string received, unsent;
    std::uint64_t transfer = 0;  // whose request it has read; 0: none
    bool ends = false;           // when all is sent
  };
  // What the server has sent of an answer, and the client has read.
  struct Flow {
    std::size_t sent = 0, read = 0;
    bool head_sent = false, head_read = false;
    bool end_sent = false;
    bool breaks = false;
  };

  bool accept();
  bool read(Connection& connection);
  bool take_request(Connection& connection);
  bool write(Connection& connection);
  Connection* connection_of(std::uint64_t transfer);
  void end(std::uint64_t id, detail::net::HttpEnd how);

  detail::loop::Engine& engine_;
  int listener_ = -1;
  std::string url_;
  Transfers open_;
  std::map<std::uint64_t, Flow> flows_;
  std::list<Connection> connections_;
  std::uint64_t last_id_ = 0;
  bool closed_ = false;
};

}  // namespace agentcore::sim
