// The router where memory is short.
#include "support/observe/counted_heap.hpp"
#include "support/observe/host_code.hpp"
#include "support/sanitized.hpp"
#include "unit/llm/router/router_fixture.hpp"

#include <cstddef>
#include <new>

using namespace agentcore;
using namespace agentcore::test;

#ifndef RACES_WATCHED
namespace {

// Two agents share one slot; the first one's call fails twice, and goes on with the other route. True if the
// `n`-th allocation, and each of the `count` - 1 that follow it, was one of these calls.
bool ends_without(std::size_t n, std::size_t count) {
  CAPTURE(n, count);
  RouterFixture t;
  t.options.limits = {.total = 1, .requests_per_minute = 100};
  t.options.retry.max_attempts = 2;
  t.first.script = {fails(cut), fails(cut)};
  t.make();
  bool failed = false;
  {
    const FailingAllocation failing(n, count);
    for (const auto& [record, agent] : {std::pair(&t.heard, "a"), std::pair(&t.other, "b")}) try {
        ChatSink sink;
        {
          const HostCode host;
          sink = record->sink();
        }
        t.router->chat(ask(agent), {}, std::move(sink));
      } catch (const std::bad_alloc&) {
      }
    t.polls(20);
    t.clock.advance(std::chrono::minutes(2));
    t.polls(20);
    failed = failing.failed();
  }
  t.polls(20);
  CHECK(t.heard.outcomes.size() == 1);
  CHECK(t.other.outcomes.size() == 1);
  CHECK(t.all_free());
  return failed;
}

}  // namespace

TEST_CASE("each call ends, and gives its slot back, whatever allocation fails", "[llm][router][G5][G16]") {
  const std::size_t count = GENERATE(as<std::size_t>{}, 1, 2, 5);
  std::size_t n = 1;
  while (ends_without(n, count)) ++n;
  CHECK(n > 50);
}
#endif
