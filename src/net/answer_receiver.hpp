// AnswerReceiver: passes one HTTP answer from libcurl's callbacks to its handler, within limits.
#pragma once

#include "net/head_reader.hpp"
#include "net/redirect.hpp"
#include "net/transport.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace agentcore::detail::net {

// Why this library ends a transfer; libcurl does not know the reason.
enum class Failure : std::uint8_t {
  none,
  too_large,
  head_too_large,
  unknown_coding,
  absurd_length,
  handler_threw,
  handler_refused,  // on_body() returned false
  bad_proxy,
  unwatched,  // the system refuses to watch the transfer's socket
};

// take_head() and take_body() throw what the handler throws. @loop_thread
class AnswerReceiver {
 public:
  AnswerReceiver(HttpHandler& handler, std::size_t max_bytes)
      : handler_(handler), max_bytes_(max_bytes), head_(std::make_unique<Head>()) {}

  // Takes a line of the head of the answer to `request`, or of its trailers. `request` may be null once the
  // head was released. False: the transfer must end.
  bool take_head(std::string_view line, const HttpRequest* request);
  // Takes a piece of the body. False: the transfer must end.
  bool take_body(std::string_view bytes);

  // Records why the transfer must end. Always false.
  bool fail(Failure failure) noexcept;
  Failure failure() const noexcept { return failure_; }
  std::size_t max_bytes() const noexcept { return max_bytes_; }

  int status() const noexcept { return status_; }  // of the answer; 0: its head is not complete
  // The answer is a redirect to follow: the handler is not called for it.
  bool is_redirected() const noexcept { return head_ != nullptr && !head_->redirect.url.empty(); }
  // Prepares for the answer to the request to the redirect's address, and returns that address.
  std::string follow();
  // Why the answer, a redirect, was not followed; empty: it is not a redirect.
  const std::string& redirect_refusal() const noexcept { return redirect_refusal_; }
  // Releases the data that is needed only until the body begins.
  void forget_head() noexcept { head_.reset(); }

 private:
  struct Head {
    HeadReader reader;
    std::size_t bytes = 0;  // interim answers included
    Redirect redirect;
  };

  bool admit(std::size_t bytes) noexcept;
  bool begin(const HttpRequest& request);

  HttpHandler& handler_;
  const std::size_t max_bytes_;
  std::size_t received_ = 0;  // bytes of heads and bodies, redirects included
  std::unique_ptr<Head> head_;
  int status_ = 0;
  Failure failure_ = Failure::none;
  std::string redirect_refusal_;
};

}  // namespace agentcore::detail::net
