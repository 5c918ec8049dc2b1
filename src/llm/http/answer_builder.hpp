// AnswerBuilder: converts the bytes of one HTTP answer to deltas and an outcome. No I/O, no loop.
#pragma once

#include "llm/http/answer_content.hpp"
#include "llm/http/answer_context.hpp"
#include "llm/http/answer_listener.hpp"
#include "llm/http/answer_usage.hpp"
#include "llm/http/sse_reader.hpp"
#include "net/transport.hpp"

#include <agentcore/chat.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace agentcore::detail::llm {

// Takes begin(), any number of feed(), then finish() or cancelled(). While it waits inside a stream it holds
// less than a kilobyte. @loop_thread
class AnswerBuilder final : private SseReader::Listener {
 public:
  // `binding`: of the reasoning of the answer.
  AnswerBuilder(AnswerContext& context, const ChatRequest& request, AnswerListener& listener,
                Binding binding = {});
  AnswerBuilder(const AnswerBuilder&) = delete;
  AnswerBuilder& operator=(const AnswerBuilder&) = delete;

  // The head. `now`: wall clock time, to which dates in headers refer.
  void begin(const net::HttpHead& head, std::chrono::sys_time<std::chrono::milliseconds> now);
  // A piece of the body, cut anywhere. The listener receives its content. False: reading stops, because the
  // answer is faulty or the listener reported that the call is over.
  bool feed(std::string_view bytes);
  // True when the stream reported its end; later data is ignored.
  bool is_complete() const noexcept { return phase_ == Phase::complete; }

  // The transfer ended. The outcome of a whole body is made here, and its text is delivered to the listener.
  ChatOutcome finish(const net::HttpEnd& end);
  // The outcome if the call is stopped now, or was before the transfer ended with `end`.
  ChatOutcome cancelled() const;
  ChatOutcome cancelled(const net::HttpEnd& end);
  // The outcome when there is no memory for another: with the counts, and nothing of the answer.
  ChatOutcome without_memory(Errc code) const noexcept;
  // What is to be logged of the answer; empty: nothing.
  std::string_view note() const noexcept { return content_.note(); }
  // Releases memory that a large answer took from the client. Not from within feed() or finish().
  void release_memory();

 private:
  enum class Phase : std::uint8_t {
    undeclared,       // the first bytes will show whether the answer is a stream
    declared_stream,  // the content type is that of a stream, but no line of one came yet
    stream,
    complete,  // the stream reported its end
    body,      // read as a whole, at the end
    failure,   // a status outside 2xx: read as a body, but only its beginning is kept
  };

  bool on_event(std::string_view data, std::size_t readable_behind) override;
  bool feed_beginning(std::string_view bytes);
  bool feed_stream(std::string_view bytes);
  bool feed_body(std::string_view bytes);
  void note_end(const net::HttpEnd& end);
  ChatOutcome finish_body(std::string_view note);
  ChatOutcome finish_failure(std::string_view note);
  void take_rest(const net::HttpEnd& end);
  bool take_rest(std::string_view data, bool is_cut);
  ChatOutcome completed();
  ChatOutcome failed(ChatError error) const;
  ChatOutcome accounted(ChatOutcome outcome) const;

  // What each piece of a stream reads and writes comes first.
  AnswerContext& context_;
  int status_ = 0;
  Phase phase_ = Phase::undeclared;
  bool read_large_body_ = false;
  bool request_sent_ = true;  // as far as is known
  SseReader reader_;
  AnswerUsage usage_;
  AnswerContent content_;
  std::unique_ptr<ChatError> error_;  // an error in the form of the stream; content_ has its own
  std::string body_;                  // of an answer that is not a stream, or not yet known to be one
  RetryHeaders retry_headers_;
};

}  // namespace agentcore::detail::llm
