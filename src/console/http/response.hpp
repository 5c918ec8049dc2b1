// Response: what a route answers, and its bytes on the wire.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agentcore::detail::console {

struct Response {
  int status = 200;
  std::string_view content_type = "application/json";  // of a literal
  std::string body = {};
  std::vector<std::pair<std::string_view, std::string>> headers = {};  // further ones; the names are literals

  std::string_view code = {};  // of an error; of a literal

  // {"ok":false,"error":...,"message":...}. Invalid UTF-8 in `message` is replaced.
  static Response error(int status, std::string_view code, std::string_view message);
};

// The head of a response, with the headers that every response has. The length of a body; below 0: the body
// ends with the connection.
std::string response_head(const Response& response, long long length, bool keep_alive);

// The whole response. Without the body for HEAD (`head_only`).
std::string to_bytes(const Response& response, bool keep_alive, bool head_only);

}  // namespace agentcore::detail::console
