// HTTP/1.1 as a server reads it: an incremental parser for requests, and the heads of answers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace standin {

struct HttpRequest {
  std::string method;
  std::string path;                                          // without the query; still percent-encoded
  std::string query;                                         // behind the '?', or empty
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case, values trimmed
  std::string body;                                          // decoded when it came in chunks
  bool http_1_0 = false;
  bool keep_alive = true;

  // The first header of that (lower-case) name, or nullptr.
  const std::string* header(std::string_view name) const noexcept;
};

struct HttpError {
  int status = 0;  // what to answer before closing the connection
  std::string_view reason;
};

enum class ParseState : std::uint8_t {
  need_more,        // feed more bytes
  expect_continue,  // once per request that asks for it: send "100 Continue", then call parse() again
  complete,         // take() the request
  failed,           // see error(); the connection is of no further use
};

// Reads one request after the other. Any bytes in any split are fine; nothing is trusted, everything is
// bounded.
class RequestParser {
 public:
  RequestParser(std::size_t max_header_bytes, std::size_t max_body_bytes) noexcept
      : max_header_bytes_(max_header_bytes), max_body_bytes_(max_body_bytes) {}

  // Takes what it can use from the front of `in`. Bytes behind the request are left there.
  ParseState parse(std::string& in);
  // The complete request; the parser starts over.
  HttpRequest take();
  const HttpError& error() const noexcept { return error_; }

 private:
  enum class Phase : std::uint8_t {
    head,
    body,
    chunk_size,
    chunk_data,
    chunk_end,
    trailer,
    complete,
    failed
  };

  bool parse_head(std::string& in);
  bool parse_request_line(std::string_view line);
  bool parse_header_line(std::string_view line);
  bool begin_body();
  bool begin_sized_body(const std::string& length);
  bool parse_body(std::string& in);
  bool parse_chunk_line(std::string& in);
  bool parse_chunk_size(std::string_view line);
  bool fail(int status, std::string_view reason);

  const std::size_t max_header_bytes_;
  const std::size_t max_body_bytes_;
  Phase phase_ = Phase::head;
  bool owes_continue_ = false;
  std::size_t scanned_ = 0;        // bytes of `in` known to hold no end of the head
  std::size_t remaining_ = 0;      // of the body or of the chunk
  std::size_t trailer_bytes_ = 0;  // read so far
  HttpRequest request_;
  HttpError error_;
};

// "Not Found" for 404, and so on.
std::string_view reason_phrase(int status) noexcept;

// The head of an answer whose body has `length` bytes. `extra` is further header lines, each ended by CRLF.
std::string http_head(int status, std::string_view content_type, std::size_t length, bool keep_alive,
                      std::string_view extra = {});

// A whole answer.
std::string http_answer(int status, std::string_view content_type, std::string_view body, bool keep_alive,
                        std::string_view extra = {});

}  // namespace standin
