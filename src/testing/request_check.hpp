// RequestCheck: what the checks of all forms of requests share: the rules, the problems found so far, and the
// checks of names, ids, arguments and tools.
#pragma once

#include "testing/request_rules.hpp"

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace agentcore::detail::testing {

using Json = nlohmann::json;

// "messages[3]"
std::string entry_of(std::string_view list, std::size_t index);

// The member of an object; null if it is missing, or null in JSON.
const Json* member(const Json& object, std::string_view name);
// The list in a member; an empty one if it is no list.
const Json& list_of(const Json& object, std::string_view name);
// The text of a member; empty if it is no text.
std::string text_of(const Json& object, std::string_view name);

class RequestCheck {
 public:
  explicit RequestCheck(const RequestRules& rules) : rules_(rules) {}

  const RequestRules& rules() const noexcept { return rules_; }
  void add(std::string_view place, std::string_view what);
  std::vector<std::string> take() { return std::move(problems_); }

  // False, with a problem: no text, or a blank one where the provider refuses it.
  bool text(const std::string& place, const Json* value, bool may_be_blank = false);
  void tool_name(const std::string& place, const Json* name);
  // The text of a JSON object.
  void arguments(const std::string& place, const Json* text);
  // Only the members in `known`, with blanks between them.
  void members(const std::string& place, const Json& object, std::string_view known);
  void schema(const std::string& place, const Json* schema);
  void value_schema(const std::string& place, const Json& schema);
  // The name and the schema of a tool in its object; `schema_member` names the latter.
  void tool(const std::string& place, const Json& tool, std::string_view schema_member);
  // Ends the check of the tools: their number, and the names that tool_choice may have.
  void tools(const Json& body, std::string_view chosen);
  // The members of the body that all forms have.
  void common(const Json& body);

  // A call: its id has the right form and is new. It is open until result() has its id.
  void call(const std::string& place, const Json* id);
  void result(const std::string& place, const Json* id);
  // Open calls at a place where all must have their results.
  void all_answered(const std::string& place);
  bool has_open_calls() const noexcept { return !open_.empty(); }

 private:
  const RequestRules& rules_;
  std::vector<std::string> problems_;
  std::set<std::string> ids_, open_, names_;
};

// The checks of the three forms; `body` is an object.
void check_chat(const Json& body, RequestCheck& check);
void check_responses(const Json& body, RequestCheck& check);
void check_messages(const Json& body, RequestCheck& check);

}  // namespace agentcore::detail::testing
