// Request: an HTTP request that was read completely.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agentcore::detail::console {

struct Request {
  using Fields = std::vector<std::pair<std::string, std::string>>;

  std::string method = {};             // as sent, for example "GET"
  std::vector<std::string> path = {};  // the segments, decoded: "/a%2Fb/c" is {"a/b", "c"}; "/" is {""}
  Fields query = {};                   // decoded, in their order
  Fields headers = {};                 // names in lower case
  std::string body = {};
  std::string client = {};  // its address, for the log
  bool keep_alive = true;   // the connection may serve another request

  // The first header of that name, which is in lower case; null: there is none.
  const std::string* header(std::string_view name) const noexcept;
  // How often that header was sent.
  std::size_t count_header(std::string_view name) const noexcept;
  // The first parameter of that name; null: there is none.
  const std::string* parameter(std::string_view name) const noexcept;
  // The value of a cookie; empty: there is none.
  std::string_view cookie(std::string_view name) const noexcept;
  // True if the request can change something: its method is neither GET nor HEAD.
  bool is_write() const noexcept { return method != "GET" && method != "HEAD"; }
};

// ASCII letters in lower case.
std::string lower_case(std::string_view text);

// Splits the target of a request line, and decodes its parts. False: it does not begin with "/", or an escape
// ("%2F") is incomplete.
bool parse_target(std::string_view target, Request& into);

}  // namespace agentcore::detail::console
