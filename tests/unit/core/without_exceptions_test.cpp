// The factories for hosts without exceptions: each error of a constructor, as a Result.
#include "core/without_exceptions.hpp"

#include "support/catch.hpp"

#include <agentcore/agent_tree.hpp>
#include <agentcore/executor.hpp>
#include <agentcore/runtime.hpp>
#include <agentcore/tool_registry.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>

using namespace agentcore;

namespace {

struct Throws {
  explicit Throws(int what) {
    if (what == 1) throw std::invalid_argument("one");
    if (what == 2) throw std::bad_alloc();
    if (what == 3) throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
  }
};

}  // namespace

TEST_CASE("what a constructor throws becomes an error", "[core][factories]") {
  CHECK(detail::core::make<Throws>(0).has_value());
  const auto invalid = detail::core::make<Throws>(1);
  REQUIRE(!invalid);
  CHECK(invalid.error().code == Errc::invalid_config);
  CHECK(invalid.error().message == "one");
  CHECK(detail::core::make<Throws>(2).error().code == Errc::out_of_memory);
  CHECK(detail::core::make<Throws>(3).error().code == Errc::out_of_memory);
}

TEST_CASE("a Runtime, a tree and a pool can be made without exceptions", "[core][factories]") {
  const auto runtime = Runtime::make();
  REQUIRE(runtime);
  const auto tree = AgentTree::make(**runtime, {.max_depth = 2});
  REQUIRE(tree);
  CHECK((*tree)->create({.id = "planner"}));
  CHECK(ThreadPool::make(1));

  const auto no_runtime = Runtime::make({.poll_budget = std::chrono::milliseconds(-1)});
  REQUIRE(!no_runtime);
  CHECK(no_runtime.error().code == Errc::invalid_config);
  CHECK(no_runtime.error().message.find("poll_budget") != std::string::npos);
  const auto no_tree = AgentTree::make(**runtime, {.max_depth = 0});
  REQUIRE(!no_tree);
  CHECK(no_tree.error().code == Errc::invalid_config);
  CHECK(no_tree.error().message.find("max_depth") != std::string::npos);
  CHECK(ThreadPool::make(0).error().code == Errc::invalid_config);
}

TEST_CASE("tools and windows are registered without exceptions", "[core][factories][tools]") {
  ToolRegistry tools;
  const auto tool = [] {
    return make_tool({.name = "clock"},
                     [](const nlohmann::json&, const ToolContext&) { return ToolResult::done("12:00"); });
  };
  CHECK(tools.try_add(tool()));
  const auto twice = tools.try_add(tool());
  REQUIRE(!twice);
  CHECK(twice.error().code == Errc::invalid_config);
  CHECK(twice.error().message.find("'clock' exists already") != std::string::npos);
  CHECK(tools.names().size() == 1);

  CHECK(tools.try_open({.id = "notes"}));
  CHECK(tools.try_open({.id = "notes"}).error().code == Errc::invalid_config);
  CHECK(tools.windows().size() == 2);

  CHECK(tools.try_set_content("notes", "two").value());
  CHECK_FALSE(tools.try_set_content("letters", "two").value());
  const auto not_utf8 = tools.try_set_content("notes", "\xff");
  REQUIRE(!not_utf8);
  CHECK(not_utf8.error().code == Errc::invalid_config);
  CHECK(not_utf8.error().message.find("'notes' is not UTF-8") != std::string::npos);
}
