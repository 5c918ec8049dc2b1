// A system that refuses to watch what belongs to a program.
#include "support/catch.hpp"
#include "support/drive/process_fixture.hpp"
#include "support/drive/refused_watches.hpp"

using namespace agentcore;
using namespace agentcore::test;

TEST_CASE("a program whose output cannot be watched fails with the reason and leaves nothing",
          "[tools][G13]") {
  ToolFixture fixture(loop_test::with(LoopBackend::epoll));
  RefusedWatches refused(*fixture.runtime);
  const auto descriptors = loop_test::open_descriptors();
  refused.on();
  const auto call = fixture.start(program(command_of({"sleep", "1000"}), EACH_WATCH()));
  for (int i = 0; i < 10 && !fixture.has_result(call); ++i) fixture.runtime->poll();
  refused.off();
  REQUIRE(fixture.has_result(call));
  const ToolResult& result = fixture.result_of(call);
  CHECK_FALSE(result.success);
  CHECK(holds(result.message, "the system refuses to watch what it writes: "));
  CHECK(no_children());
  CHECK(loop_test::open_descriptors() == descriptors);
}
