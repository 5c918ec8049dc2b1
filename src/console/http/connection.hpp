// Connection: one client's socket, its requests one after the other, and their answers.
#pragma once

#include "console/http/request_reader.hpp"
#include "console/http/response.hpp"
#include "console/http/sockets.hpp"
#include "console/http/stream.hpp"
#include "loop/loop_wait.hpp"

#include <agentcore/clock.hpp>

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>

namespace agentcore::detail::console {

class Server;

// Invariants:
// 1. After close() the socket is closed, the server has forgotten the connection, and every function returns
//    without an effect. The object lives until its last user has returned.
// 2. A connection has at most one request that is not answered. What the client sends meanwhile is kept up to
//    the limit of a request's headers, and then not read.
// All functions: @loop_thread
class Connection final : public loop::IoHandler, public std::enable_shared_from_this<Connection> {
 public:
  enum class Phase : std::uint8_t {
    reading,    // a request, or waits for one
    answering,  // a handler has the request
    writing,    // an answer
    streaming,  // a stream: until it ends, or the client is gone
    draining,   // our side is closed; what still arrives is dropped, so that no reset overtakes the answer
    closed
  };

  // Takes over `socket`, which is non-blocking.
  Connection(Server& server, int socket);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Begins to watch the socket. False: the system refused.
  bool start();
  void on_io(int descriptor, loop::IoEvents events) override;

  // The answer to the request; see Reply.
  void answer(const Response& response);
  void answer(const Response& response, std::unique_ptr<Stream> stream);

  // Sends what the stream has, once. Returns what follows: with `wait`, StreamPump::wake(), or the end of a
  // block of the socket, begins it again.
  Stream::Next pump();
  // Ends what takes too long, and asks for heartbeats. Called about once in a second.
  void check_time(TimePoint now);
  void close();

  // Nothing of a request has arrived: it may be closed to make room for another one.
  bool is_idle() const noexcept {
    return phase_ == Phase::reading && !reader_.is_in_request() && in_.empty();
  }
  // Its client has closed its side while a handler has its request: it is probably gone.
  bool is_deserted() const noexcept { return phase_ == Phase::answering && input_ended_; }
  // Since when it waits for its client: for a request, for the rest of one, or, after the last answer, for
  // the client's end. None: it has a complete request, or is a stream.
  std::optional<TimePoint> waits_since() const noexcept {
    const bool waits =
        (phase_ == Phase::reading && (reader_.is_in_request() || in_.empty())) || phase_ == Phase::draining;
    return waits ? std::optional(since_) : std::nullopt;
  }
  bool is_streaming() const noexcept { return phase_ == Phase::streaming; }
  // The server has too many connections: answers 503, and closes.
  void refuse_for_load();

 private:
  friend class Server;      // keeps it in a list
  friend class StreamPump;  // keeps it in a list

  void read_some();
  void read_requests();
  void hand_over();
  void refuse(const Response& response, bool head_only = false);
  void send_answer();
  void write_some();
  void after_write();
  void read_later();
  void end_of_input();
  void drain();
  void watch();
  bool has_output() const noexcept { return sent_ < out_.size(); }

  Server* server_;
  const std::shared_ptr<Sockets> sockets_;
  const int socket_;
  Phase phase_ = Phase::reading;
  RequestReader reader_;
  std::string in_;   // received, not read
  std::string out_;  // to be sent from sent_ on
  std::size_t sent_ = 0;
  std::unique_ptr<Stream> stream_;
  bool stream_ended_ = false;
  bool needs_heartbeat_ = false;
  bool keep_alive_ = true;    // the connection may serve another request
  bool head_only_ = false;    // the request that is answered is a HEAD
  bool input_ended_ = false;  // the client sends nothing more
  loop::IoEvents watched_ = loop::IoEvents::none;
  TimePoint since_;  // of the phase, or of the first byte of the request
  TimePoint moved_;  // when bytes were sent last
  std::list<std::shared_ptr<Connection>>::iterator place_;  // in Server
  std::list<Connection*>* stream_list_ = nullptr;           // of StreamPump, while streaming
  std::list<Connection*>::iterator stream_place_;           // in that list
};

}  // namespace agentcore::detail::console
