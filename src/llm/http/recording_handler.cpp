#include "llm/http/recording_handler.hpp"

#include "llm/http/config.hpp"

#include <string>
#include <utility>
#include <vector>

namespace agentcore::detail::llm {
namespace {

constexpr std::size_t max_pieces = 10'000;  // of one answer; later ones are appended to the last

std::string without_credentials(const std::string& header, const Redactor& redact) {
  const auto colon = header.find(':');
  const bool hide = colon != header.npos && names_credentials(std::string_view(header).substr(0, colon));
  return hide ? header.substr(0, colon) + ": [removed]" : redact(header);
}

// "https://user:password@host/path" without the user and the password.
std::string without_user(std::string url) {
  const auto scheme = url.find("://");
  const auto host = scheme == url.npos ? 0 : scheme + 3;
  const auto at = url.substr(0, url.find_first_of("/?#", host)).rfind('@');
  return at == url.npos || at < host ? url : url.erase(host, at + 1 - host);
}

}  // namespace

HttpExchange begin_exchange(const net::HttpRequest& request, const Redactor& redact) {
  HttpExchange exchange;
  exchange.url = redact(without_user(request.url));
  for (const std::string& header : request.headers)
    exchange.request_headers.push_back(without_credentials(header, redact));
  exchange.request_body = redact(request.body);
  return exchange;
}

void remove_secrets(HttpExchange& exchange, const Redactor& redact) {
  std::string whole;
  std::vector<std::size_t> cuts;  // where each piece ends
  for (const auto& piece : exchange.body) cuts.push_back(whole.append(piece.bytes).size());
  whole = redact(whole, cuts);
  std::size_t begin = 0;
  for (std::size_t i = 0; i < cuts.size(); begin = cuts[i++])
    exchange.body[i].bytes = whole.substr(begin, cuts[i] - begin);
  for (std::string& header : exchange.headers) header = without_credentials(header, redact);
  exchange.content_type = redact(exchange.content_type);
  exchange.end_message = redact(exchange.end_message);
}

RecordingHandler::RecordingHandler(std::shared_ptr<loop::Engine> engine,
                                   std::shared_ptr<const HttpRecorder> recorder, Redactor redact,
                                   HttpExchange begun, std::unique_ptr<net::HttpHandler> inner)
    : engine_(std::move(engine)),
      recorder_(std::move(recorder)),
      redact_(std::move(redact)),
      inner_(std::move(inner)),
      begin_(engine_->now()),
      exchange_(std::move(begun)) {
}

RecordingHandler::~RecordingHandler() {
  if (!written_) write(Errc::cancelled, "the transfer was dropped");
}

void RecordingHandler::on_head(const net::HttpHead& head) {
  exchange_.status = head.status;
  exchange_.content_type = head.content_type;
  for (const auto& [name, value] : head.fields)
    exchange_.headers.emplace_back(name).append(": ").append(value);
  inner_->on_head(head);
}

bool RecordingHandler::on_body(std::string_view bytes) {
  const Duration at = engine_->now() - begin_;
  if (exchange_.body.size() == max_pieces) {
    exchange_.body.back().bytes.append(bytes);
  } else {
    exchange_.body.push_back({at, std::string(bytes)});
  }
  return inner_->on_body(bytes);
}

void RecordingHandler::on_end(net::HttpEnd end) {
  exchange_.request_sent = end.request_sent;
  write(end.code, end.message);
  inner_->on_end(std::move(end));
}

void RecordingHandler::write(Errc code, std::string_view message) {
  written_ = true;
  exchange_.end = code;
  exchange_.end_message = message;
  exchange_.ended_at = engine_->now() - begin_;
  remove_secrets(exchange_, redact_);
  engine_->guarded("an HttpRecorder", [this] { recorder_->add(exchange_); });
}

}  // namespace agentcore::detail::llm
