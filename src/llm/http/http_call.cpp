#include "llm/http/http_call.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace agentcore::llm {
namespace {

// How long the end of the transfer may take after [DONE] before the connection is given up. With it the
// connection can be used again; the answer does not need it.
constexpr Duration end_patience = std::chrono::milliseconds(250);
constexpr std::size_t failure_bytes = 64 * 1024;  // kept of the body of an HTTP error

bool looks_like_events(std::string_view bytes) noexcept {
  return bytes.starts_with("data:") || bytes.starts_with("event:") || bytes.starts_with(":");
}

}  // namespace

HttpCall::HttpCall(std::shared_ptr<HttpShared> shared, std::shared_ptr<OpenCall> open, bool stream,
                   StopToken stop, ChatSink sink)
    : shared_(std::move(shared)),
      open_(std::move(open)),
      sink_(std::move(sink)),
      reader_(shared_->max_line_bytes),
      place_(shared_->open.size()),
      asked_stream_(stream) {
  shared_->open.push_back(this);
  shared_->engine->add_pending(1);
  if (stop.stop_possible()) on_stop_.emplace(std::move(stop), StopCall{open_.get()});
}

HttpCall::~HttpCall() {
  if (listed_) cancel();  // the transport goes before its transfers ended
}

void HttpCall::on_head(int status, std::string_view content_type) {
  status_ = status;
  if (status < 200 || status > 299) {
    form_ = Form::failure;
  } else if (content_type == "text/event-stream") {
    form_ = Form::stream;
  } else if (!asked_stream_ || content_type == "application/json") {
    form_ = Form::body;
  }
}

bool HttpCall::on_body(std::string_view bytes) {
  if (!sink_ || open_->stopped()) return false;
  if (done_ || bytes.empty()) return true;
  if (form_ == Form::unknown) form_ = looks_like_events(bytes) ? Form::stream : Form::body;
  if (form_ == Form::stream) return read_stream(bytes);
  if (form_ == Form::failure) bytes = bytes.substr(0, failure_bytes - std::min(failure_bytes, body_.size()));
  body_.append(bytes);
  return true;
}

bool HttpCall::read_stream(std::string_view bytes) {
  const auto status = reader_.feed(bytes, *this);
  if (status == SseReader::Status::too_long)
    error_ = shared_->errors.line_too_long(status_, shared_->max_line_bytes);
  return status == SseReader::Status::more || done_;
}

bool HttpCall::on_event(std::string_view data, std::size_t readable_behind) {
  if (data == open_ai_done) {
    expect_end();
    return false;
  }
  if (data.empty()) return true;
  AnswerObject object;
  if (!shared_->parser.parse_chunk(data, readable_behind, object)) {
    error_ = shared_->errors.bad_chunk(status_, data);
    return false;
  }
  take_meta(object);
  if (object.error) error_ = shared_->errors.api(status_, *object.error);
  if (error_ || !take_tool_calls(object)) return false;
  return object.content.empty() || deliver(object.content);
}

void HttpCall::take_meta(const AnswerObject& object) {
  if (object.usage) usage_ = *object.usage;
  if (object.finish_reason) finish_reason_ = object.finish_reason;
}

// False when they are of no use: error_ says why.
bool HttpCall::take_tool_calls(AnswerObject& object) {
  ToolCallFault fault = object.tool_call_fault;
  if (object.tool_calls.empty() && fault == ToolCallFault::none) return true;
  if (!tool_calls_) tool_calls_ = std::make_unique<ToolCallAssembler>(shared_->max_response_bytes);
  for (ToolCallPiece& piece : object.tool_calls)
    if (fault == ToolCallFault::none) fault = tool_calls_->add(std::move(piece));
  if (fault == ToolCallFault::none) return true;
  error_ = shared_->errors.tool_calls(status_, fault, shared_->max_response_bytes);
  return false;
}

// False when the call is over: stopped, or its receiver is gone.
bool HttpCall::deliver(std::string_view text) {
  if (open_->stopped()) return false;
  sink_.delta(text);
  return sink_ && !open_->stopped();
}

void HttpCall::expect_end() {
  done_ = true;
  auto& engine = *shared_->engine;
  end_timer_ = engine.start_timer(engine.now() + end_patience, [open = open_] { open->cut(); });
}

void HttpCall::on_end(net::HttpEnd end) {
  leave();
  if (!sink_) return;
  ChatOutcome outcome = outcome_of(end);
  // The body's text may have been delivered just now, and anything may have happened in there.
  if (open_->stopped()) outcome = ChatOutcome::cancelled(usage_);
  sink_.finish(std::move(outcome));
}

void HttpCall::cancel() {
  leave();
  open_->stop();
  sink_.finish(ChatOutcome::cancelled(usage_));
}

// From here on nothing leads to this call but the transport.
void HttpCall::leave() noexcept {
  if (!std::exchange(listed_, false)) return;
  on_stop_.reset();
  shared_->engine->cancel_timer(end_timer_);
  open_->close();
  auto& list = shared_->open;
  list[place_] = list.back();
  list[place_]->place_ = place_;
  list.pop_back();
  shared_->engine->add_pending(-1);
}

ChatOutcome HttpCall::outcome_of(const net::HttpEnd& end) {
  if (status_ == 0) status_ = end.status;
  if (open_->stopped()) return ChatOutcome::cancelled(usage_);
  if (error_) return ChatOutcome::failed(std::move(*error_), usage_);
  // A stream that said how it ended is complete, however the transfer ended after that.
  if (done_ || finish_reason_) return completed();
  if (end.code == Errc::cancelled) return ChatOutcome::cancelled(usage_);
  if (end.code != Errc::none) return ChatOutcome::failed(shared_->errors.transfer(end), usage_);
  if (form_ == Form::stream) return ChatOutcome::failed(shared_->errors.cut_short(status_), usage_);
  return outcome_of_body();
}

ChatOutcome HttpCall::outcome_of_body() {
  const CallErrors& errors = shared_->errors;
  AnswerObject object;
  const bool parsed = shared_->parser.parse_body(body_, object);
  if (status_ < 200 || status_ > 299)
    return ChatOutcome::failed(errors.status(status_, body_, parsed ? &object : nullptr));
  if (!parsed) return ChatOutcome::failed(errors.not_json(status_, body_));
  take_meta(object);
  if (object.error) return ChatOutcome::failed(errors.api(status_, *object.error), usage_);
  if (!object.has_choice) return ChatOutcome::failed(errors.no_answer(status_, body_), usage_);
  if (!take_tool_calls(object)) return ChatOutcome::failed(std::move(*error_), usage_);
  if (!object.content.empty()) deliver(object.content);
  return completed();
}

// Many servers say "stop" where tools are to be called.
ChatOutcome HttpCall::completed() {
  ChatOutcome outcome = ChatOutcome::completed(finish_reason_.value_or(FinishReason::unknown), usage_);
  if (!tool_calls_) return outcome;
  const ToolCallFault fault = tool_calls_->finish(outcome.tool_calls);
  if (fault != ToolCallFault::none)
    return ChatOutcome::failed(shared_->errors.tool_calls(status_, fault, shared_->max_response_bytes),
                               usage_);
  FinishReason& reason = outcome.finish_reason;
  const bool in_order = reason == FinishReason::complete || reason == FinishReason::unknown;
  if (in_order && !outcome.tool_calls.empty()) reason = FinishReason::tool_calls;
  return outcome;
}

}  // namespace agentcore::llm
