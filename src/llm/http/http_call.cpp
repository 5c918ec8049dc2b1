#include "llm/http/http_call.hpp"

#include "llm/http/rate_headers.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace agentcore::llm {
namespace {

// How long the end of the transfer may take after [DONE] before the connection is given up. With it the
// connection can be used again; the answer does not need it.
constexpr Duration end_patience = std::chrono::milliseconds(250);
constexpr std::size_t failure_bytes = 64 * 1024;  // kept of the body of an HTTP error
constexpr std::size_t most_of_id = 200;           // bytes of a message's id that are compared
constexpr std::size_t large_object = 256 * 1024;  // that leaves a reader too large to be kept

bool says_more(const AnswerObject& object) noexcept {
  return !object.content.empty() || !object.reasoning.empty() || !object.words_in_details.empty() ||
         !object.tool_calls.empty();
}

constexpr std::string_view utf8_mark = "\xEF\xBB\xBF";
constexpr std::size_t most_held_back = 4096;  // bytes, of a beginning that may be a stream's or not

// A whole answer, without the byte order mark that some servers send before it.
std::string_view without_mark(std::string_view body) noexcept {
  return body.starts_with(utf8_mark) ? body.substr(utf8_mark.size()) : body;
}

// JSON, or HTML: no line of a stream begins like that.
bool begins_body(char letter) noexcept {
  return letter == '{' || letter == '[' || letter == '<';
}

enum class Looks : unsigned char { unclear, like_events, like_body };

// What an answer is, judged by the bytes that it begins with, however they were cut into pieces. `declared`:
// its content type says that it is a stream.
Looks look_at(std::string_view beginning, bool declared) noexcept {
  if (utf8_mark.starts_with(beginning)) return Looks::unclear;
  const std::string_view text = without_mark(beginning);
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return Looks::unclear;
  if (begins_body(text[first])) return Looks::like_body;
  if (declared) return Looks::like_events;
  const std::string_view line = text.substr(first);
  for (const std::string_view field : {":", "data:", "event:", "id:", "retry:", "error:"}) {
    if (line.starts_with(field)) return Looks::like_events;
    if (field.starts_with(line)) return Looks::unclear;
  }
  return Looks::like_body;
}

}  // namespace

HttpCall::HttpCall(std::shared_ptr<HttpShared> shared, std::shared_ptr<OpenCall> open,
                   const ChatRequest& request, StopToken stop, ChatSink sink)
    : shared_(std::move(shared)),
      open_(std::move(open)),
      sink_(std::move(sink)),
      reader_(shared_->max_line_bytes),
      prompt_estimate_(prompt_tokens(request)),
      prices_(find_prices(shared_->prices, request.model)),
      place_(shared_->open.size()),
      asked_stream_(request.stream) {
  shared_->open.push_back(this);
  shared_->engine->add_pending(1);
  if (stop.stop_possible()) on_stop_.emplace(std::move(stop), StopCall{open_.get()});
}

HttpCall::~HttpCall() {
  if (listed_) cancel();  // the transport goes before its transfers ended
}

void HttpCall::on_head(const net::HttpHead& head) {
  status_ = head.status;
  const auto now = std::chrono::time_point_cast<std::chrono::milliseconds>(std::chrono::system_clock::now());
  if (status_ < 200 || status_ > 299) {
    form_ = Form::failure;
    retry_after_ = retry_after(head, now).value_or(retry_after_);
  } else if (head.content_type == "text/event-stream") {
    form_ = Form::stream;
  } else if (!asked_stream_ || head.content_type == "application/json") {
    form_ = Form::body;
  }
  if (const auto limit = rate_limit(head, now); limit && !open_->stopped()) sink_.rate_limit(*limit);
}

bool HttpCall::on_body(std::string_view bytes) {
  if (!sink_ || open_->stopped()) return false;
  if (done_ || bytes.empty()) return true;
  if (form_ == Form::stream && begun_) return read_stream(bytes);
  if (form_ == Form::stream || form_ == Form::unknown) return begin(bytes);
  if (form_ == Form::failure) bytes = bytes.substr(0, failure_bytes - std::min(failure_bytes, body_.size()));
  body_.append(bytes);
  return true;
}

// Keeps the beginning of the answer in body_ until it shows whether it is a stream.
bool HttpCall::begin(std::string_view bytes) {
  body_.append(bytes);
  const bool declared = form_ == Form::stream;
  Looks looks = look_at(body_, declared);
  if (looks == Looks::unclear && body_.size() <= most_held_back) return true;
  if (looks == Looks::unclear) looks = declared ? Looks::like_events : Looks::like_body;
  form_ = looks == Looks::like_events ? Form::stream : Form::body;
  if (form_ == Form::body) return true;
  begun_ = true;
  const std::string held = std::exchange(body_, {});
  return read_stream(held);
}

bool HttpCall::read_stream(std::string_view bytes) {
  const auto status = reader_.feed(bytes, *this);
  if (status == SseReader::Status::too_long)
    error_ = shared_->errors.line_too_long(status_, shared_->max_line_bytes);
  return status == SseReader::Status::more || done_;
}

bool HttpCall::on_event(std::string_view data, std::size_t readable_behind) {
  if (data == done_mark) {
    expect_end();
    return false;
  }
  if (data.empty()) return true;
  large_ = large_ || data.size() > large_object;
  AnswerObject object;
  if (!shared_->reader->parse_chunk(data, readable_behind, object)) {
    error_ = shared_->errors.bad_chunk(status_, data);
    return false;
  }
  const bool ends = object.ends;  // the object is the reader's, and a receiver may call the client
  if (!take(object)) return false;
  if (ends) expect_end();
  return !ends;
}

// Everything that it says, its words last. False when the call is over.
bool HttpCall::take(AnswerObject& object) {
  if (object.repeats) forget_known(object);
  take_meta(object);
  note_other_items(object);
  if (!is_same_message(object)) error_ = shared_->errors.other_message(status_);
  if (object.error) error_ = shared_->errors.api(status_, *object.error);
  if (error_ || !take_tool_calls(object) || !take_reasoning(object)) return false;
  object.reasoning = words_of_thoughts(object);
  const std::string apart = words_apart(object);
  const std::string_view words = apart.empty() ? object.content : apart;
  if (object.reasoning.empty()) return words.empty() || deliver(words);
  const std::string content(words);  // a receiver may start a call, which uses the same reader
  return deliver_reasoning(object.reasoning) && (content.empty() || deliver(content));
}

// The object's text with a separator before it, if another block lies between it and the text delivered
// before; else empty.
std::string HttpCall::words_apart(const AnswerObject& object) {
  apart_ = apart_ || object.begins_block;
  if (object.content.empty() || !std::exchange(apart_, false) || !spoke_) return {};
  return std::string(between_blocks).append(object.content);
}

// False when another message begins before the end of this one.
bool HttpCall::is_same_message(const AnswerObject& object) {
  if (object.begins.empty()) return true;
  const std::string_view id = object.begins.substr(0, most_of_id);
  if (message_id_.empty()) message_id_ = id;
  return message_id_ == id;
}

// Notes each type once, and no more of them than an error can show.
void HttpCall::note_other_items(const AnswerObject& object) {
  constexpr std::size_t most = 200;
  for (const std::string& type : object.other_items) {
    if (other_items_.size() + type.size() > most || other_items_.find(type) != std::string::npos) continue;
    if (!other_items_.empty()) other_items_ += ", ";
    other_items_ += type;
  }
}

// Of each kind, what came in pieces before counts; it may have been delivered.
void HttpCall::forget_known(AnswerObject& object) const {
  if (spoke_) object.content = {};
  if (thought_) object.reasoning = {};
  if (reasoning_) object.reasoning_pieces = {};
  if (!tool_calls_) return;
  object.tool_calls = {};
  object.tool_call_fault = ToolCallFault::none;
}

void HttpCall::take_meta(const AnswerObject& object) {
  if (object.usage) usage_.merge(*object.usage);
  if (object.finish_reason) {
    finish_reason_ = object.finish_reason;
    goes_on_behind_ = false;
  } else if (finish_reason_ && says_more(object)) {
    goes_on_behind_ = true;
  }
  if (object.cost) cost_ = object.cost;
  refused_ = refused_ || object.refused;
  if (model_.empty()) model_ = object.model;
  if (!object.answering_model.empty()) model_ = object.answering_model;
}

// False when they are of no use: error_ says why.
bool HttpCall::take_tool_calls(AnswerObject& object) {
  ToolCallFault fault = object.tool_call_fault;
  if (object.tool_calls.empty() && fault == ToolCallFault::none) return true;
  if (!tool_calls_) tool_calls_ = std::make_unique<ToolCallAssembler>(shared_->max_response_bytes);
  for (ToolCallPiece& piece : object.tool_calls) {
    if (!piece.replaces) meter_.add(piece.arguments);
    if (fault == ToolCallFault::none) fault = tool_calls_->add(std::move(piece));
  }
  if (fault == ToolCallFault::none) return true;
  error_ = shared_->errors.tool_calls(status_, fault, shared_->max_response_bytes);
  return false;
}

// The same for what is to be given back of the model's thoughts.
bool HttpCall::take_reasoning(AnswerObject& object) {
  if (object.reasoning_pieces.empty() && object.reasoning_details.empty()) return true;
  if (!reasoning_) reasoning_ = std::make_unique<ReasoningAssembler>(shared_->max_response_bytes);
  const auto add = [this](auto& piece) { return reasoning_->add(std::move(piece)); };
  if (!object.too_many_details && std::ranges::all_of(object.reasoning_pieces, add) &&
      std::ranges::all_of(object.reasoning_details, add))
    return true;
  error_ = shared_->errors.reasoning_too_large(status_, shared_->max_response_bytes);
  return false;
}

// A server that says its thoughts twice may do so in different chunks: the place that came first counts.
std::string_view HttpCall::words_of_thoughts(const AnswerObject& object) {
  if (words_ == Words::none && !object.reasoning.empty()) words_ = Words::of_reasoning;
  if (words_ == Words::none && !object.words_in_details.empty()) words_ = Words::in_details;
  return words_ == Words::in_details ? object.words_in_details : object.reasoning;
}

// False when the call is over: stopped, its receiver or the Runtime gone.
bool HttpCall::goes_on() const noexcept {
  return sink_ && !open_->stopped() && !shared_->engine->closed();
}

bool HttpCall::deliver_reasoning(std::string_view text) {
  if (!goes_on()) return false;
  meter_.add(text);
  thought_ = true;
  sink_.reasoning(text);
  return goes_on();
}

bool HttpCall::deliver(std::string_view text) {
  if (!goes_on()) return false;
  meter_.add(text);
  spoke_ = true;
  sink_.delta(text);
  return goes_on();
}

void HttpCall::expect_end() {
  done_ = true;
  auto& engine = *shared_->engine;
  end_timer_ = engine.start_timer(engine.now() + end_patience, [open = open_] { open->cut(); });
}

void HttpCall::on_end(net::HttpEnd end) {
  request_sent_ = end.request_sent;
  // The text of a whole answer is delivered in there: the call is open until that is over, and may be stopped
  // and cancelled by whoever hears it.
  ChatOutcome outcome = sink_ ? outcome_of(end) : cancelled();
  if (large_) shared_->reader = shared_->format.make_reader();
  leave();
  if (!sink_) return;
  if (open_->stopped()) outcome = cancelled();
  sink_.finish(std::move(outcome));
}

void HttpCall::cancel() {
  leave();
  open_->stop();
  sink_.finish(cancelled());
}

// From here on nothing leads to this call but the transport.
void HttpCall::leave() noexcept {
  if (!std::exchange(listed_, false)) return;
  open_->close();  // first: whoever stops meanwhile finds the agent free when the callback returns
  on_stop_.reset();
  shared_->engine->cancel_timer(end_timer_);
  auto& list = shared_->open;
  list[place_] = list.back();
  list[place_]->place_ = place_;
  list.pop_back();
  shared_->engine->add_pending(-1);
}

ChatOutcome HttpCall::outcome_of(const net::HttpEnd& end) {
  if (status_ == 0) status_ = end.status;
  if (open_->stopped()) return cancelled();
  if (error_) return failed(std::move(*error_));
  // A stream with a finish reason is complete, however the transfer ends after it. But not if more of the
  // answer followed the finish reason, and the connection broke in that.
  const bool broke = goes_on_behind_ && !done_ && end.code != Errc::none;
  if (finish_reason_ && !broke) return completed();
  if (done_) return has_answer() ? completed() : failed(shared_->errors.no_answer(status_, done_mark));
  if (end.code == Errc::cancelled) return cancelled();
  if (end.code != Errc::none) return failed(shared_->errors.transfer(end));
  if (form_ == Form::stream) return failed(shared_->errors.cut_short(status_));
  return outcome_of_body(end.message);
}

ChatOutcome HttpCall::outcome_of_body(std::string_view note) {
  const CallErrors& errors = shared_->errors;
  AnswerObject object;
  large_ = body_.size() > large_object;
  const bool parsed = shared_->reader->parse_body(without_mark(body_), object);
  if (status_ < 200 || status_ > 299)
    return failed(errors.status(status_, body_, parsed ? &object : nullptr, note, retry_after_));
  if (!parsed) return failed(errors.not_json(status_, body_));
  if (!object.error && !object.has_choice) {
    take_meta(object);
    return failed(errors.no_answer(status_, body_));
  }
  take(object);
  if (error_) return failed(std::move(*error_));
  return completed();
}

// True for an answer that ended normally, but has only items that this client does not take.
bool HttpCall::is_unusable(const ChatOutcome& outcome) const noexcept {
  if (other_items_.empty() || spoke_ || refused_ || !outcome.tool_calls.empty()) return false;
  return outcome.finish_reason == FinishReason::complete || outcome.finish_reason == FinishReason::unknown ||
         outcome.finish_reason == FinishReason::tool_calls;
}

bool HttpCall::has_answer() const noexcept {
  return spoke_ || thought_ || refused_ || tool_calls_ || reasoning_;
}

// Many servers say "stop" where tools are to be called.
ChatOutcome HttpCall::completed() {
  ChatOutcome outcome = with_account(ChatOutcome::completed(finish_reason_.value_or(FinishReason::unknown)));
  if (refused_) outcome.finish_reason = FinishReason::refusal;
  const ToolCallFault fault = tool_calls_ ? tool_calls_->finish(outcome.tool_calls) : ToolCallFault::none;
  if (fault != ToolCallFault::none)
    return failed(shared_->errors.tool_calls(status_, fault, shared_->max_response_bytes));
  if (is_unusable(outcome)) return failed(shared_->errors.no_usable_item(status_, other_items_));
  const bool all = !outcome.tool_calls.empty() || shared_->format.keeps_reasoning_of_words();
  if (reasoning_) outcome.reasoning = reasoning_->finish(shared_->format, shared_->server, all);
  FinishReason& reason = outcome.finish_reason;
  const bool in_order = reason == FinishReason::complete || reason == FinishReason::unknown;
  if (in_order && !outcome.tool_calls.empty()) reason = FinishReason::tool_calls;
  return outcome;
}

// What the call used, and what that costs, as far as it is known. A provider counts at the end of an answer;
// of one that was begun and did not come to its end, the rest is estimated.
ChatOutcome HttpCall::with_account(ChatOutcome outcome) const {
  Usage& usage = outcome.usage = usage_.usage();
  const bool answered = status_ >= 200 && status_ <= 299;
  const bool completed = outcome.kind == ChatOutcome::Kind::completed;
  // Of a call that nobody heard, or that was refused, nothing is the last word.
  usage.complete = completed ? usage.total_tokens != 0 : !answered && (status_ != 0 || !request_sent_);
  // It may well have been at work when time was up; what a broken connection brought there nobody knows.
  const bool taken = answered || (!usage.complete && outcome.error.code != Errc::network_error);
  if (taken && !completed) {
    if (usage.prompt_tokens == 0) usage.prompt_tokens = prompt_estimate_;
    usage.completion_tokens = std::max(usage.completion_tokens, meter_.tokens());
    usage.total_tokens = usage.prompt_tokens + usage.completion_tokens;
  }
  outcome.model = shared_->errors.without_secrets(model_);
  outcome.cost = cost(usage);
  return outcome;
}

// By the table, unless the provider said it.
std::optional<double> HttpCall::cost(const Usage& usage) const {
  if (cost_ || usage.total_tokens == 0) return cost_;
  const Prices* const own = find_prices(shared_->prices, model_);
  const Prices* const prices = own != nullptr ? own : prices_;
  return prices != nullptr ? std::optional(cost_of(usage, *prices)) : std::nullopt;
}

ChatOutcome HttpCall::failed(Error error) const {
  return with_account(ChatOutcome::failed(std::move(error)));
}

ChatOutcome HttpCall::cancelled() const {
  return with_account(ChatOutcome::cancelled());
}

}  // namespace agentcore::llm
