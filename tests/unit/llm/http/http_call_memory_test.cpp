// A call over HTTP where memory is short.
#include "llm/http/http_call.hpp"
#include "support/catch.hpp"
#include "support/drive/http_call_fixture.hpp"
#include "support/observe/counted_heap.hpp"
#include "support/sanitized.hpp"

#include <cstddef>

using namespace agentcore;
using namespace agentcore::test;
using Fixture = CallFixture;

#ifndef RACES_WATCHED
TEST_CASE("a call whose answer has arrived ends, and is counted, whatever allocation fails",
          "[llm][G5][G16]") {
  bool failed = true;
  std::size_t n = 1;
  for (; failed; ++n) {
    CAPTURE(n);
    Fixture t;
    t.call->on_head({.status = 200, .content_type = all_events});
    t.call->on_body(usage_chunk + piece("x") + finish_chunk + done_chunk);
    {
      const FailingAllocation failing(n, 3);
      t.call->on_end({});
      failed = failing.failed();
    }
    CHECK(t.heard.outcomes.size() == 1);
    CHECK(t.heard.outcomes[0].usage.total_tokens == 3);
    if (failed) CHECK((t.heard.completed() || t.heard.failed_with(Errc::out_of_memory)));
    CHECK(t.shared->open.empty());
  }
  CHECK(n > 2);
}

TEST_CASE("a call that its client cancels ends as cancelled without any memory", "[llm][G5][G16]") {
  Fixture t;
  t.call->on_head({.status = 200, .content_type = all_events});
  t.call->on_body(usage_chunk + piece("a text that is longer than a small string"));
  {
    const FailingAllocation failing(1, 1000);
    t.call->cancel();
  }
  CHECK(t.heard.cancelled());
  CHECK_FALSE(t.heard.outcomes[0].usage.complete);
}
#endif
