// What AsioLoop is attached to.
#include "support/catch.hpp"

#include <agentcore/adapters/asio.hpp>

#include <functional>
#include <optional>
#include <utility>

#include <asio/io_context.hpp>

using namespace agentcore;
using adapters::AsioLoop;

TEST_CASE("one context drives two Runtimes, which do not keep each other from their work", "[loops][asio]") {
  asio::io_context context;
  Runtime first, second;
  std::optional<AsioLoop> first_attached(std::in_place, context, first);
  std::optional<AsioLoop> second_attached(std::in_place, context, second);
  int called = 0;
  std::function<void()> endless = [&] {
    if (second_attached) first.post(endless);
  };
  std::function<void()> again = [&] {
    if (++called < 10) return second.post(again);
    first_attached.reset();
    second_attached.reset();
  };
  first.post(endless);
  second.post(again);
  context.run();
  CHECK(called == 10);
}

TEST_CASE("AsioLoop takes an executor in place of a context", "[loops][asio]") {
  asio::io_context context;
  Runtime runtime;
  std::optional<AsioLoop> attached(std::in_place, context.get_executor(), runtime);
  bool called = false;
  runtime.post([&] {
    called = true;
    attached.reset();
  });
  context.run();
  CHECK(called);
}
