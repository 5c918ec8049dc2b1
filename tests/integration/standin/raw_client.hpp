// RawClient: a blocking TCP socket that speaks bytes, for looking at a server from outside any HTTP library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// One answer as it came. The body is without the framing of its chunks.
struct RawAnswer {
  int status = 0;  // 0: the connection ended before the headers were complete
  std::string head;
  std::string body;
  bool complete = false;  // the body ended as its framing says

  // The value of a header (lower-case name), or empty.
  std::string header(std::string_view name) const;
};

class RawClient {
 public:
  explicit RawClient(std::uint16_t port);
  ~RawClient();
  RawClient(RawClient&& other) noexcept
      : socket_(std::exchange(other.socket_, -1)), unread_(std::move(other.unread_)) {}
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  // Writes all of it; false when the server has closed.
  bool send(std::string_view bytes);
  // Reads until `needle` has come; true if it has. What was read stays for the next reader.
  bool read_until(std::string_view needle);
  // Reads to the end of the connection.
  std::string read_to_end();
  // Reads one answer.
  RawAnswer read_answer();

  // Ends our side only (FIN).
  void end_sending();
  // Closes with a reset (RST).
  void reset();
  void close();

 private:
  bool read_more();
  void read_chunks(RawAnswer& answer);
  void read_sized(RawAnswer& answer, std::size_t length);

  int socket_ = -1;
  std::string unread_;
};

// A POST to the chat path. `headers`: lines, each ended by CRLF.
std::string chat_request(std::string_view headers = {}, std::string_view extra_json = R"(,"stream":true)");
// Any request with a body.
std::string request(std::string_view method, std::string_view path, std::string_view headers = {},
                    std::string_view body = {});

// The `data:` fields of an event stream, in order.
std::vector<std::string> events_of(std::string_view body);
// The content deltas of such a stream, put together.
std::string content_of(std::string_view body);
