// ClientSocket: a client's end of a connection to the console: in memory, or a socket of the system.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace agentcore::sim {

class ClientSocket {
 public:
  ClientSocket() = default;
  virtual ~ClientSocket() = default;
  ClientSocket(const ClientSocket&) = delete;
  ClientSocket& operator=(const ClientSocket&) = delete;

  virtual void send(std::string_view bytes) = 0;
  // What is there, `most` bytes at most.
  virtual std::string receive(std::size_t most) = 0;
  // Something is there.
  virtual bool has_bytes() = 0;
  // The server sends nothing more than what is there.
  virtual bool has_ended() = 0;
  // The server has closed the connection: what it has not answered has no effect any more.
  virtual bool is_gone() = 0;
  // The server has read all that was sent, as far as that is known.
  virtual bool is_read() = 0;
  // A call of the system for it has failed on the side of the server.
  virtual bool is_broken() { return false; }
  // The server cannot send: its client has not read what is there.
  virtual bool is_full() = 0;
  // Closes the connection in order, or resets it.
  virtual void leave(bool in_order) = 0;
};

// Where clients connect.
class ClientNetwork {
 public:
  // Null: nobody listens.
  virtual std::shared_ptr<ClientSocket> connect_client() = 0;
  // How many connections nobody has accepted yet.
  virtual std::size_t waiting() const = 0;

 protected:
  ~ClientNetwork() = default;
};

}  // namespace agentcore::sim
