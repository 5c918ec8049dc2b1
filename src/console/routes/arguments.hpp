// Arguments: the members of a JSON object in the body of a request.
#pragma once

#include "console/http/request.hpp"
#include "console/routes/refused.hpp"

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agentcore::detail::console {

// All functions throw Refused. An empty body counts as {}.
class Arguments {
 public:
  // `names`: the members that the route knows; others are refused, so that a mistake in writing is noticed.
  Arguments(const Request& request, std::initializer_list<std::string_view> names);

  std::string text(std::string_view name) const;  // must be there, and not empty
  std::string text_or(std::string_view name, std::string_view otherwise) const;
  // The member `reason`, which is in events of each agent that it concerns; without one, `otherwise`. Neither
  // may be longer than 4 KiB.
  std::string reason_or(std::string_view otherwise) const;
  bool flag_or(std::string_view name, bool otherwise) const;
  // The value whose name is the text of the member. `values`: pairs of a name and a value; the first is the
  // default.
  template <typename T>
  T one_of(std::string_view name, std::initializer_list<std::pair<std::string_view, T>> values) const {
    const Member* const member = find(name);
    if (member == nullptr) return values.begin()->second;
    if (member->kind == Kind::text)
      for (const auto& [text, value] : values)
        if (member->text == text) return value;
    std::string allowed;
    for (const auto& [text, value] : values) allowed.append(allowed.empty() ? "" : ", ").append(text);
    throw Refused(400, "invalid_request", std::string(name) + " must be one of: " + allowed);
  }

 private:
  enum class Kind : std::uint8_t { null, flag, text, other };
  struct Member {
    std::string name;
    Kind kind = Kind::null;
    bool flag = false;
    std::string text = {};
  };
  struct Reader;  // of the body: without nlohmann::json values, whose destructors allocate

  const Member* find(std::string_view name) const noexcept;  // null: not there, or null

  std::vector<Member> members_;
};

// A number in a query, from `smallest` to `largest`. Throws Refused.
std::optional<std::uint64_t> number_in_query(const Request& request, std::string_view name,
                                             std::uint64_t smallest, std::uint64_t largest);
// A text in a query; empty: it is not there. Throws Refused.
std::string_view text_in_query(const Request& request, std::string_view name);
// True if the query has `name` with this value; false if it does not have `name`. Throws Refused for any
// other value.
bool query_is(const Request& request, std::string_view name, std::string_view value);

}  // namespace agentcore::detail::console
