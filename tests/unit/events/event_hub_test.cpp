// Events and state changes that a callback causes are delivered later, complete. Observers come and go.
#include "events/event_hub.hpp"

#include "support/catch.hpp"
#include "support/observe/counted_heap.hpp"
#include "support/sanitized.hpp"

#include <concepts>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

using namespace agentcore;
using namespace agentcore::detail::events;

namespace {

struct Hub {
  detail::core::AgentTable table;
  detail::core::Node& node = table.insert(table.root_sentinel());
  std::vector<std::string> log;
  detail::loop::Engine engine{{.log = [this](const LogRecord& record) {
    log.emplace_back(record.message);
    for (const LogField& field : record.fields) log.back().append(" ").append(field.value);
  }}};
  EventHub hub{nullptr, table, engine};
};

// Reports a Body within a callback, then changes the text that it borrowed; returns what the observer gets.
template <typename Body>
std::string text_told_later() {
  Hub h;
  std::string borrowed = "a text that is too long for a string without a heap";
  std::string told;
  bool first = true;
  const auto observer = h.hub.subscribe(detail::all_event_kinds, [&](const Event& event) {
    if (!std::exchange(first, false)) {
      if (const auto* body = event.get<Body>()) told = body->text;
      return;
    }
    h.hub.emit(h.node, [&](Agent agent) {
      Body body{};
      body.agent = std::move(agent);
      body.text = borrowed;
      return body;
    });
    borrowed.assign(borrowed.size(), '-');
  });
  h.hub.emit(h.node, [](Agent agent) { return AgentCreated{std::move(agent)}; });
  return told;
}

template <std::size_t... Index>
int check_all(std::index_sequence<Index...>) {
  int borrowing = 0;
  const auto check = [&]<typename Body>(std::in_place_type_t<Body>) {
    if constexpr (BorrowsText<Body>) {
      ++borrowing;
      CHECK(text_told_later<Body>() == "a text that is too long for a string without a heap");
    }
  };
  (check(std::in_place_type<std::variant_alternative_t<Index, detail::EventBody>>), ...);
  return borrowing;
}

}  // namespace

TEST_CASE("a queued event keeps a copy of the text that it borrowed", "[events][Q3]") {
  CHECK(check_all(std::make_index_sequence<std::variant_size_v<detail::EventBody>>()) == 2);
}

TEST_CASE("dropping many observers allocates nothing and moves none", "[events][G15]") {
  constexpr std::size_t count = 20'000;
  auto list = std::make_shared<ObserverList<int>>();
  std::vector<Subscription> subscriptions;
  for (std::size_t i = 0; i < count; ++i) subscriptions.push_back(list->add([](int) {}));
  const std::size_t before = test::allocations();
  for (std::size_t i = 0; i < count; i += 2) subscriptions[i].reset();
  CHECK(list->size() == count / 2);
  // Within a callback, too: they are swept once.
  const auto last = list->add([&](int) { subscriptions.clear(); });
  const std::size_t added = test::allocations();
  list->notify(0, [](const auto& call) { call(); });
  CHECK(list->size() == 1);
  CHECK(test::allocations() == added);
  CHECK(added - before < 10);  // of the one that was added
}

TEST_CASE("a failed allocation while an observer is added leaves nothing behind", "[events][G13]") {
  auto list = std::make_shared<ObserverList<int>>();
  int failures = 0;
  bool added = false;
  for (std::size_t n = 1; n < 10 && !added; ++n) {
    const auto held = std::make_shared<int>(0);
    try {
      const test::FailingAllocation failing(n);
      const auto subscription = list->add([held](int) {});
      added = list->size() == 1;
    } catch (const std::bad_alloc&) {
      ++failures;
    }
    CHECK(list->empty());
    CHECK(held.use_count() == 1);
  }
  CHECK(added);
  CHECK(failures >= 2);  // at least the entry and its place in the list are allocated
}

TEST_CASE("an event body that cannot be allocated is lost alone and its handle is counted once",
          "[events][G16]") {
  Hub h;
  int told = 0;
  const auto observer = h.hub.subscribe(detail::all_event_kinds, [&](const Event&) { ++told; });
  h.hub.emit(h.node, [](Agent) -> AgentCreated { throw std::bad_alloc(); });
  CHECK(told == 0);
  CHECK(h.log == std::vector<std::string>{"an event was lost, because there was no memory for it observer"});
  CHECK_FALSE(h.hub.porch.holds());
  h.hub.emit(h.node, [](Agent agent) { return AgentCreated{std::move(agent)}; });
  CHECK(told == 1);
}
