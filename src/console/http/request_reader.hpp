// RequestReader: reads HTTP/1.1 requests from the bytes of a connection.
#pragma once

#include "console/http/request.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace agentcore::detail::console {

// What the reader accepts of one request.
struct RequestLimits {
  std::uint32_t max_header_bytes = 16u << 10;  // the request line and all headers
  std::uint64_t max_body_bytes = 1u << 20;
};

// Reads one request after the other, from bytes in any split. Behind it is the parser of Boost.Beast; see
// docs/design/console.md.
class RequestReader {
 public:
  enum class State : std::uint8_t {
    need_more,      // all bytes were taken or are needed again: append more, and call read() again
    head_complete,  // once for each request with a body: look at head(), and call read() again for the body
    send_continue,  // once for each request with "Expect: 100-continue": answer "100 Continue", call read()
                    // again
    complete,       // take() the request
    failed          // the connection is of no further use; see status() and problem()
  };

  explicit RequestReader(RequestLimits limits);
  ~RequestReader();
  RequestReader(const RequestReader&) = delete;
  RequestReader& operator=(const RequestReader&) = delete;

  // Takes what it can use from the front of `in`. Bytes behind the request are left there.
  State read(std::string& in);
  // After `head_complete`: the request without its body. Before: empty.
  const Request& head() const noexcept { return request_; }
  // The request; read() begins the next one.
  Request take();
  // True if bytes of a request that is not complete were read.
  bool is_in_request() const noexcept;

  // After `failed`: the status of the answer (400, 413 or 431), its code, and what is wrong.
  int status() const noexcept { return status_; }
  std::string_view error() const noexcept { return error_; }
  std::string_view problem() const noexcept { return problem_; }

 private:
  struct Parser;

  void begin();
  void take_head();
  bool waits_for_chunk(const std::string& in) const;
  State fail(int status, std::string_view error, std::string_view problem) noexcept;

  const RequestLimits limits_;
  std::unique_ptr<Parser> parser_;
  Request request_;  // from the end of its head on
  bool begun_ = false;
  bool has_head_ = false;
  bool continued_ = false;  // send_continue was returned for this request
  int status_ = 0;
  std::string_view error_;
  std::string_view problem_;
};

}  // namespace agentcore::detail::console
