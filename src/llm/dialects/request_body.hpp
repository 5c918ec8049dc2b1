// RequestBody: the JSON object of a request, written member by member.
#pragma once

#include <agentcore/chat.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace agentcore::detail::llm {

// Members keep the order in which they were first set; their JSON is kept unchanged, because models read the
// members of a schema in that order.
class RequestBody {
 public:
  // Sets a member, or replaces it. `json` must be valid.
  void set(std::string_view name, std::string json);
  void set_text(std::string_view name, std::string_view text);
  void set(std::string_view name, const nlohmann::json& value);

  void erase(std::string_view name) noexcept;

  // The JSON of the member; null: there is none.
  const std::string* find(std::string_view name) const noexcept;

  // Changes the body by a JSON merge patch (RFC 7396): its members are added or replace existing ones,
  // objects are merged with objects, null removes. A patch that is not an object is ignored.
  void merge(std::string_view patch);

  std::string text() const;

 private:
  std::vector<std::pair<std::string, std::string>> members_;
};

// The text in quotes; broken UTF-8 becomes U+FFFD.
std::string json_quoted(std::string_view text);
// The JSON text of the value, with the same replacement.
std::string json_text(const nlohmann::json& value);

// True if the text is a JSON object that has members.
bool has_members(std::string_view json);

// False for the schema of an object without properties, and for a text that is no object with members.
bool takes_parameters(std::string_view schema);

// Returns the schema of a tool's parameters unchanged if it is an object that has members; otherwise the
// schema of an object without any: servers refuse the schema {}.
std::string parameters_text(std::string_view schema);

// Returns the schema of an answer unchanged. A text that is not JSON becomes a JSON string, so that the body
// stays valid. check_request() refuses such a schema before.
std::string answer_schema_text(std::string_view schema);

// "[a,b]" with the result of `write` for each entry.
template <typename Range, typename Write>
std::string json_list(const Range& entries, Write&& write) {
  std::string list = "[";
  for (const auto& entry : entries) {
    if (list.size() > 1) list += ',';
    list += write(entry);
  }
  return list + "]";
}

}  // namespace agentcore::detail::llm
