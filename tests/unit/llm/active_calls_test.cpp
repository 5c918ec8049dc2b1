// The registry of open calls.
#include "llm/active_calls.hpp"

#include "support/catch.hpp"
#include "support/observe/counted_heap.hpp"
#include "support/prop.hpp"

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

using namespace agentcore;
using namespace agentcore::detail::llm;

namespace {

class FakeCall final : public detail::core::Stoppable {
 public:
  FakeCall(std::string id, std::uint64_t number) : agent_id(std::move(id)), tree(number) {}

  bool stop() noexcept override {
    if (before_stop) before_stop();
    if (stopped_.exchange(true)) return false;
    ++cuts;
    return true;
  }
  bool is_stopped() const noexcept override { return stopped_; }
  void close() { registration.reset(); }
  bool finish() noexcept { return !stopped_.exchange(true); }

  const std::string agent_id;
  const std::uint64_t tree;
  std::atomic<int> cuts{0};
  Registration registration;
  std::function<void()> before_stop;

 private:
  std::atomic<bool> stopped_{false};
};

// The registry, with calls that keep their own registration.
class Registry {
 public:
  bool add(const std::shared_ptr<FakeCall>& call) {
    auto registration = calls_->add({call->agent_id, call->tree}, call);
    if (registration) call->registration = std::move(*registration);
    return registration.has_value();
  }
  bool abort(std::string_view id) { return calls_->abort(id); }
  bool contains(std::string_view id) const { return calls_->contains(id); }

 private:
  std::shared_ptr<ActiveCalls> calls_ = std::make_shared<ActiveCalls>();
};

struct Fixture {
  const std::unique_ptr<Registry> requests = std::make_unique<Registry>();
  static std::shared_ptr<FakeCall> call(std::string id, std::uint64_t tree = 0) {
    return std::make_shared<FakeCall>(std::move(id), tree);
  }
};

}  // namespace

TEST_CASE_METHOD(Fixture, "a call is registered until it closes", "[llm][S0-P2][A2][A3][A6]") {
  const auto first = call("a");
  CHECK(requests->add(first));
  CHECK(requests->contains("a"));
  CHECK_FALSE(requests->contains("b"));
  first->close();
  CHECK_FALSE(requests->contains("a"));
  first->close();
  CHECK_FALSE(first->is_stopped());
}

TEST_CASE_METHOD(Fixture, "an agent has one open call", "[llm][A1]") {
  const auto first = call("a"), second = call("a");
  CHECK(requests->add(first));
  CHECK_FALSE(requests->add(second));
  second->close();
  CHECK(requests->contains("a"));
}

TEST_CASE_METHOD(Fixture, "agents of the same id in two trees may have a call each", "[llm][A1][A5][A6]") {
  const auto first = call("a", 1), second = call("a", 2), other = call("ab", 1);
  CHECK(requests->add(first));
  CHECK(requests->add(second));
  CHECK(requests->add(other));
  CHECK_FALSE(requests->add(call("a", 2)));
  first->close();
  CHECK(requests->contains("a"));
  CHECK(requests->add(first));
  // It knows the id only, so it stops both.
  CHECK(requests->abort("a"));
  CHECK(first->cuts == 1);
  CHECK(second->cuts == 1);
  CHECK_FALSE(requests->contains("a"));
  CHECK(requests->contains("ab"));
}

TEST_CASE_METHOD(Fixture, "an abort needs no memory", "[llm][A5]") {
  const auto first = call("a", 1), second = call("a", 2);
  REQUIRE(requests->add(first));
  REQUIRE(requests->add(second));
  bool aborted = false;
  {
    const agentcore::test::FailingAllocation failing(1, 100);
    aborted = requests->abort("a");
  }
  CHECK(aborted);
  CHECK(first->cuts == 1);
  CHECK(second->cuts == 1);
}

TEST_CASE_METHOD(Fixture, "an anonymous call is not registered", "[llm][A4]") {
  CHECK(requests->add(call("")));
  CHECK(requests->add(call("")));
  CHECK_FALSE(requests->contains(""));
  CHECK_FALSE(requests->abort(""));
}

TEST_CASE_METHOD(Fixture, "abort returns whether there was a call", "[llm][A5]") {
  CHECK_FALSE(requests->abort("a"));
  const auto first = call("a");
  requests->add(first);
  CHECK(requests->abort("a"));
  CHECK(first->is_stopped());
  CHECK(first->cuts == 1);
  CHECK_FALSE(requests->contains("a"));
  CHECK_FALSE(requests->abort("a"));
  CHECK(first->cuts == 1);
}

TEST_CASE_METHOD(Fixture, "the end of an aborted call leaves its successor alone", "[llm][X11]") {
  const auto first = call("a"), second = call("a");
  requests->add(first);
  CHECK(requests->abort("a"));
  CHECK(requests->add(second));
  first->close();
  CHECK(requests->contains("a"));
  CHECK(requests->abort("a"));
  CHECK(second->cuts == 1);
}

TEST_CASE_METHOD(Fixture, "a stop token stops and unregisters", "[llm][A7]") {
  const auto first = call("a");
  requests->add(first);
  std::stop_source source;
  const detail::core::StopCallback on_stop(source.get_token(), detail::core::StopOnRequest{first.get()});
  source.request_stop();
  CHECK(first->is_stopped());
  CHECK(first->cuts == 1);
  CHECK_FALSE(requests->contains("a"));
}

TEST_CASE_METHOD(Fixture, "of many concurrent stops exactly one takes effect", "[llm][C12]") {
  for (int round = 0; round < 200; ++round) {
    const auto first = call("a");
    requests->add(first);
    std::stop_source source;
    std::atomic<int> aborted{0};
    {
      const detail::core::StopCallback on_stop(source.get_token(), detail::core::StopOnRequest{first.get()});
      std::jthread one([&] { aborted += requests->abort("a"); });
      std::jthread two([&] { aborted += requests->abort("a"); });
      std::jthread three([&] { source.request_stop(); });
      std::jthread four([&] { first->close(); });
    }
    if (first->cuts != 1 || aborted > 1 || requests->contains("a")) FAIL("round " << round);
  }
}

TEST_CASE("the registry holds exactly the open calls", "[llm][S0-P2]") {
  prop("after any sequence of starts, ends and aborts an agent is active exactly while its last call is open",
       [] {
         Fixture fixture;
         std::map<std::string, std::shared_ptr<FakeCall>> open;
         std::vector<std::shared_ptr<FakeCall>> ended;
         for (int left = *rc::gen::inRange(0, 40); left > 0; --left) {
           const std::string id = *rc::gen::element<std::string>("a", "b", "c");
           const auto found = open.find(id);
           switch (*rc::gen::inRange(0, 4)) {
             case 0: {
               const auto made = fixture.call(id);
               const bool added = fixture.requests->add(made);
               RC_ASSERT(added == (found == open.end()));
               if (added) open[id] = made;
               break;
             }
             case 1:
               RC_ASSERT(fixture.requests->abort(id) == (found != open.end()));
               if (found != open.end()) ended.push_back(found->second), open.erase(found);
               break;
             case 2:
               if (found != open.end())
                 found->second->close(), ended.push_back(found->second), open.erase(found);
               break;
             default:
               for (const auto& call : ended) call->close();  // late ends of older calls
           }
           for (const std::string name : {"a", "b", "c"})
             RC_ASSERT(fixture.requests->contains(name) == open.contains(name));
         }
         for (const auto& [id, call] : open) call->close();
       });
}

TEST_CASE("an entry that moves to the next attempt of its call is never gone", "[llm][A5][X11]") {
  const auto calls = std::make_shared<ActiveCalls>();
  const auto first = Fixture::call("a", 1), second = Fixture::call("a", 1), other = Fixture::call("a", 2);
  std::optional<Registration> entry = calls->add({"a", 1}, first),
                              entry_of_other = calls->add({"a", 2}, other);
  REQUIRE(entry);
  REQUIRE(entry_of_other);
  SECTION("an abort after the move stops the second attempt") {
    entry->move_to(second);
    CHECK(calls->contains("a"));
    CHECK(calls->abort("a"));
    CHECK(first->cuts == 0);
    CHECK(second->cuts == 1);
  }
  SECTION("an abort that has found the first attempt stops the second one") {
    first->before_stop = [&] {
      entry->move_to(second);
      CHECK(first->finish());
    };
    CHECK(calls->abort("a"));
    CHECK(second->cuts == 1);
  }
  SECTION("an abort before the move stops the first attempt") {
    CHECK(calls->abort("a"));
    CHECK_FALSE(first->finish());
    CHECK(first->cuts == 1);
  }
  CHECK(other->cuts == 1);
  entry.reset();
  entry_of_other.reset();
  CHECK_FALSE(calls->contains("a"));
  CHECK(calls->add({"a", 1}, Fixture::call("a", 1)));
}

TEST_CASE("an entry of a later call is not moved", "[llm][X11]") {
  const auto calls = std::make_shared<ActiveCalls>();
  const auto first = Fixture::call("a"), later = Fixture::call("a"), second = Fixture::call("a");
  std::optional<Registration> entry = calls->add({"a", 0}, first);
  CHECK(first->stop());
  const auto entry_of_later = calls->add({"a", 0}, later);  // a stopped call has no place
  REQUIRE(entry_of_later);
  entry->move_to(second);
  CHECK(calls->abort("a"));
  CHECK(later->cuts == 1);
  CHECK(second->cuts == 0);
}
