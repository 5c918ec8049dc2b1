// Transfer: one HTTP request and its answer, as one easy handle of libcurl.
#pragma once

#include "net/deadlines.hpp"
#include "net/head_reader.hpp"
#include "net/redirect.hpp"
#include "net/transport.hpp"

#include <agentcore/error.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <curl/curl.h>

namespace agentcore::net {

class CurlTransport;
class Cut;

// Made and kept by the transport. What libcurl calls on it runs inside a call into libcurl, where handles can
// be neither removed nor added: it only notes what happened, and the transport acts on it afterwards.
class Transfer {
 public:
  Transfer(CurlTransport& transport, std::uint64_t id, HttpRequest request, std::shared_ptr<Cut> cut,
           std::unique_ptr<HttpHandler> handler);
  ~Transfer();  // the handle must be out of its multi by now
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  // Makes the easy handle. `fresh`: there is no use in looking for a kept connection. An error is final.
  CURLcode prepare(bool fresh);

  // False when other transfers may use its connection at the same time, or might: a stop then leaves the
  // connection alone, and the removal of the handle resets the stream. Before the request is sent nobody else
  // is on a connection that is being made (CURLOPT_PIPEWAIT is off), and an answer of HTTP/1 tells that
  // nobody will be.
  bool is_alone() const noexcept { return !may_share_ || deadlines.is_connecting(); }

  // The answer was a redirect to follow: sends its request there once prepared again. Its handle must be out
  // of its multi by now.
  bool is_redirected() const noexcept { return opening_ != nullptr && !opening_->redirect.url.empty(); }
  void follow();

  // How it ended, given libcurl's result. The message names the address, but no header, body or secret.
  HttpEnd describe(CURLcode result) const;
  HttpEnd describe_timeout() const;

  // True when nothing more may reach the handler: cut, ended, or the runtime is gone.
  bool is_over() const noexcept;

  // The system refuses to watch its socket: nothing more of the answer would be received.
  void go_deaf() noexcept;
  bool is_deaf() const noexcept { return failure_ == Failure::unwatched; }

  static Transfer* of(CURL* easy) noexcept;

  const std::uint64_t id;  // counts up in the order of starting
  const std::shared_ptr<Cut> cut;
  std::unique_ptr<HttpHandler> handler;  // null once ended
  Deadlines deadlines;
  TimePoint timer_due{};    // of the timer that runs
  std::uint64_t timer = 0;  // 0: none
  CURL* easy = nullptr;
  bool hopes_for_reuse = false;  // counts as a user of an idle connection

 private:
  // What is needed only until the answer has begun; a stream then goes on without it.
  struct Opening {
    HttpRequest request;
    HeadReader head;
    std::size_t head_bytes = 0;  // of interim answers as well
    Redirect redirect;
    curl_slist* headers = nullptr;
    std::array<char, CURL_ERROR_SIZE> error{};

    explicit Opening(HttpRequest wanted) : request(std::move(wanted)) {}
    ~Opening() { wipe_headers(); }
    Opening(const Opening&) = delete;
    Opening& operator=(const Opening&) = delete;

   private:
    void wipe_headers() noexcept;  // one of them holds the key
  };

  CURLcode set_request(Opening& opening);
  CURLcode set_peer(const Opening& opening);
  CURLcode set_callbacks(Opening& opening);
  void forget_opening();
  void leave_socket();
  void claim_socket();
  // Our own reason to end it, which libcurl does not know.
  enum class Failure : unsigned char {
    none,
    too_large,
    head_too_large,
    unknown_coding,
    absurd_length,
    receiver_threw,
    refused,  // by the receiver
    bad_proxy,
    unwatched,  // the system refuses to watch its socket
  };
  bool fail(Failure failure) noexcept;
  bool admit(std::size_t bytes) noexcept;
  bool take_head(std::string_view line);
  bool begin_answer(Opening& opening);
  bool take_body(std::string_view bytes);

  // How it ended (transfer_end.cpp).
  std::string peer() const;
  std::string_view detail() const noexcept;
  HttpEnd reason_of(CURLcode result) const;
  HttpEnd describe_failure() const;
  std::string before_request(CURLcode result, Errc code) const;
  std::string after_request(CURLcode result, Errc code) const;
  std::string no_connection(const std::string& where) const;
  std::string not_http() const;
  std::string tls_hint() const;
  HttpEnd describe_refused_tunnel(long status) const;

  static std::size_t on_header(char* data, std::size_t size, std::size_t count, void* self) noexcept;
  static std::size_t on_write(char* data, std::size_t size, std::size_t count, void* self) noexcept;
  static int on_request(void* self, char* peer, char* local, int peer_port, int local_port) noexcept;
  static curl_socket_t on_open(void* self, curlsocktype purpose, curl_sockaddr* address) noexcept;
  static int on_close(void* transport, curl_socket_t descriptor) noexcept;

  CurlTransport& transport_;
  std::unique_ptr<Opening> opening_;
  std::size_t received_ = 0;
  std::size_t limit_;
  int status_ = 0;
  bool may_share_ = false;
  Failure failure_ = Failure::none;
  int socket_error_ = 0;          // errno of the last socket that could not be made; 0: the last one was made
  std::string redirect_refusal_;  // the answer is a redirect, and this is why it is delivered
};

}  // namespace agentcore::net
