#include "llm/http/answer_builder.hpp"

#include "llm/bare_outcome.hpp"
#include "llm/http/answer_form.hpp"
#include "llm/http/rate_headers.hpp"

#include <algorithm>
#include <utility>

namespace agentcore::detail::llm {
namespace {

// What is kept of the body of an HTTP error, and the longest error at the end of a stream.
constexpr std::size_t failure_bytes = 64 * 1024;
constexpr std::string_view quoted_done_mark = "\"[DONE]\"";
constexpr std::size_t large_body = 64 * 1024;  // it may have left long lists in its reader

bool is_success(int status) noexcept {
  return status >= 200 && status <= 299;
}

bool is_done(std::string_view word) noexcept {
  return word == done_mark || word == quoted_done_mark;
}

// Keeps the data of the first event that has any.
struct FirstEvent final : SseReader::Listener {
  bool on_event(std::string_view event, std::size_t /*readable_behind*/) override {
    data = event;
    return data.empty();
  }
  std::string data;
};

// The data without blank space around it, for data that is about as short as a word.
std::string_view bare(std::string_view data) noexcept {
  constexpr std::size_t longest_word = 64;
  constexpr std::string_view white_space = " \t\r\n";
  if (data.size() > longest_word) return data;
  const auto first = data.find_first_not_of(white_space);
  if (first == std::string_view::npos) return {};
  return data.substr(first, data.find_last_not_of(white_space) - first + 1);
}

}  // namespace

AnswerBuilder::AnswerBuilder(AnswerContext& context, const ChatRequest& request, AnswerListener& listener,
                             Binding binding)
    : context_(context),
      reader_(context.max_line_bytes, context.format.echoed_members()),
      usage_(context.prices, request),
      content_(context, std::move(binding), usage_, listener) {
}

void AnswerBuilder::begin(const net::HttpHead& head, std::chrono::sys_time<std::chrono::milliseconds> now) {
  status_ = head.status;
  if (!is_success(status_)) {
    phase_ = Phase::failure;
    retry_headers_.retry_after = retry_after(head, now).value_or(retry_headers_.retry_after);
    retry_headers_.should_retry = should_retry(head);
  } else if (head.content_type == "text/event-stream") {
    phase_ = Phase::declared_stream;
  }
}

bool AnswerBuilder::feed(std::string_view bytes) {
  if (bytes.empty()) return true;
  switch (phase_) {
    case Phase::stream:
      return feed_stream(bytes);
    case Phase::undeclared:
    case Phase::declared_stream:
      return feed_beginning(bytes);
    case Phase::complete:
      return true;
    case Phase::failure:
      body_.append(bytes.substr(0, failure_bytes - std::min(failure_bytes, body_.size())));
      return true;
    case Phase::body:
      return feed_body(bytes);
  }
  return true;
}

bool AnswerBuilder::feed_body(std::string_view bytes) {
  if (body_.size() + bytes.size() > context_.max_response_bytes) {
    error_ =
        std::make_unique<ChatError>(context_.errors.answer_too_large(status_, context_.max_response_bytes));
    return false;
  }
  body_.append(bytes);
  return true;
}

// Keeps the beginning of the answer in body_ until it is clear whether the answer is a stream: some servers
// send one to a request for a whole answer, or as JSON.
bool AnswerBuilder::feed_beginning(std::string_view bytes) {
  const std::size_t held_bytes = body_.size();
  body_.append(bytes);
  const bool declared = phase_ == Phase::declared_stream;
  AnswerForm form = form_of(body_, declared);
  if (form == AnswerForm::unclear && body_.size() <= max_unclear_bytes) return true;
  if (form == AnswerForm::unclear) form = declared ? AnswerForm::events : AnswerForm::body;
  phase_ = form == AnswerForm::events ? Phase::stream : Phase::body;
  if (phase_ == Phase::body) {
    body_.resize(held_bytes);
    return feed_body(bytes);
  }
  const std::string held = std::exchange(body_, {});
  return feed_stream(held);
}

bool AnswerBuilder::feed_stream(std::string_view bytes) {
  const auto status = reader_.feed(bytes, *this);
  if (status == SseReader::Status::too_long)
    error_ = std::make_unique<ChatError>(context_.errors.line_too_long(status_, context_.max_line_bytes));
  return status == SseReader::Status::more || is_complete();
}

bool AnswerBuilder::on_event(std::string_view data, std::size_t readable_behind) {
  const std::string_view word = bare(data);
  if (is_done(word)) {
    phase_ = Phase::complete;
    return false;
  }
  if (word.empty() || word == "null") return true;
  AnswerObject object;
  if (!context_.reader->parse_chunk(data, readable_behind, object)) {
    error_ = std::make_unique<ChatError>(context_.errors.bad_chunk(status_, data));
    return false;
  }
  const bool ends = object.ends;  // the object is the reader's, and a receiver may call the client
  if (!content_.take(object, status_)) return false;
  if (ends) phase_ = Phase::complete;
  return !ends;
}

void AnswerBuilder::note_end(const net::HttpEnd& end) {
  request_sent_ = end.request_sent;
  if (status_ == 0) status_ = end.status;
}

ChatOutcome AnswerBuilder::finish(const net::HttpEnd& end) {
  note_end(end);
  take_rest(end);
  if (error_) return failed(std::move(*error_));
  if (content_.error()) return failed(*content_.error());
  // A stream with a finish reason is complete, however the transfer ends after it, unless more of the answer
  // followed the finish reason and the connection broke in that part.
  const bool broke = content_.continued_after_finish() && !is_complete() && end.code != Errc::none;
  if (content_.is_finished() && !broke) return completed();
  if (is_complete())
    return content_.has_answer() ? completed() : failed(context_.errors.no_answer(status_, done_mark));
  if (end.code == Errc::cancelled) return cancelled();
  if (end.code != Errc::none) return failed(context_.errors.transfer(end));
  if (phase_ == Phase::stream || phase_ == Phase::declared_stream)
    return failed(context_.errors.cut_short(status_));
  return finish_body(end.message);
}

// What stands behind the last blank line.
void AnswerBuilder::take_rest(const net::HttpEnd& end) {
  struct Rest final : SseReader::Listener {
    Rest(AnswerBuilder& of, bool cut) noexcept : answer(of), is_cut(cut) {}
    bool on_event(std::string_view data, std::size_t /*readable_behind*/) override {
      return answer.take_rest(data, is_cut);
    }
    AnswerBuilder& answer;
    const bool is_cut;
  };
  if (phase_ != Phase::stream || error_ || content_.error() || end.code == Errc::cancelled) return;
  Rest rest(*this, end.code != Errc::none);
  reader_.finish(rest);
}

// Where the body ended as HTTP demands, an event counts if its data is whole: then nothing is missing but the
// blank line, which some servers do not send. Where the body broke off, the answer is cut; but an error says
// more than that. A long error is none.
bool AnswerBuilder::take_rest(std::string_view data, bool is_cut) {
  if (is_done(bare(data))) return is_cut || on_event(data, 0);
  const auto first = data.find_first_not_of(" \t\r\n");
  if (first == data.npos || data[first] != '{') return true;
  AnswerObject object;
  if (!is_cut) return !context_.reader->parse_body(data, object) || on_event(data, 0);
  const bool is_finished = content_.is_finished() && !content_.continued_after_finish();
  if (is_finished || data.size() > failure_bytes || !context_.reader->parse_chunk(data, 0, object) ||
      !object.error)
    return true;
  return content_.take(object, status_);
}

// The body of a failure may be a stream: "data: {"error": ...}".
ChatOutcome AnswerBuilder::finish_failure(std::string_view note) {
  AnswerObject object;
  bool parsed = context_.reader->parse_body(without_mark(body_), object);
  if (!parsed) {
    FirstEvent event;
    SseReader reader(failure_bytes);
    reader.feed(body_, event);
    if (event.data.empty()) reader.finish(event);
    parsed = context_.reader->parse_body(event.data, object);
  }
  return failed(context_.errors.status(status_, body_, parsed ? &object : nullptr, note, retry_headers_));
}

ChatOutcome AnswerBuilder::finish_body(std::string_view note) {
  const CallErrors& errors = context_.errors;
  read_large_body_ = body_.size() > large_body;
  if (!is_success(status_)) return finish_failure(note);
  AnswerObject object;
  const bool parsed = context_.reader->parse_body(without_mark(body_), object);
  if (!parsed) return failed(errors.not_json(status_, body_));
  if (!object.error && !object.has_choice) {
    content_.take_meta(object);
    return failed(errors.no_answer(status_, body_));
  }
  content_.take(object, status_);
  if (content_.error()) return failed(*content_.error());
  return completed();
}

ChatOutcome AnswerBuilder::completed() {
  ChatOutcome outcome = ChatOutcome::completed(FinishReason::unknown);
  if (auto error = content_.complete(outcome, status_)) return failed(std::move(*error));
  return accounted(std::move(outcome));
}

ChatOutcome AnswerBuilder::failed(ChatError error) const {
  return accounted(ChatOutcome::failed(std::move(error)));
}

ChatOutcome AnswerBuilder::cancelled() const {
  return accounted(ChatOutcome::cancelled());
}

ChatOutcome AnswerBuilder::cancelled(const net::HttpEnd& end) {
  note_end(end);
  return cancelled();
}

ChatOutcome AnswerBuilder::without_memory(Errc code) const noexcept {
  ChatOutcome outcome = bare_outcome(code);
  usage_.write(outcome, status_, request_sent_, content_.model());
  return outcome;
}

ChatOutcome AnswerBuilder::accounted(ChatOutcome outcome) const {
  usage_.write(outcome, status_, request_sent_, content_.model());
  outcome.model = context_.errors.without_secrets(content_.model());
  return outcome;
}

void AnswerBuilder::release_memory() {
  if (std::exchange(read_large_body_, false) || context_.reader->holds_large_buffers())
    context_.reader = context_.format.make_reader();
}

}  // namespace agentcore::detail::llm
