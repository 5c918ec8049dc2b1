#include "console/http/request_reader.hpp"

#include <cstddef>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/system/error_code.hpp>

namespace agentcore::detail::console {
namespace {

namespace beast = boost::beast::http;

std::string_view view_of(boost::beast::string_view text) noexcept {
  return {text.data(), text.size()};
}

}  // namespace

struct RequestReader::Parser {
  beast::request_parser<beast::string_body> http;
};

RequestReader::RequestReader(RequestLimits limits) : limits_(limits) {
  begin();
}

RequestReader::~RequestReader() = default;

void RequestReader::begin() {
  parser_ = std::make_unique<Parser>();
  parser_->http.header_limit(limits_.max_header_bytes);
  parser_->http.body_limit(limits_.max_body_bytes);
  request_ = {};
  begun_ = has_head_ = continued_ = false;
}

// The fields that follow a body in chunks are no part of it.
void RequestReader::take_head() {
  const auto& message = parser_->http.get();
  request_.method = view_of(message.method_string());
  request_.keep_alive = message.keep_alive();
  for (const auto& field : message)
    request_.headers.emplace_back(lower_case(view_of(field.name_string())),
                                  std::string(view_of(field.value())));
  if (!parse_target(view_of(message.target()), request_)) request_.path.clear();
  has_head_ = true;
  parser_->http.eager(true);
}

RequestReader::State RequestReader::fail(int status, std::string_view error,
                                         std::string_view problem) noexcept {
  status_ = status;
  error_ = error;
  problem_ = problem;
  return State::failed;
}

// The end of a body in chunks has five bytes at least. Beast 1.74 asserts that it gets them at once.
bool RequestReader::waits_for_chunk(const std::string& in) const {
  return in.size() < 5 && parser_->http.is_header_done() && parser_->http.chunked();
}

RequestReader::State RequestReader::read(std::string& in) {
  if (status_ != 0) return State::failed;
  // Clients may send an empty line between two requests (RFC 9112, 2.2).
  if (!begun_)
    while (in.size() >= 2 && in[0] == '\r' && in[1] == '\n') in.erase(0, 2);
  boost::system::error_code failure;
  while (!in.empty() && !parser_->http.is_done() && !waits_for_chunk(in)) {
    begun_ = true;
    const std::size_t taken = parser_->http.put(boost::asio::buffer(in.data(), in.size()), failure);
    in.erase(0, taken);
    if (failure == beast::error::need_more || (!failure && taken == 0)) break;
    if (failure == beast::error::header_limit)
      return fail(431, "headers_too_large", "the request line and the headers are too long");
    if (failure == beast::error::body_limit || failure == beast::error::buffer_overflow) {
      if (!has_head_) take_head();  // its length says so
      return fail(413, "body_too_large", "the body is too large");
    }
    if (failure) return fail(400, "invalid_request", "this is not an HTTP/1.1 request");
    if (has_head_ || !parser_->http.is_header_done()) continue;
    take_head();
    // Another coding would leave it open where the body ends.
    const std::string* const coding = request_.header("transfer-encoding");
    if (coding != nullptr && lower_case(*coding) != "chunked")
      return fail(400, "invalid_request", "the only transfer coding that is understood is chunked");
    if (!parser_->http.is_done()) return State::head_complete;
  }
  if (parser_->http.is_done()) return State::complete;
  // Bytes of a body are always taken: what is left is a part of the headers, of the size of a chunk, or of
  // trailers.
  if (in.size() > limits_.max_header_bytes)
    return fail(431, "headers_too_large", "the request line and the headers are too long");
  const std::string* const expected = request_.header("expect");
  if (expected != nullptr && !continued_ && lower_case(*expected) == "100-continue") {
    continued_ = true;
    return State::send_continue;
  }
  return State::need_more;
}

Request RequestReader::take() {
  Request request = std::move(request_);
  request.body = std::move(parser_->http.get().body());
  begin();
  return request;
}

bool RequestReader::is_in_request() const noexcept {
  return begun_;
}

}  // namespace agentcore::detail::console
