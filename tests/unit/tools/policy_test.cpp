// make_tool_policy(): rules that decide which calls may run.
#include "support/catch.hpp"

#include <agentcore/agentcore.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace agentcore;

namespace {

struct Asked {
  std::string tool;
  std::string window = {};
  std::string agent = "a";
};

ToolDecision decision(const ToolPolicy& policy, const Asked& asked) {
  const Agent agent;
  const ToolSpec spec{.name = asked.tool};
  return policy({agent, asked.agent, asked.window, spec, "{}"});
}

Permission permission(const ToolPolicy& policy, const Asked& asked) {
  return decision(policy, asked).permission;
}

bool matches(std::string pattern, std::string text) {
  const ToolPolicy policy = make_tool_policy({{.tool = std::move(pattern)}});
  return permission(policy, {.tool = std::move(text)}) == Permission::allow;
}

}  // namespace

TEST_CASE("the first rule that matches decides", "[tools][policy]") {
  const ToolPolicy policy =
      make_tool_policy({{.tool = "read_*"},
                        {.tool = "shell", .permission = Permission::deny, .agent = "guest-*"},
                        {.tool = "shell", .permission = Permission::ask},
                        {.tool = "read_secret", .permission = Permission::deny}});
  CHECK(permission(policy, {.tool = "read_file"}) == Permission::allow);
  CHECK(permission(policy, {.tool = "read_secret"}) == Permission::allow);  // the fourth comes too late
  CHECK(permission(policy, {.tool = "shell"}) == Permission::ask);
  CHECK(permission(policy, {.tool = "shell", .agent = "guest-7"}) == Permission::deny);
}

TEST_CASE("a call that no rule matches gets the other decision, by default a denial", "[tools][policy]") {
  CHECK(permission(make_tool_policy({}), {.tool = "x"}) == Permission::deny);
  CHECK(permission(make_tool_policy({{.tool = "y"}}), {.tool = "x"}) == Permission::deny);
  for (const Permission other : {Permission::allow, Permission::ask, Permission::deny})
    CHECK(permission(make_tool_policy({{.tool = "y"}}, other), {.tool = "x"}) == other);
}

TEST_CASE("a rule names an action by its window, and a tool by its name alone", "[tools][policy]") {
  const ToolPolicy policy = make_tool_policy({{.tool = "notes__save"}});
  CHECK(permission(policy, {.tool = "save", .window = "notes"}) == Permission::allow);
  CHECK(permission(policy, {.tool = "save"}) == Permission::deny);
  CHECK(permission(policy, {.tool = "save", .window = "other"}) == Permission::deny);
  CHECK(permission(make_tool_policy({{.tool = "save"}}), {.tool = "save", .window = "notes"}) ==
        Permission::deny);
  CHECK(permission(make_tool_policy({{.tool = "*__save"}}), {.tool = "save", .window = "n\xC3\xB6te 1"}) ==
        Permission::allow);
}

TEST_CASE("a rule passes on its reason and how far a grant goes", "[tools][policy]") {
  const ToolPolicy policy =
      make_tool_policy({{.tool = "a", .permission = Permission::deny, .reason = "not here"},
                        {.tool = "b", .permission = Permission::ask},
                        {.tool = "c", .permission = Permission::ask, .grants_any_arguments = true}});
  CHECK(decision(policy, {.tool = "a"}).reason == "not here");
  CHECK(decision(policy, {.tool = "b"}).grant_key.empty());
  CHECK_FALSE(decision(policy, {.tool = "c"}).grant_key.empty());
}

TEST_CASE("'*' stands for any characters, '?' for one byte, all others for themselves", "[tools][policy]") {
  const std::vector<std::pair<std::string, std::string>> equal{
      {"*", ""},         {"*", "abc"},         {"", ""},
      {"abc", "abc"},    {"a*", "a"},          {"a*c", "abbc"},
      {"a?c", "abc"},    {"***", "x"},         {"*b*", "abc"},
      {"*ab", "aab"},    {"a*b*c", "aXbYbZc"}, {"?*", "x"},
      {"*.*", "a.b"},    {"[a]", "[a]"},       {"a\\b", "a\\b"},
      {"??", "\xC3\xA9"}};
  for (const auto& [pattern, text] : equal) {
    CAPTURE(pattern, text);
    CHECK(matches(pattern, text));
  }
  const std::vector<std::pair<std::string, std::string>> other{
      {"", "a"},      {"a", ""},     {"abc", "ab"},     {"ab", "abc"},   {"a*c", "abcd"},
      {"?", ""},      {"a?c", "ac"}, {"?*", ""},        {"A", "a"},      {"*ab", "aba"},
      {"a.c", "abc"}, {"[ab]", "a"}, {"?", "\xC3\xA9"}, {"a*b*c", "acb"}};
  for (const auto& [pattern, text] : other) {
    CAPTURE(pattern, text);
    CHECK_FALSE(matches(pattern, text));
  }
}

TEST_CASE("a hostile pattern takes no exponential time", "[tools][policy][G15]") {
  std::string pattern, text(4000, 'a');
  for (int i = 0; i < 2000; ++i) pattern += "*a";
  CHECK(matches(pattern, text));
  CHECK_FALSE(matches(pattern + "b", text));  // with backtracking: more steps than there are atoms
  CHECK_FALSE(matches(pattern + "?b*", text));
}
