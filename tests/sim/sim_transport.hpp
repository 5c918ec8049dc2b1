// SimTransport: HTTP without a socket. What a server sends is put into the inbox of a transfer by commands,
// and read by the loop as libcurl reads a socket: one piece at a time, in rounds, and nothing after a cut.
#pragma once

#include "loop/source.hpp"
#include "net/call_handle.hpp"
#include "net/deadline_timer.hpp"
#include "net/stop_queue.hpp"
#include "net/transport.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace agentcore::detail::loop {
class Engine;
}

namespace agentcore::sim {

// What arrives at the client.
struct Arrival {
  enum class What : std::uint8_t { connection, head, bytes, end };

  What what = What::connection;
  detail::net::HttpHead head = {};
  std::string bytes = {};
  detail::net::HttpEnd end = {};
};

// One request and its answer.
struct SimTransfer {
  SimTransfer(detail::loop::Engine& engine, std::uint64_t number, detail::net::HttpRequest wanted,
              std::shared_ptr<detail::net::CallHandle> by, std::unique_ptr<detail::net::HttpHandler> to,
              std::function<void()> on_timer);

  // The value of a header of the request; empty if it has none.
  std::string header(std::string_view name) const;

  const std::uint64_t id;
  const detail::net::HttpRequest request;
  const std::shared_ptr<detail::net::CallHandle> handle;
  std::unique_ptr<detail::net::HttpHandler> handler;
  detail::net::DeadlineTimer timer;
  std::deque<Arrival> inbox;
  int status = 0;          // of the head that was delivered
  bool launched = false;   // it goes out: a round of the loop has begun to connect
  bool connected = false;  // the request was sent
  bool late = false;       // the timer has fired: what has arrived before is read first
};

// A transport whose requests a simulated world sees, and answers. All functions: @loop_thread
class ServedTransport : public detail::net::Transport {
 public:
  using Transfers = std::map<std::uint64_t, std::unique_ptr<SimTransfer>>;

  // start() was called; the request goes out; a transfer has ended, before its handler is called.
  std::function<void(SimTransfer&)> on_start;
  std::function<void(SimTransfer&)> on_launch;
  std::function<void(const SimTransfer&, const detail::net::HttpEnd&)> on_end;

  // Without an end yet, by id.
  virtual const Transfers& transfers() const noexcept = 0;
  virtual void arrive(SimTransfer& transfer, Arrival arrival) = 0;
};

// All functions: @loop_thread
class SimTransport final : public ServedTransport, public detail::loop::Source {
 public:
  // The transport of the clients of that engine from now on. It must not have one yet.
  static std::shared_ptr<SimTransport> install(detail::loop::Engine& engine);

  explicit SimTransport(detail::loop::Engine& engine);
  // True: this step of a transfer fails for want of a socket, or because the system does not watch it.
  std::function<bool(bool begins)> fails;
  ~SimTransport() override { close(); }
  SimTransport(const SimTransport&) = delete;
  SimTransport& operator=(const SimTransport&) = delete;

  const Transfers& transfers() const noexcept override { return open_; }
  void arrive(SimTransfer& transfer, Arrival arrival) override;

  std::shared_ptr<detail::net::CallHandle> make_handle() override;
  void start(detail::net::HttpRequest request, std::shared_ptr<detail::net::CallHandle> handle,
             std::unique_ptr<detail::net::HttpHandler> handler) override;
  std::size_t open() const noexcept override { return open_.size(); }

  void run_control(detail::loop::PollBudget& budget) override;
  void run_round(detail::loop::PollBudget& budget) override;
  bool has_work() const noexcept override;
  bool has_pending() const noexcept override { return !open_.empty(); }

 private:
  // The engine is destroyed: the handlers are, without a call.
  void close() noexcept;
  SimTransfer* find(std::uint64_t id) const;
  static bool has_something(const SimTransfer& transfer) noexcept;
  void on_timer(std::uint64_t id);
  void end_late(SimTransfer& transfer);
  void step(SimTransfer& transfer);
  bool deliver(SimTransfer& transfer, const std::function<bool()>& call);
  void end(std::uint64_t id, detail::net::HttpEnd how);

  detail::loop::Engine& engine_;
  const std::shared_ptr<detail::net::StopQueue> stops_;
  Transfers open_;
  std::uint64_t last_id_ = 0;
  bool closed_ = false;
};

}  // namespace agentcore::sim
