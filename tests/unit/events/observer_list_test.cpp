// Callbacks that come and go while they are being called.
#include "events/observer_list.hpp"

#include "support/catch.hpp"

#include <agentcore/event.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

using namespace agentcore;
using namespace agentcore::detail::events;

namespace {

const auto plain = [](const auto& call) { call(); };

}  // namespace

namespace {

template <std::size_t number>
struct Kind {};

template <std::size_t... numbers>
void check_kinds(std::index_sequence<numbers...>) {
  using All = std::variant<Kind<numbers>...>;
  const std::vector<detail::EventKinds> bits{
      detail::kind_of<Kind<numbers>>(static_cast<const All*>(nullptr))...};
  auto list = std::make_shared<ObserverList<int>>();
  std::vector<std::size_t> called;
  std::vector<Subscription> all;
  for (std::size_t i = 0; i < bits.size(); ++i)
    all.push_back(list->add([&called, i](int) { called.push_back(i); }, bits[i]));
  for (std::size_t i = 0; i < bits.size(); ++i) {
    CHECK((list->kinds() & bits[i]) != 0);
    called.clear();
    list->notify(0, plain, bits[i]);
    CHECK(called == std::vector<std::size_t>{i});
  }
  for (auto& one : all) one.reset();
  CHECK(list->kinds() == 0);
}

}  // namespace

TEST_CASE("each of 64 types of events has observers of its own", "[events]") {
  check_kinds(std::make_index_sequence<64>());
}

TEST_CASE("callbacks are called in the order of subscribing", "[events]") {
  auto list = std::make_shared<ObserverList<int>>();
  std::vector<int> calls;
  const auto a = list->add([&](int value) { calls.push_back(value); });
  const auto b = list->add([&](int value) { calls.push_back(-value); });
  list->notify(7, plain);
  CHECK(calls == std::vector<int>{7, -7});
}

TEST_CASE("an observer removed during a call is not called and an added one is called from the next on",
          "[events][Q3]") {
  auto list = std::make_shared<ObserverList<int>>();
  std::string calls;
  std::optional<Subscription> second;
  std::optional<Subscription> third;
  const auto first = list->add([&](int) {
    calls += "1";
    second.reset();
    if (!third) third = list->add([&](int) { calls += "3"; });
  });
  second = list->add([&](int) { calls += "2"; });
  list->notify(0, plain);
  CHECK(calls == "1");
  CHECK(list->size() == 2);
  list->notify(0, plain);
  CHECK(calls == "113");
}

TEST_CASE("a callback may end its own subscription and its captures stay valid until it returns",
          "[events][Q3]") {
  auto list = std::make_shared<ObserverList<int>>();
  auto captured = std::make_shared<int>(5);
  const std::weak_ptr<int> watch = captured;
  std::optional<Subscription> own;
  int seen = 0;
  own = list->add([&, captured = std::move(captured)](int) {
    own.reset();
    seen = *captured;
    CHECK_FALSE(watch.expired());
  });
  list->notify(0, plain);
  CHECK(seen == 5);
  CHECK(watch.expired());
  CHECK(list->empty());
}

TEST_CASE("the observer list may be cleared by a callback and subscriptions may outlive it", "[events][Q3]") {
  auto list = std::make_shared<ObserverList<int>>();
  int calls = 0;
  Subscription a = list->add([&](int) {
    ++calls;
    list->clear();
  });
  Subscription b = list->add([&](int) { ++calls; });
  list->notify(0, plain);
  CHECK(calls == 1);
  CHECK(list->empty());
  list.reset();
  a.reset();
  b.reset();
}

TEST_CASE("a callback may start another round of callbacks", "[events]") {
  auto list = std::make_shared<ObserverList<int>>();
  std::string calls;
  std::optional<Subscription> b;
  const auto a = list->add([&](int value) {
    calls += std::to_string(value);
    if (value == 0) {
      list->notify(1, plain);
      b.reset();
    }
  });
  b = list->add([&](int value) { calls += std::to_string(value + 5); });
  list->notify(0, plain);
  CHECK(calls == "016");
}

TEST_CASE("detached callbacks stay and a moved subscription counts once", "[events]") {
  auto list = std::make_shared<ObserverList<int>>();
  list->add([](int) {}).detach();
  Subscription a = list->add([](int) {});
  Subscription b = std::move(a);
  CHECK_FALSE(static_cast<bool>(a));
  CHECK(list->size() == 2);
  b = Subscription{};
  CHECK(list->size() == 1);
}
