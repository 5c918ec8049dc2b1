#include "exchange.hpp"

#include "http.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace standin {
namespace {

constexpr std::uint64_t batch_size = 64;     // tokens that one produce() gives at most
constexpr std::uint64_t endless_fault = 10;  // an endless answer has no middle
constexpr double forever_ns = 4e18;          // fits what holds nanoseconds

constexpr std::string_view html_page =
    "<!DOCTYPE html>\n<html><head><title>Welcome</title></head>\n"
    "<body><h1>Please sign in to use this network</h1></body></html>\n";

bool is_mid_stream(Fault fault) {
  return fault == Fault::hang_mid_stream || fault == Fault::close_mid_stream || fault == Fault::garbage;
}

}  // namespace

Exchange::Exchange(ChatCall call, std::uint64_t number, std::int64_t start_ns, bool keep_alive, bool chunked)
    : call_(std::move(call)),
      format_(call_.api == Api::messages ? messages_format() : chat_format()),
      text_(call_.prompt),
      number_(number),
      first_ns_(start_ns + std::int64_t{call_.pace.first_token_ms} * 1'000'000),
      keep_alive_(keep_alive),
      chunked_(chunked) {
  deltas_ = format_.deltas(call_, number_);
  if (!deltas_.empty()) {  // the length of a dictated answer is fixed by its script
    call_.pace.tokens = deltas_.size();
    call_.cut_by_limit = false;
  }
  if (call_.fault == Fault::error_500) status_ = 500;
  if (call_.fault == Fault::error_429) status_ = 429;
  if (is_mid_stream(call_.fault)) {
    fault_at_ = call_.pace.tokens == 0 ? endless_fault : (call_.pace.tokens + 1) / 2;
  }
  frame_ = format_.frame(call_, number_);  // the same for all tokens: written once
  call_.prompt.clear();
  call_.prompt.shrink_to_fit();
}

Next Exchange::produce(std::int64_t now_ns, std::string& out, std::vector<TokenMark>& marks) {
  switch (call_.fault) {
    case Fault::hang_before_headers:
      return {Next::never};
    case Fault::error_500:
    case Fault::error_429:
    case Fault::html:
      return produce_error(out);
    default:
      return call_.stream ? produce_stream(now_ns, out, marks) : produce_whole(now_ns, out, marks);
  }
}

Next Exchange::produce_error(std::string& out) const {
  const std::string id = fmt::format("x-request-id: standin-{}\r\n", number_);
  if (call_.fault == Fault::html) {
    out += http_answer(200, "text/html; charset=utf-8", html_page, keep_alive_, id);
  } else if (call_.fault == Fault::error_429) {
    const ApiError error{429, "requests", "rate_limit_exceeded", {}, "Rate limit reached (on request)."};
    out += http_answer(429, "application/json", to_json(error, call_.api), keep_alive_,
                       id + "retry-after: 1\r\n");
  } else {
    const ApiError error{500, "server_error", {}, {}, "The server had an error (on request)."};
    out += http_answer(500, "application/json", to_json(error, call_.api), keep_alive_, id);
  }
  return {Next::finished};
}

// Without a stream: one body, after the time that its tokens would have taken.
Next Exchange::produce_whole(std::int64_t now_ns, std::string& out, std::vector<TokenMark>& marks) {
  const std::uint64_t tokens = call_.pace.tokens;
  const bool hangs = call_.fault == Fault::hang_after_headers;
  if (tokens == 0 && !hangs) return {Next::never};
  const std::int64_t due = tokens == 0 ? first_ns_ : due_ns(tokens - 1);
  if (now_ns < due) return {Next::at_time, due};
  const std::string body = whole_body();
  const std::string id = fmt::format("x-request-id: standin-{}\r\n", number_);
  out += http_head(200, "application/json", body.size(), keep_alive_, id);
  if (hangs) return {Next::never};
  if (call_.fault == Fault::hang_mid_stream || call_.fault == Fault::close_mid_stream) {
    out.append(body, 0, body.size() / 2);
    return {call_.fault == Fault::hang_mid_stream ? Next::never : Next::close};
  }
  out += body;
  marks.push_back({out.size(), tokens});
  return {Next::finished};
}

std::string Exchange::whole_body() {
  std::string text;
  append_json_escaped(text, call_.script.text);
  if (deltas_.empty())
    for (std::uint64_t token = 0; token < call_.pace.tokens; ++token) text_.append_next(text);
  std::string body = format_.whole(call_, number_, text);
  return call_.fault == Fault::garbage ? body.substr(0, body.size() / 2) + "\xff\xfe{\n" : body;
}

Next Exchange::produce_stream(std::int64_t now_ns, std::string& out, std::vector<TokenMark>& marks) {
  if (!head_sent_) append_head(out);
  head_sent_ = true;
  if (call_.fault == Fault::hang_after_headers) return {Next::never};
  if (now_ns < first_ns_) return {Next::at_time, first_ns_};
  if (!opening_sent_) append_chunk(out, format_.opening(call_, number_));
  opening_sent_ = true;
  const std::uint64_t due = std::min(tokens_due(now_ns), produced_ + batch_size);
  while (produced_ < due) {
    if (deltas_.empty()) {
      append_token(out);
    } else {
      append_delta(out);
    }
    marks.push_back({out.size(), 1});
    ++produced_;
    if (produced_ == fault_at_) {
      const Next next = at_fault(out);
      if (next.what != Next::at_time) return next;
    }
  }
  if (call_.pace.tokens != 0 && produced_ == call_.pace.tokens) return finish_stream(out);
  return {Next::at_time, due_ns(produced_)};
}

// Half of the tokens are out; at_time: go on.
Next Exchange::at_fault(std::string& out) {
  if (call_.fault == Fault::hang_mid_stream) return {Next::never};
  if (call_.fault == Fault::close_mid_stream) return {Next::close};
  append_chunk(out, "data: {\"choices\":[{\"delta\":{\"content\": \xff\xfe nonsense\n\n");
  return {Next::at_time};
}

Next Exchange::finish_stream(std::string& out) const {
  if (call_.fault != Fault::no_done) append_chunk(out, format_.closing(call_, number_));
  if (chunked_) out += "0\r\n\r\n";
  return {Next::finished};
}

void Exchange::append_head(std::string& out) const {
  out += fmt::format(
      "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ncache-control: no-cache\r\n"
      "x-request-id: standin-{}\r\n{}{}\r\n",
      number_, chunked_ ? "transfer-encoding: chunked\r\n" : "", keep_alive_ ? "" : "connection: close\r\n");
}

// The hot path: one event, written straight into `out`, whose chunk size has four digits that are filled in
// last.
void Exchange::append_token(std::string& out) {
  const std::size_t start = out.size();
  if (chunked_) out += "0000\r\n";
  const std::size_t begin = out.size();
  out += frame_.before_delta;
  out += frame_.before_text;
  text_.append_next(out);
  out += frame_.after_text;
  out += frame_.after_delta;
  if (!chunked_) return;
  const std::size_t size = out.size() - begin;
  for (std::size_t digit = 0; digit < 4; ++digit)
    out[start + digit] = "0123456789abcdef"[size >> (12 - 4 * digit) & 15];
  out += "\r\n";
}

// The next piece of a dictated answer.
void Exchange::append_delta(std::string& out) {
  append_chunk(out, frame_.before_delta + deltas_[produced_] + frame_.after_delta);
}

void Exchange::append_chunk(std::string& out, std::string_view bytes) const {
  if (chunked_) out += fmt::format("{:x}\r\n", bytes.size());
  out += bytes;
  if (chunked_) out += "\r\n";
}

std::int64_t Exchange::due_ns(std::uint64_t token) const noexcept {
  if (call_.pace.rate == 0) return first_ns_;
  const double after_first = std::min(static_cast<double>(token) * 1e9 / call_.pace.rate, forever_ns);
  return first_ns_ + static_cast<std::int64_t>(after_first) + 1;  // rounded up: then it is due indeed
}

// The number of tokens that are due by now, in total.
std::uint64_t Exchange::tokens_due(std::int64_t now_ns) const noexcept {
  const std::uint64_t end = call_.pace.tokens == 0 ? UINT64_MAX : call_.pace.tokens;
  if (call_.pace.rate == 0) return end;
  const double due = static_cast<double>(now_ns - first_ns_) * call_.pace.rate / 1e9;
  return std::min(end, static_cast<std::uint64_t>(due) + 1);
}

}  // namespace standin
