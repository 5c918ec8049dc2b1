// SimNetwork: the sockets of a console, and the poller that watches them, in memory. Clients are commands.
#pragma once

#include "console/http/sockets.hpp"
#include "platform/poller.hpp"
#include "sim/client_socket.hpp"
#include "sim/socket_faults.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace agentcore::sim {

// One connection: two streams of bytes, each with an end.
struct SimSocket {
  std::string to_server, to_client;
  bool client_ended = false;  // it sends nothing more
  bool client_gone = false;   // it has closed the connection: what is sent to it resets that
  bool is_reset = false;      // by the client: what has arrived before can be read, and nothing can be sent
  bool server_ended = false;  // it sends nothing more
  bool server_gone = false;   // it has closed the connection, or has never accepted it
  bool is_broken = false;     // a call of the system for it has failed: what was asked may have no answer
  int descriptor = -1;        // of the server; -1: not accepted
};

// Descriptors of the same process that are no sockets.
class OtherDescriptors {
 public:
  virtual bool has(int descriptor) const = 0;
  virtual detail::platform::IoEvents events_of(int descriptor) const = 0;
  // The system cannot watch one more: asked once for each that the poller is to watch.
  virtual bool refuses_watch(int descriptor) = 0;

 protected:
  ~OtherDescriptors() = default;
};

// Which of several descriptors that are ready are found first: those with smaller numbers, as by poll(2); the
// same, and one at a time; or those that have been ready for longest, as by epoll.
enum class ReadyOrder : std::uint8_t { by_number, one_at_a_time, by_time };

class SimPoller;

// The system's part. It gives the smallest number that is free, as systems do.
class SimNetwork final : public detail::console::Sockets, public ClientNetwork {
 public:
  // How many bytes a connection holds that its client has not read.
  std::size_t window = 16 << 10;
  SocketFaults faults;

  // How many bytes one call of the system takes or gives at most; 0: no limit.
  void limit_calls(std::size_t bytes) { most_per_call_ = bytes; }
  std::shared_ptr<ClientSocket> connect_client() override;
  std::size_t waiting() const override { return backlog_.size(); }
  // The process has ended, and all of its sockets with it.
  void end_process();
  // Something that the poller watches is ready.
  bool is_ready() const;
  // Null: there are none any more.
  void add(OtherDescriptors* others) noexcept { others_ = others; }
  int smallest_free() const;
  // The poller watches it.
  bool is_watched(int descriptor) const;
  // How many sockets the process has open.
  std::size_t open() const noexcept { return sockets_.size() + (listener_ ? 1 : 0); }

  Result<int> listen(const std::string& address, std::uint16_t port) override;
  std::uint16_t port_of(int) override { return 8700; }
  int accept(int listener) override;
  std::string peer_of(int) override { return "127.0.0.1"; }
  ssize_t recv(int socket, char* into, std::size_t size) override;
  ssize_t send(int socket, const char* bytes, std::size_t size) override;
  void shutdown(int socket) override;
  void close(int socket) override;
  int moved_down(int socket) override { return socket; }
  std::size_t descriptor_limit() override { return 1'000; }

 private:
  friend SimPoller;
  class Client;
  // Something has happened to its server's end.
  void touch(int descriptor);
  detail::platform::IoEvents events_of(int descriptor) const;
  static int failure_of(SimSocket& socket, int error);
  // The errno of a refusal to watch it; 0: none.
  int watch_failure(int descriptor);

  std::map<int, std::shared_ptr<SimSocket>> sockets_;
  std::optional<int> listener_;
  std::deque<std::shared_ptr<SimSocket>> backlog_;
  std::size_t most_per_call_ = 0;
  SimPoller* poller_ = nullptr;
  OtherDescriptors* others_ = nullptr;
};

// Finds what is ready in a SimNetwork, and never waits.
class SimPoller final : public detail::platform::Poller {
 public:
  SimPoller(std::shared_ptr<SimNetwork> network, ReadyOrder order);
  ~SimPoller() override;
  SimPoller(const SimPoller&) = delete;
  SimPoller& operator=(const SimPoller&) = delete;

  bool watch_wake(int) override { return true; }
  bool wait(std::optional<Duration> timeout, std::vector<detail::platform::Ready>& ready) override;
  bool has_descriptor() const noexcept override { return true; }
  int open_descriptor() noexcept override { return 3; }
  bool open_timer() noexcept override { return true; }
  void arm_timer(TimePoint, TimePoint) noexcept override {}
  void mute(bool) noexcept override {}

  bool is_ready();
  void touch(int descriptor);
  bool watches(int descriptor) const { return watched_.contains(descriptor); }

 protected:
  bool update(int descriptor, detail::platform::IoEvents from, detail::platform::IoEvents to,
              std::uint32_t serial) override;

 private:
  struct Watched {
    detail::platform::IoEvents events;
    std::uint32_t serial;
  };
  detail::platform::IoEvents found(int descriptor, const Watched& watched) const;
  void wait_by_time(std::vector<detail::platform::Ready>& ready);

  std::map<int, Watched> watched_;
  const std::shared_ptr<SimNetwork> network_;
  const ReadyOrder order_;
  int last_ = 0;          // one_at_a_time: the next wait() looks at those behind it first
  std::deque<int> list_;  // by_time: those that were found ready, and are perhaps not any more
};

}  // namespace agentcore::sim
