// HttpRecorder and HttpReplay: record HTTP exchanges where a fault occurs, and replay them to find it.
#pragma once

#include <agentcore/clock.hpp>
#include <agentcore/error.hpp>
#include <agentcore/export.hpp>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agentcore {

/// One HTTP request and its answer. As text it is one line of JSON (docs/design/recording.md).
struct HttpExchange {
  /// A piece of the body, as it arrived.
  struct Piece {
    Duration at{0};          ///< Time since the start of the request.
    std::string bytes = {};  ///< The content; any bytes.

    /// True if all fields are equal.
    bool operator==(const Piece&) const = default;
  };

  std::string method = "POST";                    ///< The method of the request.
  std::string url = {};                           ///< The URL of the request.
  std::vector<std::string> request_headers = {};  ///< "Name: value". The value of credentials is "[removed]".
  std::string request_body = {};                  ///< The body of the request.
  int status = 0;                                 ///< The HTTP status. 0: no answer arrived.
  std::string content_type = {};                  ///< Of the answer: in lower case, without parameters.
  std::vector<std::string> headers = {};          ///< Of the answer: the headers that the library uses.
  /// The body of the answer, decompressed, in pieces as it arrived. HttpLlmClient records at most 10,000
  /// pieces; it appends later bytes to the last one.
  std::vector<Piece> body = {};
  /// How the exchange ended. Errc::none: the answer is complete. Errc::cancelled: the call was stopped.
  Errc end = Errc::none;
  std::string end_message = {};  ///< The message of the error.
  Duration ended_at{0};          ///< Time from the start of the request to the end.
  bool request_sent = true;      ///< False: the exchange ended before any of the request was sent.

  /// True if all fields are equal.
  bool operator==(const HttpExchange&) const = default;
};

/// Returns the exchange as one line of JSON, without a line break. Bytes that are not UTF-8 are preserved.
AGENTCORE_API std::string to_json_line(const HttpExchange& exchange);
/// Reads an exchange from one line of JSON. Error: Errc::invalid_recording, whose message specifies the
/// fault.
AGENTCORE_API Result<HttpExchange> exchange_from_json_line(std::string_view line);

/// Records every exchange of the clients that have it as HttpLlmOptions::recorder, without their secrets.
///
/// The key and the values of headers that look like credentials are removed wherever they occur, and a URL
/// contains no user and no password. The texts of people and models are not removed. Secrets are found in
/// plain text, escaped for JSON, HTML or URLs, and in base64, also where they span two pieces of a body. A
/// secret that the server itself split, for example into several deltas of a stream, is not found. A key of
/// less than 8 characters, or a password of less than 4, does not count as a secret, because its removal
/// would make the recording unusable.
///
///     agentcore::HttpLlmOptions options = agentcore::provider_options("openai").value();
///     options.recorder = agentcore::HttpRecorder::to_file("calls.jsonl").value();
///
/// Threads: one thread at a time may use a recorder. The destructor may be called on any thread; it destroys
/// `write` there.
class AGENTCORE_API HttpRecorder {
 public:
  /// Makes a recorder that calls `write` with one line, its line break included, when an exchange has ended
  /// and before the outcome of its call is reported. An exception of `write` is logged and does not affect
  /// the call. Throws std::invalid_argument if `write` is empty. `write` is called on:
  /// @loop_thread
  explicit HttpRecorder(std::function<void(std::string_view line)> write);

  /// Makes a recorder that appends to a file and flushes it after each line. Error: Errc::invalid_recording
  /// if the file cannot be opened.
  static Result<std::shared_ptr<HttpRecorder>> to_file(const std::string& path);

  /// Writes one exchange as it is. Clients call it after they removed the secrets. Throws what `write`
  /// throws.
  void add(const HttpExchange& exchange) const;

 private:
  std::function<void(std::string_view)> write_;
};

/// Answers requests from a recording, for the clients that have it as HttpLlmOptions::replay.
///
/// A request is answered by the first exchange, of those that its client has not used yet, with the same
/// method, path and body. Bodies are the same if they are the same JSON, in any order of members; a
/// "[removed]" in the recording is equal to any text. An exchange without a request body, as people write
/// them, answers any request for its path that no other exchange answers. If no exchange answers, the call
/// fails with Errc::invalid_recording; the message shows how the request differs from the next exchange with
/// the same path. See Match for recordings whose requests change from run to run. Host and query are not
/// compared. Time-outs and deadlines do not apply. A stop ends the call as it would end a call over the
/// network.
///
///     auto replay = agentcore::HttpReplay::from_file("calls.jsonl");
///     if (!replay) return std::fprintf(stderr, "%s\n", replay.error().message.c_str()), 1;
///     agentcore::HttpLlmOptions options;
///     options.base_url = "https://api.example.com/v1";
///     options.model = "any";
///     options.replay = *replay;
///
/// A replay does not change. All functions, the destructor included:
/// @threadsafe
class AGENTCORE_API HttpReplay {
 public:
  /// When the pieces of an answer are delivered.
  enum class Pace : unsigned char {
    as_recorded,  ///< At their recorded times, by the clock of the Runtime.
    at_once       ///< One piece in each poll().
  };

  /// Which exchanges answer a request.
  enum class Match : unsigned char {
    strict,  ///< Those with the same request: see the class.
    loose    ///< If there is none: the first one for the path, whatever was asked. For requests with the time
             ///< of day or with ids.
  };

  /// Makes a replay of `exchanges`. Pieces are delivered with their recorded boundaries.
  explicit HttpReplay(std::vector<HttpExchange> exchanges, Pace pace = Pace::at_once,
                      Match match = Match::strict);
  /// Reads the text of a recording: one exchange per line; empty lines are ignored. Error:
  /// Errc::invalid_recording, whose message specifies the line, counted from 1.
  static Result<std::shared_ptr<const HttpReplay>> from_text(std::string_view lines,
                                                             Pace pace = Pace::at_once,
                                                             Match match = Match::strict);
  /// Reads a recording from a file. Error: Errc::invalid_recording, also if the file cannot be read.
  static Result<std::shared_ptr<const HttpReplay>> from_file(const std::string& path,
                                                             Pace pace = Pace::at_once,
                                                             Match match = Match::strict);

  /// Returns the exchanges of the recording.
  const std::vector<HttpExchange>& exchanges() const noexcept { return exchanges_; }
  /// Returns when the pieces of an answer are delivered.
  Pace pace() const noexcept { return pace_; }
  /// Returns which exchanges answer a request.
  Match match() const noexcept { return match_; }

 private:
  std::vector<HttpExchange> exchanges_;
  Pace pace_;
  Match match_;
};

}  // namespace agentcore
