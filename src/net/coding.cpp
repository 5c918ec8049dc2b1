#include "net/coding.hpp"

#include "net/ascii.hpp"

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>

namespace agentcore::detail::net {

namespace {

// `list` is a list of names, separated by commas. Empty names are ignored.
bool has_only(std::string_view list, std::initializer_list<std::string_view> known) {
  for (;;) {
    const std::size_t comma = list.find(',');
    const std::string name = lower(trim(list.substr(0, comma)));
    if (!name.empty() && std::find(known.begin(), known.end(), name) == known.end()) return false;
    if (comma == std::string_view::npos) return true;
    list.remove_prefix(comma + 1);
  }
}

}  // namespace

bool is_coded_as_offered(const HttpHead& head) {
  for (const auto& [name, value] : head.fields) {
    if (name == "content-encoding" && !has_only(value, {"gzip", "x-gzip", "deflate", "identity"}))
      return false;
    if (name == "transfer-encoding" && !has_only(value, {"chunked", "identity"})) return false;
  }
  return true;
}

}  // namespace agentcore::detail::net
