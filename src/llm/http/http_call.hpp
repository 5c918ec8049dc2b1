// HttpCall: one model call on its way through HTTP.
#pragma once

#include "llm/active_requests.hpp"
#include "llm/dialects/reasoning_assembler.hpp"
#include "llm/dialects/wire_format.hpp"
#include "llm/http/answer_meter.hpp"
#include "llm/http/call_errors.hpp"
#include "llm/http/prices.hpp"
#include "llm/http/sse_reader.hpp"
#include "loop/engine.hpp"
#include "net/transport.hpp"

#include <agentcore/llm_client.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agentcore::llm {

class HttpCall;

// What the calls of one client share. Lives as long as the last of them: a receiver may destroy the client.
struct HttpShared {
  HttpShared(std::shared_ptr<loop::Engine> loop, const WireFormat& wire, Redactor redact,
             std::size_t max_line, std::size_t max_response, std::string place = {})
      : engine(std::move(loop)),
        format(wire),
        reader(wire.make_reader()),
        errors(std::move(redact), std::move(place)),
        max_line_bytes(max_line),
        max_response_bytes(max_response) {}

  const std::shared_ptr<loop::Engine> engine;
  const WireFormat& format;
  std::unique_ptr<AnswerReader> reader;  // a new one after a call that made it large
  const CallErrors errors;
  const std::size_t max_line_bytes;
  const std::size_t max_response_bytes;
  std::string server;  // see ReasoningBlock
  PriceTable prices;
  std::vector<HttpCall*> open;  // without an outcome yet
};

// Receives one HTTP answer and turns it into deltas and one outcome. Owned by the transport. While it waits
// inside a stream it holds less than a kilobyte. @loop_thread
class HttpCall final : public net::HttpHandler, private SseReader::Listener {
 public:
  // Opens the call: it is in shared->open, and hears `stop`, until its outcome.
  HttpCall(std::shared_ptr<HttpShared> shared, std::shared_ptr<OpenCall> open, const ChatRequest& request,
           StopToken stop, ChatSink sink);
  ~HttpCall() override;
  HttpCall(const HttpCall&) = delete;
  HttpCall& operator=(const HttpCall&) = delete;

  void on_head(const net::HttpHead& head) override;
  bool on_body(std::string_view bytes) override;
  void on_end(net::HttpEnd end) override;

  // Cuts the call and delivers its `cancelled` outcome now.
  void cancel();

 private:
  enum class Words : unsigned char { none, of_reasoning, in_details };
  enum class Form : unsigned char { unknown, stream, body, failure };

  bool on_event(std::string_view data, std::size_t readable_behind) override;
  bool begin(std::string_view bytes);
  bool read_stream(std::string_view bytes);
  bool take(AnswerObject& object);
  void forget_known(AnswerObject& object) const;
  void take_meta(const AnswerObject& object);
  void note_other_items(const AnswerObject& object);
  bool is_same_message(const AnswerObject& object);
  std::string words_apart(const AnswerObject& object);
  bool take_tool_calls(AnswerObject& object);
  bool take_reasoning(AnswerObject& object);
  std::string_view words_of_thoughts(const AnswerObject& object);
  bool goes_on() const noexcept;
  bool has_answer() const noexcept;
  bool is_unusable(const ChatOutcome& outcome) const noexcept;
  bool deliver(std::string_view text);
  bool deliver_reasoning(std::string_view text);
  void expect_end();
  void leave() noexcept;
  ChatOutcome outcome_of(const net::HttpEnd& end);
  ChatOutcome outcome_of_body(std::string_view note);
  ChatOutcome completed();
  ChatOutcome failed(Error error) const;
  ChatOutcome cancelled() const;
  ChatOutcome with_account(ChatOutcome outcome) const;
  std::optional<double> cost(const Usage& usage) const;

  std::shared_ptr<HttpShared> shared_;
  std::shared_ptr<OpenCall> open_;
  std::optional<StopCallback> on_stop_;
  ChatSink sink_;
  SseReader reader_;
  std::string body_;  // of an answer that is no stream, or not known yet to be one
  std::unique_ptr<ToolCallAssembler> tool_calls_;  // made for the first of them
  std::unique_ptr<ReasoningAssembler> reasoning_;  // the same
  std::string model_;                              // as the provider names it
  std::string message_id_;                         // of the answer, in dialects that send one
  std::string other_items_;  // types of items that are no text, reasoning or call of ours
  UsageCounts usage_;
  std::uint64_t prompt_estimate_;  // tokens
  AnswerMeter meter_;              // of what was received of the answer
  std::optional<double> cost_;     // as the provider says
  const Prices* prices_;           // of the model that was asked for, in shared_->prices
  std::optional<Error> error_;     // found in the stream
  std::uint64_t end_timer_ = 0;
  std::size_t place_;  // in shared_->open
  std::chrono::milliseconds retry_after_{0};
  int status_ = 0;
  bool asked_stream_;
  Form form_ = Form::unknown;
  Words words_ = Words::none;  // of thoughts: which are shown
  bool listed_ = true;
  bool begun_ = false;           // the answer is known to be a stream
  bool done_ = false;            // the stream said that it is complete
  bool goes_on_behind_ = false;  // more of the answer followed its finish reason
  bool apart_ = false;           // another block began after the text that was delivered
  bool spoke_ = false;
  bool thought_ = false;
  bool refused_ = false;
  bool large_ = false;        // an object of the answer made the reader large
  bool request_sent_ = true;  // as far as is known
  std::optional<FinishReason> finish_reason_;
};

}  // namespace agentcore::llm
