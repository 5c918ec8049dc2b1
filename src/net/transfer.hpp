// Transfer: one HTTP request and its answer, as one easy handle of libcurl.
#pragma once

#include "net/answer_receiver.hpp"
#include "net/call_handle.hpp"
#include "net/deadline_timer.hpp"
#include "net/transport.hpp"

#include <agentcore/error.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <curl/curl.h>

namespace agentcore::detail::loop {
class Engine;
}

namespace agentcore::detail::net {

struct EndFacts;
class ConnectionPool;
class SocketTable;

// The state that the transfers of one transport share.
struct TransferContext {
  loop::Engine& engine;
  SocketTable& sockets;
  const bool http2;                                   // used where TLS and the server allow it
  const std::function<void(std::uint64_t)> on_timer;  // a transfer's timer fired; its id
};

// Created and owned by the transport. libcurl's callbacks only record events (transfer_callbacks.hpp), and
// the transport acts on them afterwards. @loop_thread
//
// Its phases: without easy() it is queued, also after a redirect; with easy() it is in libcurl; without
// handler() it has ended, and the easy handle is still to be removed.
class Transfer {
 public:
  Transfer(TransferContext& context, std::uint64_t id, HttpRequest request,
           std::shared_ptr<CallHandle> handle, std::unique_ptr<HttpHandler> handler);
  ~Transfer();  // it must have left its pool
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  std::uint64_t id() const noexcept { return id_; }  // counts up in the order of starting
  CURL* easy() const noexcept { return easy_; }
  const HttpHandler* handler() const noexcept { return handler_.get(); }
  const std::shared_ptr<CallHandle>& handle() const noexcept { return handle_; }
  AnswerReceiver& answer() noexcept { return answer_; }
  DeadlineTimer& timer() noexcept { return timer_; }
  loop::Engine& engine() const noexcept { return context_.engine; }

  // True when nothing more may be passed to the handler: the transfer was cut or has ended, or the Runtime is
  // destroyed.
  bool is_over() const noexcept;
  // False when other transfers use its connection at the same time, or may use it: then a stop does not touch
  // the connection, and the removal of the easy handle resets the stream. Before the request is sent no other
  // transfer is on a connection that is being made (CURLOPT_PIPEWAIT is off), and an answer over HTTP/1 shows
  // that no other will be.
  bool is_alone() const noexcept { return !may_share_ || timer_.deadlines().is_connecting(); }

  // Enters the pool, creates the easy handle and starts the timer. If it returns an end, the transfer cannot
  // run.
  std::optional<HttpEnd> prepare(ConnectionPool& pool);
  // Leaves the pool, if the transfer is in one.
  void leave_pool() noexcept;
  // Queues the transfer again, for the request to the address of a redirect. It must have left its pool.
  void follow();
  // Ends the transfer: it has no timer and no socket any more. Returns its handler, for the last call.
  std::unique_ptr<HttpHandler> take_handler();
  // The part of take_handler() that needs no engine: ends the transfer on the wire. Only take_handler(), or
  // the destructor, may follow.
  void hang_up();

  // The end of the transfer, by libcurl's result or by the deadline that passed. `socket_error`: the errno of
  // what libcurl could not open for all transfers; 0: nothing.
  HttpEnd end_of(CURLcode result, int socket_error = 0) const;
  HttpEnd end_by_deadline() const;

  // For libcurl's callbacks. False: the transfer must end. They throw the exceptions of the handler.
  bool take_head(std::string_view line);
  bool take_body(std::string_view bytes);
  // The transfer has a connection, and its request is about to be sent.
  void take_connection();
  // A socket for a new connection; -1: there is none.
  curl_socket_t open_socket(const curl_sockaddr& address);

 private:
  // The data that is needed only until the answer has begun; a stream continues without it.
  struct Opening {
    HttpRequest request;
    curl_slist* headers = nullptr;
    std::array<char, CURL_ERROR_SIZE> error{};

    explicit Opening(HttpRequest wanted) : request(std::move(wanted)) {}
    ~Opening();
    Opening(const Opening&) = delete;
    Opening& operator=(const Opening&) = delete;
  };

  CURLcode make_easy();
  void forget_opening();
  EndFacts facts(CURLcode result) const;

  TransferContext& context_;
  ConnectionPool* pool_ = nullptr;  // null: the transfer is queued
  CURL* easy_ = nullptr;
  const std::shared_ptr<CallHandle> handle_;
  std::unique_ptr<HttpHandler> handler_;
  AnswerReceiver answer_;
  const std::uint64_t id_;
  DeadlineTimer timer_;
  std::unique_ptr<Opening> opening_;
  int socket_error_ = 0;        // errno of the last socket that could not be made; 0: it was made
  bool has_hung_up_ = false;    // the handler receives nothing more, even if it still exists
  bool may_share_ = false;      // its connection may use HTTP/2
  bool expects_reuse_ = false;  // counted in the pool as the next user of an idle connection
};

// The socket of the transfer's connection, and the number of body bytes that libcurl has read from it.
struct Reading {
  curl_socket_t descriptor;
  std::int64_t bytes;
};
// Nothing before the request is sent.
std::optional<Reading> reading_of(Transfer& transfer) noexcept;

}  // namespace agentcore::detail::net
