// KeptEvent: a copy of an event that owns what the event refers to.
#include "support/drive/tree_fixture.hpp"
#include "support/observe/counted_heap.hpp"

#include <concepts>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

using namespace agentcore;
using namespace agentcore::test;

namespace {

constexpr std::string_view long_text = "a text that is too long for a string without a heap";

// Keeps an event with a T that borrows `text`, which is gone when the text of the kept one is returned.
template <typename T>
std::string text_kept(std::string_view text) {
  std::optional<KeptEvent> copy;
  {
    std::string borrowed(text);
    detail::EventBody body(std::in_place_type<T>);
    std::get_if<T>(&body)->text = borrowed;
    const KeptEvent kept = Event(1, body).keep();
    copy = kept;
    std::get_if<T>(&body)->text = {};
    borrowed.assign(borrowed.size(), '-');
  }
  return std::string(copy->get<T>()->text);
}

template <std::size_t... Index>
int check_texts(std::index_sequence<Index...>) {
  int borrowing = 0;
  const auto check = [&]<typename T>(std::in_place_type_t<T>) {
    if constexpr (requires(T & body) {
                    { (body.text) } -> std::same_as<std::string_view&>;
                  }) {
      ++borrowing;
      CHECK(text_kept<T>(long_text) == long_text);
      CHECK(text_kept<T>("short") == "short");
      CHECK(text_kept<T>("").empty());
    }
  };
  (check(std::in_place_type<std::variant_alternative_t<Index, detail::EventBody>>), ...);
  return borrowing;
}

template <typename T>
concept MayLendItsData = requires(T kept) {
  std::move(kept).template get<TurnEnded>();
}
|| requires(T kept) {
  std::move(kept).agent();
}
|| requires(T kept) {
  std::move(kept).event();
};

}  // namespace

TEST_CASE("a kept event owns the text that the event borrowed", "[events][Q3]") {
  CHECK(check_texts(std::make_index_sequence<std::variant_size_v<detail::EventBody>>()) == 2);
}

TEST_CASE("kept events are what the callback received, also when the tree is gone", "[events][Q3]") {
  std::vector<KeptEvent> kept;
  std::vector<std::uint64_t> numbers;
  std::string id;
  {
    TreeFixture t;
    const auto events = t.tree->on_event([&](const Event& event) {
      numbers.push_back(event.sequence);
      kept.push_back(event.keep());
    });
    const Agent a = t.root("a");
    t.ask(a);
    t.llm->answer("a", "Hello from the model.");
    t.settle();
    REQUIRE(!kept.empty());
    CHECK(kept.back().agent() == a);
    CHECK(kept.back().agent().id() == "a");
  }
  std::string shown;
  std::vector<std::uint64_t> kept_numbers;
  for (const KeptEvent& event : kept) {
    kept_numbers.push_back(event.sequence);
    event.visit([&](const DeltaReceived& delta) { shown += delta.text; },
                [&](const TurnEnded& end) { shown += "|" + end.result->text; });
    CHECK_FALSE(event.agent().exists());
  }
  CHECK(shown == "Hello from the model.|Hello from the model.");
  CHECK(kept_numbers == numbers);
}

TEST_CASE("copies of a kept event share its data, and a move leaves no empty one", "[events][Q3]") {
  const detail::EventBody body(std::in_place_type<AgentCreated>);
  KeptEvent kept = Event(7, body).keep();
  const std::size_t before = allocations();
  const KeptEvent copy = kept;
  const KeptEvent moved = std::move(kept);  // NOLINT(performance-move-const-arg)
  CHECK(allocations() == before);
  CHECK(copy.get<AgentCreated>() == moved.get<AgentCreated>());
  CHECK(kept.get<AgentCreated>() == copy.get<AgentCreated>());  // NOLINT(bugprone-use-after-move)
  CHECK(copy.get<TurnEnded>() == nullptr);
  CHECK(copy.sequence == 7);
  const Event event = copy.event();
  CHECK(event.sequence == 7);
  CHECK(event.get<AgentCreated>() == copy.get<AgentCreated>());
  bool called = false;
  copy.visit([&](const Event& rest) { called = rest.get<AgentCreated>() == copy.get<AgentCreated>(); });
  CHECK(called);
}

TEST_CASE("a kept event that is about to be destroyed lends no data", "[events][Q3]") {
  STATIC_REQUIRE_FALSE(MayLendItsData<KeptEvent>);
}

TEST_CASE("an event that cannot be kept leaves nothing behind", "[events][G13]") {
  const auto result = std::make_shared<const TurnResult>();
  const detail::EventBody ended(TurnEnded{{}, 1, {}, result});
  const detail::EventBody delta(DeltaReceived{{}, 1, 1, long_text});
  const auto failures_of = [&](const detail::EventBody& body) {
    int failures = 0;
    for (std::size_t n = 1; n < 10; ++n) {
      try {
        const FailingAllocation failing(n);
        const KeptEvent kept = Event(1, body).keep();
        return failures;
      } catch (const std::bad_alloc&) {
        ++failures;
      }
      CHECK(result.use_count() == 2);  // here, and in `ended`
    }
    return -1;
  };
  CHECK(failures_of(ended) == 1);
  CHECK(failures_of(delta) == 2);  // the data, and the text
}
