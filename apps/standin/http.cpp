#include "http.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

namespace standin {
namespace {

constexpr std::size_t max_headers = 100;
constexpr std::size_t max_chunk_line = 1024;

bool is_token(std::string_view text) {
  const auto is_token_char = [](unsigned char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           std::string_view("!#$%&'*+-.^_`|~").find(static_cast<char>(c)) != std::string_view::npos;
  };
  return !text.empty() && std::ranges::all_of(text, is_token_char);
}

bool has_control(std::string_view text) {
  return std::ranges::any_of(text, [](unsigned char c) { return (c < 0x20 && c != '\t') || c == 0x7f; });
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

bool parse_size(std::string_view text, int base, std::size_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return error == std::errc{} && end == text.data() + text.size();
}

}  // namespace

const std::string* HttpRequest::header(std::string_view name) const noexcept {
  const auto found = std::ranges::find_if(headers, [&](const auto& header) { return header.first == name; });
  return found != headers.end() ? &found->second : nullptr;
}

ParseState RequestParser::parse(std::string& in) {
  bool progress = true;
  while (progress && phase_ != Phase::complete && phase_ != Phase::failed) {
    progress = phase_ == Phase::head ? parse_head(in) : parse_body(in);
    if (progress && owes_continue_ && phase_ != Phase::complete && phase_ != Phase::failed) {
      owes_continue_ = false;
      return ParseState::expect_continue;
    }
  }
  if (phase_ == Phase::failed) return ParseState::failed;
  return phase_ == Phase::complete ? ParseState::complete : ParseState::need_more;
}

HttpRequest RequestParser::take() {
  phase_ = Phase::head;
  owes_continue_ = false;
  scanned_ = remaining_ = trailer_bytes_ = 0;
  return std::exchange(request_, {});
}

bool RequestParser::parse_head(std::string& in) {
  if (scanned_ == 0) in.erase(0, std::min(in.find_first_not_of("\r\n"), in.size()));  // RFC 9112, 2.2
  const std::size_t end = in.find("\r\n\r\n", scanned_);
  if (std::min(end, in.size()) > max_header_bytes_) return fail(431, "the headers are too long");
  if (end == std::string::npos) {
    scanned_ = in.size() < 3 ? 0 : in.size() - 3;
    return false;
  }
  std::string_view head = std::string_view(in).substr(0, end + 2);
  for (bool first = true; !head.empty(); first = false) {
    const std::size_t eol = head.find("\r\n");
    const std::string_view line = head.substr(0, eol);
    if (!(first ? parse_request_line(line) : parse_header_line(line))) return false;
    head.remove_prefix(eol + 2);
  }
  in.erase(0, end + 4);
  return begin_body();
}

bool RequestParser::parse_request_line(std::string_view line) {
  const std::size_t space = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (space == std::string_view::npos || last == space) return fail(400, "the request line is malformed");
  const std::string_view method = line.substr(0, space);
  std::string_view target = line.substr(space + 1, last - space - 1);
  const std::string_view version = line.substr(last + 1);
  if (!is_token(method) || target.empty() || has_control(target) ||
      target.find(' ') != std::string_view::npos) {
    return fail(400, "the request line is malformed");
  }
  if (version.size() != 8 || !version.starts_with("HTTP/")) return fail(400, "the request line is malformed");
  if (version != "HTTP/1.1" && version != "HTTP/1.0")
    return fail(505, "only HTTP/1.1 and HTTP/1.0 are spoken here");
  if (target.starts_with("http://")) target.remove_prefix(std::min(target.find('/', 7), target.size()));
  const std::size_t question = std::min(target.find('?'), target.size());
  request_.method = method;
  request_.path = target.substr(0, question);
  if (question < target.size()) request_.query = target.substr(question + 1);
  request_.http_1_0 = version == "HTTP/1.0";
  return true;
}

bool RequestParser::parse_header_line(std::string_view line) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || !is_token(line.substr(0, colon))) {
    return fail(400, "a header is malformed");
  }
  const std::string_view value = trim(line.substr(colon + 1));
  if (has_control(value)) return fail(400, "a header holds a control character");
  if (request_.headers.size() == max_headers) return fail(431, "there are too many headers");
  request_.headers.emplace_back(lower(line.substr(0, colon)), value);
  return true;
}

bool RequestParser::begin_body() {
  const std::string* length = nullptr;
  const std::string* coding = nullptr;
  request_.keep_alive = !request_.http_1_0;
  for (const auto& [name, value] : request_.headers) {
    if (name == "content-length") {
      if (length != nullptr && *length != value) return fail(400, "two content lengths differ");
      length = &value;
    } else if (name == "transfer-encoding") {
      if (coding != nullptr) return fail(501, "only one transfer coding is known: chunked");
      coding = &value;
    } else if (name == "connection") {
      const std::string options = lower(value);
      if (options.find("close") != std::string::npos) request_.keep_alive = false;
    } else if (name == "expect") {
      owes_continue_ = lower(value) == "100-continue" && !request_.http_1_0;
    }
  }
  if (coding != nullptr && length != nullptr)
    return fail(400, "both a length and a transfer coding are given");
  if (coding != nullptr && lower(*coding) != "chunked")
    return fail(501, "only one transfer coding is known: chunked");
  if (coding != nullptr && request_.http_1_0) return fail(400, "HTTP/1.0 has no transfer coding");
  if (length != nullptr) return begin_sized_body(*length);
  phase_ = coding != nullptr ? Phase::chunk_size : Phase::complete;
  return true;
}

bool RequestParser::begin_sized_body(const std::string& length) {
  if (length.empty() || length.size() > 18 || !parse_size(length, 10, remaining_)) {
    return fail(400, "the content length is not a number");
  }
  if (remaining_ > max_body_bytes_) return fail(413, "the body is too long");
  phase_ = remaining_ == 0 ? Phase::complete : Phase::body;
  return true;
}

// One step in a body; false when it needs more bytes.
bool RequestParser::parse_body(std::string& in) {
  if (phase_ != Phase::body && phase_ != Phase::chunk_data) return parse_chunk_line(in);
  if (in.empty()) return false;
  const std::size_t taken = std::min(remaining_, in.size());
  request_.body.append(in, 0, taken);
  in.erase(0, taken);
  remaining_ -= taken;
  if (remaining_ != 0) return false;
  phase_ = phase_ == Phase::body ? Phase::complete : Phase::chunk_end;
  return true;
}

// The lines between the data of chunks: a size, the empty line behind the data, the trailers.
bool RequestParser::parse_chunk_line(std::string& in) {
  const std::size_t eol = in.find("\r\n");
  if (std::min(eol, in.size()) > max_chunk_line) return fail(400, "a chunk is malformed");
  if (eol == std::string::npos) return false;
  const std::string line = in.substr(0, eol);
  in.erase(0, eol + 2);
  if (phase_ == Phase::chunk_size) return parse_chunk_size(line);
  if (phase_ == Phase::chunk_end) {
    if (!line.empty()) return fail(400, "a chunk is longer than its size");
    phase_ = Phase::chunk_size;
    return true;
  }
  trailer_bytes_ += line.size() + 2;
  if (trailer_bytes_ > max_header_bytes_) return fail(431, "the trailers are too long");
  if (line.empty()) phase_ = Phase::complete;
  return true;
}

bool RequestParser::parse_chunk_size(std::string_view line) {
  const std::string_view digits = trim(line.substr(0, line.find(';')));
  if (digits.empty() || digits.size() > 15 || !parse_size(digits, 16, remaining_)) {
    return fail(400, "a chunk size is not a number");
  }
  if (remaining_ > max_body_bytes_ - request_.body.size()) return fail(413, "the body is too long");
  phase_ = remaining_ == 0 ? Phase::trailer : Phase::chunk_data;
  return true;
}

// Always false, so that callers can return it.
bool RequestParser::fail(int status, std::string_view reason) {
  phase_ = Phase::failed;
  error_ = {status, reason};
  return false;
}

std::string_view reason_phrase(int status) noexcept {
  switch (status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 413:
      return "Content Too Large";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Unknown";
  }
}

std::string http_head(int status, std::string_view content_type, std::size_t length, bool keep_alive,
                      std::string_view extra) {
  return fmt::format("HTTP/1.1 {} {}\r\ncontent-type: {}\r\ncontent-length: {}\r\n{}{}\r\n", status,
                     reason_phrase(status), content_type, length, keep_alive ? "" : "connection: close\r\n",
                     extra);
}

std::string http_answer(int status, std::string_view content_type, std::string_view body, bool keep_alive,
                        std::string_view extra) {
  std::string answer = http_head(status, content_type, body.size(), keep_alive, extra);
  return answer += body;
}

}  // namespace standin
