// WireClients: the clients of a console over real sockets, and what the console asks of the system meanwhile.
// Both ends are in one thread: what one of them does has reached the other when the call returns.
#pragma once

#include "console/http/sockets.hpp"
#include "sim/client_socket.hpp"
#include "sim/verdict.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include <netinet/in.h>

namespace agentcore::sim {

// Both ends of a connection.
struct WireConnection {
  int client = -1, server = -1;  // descriptors; -1: closed, or not accepted yet
  std::size_t sent_by_client = 0, read_by_server = 0;
  std::size_t sent_by_server = 0, read_by_client = 0;
  bool client_left = false;
  bool server_ended = false;  // it sends nothing more
  bool server_gone = false;   // it has closed the connection, or has never accepted it
  bool server_waits = false;  // the system takes no more of what it sends
  bool client_ended = false;  // the client has read the end
};

// All functions: @loop_thread
class WireClients final : public detail::console::Sockets, public ClientNetwork {
 public:
  explicit WireClients(Verdict& verdict) : verdict_(verdict) {}
  ~WireClients() override { end_process(); }
  WireClients(const WireClients&) = delete;
  WireClients& operator=(const WireClients&) = delete;

  // How many bytes one call of the server takes or gives at most; 0: no limit.
  void limit_calls(std::size_t bytes) { most_per_call_ = bytes; }
  // The system keeps some tens of KiB for a client that does not read, and not all that is sent in a run.
  void keep_little(bool little) { keeps_little_ = little; }
  // The server's process has ended.
  void end_process();

  std::shared_ptr<ClientSocket> connect_client() override;
  std::size_t waiting() const override { return backlog_.size(); }

  // As the requests of clients name it, whatever it is.
  std::uint16_t port_of(int) override { return 8700; }
  Result<int> listen(const std::string& address, std::uint16_t port) override;
  int accept(int listener) override;
  std::string peer_of(int socket) override { return system_->peer_of(socket); }
  ssize_t recv(int socket, char* into, std::size_t size) override;
  ssize_t send(int socket, const char* bytes, std::size_t size) override;
  void shutdown(int socket) override;
  void close(int socket) override;
  int moved_down(int socket) override;
  std::size_t descriptor_limit() override { return system_->descriptor_limit(); }

 private:
  class Socket;

  void send(WireConnection& connection, std::string_view bytes);
  std::string receive(WireConnection& connection, std::size_t most);
  void leave(WireConnection& connection, bool in_order);
  void wait_for_input(const WireConnection& connection);
  void take_end(WireConnection& connection);
  // Returns when `holds()`, which is asked each time that the descriptor has one of the events.
  template <typename Holds>
  void wait(int descriptor, short events, const char* what, Holds&& holds);

  Verdict& verdict_;
  const std::shared_ptr<Sockets> system_ = Sockets::of_system();
  std::size_t most_per_call_ = 0;
  bool keeps_little_ = false;
  int listener_ = -1;
  sockaddr_in address_{};                                // of the listener
  std::deque<std::shared_ptr<WireConnection>> backlog_;  // nobody has accepted them yet
  std::map<int, std::shared_ptr<WireConnection>> accepted_;
  std::deque<std::shared_ptr<WireConnection>> connections_;  // whose client has not left
};

}  // namespace agentcore::sim
