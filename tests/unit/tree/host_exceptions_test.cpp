// docs/design/host-exceptions.md: what an exception of the host's code means says where it comes from, and
// never its type.
#include "support/catch.hpp"
#include "support/drive/tree_fixture.hpp"
#include "support/store/guarded_store.hpp"
#include "support/store/life.hpp"

#include <agentcore/agentcore.hpp>
#include <agentcore/memory_store.hpp>
#include <agentcore/testing/manual_clock.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

using namespace agentcore;
using agentcore::test::FakeClient;
using agentcore::test::Life;
using agentcore::test::TreeFixture;

namespace {

enum class Kind { standard, no_memory, json, foreign };

[[noreturn]] void throw_one(Kind kind) {
  if (kind == Kind::standard) throw std::runtime_error("of the host");
  if (kind == Kind::no_memory) throw std::bad_alloc();
  if (kind == Kind::json) [[maybe_unused]]
    const nlohmann::json cut = nlohmann::json::parse("{");
  throw 7;
}

Kind any_kind() {
  return GENERATE(Kind::standard, Kind::no_memory, Kind::json, Kind::foreign);
}

class ThrowingStore final : public Store {
 public:
  Result<void> commit(const StoreBatch& batch, StoreSync sync) override {
    if (commit_throws) throw_one(kind);
    return records.commit(batch, sync);
  }
  Result<void> read(const RecordKey& first, const RecordKey& last, const Visit& visit) override {
    if (read_throws) throw_one(kind);
    return records.read(first, last, visit);
  }

  MemoryStore records;
  Kind kind = Kind::standard;
  bool commit_throws = false;
  bool read_throws = false;
};

class ThrowingExecutor final : public Executor {
 public:
  explicit ThrowingExecutor(Kind kind) noexcept : kind_(kind) {}
  void submit(std::function<void()>) override { throw_one(kind_); }

 private:
  Kind kind_;
};

// A turn whose model asks for the tool "act", then answers.
struct CallsTool {
  explicit CallsTool(Tool tool, ToolPolicy policy = {}) {
    auto tools = std::make_shared<ToolRegistry>();
    tools->add(std::move(tool));
    t.llm->on_chat = [this](FakeClient&, FakeClient::Call& call) {
      ChatOutcome outcome;
      if (!std::exchange(asked, true))
        outcome.tool_calls = {{.id = "c1", .name = "act", .arguments = "{}"}};
      else
        call.sink.delta("fine");
      FakeClient::finish(call, std::move(outcome));
    };
    agent = t.root("a", {.tools = tools, .tool_policy = std::move(policy)});
    REQUIRE(agent.send("go"));
    t.settle();
  }
  std::string result() const { return agent.conversation().value().at(2).content(); }

  TreeFixture t;
  bool asked = false;
  Agent agent;
};

}  // namespace

TEST_CASE("a store whose read throws cannot be read for some time, and damages nothing",
          "[persist][host_exceptions][G16]") {
  ThrowingStore store;
  store.kind = any_kind();
  {
    Life life(store);
    REQUIRE(life.create("a").send("one"));
    life.runtime.run_until_idle();
  }
  testing::ManualClock clock;
  Life life(store, {}, {}, {.clock = &clock});
  const Agent agent = life.find("a");
  store.read_throws = true;
  const auto unread = agent.conversation();
  REQUIRE_FALSE(unread);
  CHECK(unread.error().code == Errc::store_failed);
  CHECK(unread.error().message.starts_with("Store::read() threw an exception: "));
  REQUIRE(agent.send("two"));
  REQUIRE(agent.send("three"));
  for (int i = 0; i < 6; ++i) life.runtime.poll();
  CHECK(agent.state().value() == AgentState::idle);
  CHECK(agent.queued().value().size() == 2);
  CHECK(life.dropped.empty());
  store.read_throws = false;
  clock.advance(std::chrono::seconds(1));
  for (int i = 0; i < 12; ++i) life.runtime.poll();
  CHECK(Life::texts(agent) == std::vector<std::string>{"one", "one", "two", "two", "three", "three"});
}

TEST_CASE("a restore from a store that throws fails as the store", "[persist][host_exceptions][G16]") {
  ThrowingStore store;
  store.kind = any_kind();
  const bool read = GENERATE(false, true);
  {
    Life life(store);
    life.create("a");
  }
  (read ? store.read_throws : store.commit_throws) = true;
  {
    const Life life(store);
    REQUIRE_FALSE(life.report);
    CHECK(life.report.error().code == Errc::store_failed);
    CHECK(life.report.error().message.starts_with(read ? "Store::read() threw" : "Store::commit() threw"));
  }
  store.read_throws = store.commit_throws = false;
  Life next(store);
  CHECK(next.tree->size() == 1);
}

TEST_CASE("a store whose commit throws has not stored the batch", "[persist][host_exceptions][G16]") {
  ThrowingStore store;
  store.kind = any_kind();
  std::vector<Error> failures;
  Life life(store, {.on_failure = [&](const Error& error) {
              failures.push_back(error);
              return AfterStoreFailure::retry;
            }});
  store.commit_throws = true;
  life.create("a");
  life.runtime.poll();
  REQUIRE(failures.size() == 1);
  CHECK(failures[0].code == Errc::store_failed);
  CHECK(failures[0].message.starts_with("Store::commit() threw an exception: "));
  store.commit_throws = false;
  CHECK(life.tree->flush());
}

TEST_CASE("a call whose client throws is dropped, whatever it throws", "[turn][host_exceptions][G16]") {
  TreeFixture t;
  const Kind kind = any_kind();
  t.llm->on_chat = [&](FakeClient&, FakeClient::Call& call) {
    const ChatSink lost = std::move(call.sink);
    throw_one(kind);
  };
  const Agent agent = t.root("a");
  TurnResult result;
  const auto ended = agent.on<TurnEnded>([&](const TurnEnded& event) { result = *event.result; });
  REQUIRE(agent.send("x"));
  t.settle();
  CHECK(result.outcome == TurnOutcome::failed);
  CHECK(result.error.code == Errc::client_dropped_call);
  CHECK(t.logged("LlmClient::chat"));
  CHECK(t.state("a") == AgentState::idle);
}

TEST_CASE("a tool that throws has failed", "[tools][host_exceptions][G16]") {
  const Kind kind = any_kind();
  const CallsTool run(make_tool(
      {.name = "act"}, [kind](const nlohmann::json&, const ToolContext&) -> ToolResult { throw_one(kind); }));
  CHECK(run.result().find("the tool failed: ") != std::string::npos);
  CHECK(run.t.logged("a tool"));
  CHECK(run.t.seen.count("ended") == 1);
}

TEST_CASE("a blocking tool whose executor throws has failed", "[tools][host_exceptions][G16]") {
  const auto executor = std::make_shared<ThrowingExecutor>(any_kind());
  bool ran = false;
  const CallsTool run(
      make_blocking_tool({.name = "act"}, executor, [&ran](const nlohmann::json&, const ToolContext&) {
        ran = true;
        return ToolResult::done("");
      }));
  CHECK(run.result().find("the tool failed: ") != std::string::npos);
  CHECK_FALSE(ran);
  CHECK(run.t.seen.count("ended") == 1);
}

TEST_CASE("a commit whose executor throws has failed, and is tried again",
          "[persist][host_exceptions][G16]") {
  MemoryStore store;
  const auto executor = std::make_shared<ThrowingExecutor>(any_kind());
  std::vector<Error> failures;
  Life life(store, {.executor = executor, .on_failure = [&](const Error& error) {
                      failures.push_back(error);
                      return AfterStoreFailure::retry;
                    }});
  life.create("a");
  life.runtime.poll();
  life.runtime.poll();
  REQUIRE_FALSE(failures.empty());
  CHECK(failures[0].code == Errc::store_failed);
  CHECK(failures[0].message.find("RestoreOptions::executor") != std::string::npos);
  CHECK(life.tree->flush());  // the loop thread commits
}

TEST_CASE("a policy that throws denies the call", "[tools][policy][host_exceptions][G16]") {
  const Kind kind = any_kind();
  bool ran = false;
  const CallsTool run(make_tool({.name = "act"},
                                [&ran](const nlohmann::json&, const ToolContext&) {
                                  ran = true;
                                  return ToolResult::done("");
                                }),
                      [kind](const ToolRequest&) -> ToolDecision { throw_one(kind); });
  CHECK_FALSE(ran);
  CHECK(run.result().find("the policy of the host failed") != std::string::npos);
  CHECK(run.t.logged("a ToolPolicy"));
}

TEST_CASE("a token counter that throws leaves the estimate, and the turn completes",
          "[turn][context][host_exceptions][G16]") {
  TreeFixture t;
  const Kind kind = any_kind();
  t.llm->on_chat = [&](FakeClient&, FakeClient::Call& call) {
    ChatOutcome outcome;
    call.sink.delta("fine");
    FakeClient::finish(call, std::move(outcome));
  };
  ContextOptions context;
  context.count_tokens = [kind](std::string_view) -> std::size_t { throw_one(kind); };
  const Agent agent = t.root("a", {.context = context});
  TurnResult result;
  const auto ended = agent.on<TurnEnded>([&](const TurnEnded& event) { result = *event.result; });
  REQUIRE(agent.send("x"));
  t.settle();
  CHECK(result.outcome == TurnOutcome::completed);
  CHECK(t.logged("TokenCounter"));
}

TEST_CASE("a log sink that throws is not heard, and nothing else fails", "[loop][host_exceptions][G16]") {
  const Kind kind = any_kind();
  std::size_t records = 0;
  Runtime runtime({.log = [&](const LogRecord&) {
    ++records;
    throw_one(kind);
  }});
  int ran = 0;
  runtime.post([] { throw std::runtime_error("to be logged"); });
  runtime.post([&] { ++ran; });
  runtime.run_until_idle();
  CHECK(records == 1);
  CHECK(ran == 1);
  runtime.post([] { throw std::runtime_error("to be logged"); });
  runtime.run_until_idle();
  CHECK(records == 2);  // it is called again
}

TEST_CASE("a clock cannot throw", "[loop][host_exceptions][G16]") {
  testing::ManualClock clock;
  Clock& any = clock;
  STATIC_REQUIRE(noexcept(any.now()));
  STATIC_REQUIRE(noexcept(any.wall_time()));
  STATIC_REQUIRE(noexcept(any.boot_time()));
  constexpr Duration step(1);
  STATIC_REQUIRE(noexcept(any.advance(step)));
  CHECK(any.now() == any.now());
}
