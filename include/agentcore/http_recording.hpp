// Recordings of HTTP exchanges: made where a fault shows, replayed where it is looked for.
#pragma once

#include <agentcore/clock.hpp>
#include <agentcore/error.hpp>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agentcore {

// One request and what came back. As text it is one line of JSON (docs/design/recording.md).
struct HttpExchange {
  struct Piece {
    Duration at{0};  // since the request began
    std::string bytes = {};

    bool operator==(const Piece&) const = default;
  };

  std::string method = "POST";
  std::string url = {};
  std::vector<std::string> request_headers = {};  // "Name: value"; credentials are "[removed]"
  std::string request_body = {};
  int status = 0;                         // 0: no answer came
  std::string content_type = {};          // lower case, without parameters
  std::vector<std::string> headers = {};  // of the answer, as far as anything reads them
  std::vector<Piece> body = {};           // decompressed, as it arrived
  Errc end = Errc::none;                  // none: the answer was complete; `cancelled`: stopped by us
  std::string end_message = {};
  Duration ended_at{0};      // since the request began
  bool request_sent = true;  // false: it ended before anything of the request was sent

  bool operator==(const HttpExchange&) const = default;
};

// One line, without a line break. Bytes that are no UTF-8 survive.
std::string to_json_line(const HttpExchange& exchange);
// `invalid_recording` says what is wrong.
Result<HttpExchange> exchange_from_json_line(std::string_view line);

// Writes down every exchange of the clients that have it in their options, without their secrets: the key
// and the values of headers that look like credentials are removed wherever they stand, and a URL keeps
// neither user nor password. What people and models said is not removed. Secrets are found as they are and
// escaped for JSON, HTML, URLs or in base64, also where they lie across two pieces of a body; not where a
// server cut them up itself, such as into the deltas of a stream. A key of less than 8 characters, or
// a password of less than 4, is taken for no secret there: it would ruin the recording.
class HttpRecorder {
 public:
  // `write` is called with one line, its line break included, when an exchange has ended and before the
  // outcome of its call is reported. What it throws is logged and does not affect the call. Throws
  // std::invalid_argument for an empty function. @loop_thread
  explicit HttpRecorder(std::function<void(std::string_view line)> write);

  // Appends to a file, which is written through after each line; `invalid_recording` when it cannot be
  // opened.
  static Result<std::shared_ptr<HttpRecorder>> to_file(const std::string& path);

  void add(const HttpExchange& exchange) const { write_(to_json_line(exchange) + "\n"); }

 private:
  std::function<void(std::string_view)> write_;
};

// Answers as they were recorded. A request is answered by the first exchange, of those that this client has
// not used yet, with the same method, path and body; if there is none, by the first of them with the same
// method and path. If there is none either, the call fails with `invalid_recording`. Host and query do not
// count. Pieces come as they were cut, at their times by the Runtime's clock, or at once: one in each poll().
// Time-outs and deadlines do not apply; a stop does, and ends the call as it would end a real one.
class HttpReplay {
 public:
  enum class Pace : unsigned char { as_recorded, at_once };

  explicit HttpReplay(std::vector<HttpExchange> exchanges, Pace pace = Pace::at_once);
  // The text of a recording: exchanges, one per line. Empty lines do not count. `invalid_recording` names the
  // line that is wrong.
  static Result<std::shared_ptr<const HttpReplay>> from_text(std::string_view lines,
                                                             Pace pace = Pace::at_once);
  static Result<std::shared_ptr<const HttpReplay>> from_file(const std::string& path,
                                                             Pace pace = Pace::at_once);

  const std::vector<HttpExchange>& exchanges() const noexcept { return exchanges_; }
  Pace pace() const noexcept { return pace_; }

 private:
  std::vector<HttpExchange> exchanges_;
  Pace pace_;
};

}  // namespace agentcore
