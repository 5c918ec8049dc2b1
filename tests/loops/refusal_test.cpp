// An adapter that cannot be made says why, and leaves nothing behind.
#include "loops/driven.hpp"
#include "support/catch.hpp"
#include "support/drive/loop_fixture.hpp"
#include "support/drive/no_descriptors.hpp"

#include <agentcore/testing/manual_clock.hpp>

#include <exception>
#include <optional>
#include <string>
#include <system_error>

using namespace agentcore;
using namespace loops_test;

TEST_CASE("without a descriptor left an adapter says so, and can be made later", "[loops][descriptor][Q2]") {
  const bool throws = GENERATE(true, false);
  Driven driven;
  driven.host->detach();
  driven.host->look();  // some loops release what they watched in their next turn
  int refusals = 0;
  bool attached = false;
  for (int left = 0; !attached; ++left) {
    REQUIRE(left < 20);
    const auto before = loop_test::open_descriptors();
    {
      Runtime runtime;
      std::optional<test::NoDescriptors> none(std::in_place);
      none->release(left);
      Error problem;
      try {
        if (throws)
          driven.host->attach(runtime);
        else if (const auto tried = driven.host->try_attach(runtime); !tried)
          problem = tried.error();
        attached = problem.code == Errc::none;
      } catch (const std::exception&) {
      }
      none.reset();
      refusals += attached ? 0 : 1;
      if (!attached && !throws) {
        CHECK(problem.code == Errc::out_of_memory);
        CHECK(problem.message.find("descriptor") != std::string::npos);
      }
      if (attached) driven.host->detach();
    }
    driven.host->look();
    CHECK(loop_test::open_descriptors() == before);
  }
  CHECK(refusals >= 4);  // the Runtime needs four itself
  driven.host->attach(*driven.runtime);
  bool called = false;
  driven.runtime->post([&] { called = true; });
  driven.turn_until([&] { return called; });
  CHECK(called);
}

TEST_CASE("an adapter refuses a Runtime whose descriptor does not report timers", "[loops][descriptor][Q2]") {
  Driven driven;
  driven.host->detach();
  testing::ManualClock clock;
  Runtime by_hand({.clock = &clock});
  Runtime portable({.backend = LoopBackend::poll});
  for (Runtime* const runtime : {&by_hand, &portable}) {
    try {
      driven.host->attach(*runtime);
      FAIL("attached");
    } catch (const std::system_error& error) {
      CHECK(error.code() == std::errc::not_supported);
    }
    const auto tried = driven.host->try_attach(*runtime);
    REQUIRE_FALSE(tried);
    CHECK(tried.error().code == Errc::invalid_config);
    CHECK(tried.error().message.find("does not report timers") != std::string::npos);
  }
  driven.host->attach(*driven.runtime);
}

TEST_CASE("an adapter that make() has made drives its Runtime", "[loops][Q2]") {
  Driven driven;
  driven.host->detach();
  REQUIRE(driven.host->try_attach(*driven.runtime));
  bool called = false;
  driven.runtime->post([&] { called = true; });
  driven.turn_until([&] { return called; });
  CHECK(called);
  driven.host->detach();
  driven.host->look();
}
