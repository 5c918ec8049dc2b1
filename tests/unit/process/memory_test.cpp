// Programs where memory is short.
#include "support/catch.hpp"
#include "support/drive/process_fixture.hpp"
#include "support/observe/counted_heap.hpp"
#include "support/sanitized.hpp"

#include <new>
#include <optional>
#include <set>
#include <string>

using namespace agentcore;
using namespace agentcore::test;

#ifndef RACES_WATCHED
TEST_CASE("no program is left whose call has failed for want of memory", "[tools][G13][G16]") {
  std::size_t failed = 0;
  for (std::size_t n = 1;; ++n) {
    ToolFixture fixture;
    std::optional<FailingAllocation> failing;
    SubprocessOptions options;
    options.command = [&](const nlohmann::json&) {
      SubprocessCommand command = command_of({"sleep", "1000"});
      failing.emplace(n);  // of those that follow
      return command;
    };
    Tool tool = make_subprocess_tool(program_spec(), std::move(options));
    bool was_started = true;
    const auto start = tool.start;
    tool.start = [&](const nlohmann::json& arguments, const ToolContext& context, ToolDone done) {
      try {
        start(arguments, context, std::move(done));
      } catch (const std::bad_alloc&) {
        was_started = false;
      }
      if (failing->failed()) ++failed;
      failing.reset();
    };
    fixture.start(tool);
    CAPTURE(n);
    CHECK(no_children() != was_started);
    if (was_started) break;
  }
  CHECK(failed >= 5);
}

TEST_CASE("output that there is no memory for is counted as dropped, and so is all that follows", "[tools]") {
  detail::process::CappedText kept;
  kept.limit = 10'000;
  kept.append("the beginning");
  {
    const std::string text(1'000, 'x');
    const FailingAllocation failing(1);
    kept.append(text);
  }
  kept.append("the end");
  CHECK(kept.text == "the beginning");
  CHECK(kept.dropped == 1'007);
}

TEST_CASE("without memory for its result a program has not dropped its call", "[tools][G9]") {
  std::set<std::string> messages;
  for (std::size_t n = 1; n <= 12; ++n) {
    ToolFixture fixture;
    const auto call = fixture.start(program(script("exit 3")));
    siginfo_t info{};
    REQUIRE(::waitid(P_ALL, 0, &info, WEXITED | WNOWAIT) == 0);
    std::optional<FailingAllocation> failing(n);
    while (fixture.owner.results.empty()) fixture.runtime->poll();
    failing.reset();
    messages.insert(fixture.result_of(call).message);
    CHECK(no_children());
  }
  CHECK(messages.count("out of memory") == 1);
  CHECK(messages.count("the program exited with code 3") == 1);
  CHECK(messages.count("the tool dropped its call") == 0);
}
#endif
