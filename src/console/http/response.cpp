#include "console/http/response.hpp"

#include "core/json_text.hpp"

namespace agentcore::detail::console {
namespace {

std::string_view phrase_of(int status) noexcept {
  switch (status) {
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 503:
      return "Service Unavailable";
    default:
      return "Internal Server Error";
  }
}

// The page needs nothing from elsewhere, no other site may show it in a frame, and no answer is kept.
constexpr std::string_view safe_headers =
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "Cross-Origin-Resource-Policy: same-origin\r\n"
    "Cache-Control: no-store\r\n";

}  // namespace

Response Response::error(int status, std::string_view code, std::string_view message) {
  return {.status = status,
          .body = "{\"ok\":false,\"error\":" + core::json_string(std::string(code)) +
                  ",\"message\":" + core::json_string(std::string(message)) + "}",
          .code = code};
}

std::string response_head(const Response& response, long long length, bool keep_alive) {
  std::string head = "HTTP/1.1 " + std::to_string(response.status) + " ";
  head.append(phrase_of(response.status)).append("\r\nContent-Type: ").append(response.content_type);
  head += "\r\n";
  if (length >= 0) head += "Content-Length: " + std::to_string(length) + "\r\n";
  head += keep_alive ? "" : "Connection: close\r\n";
  head += safe_headers;
  for (const auto& [name, value] : response.headers)
    head.append(name).append(": ").append(value).append("\r\n");
  return head += "\r\n";
}

std::string to_bytes(const Response& response, bool keep_alive, bool head_only) {
  std::string bytes = response_head(response, static_cast<long long>(response.body.size()), keep_alive);
  if (!head_only) bytes += response.body;
  return bytes;
}

}  // namespace agentcore::detail::console
