// Stops of turns with tools, as the stand-in server and the system see them.
#include "integration/llm/turn_fixture.hpp"
#include "support/catch.hpp"
#include "support/drive/process_fixture.hpp"

#include <agentcore/testing/references.hpp>

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

using namespace agentcore;
using namespace agentcore::test;

namespace {

using nlohmann::json;

// Says its pid, holds the named pipe open for as long as it lives.
const std::string sleeper = "exec 3>\"$F\"; echo $$ >&3; exec sleep 1000";

constexpr const char* sum = "/call add {\"a\":1,\"b\":2}";

// Every call in the request has a result.
bool is_complete(const json& messages) {
  std::size_t calls = 0, results = 0;
  for (const json& message : messages) {
    if (message.contains("tool_calls")) calls += message["tool_calls"].size();
    results += message["role"] == "tool";
  }
  return calls == results;
}

}  // namespace

TEST_CASE("a stop in the model call after the tools closes its connection", "[openai][turn][tools][G5][G6]") {
  const bool from_thread = GENERATE(false, true);
  TurnFixture f(0);
  const Agent agent = f.ask(sum);
  REQUIRE(f.drive_until([&] { return f.seen.count("delta a 1") > 3; }));
  REQUIRE(f.requests() == 2);
  const std::int64_t before = standin::now_ns();
  if (from_thread)
    std::jthread([&] { CHECK(agent.stop().took_effect()); }).join();
  else
    CHECK(agent.stop().took_effect());
  // The loop does not run: the stopping thread itself cut the wire.
  REQUIRE(f.server_saw(one_client_gone));
  const standin::Record second = f.server->records().at(1);
  CHECK(second.end_ns >= before);
  CHECK(second.last_token_ns <= second.end_ns);
  REQUIRE(f.drive_to_end());
  CHECK(agent.state().value() == AgentState::stopped);
  CHECK(f.end.result->outcome == TurnOutcome::stopped);
  REQUIRE(f.end.result->calls.size() == 1);
  CHECK(f.end.result->calls[0].outcome == ToolOutcome::completed);
  CHECK(to_json(*f.end.result).find(R"("type":"terminated")") != std::string::npos);
  CHECK(is_valid_history(agent.conversation().value()));
  CHECK(f.requests() == 2);
  CHECK(f.server->stats().tokens_after_client == 0);
  CHECK(open_transfers(f.runtime) == 0);
}

TEST_CASE("a stop during the tool calls of an answer runs none of them", "[openai][turn][tools][G6][G9]") {
  TurnFixture f(5, {"x-standin-fault: hang-mid-stream"});
  const Agent agent = f.ask(sum);
  REQUIRE(f.drive_until([&] { return f.server->stats().tokens >= 2; }));
  CHECK(agent.stop().took_effect());
  REQUIRE(f.server_saw(one_client_gone));
  REQUIRE(f.drive_to_end());
  CHECK(f.seen.count("tool a") == 0);
  CHECK(f.requests() == 1);
  CHECK(is_valid_history(agent.conversation().value()));
}

TEST_CASE("a stop while a program runs ends it and no further request follows",
          "[openai][turn][tools][G5][G6][G9][G13][I12][I16][I18][I20]") {
  Fifo fifo;
  TurnFixture f;
  f.tools->add(make_subprocess_tool(program_spec(), running(script(sleeper, &fifo))));
  const Agent agent = f.ask("/call program\n/call add {\"a\":1,\"b\":2}");
  REQUIRE(f.drive_until([&] { return f.seen.count("tool a") == 1; }));
  const pid_t pid = fifo.pid();
  std::jthread([&] { CHECK(agent.stop().took_effect()); }).join();
  fifo.wait_closed();  // it is dead, and the loop has not run
  REQUIRE(f.drive_to_end());
  CHECK_FALSE(exists(pid));
  CHECK(no_children());
  CHECK(agent.state().value() == AgentState::stopped);
  REQUIRE(f.end.result->calls.size() == 2);
  CHECK(f.end.result->calls[0].outcome == ToolOutcome::interrupted);
  CHECK(f.end.result->calls[1].outcome == ToolOutcome::not_started);
  CHECK(f.seen.count("abandoned") == 0);
  CHECK(f.requests() == 1);
  CHECK(f.tree.tasks().empty());
}

TEST_CASE("an interrupt while a program runs ends it, and the agent works on",
          "[openai][turn][tools][X34][G5][G9]") {
  Fifo fifo;
  TurnFixture f;
  f.tools->add(make_subprocess_tool(program_spec(), running(script(sleeper, &fifo))));
  const Agent agent = f.ask("/call program\n/call add {\"a\":1,\"b\":2}");
  REQUIRE(f.drive_until([&] { return f.seen.count("tool a") == 1; }));
  const pid_t pid = fifo.pid();
  std::jthread([&] { CHECK(agent.interrupt().took_effect()); }).join();
  CHECK(agent.state().value() == AgentState::idle);
  fifo.wait_closed();  // it is dead, and the loop has not run
  REQUIRE(f.drive_to_end());
  CHECK_FALSE(exists(pid));
  CHECK(no_children());
  CHECK(f.end.result->outcome == TurnOutcome::interrupted);
  REQUIRE(f.end.result->calls.size() == 2);
  CHECK(f.end.result->calls[0].outcome == ToolOutcome::interrupted);
  CHECK(f.end.result->calls[1].outcome == ToolOutcome::not_started);
  CHECK(f.seen.count("abandoned") == 0);
  REQUIRE(agent.send("And now?").accepted());
  REQUIRE(f.drive_to_end());
  CHECK(f.end.result->outcome == TurnOutcome::completed);
  REQUIRE(f.requests() == 2);
  CHECK(is_complete(f.request(2)["messages"]));
}

TEST_CASE("a program that ignores SIGTERM is killed after an interrupt while the agent works on",
          "[openai][turn][tools][X34]") {
  Fifo fifo;
  TurnFixture f;
  SubprocessOptions options = running(script("trap '' TERM; " + sleeper, &fifo));
  options.kill_grace = std::chrono::milliseconds(50);
  f.tools->add(make_subprocess_tool(program_spec(), std::move(options)));
  const Agent agent = f.ask("/call program");
  REQUIRE(f.drive_until([&] { return f.seen.count("tool a") == 1; }));
  const pid_t pid = fifo.pid();
  CHECK(agent.interrupt().took_effect());
  REQUIRE(agent.send("And now?").accepted());
  REQUIRE(f.drive_until([&] { return f.seen.count("ended a 2 completed") == 1; }));
  REQUIRE(f.drive_until([&] { return !exists(pid); }));
  fifo.wait_closed();
  REQUIRE(f.drive_to_end());
  CHECK(no_children());
}

TEST_CASE("one stop ends all parallel programs", "[openai][turn][tools][G5][G13]") {
  Fifo fifo;
  TurnFixture f;
  f.tools->add(make_subprocess_tool(program_spec(), running(script(sleeper, &fifo))));
  const Agent agent = f.ask("/call program\n/call program\n/call program", {.limits = {.parallel_tools = 3}});
  REQUIRE(f.drive_until([&] { return f.seen.count("tool a") == 3; }));
  for (int i = 0; i < 3; ++i) CHECK(fifo.pid() > 0);
  CHECK(agent.terminate().took_effect());
  fifo.wait_closed();
  REQUIRE(f.drive_to_end());
  CHECK(no_children());
  CHECK(testing::count_references(f.tree, "a") == 0);
  CHECK(f.requests() == 1);
}

TEST_CASE("a stopped agent continues with a history that the server accepts",
          "[openai][turn][tools][G8][X22]") {
  Fifo fifo;
  TurnFixture f;
  f.tools->add(make_subprocess_tool(program_spec(), running(script(sleeper, &fifo))));
  const Agent agent = f.ask("/call add {\"a\":1,\"b\":2}\n/call program\n/call program");
  REQUIRE(f.drive_until([&] { return f.seen.count("tool a") == 2; }));
  CHECK(fifo.pid() > 0);
  CHECK(agent.stop().took_effect());
  REQUIRE(f.drive_to_end());
  CHECK(agent.resume().took_effect());
  REQUIRE(agent.send("And now?").accepted());
  REQUIRE(f.drive_to_end());
  CHECK(f.end.result->outcome == TurnOutcome::completed);
  REQUIRE(f.requests() == 2);
  const json messages = f.request(2)["messages"];
  REQUIRE(messages.size() == 6);
  CHECK(is_complete(messages));
  CHECK(messages[2]["content"] == "3");
  CHECK(messages[5]["content"] == "And now?");
}

TEST_CASE("a stop reaches a tool that blocks on a thread of a pool", "[openai][turn][tools][G5][G6][G9]") {
  const auto pool = std::make_shared<ThreadPool>(1);
  TurnFixture f;
  std::mutex mutex;
  std::condition_variable_any changed;
  bool begun = false, heard_stop = false;
  f.tools->add(make_blocking_tool({.name = "block"}, pool, [&](const json&, const ToolContext& context) {
    std::unique_lock lock(mutex);
    begun = true;
    changed.notify_all();
    changed.wait(lock, context.stop(), [] { return false; });
    heard_stop = context.stop().stop_requested();
    changed.notify_all();
    return ToolResult::failed("told to end");
  }));
  // Two of them, one thread: the second waits in the pool's queue.
  const Agent agent = f.ask("/call block\n/call block", {.limits = {.parallel_tools = 2}});
  REQUIRE(f.drive_until([&] { return f.seen.count("tool a") == 2; }));
  {
    std::unique_lock lock(mutex);
    REQUIRE(changed.wait_for(lock, 30s, [&] { return begun; }));
  }
  CHECK(agent.stop().took_effect());
  {
    std::unique_lock lock(mutex);  // it is free before the loop runs again
    REQUIRE(changed.wait_for(lock, 30s, [&] { return heard_stop; }));
  }
  REQUIRE(f.drive_to_end());
  CHECK(agent.state().value() == AgentState::stopped);
  CHECK(f.end.result->calls.at(0).outcome == ToolOutcome::interrupted);
  CHECK(f.seen.count("abandoned") == 0);
  CHECK(f.requests() == 1);
}

TEST_CASE("a turn with a program can be stopped at each of its events and leaves nothing",
          "[openai][turn][tools][G5][G6][G7][G8][G13]") {
  const bool from_thread = GENERATE(false, true);
  TurnFixture f(3, {"x-standin-rate: 1000"});
  f.tools->add(make_subprocess_tool(program_spec(), running(script("echo hello"))));
  int left = 0;  // events until the stop
  const auto count = [&](const Agent& agent) {
    if (--left != 0) return;
    if (from_thread)
      std::jthread([&] { static_cast<void>(agent.stop()); }).join();
    else
      static_cast<void>(agent.stop());
  };
  const Subscription events = f.tree.on_event([&](const Event& event) { count(event.agent()); });
  const Subscription states =
      f.tree.on<StateChanged>([&](const StateChanged& change) { count(change.agent); });
  for (int at = 2; left <= 0; ++at) {  // the first event is AgentCreated
    INFO("stopped at event " << at);
    left = at;
    f.seen.clear();
    const Agent agent = f.ask("/call program\n/call add {\"a\":1,\"b\":2}\n/then\n/call program");
    REQUIRE(f.drive_to_end());
    REQUIRE(f.seen.count("ended a 1") == 1);
    REQUIRE(f.server_saw([](const standin::Stats& stats) { return stats.open == 0; }));
    REQUIRE(no_children());
    REQUIRE(is_valid_history(agent.conversation().value()));
    REQUIRE(open_transfers(f.runtime) == 0);
    REQUIRE(f.tree.tasks().empty());
    if (left <= 0) CHECK(agent.state().value() == AgentState::stopped);
    CHECK(agent.terminate().took_effect());
    REQUIRE(f.drive_until([&] { return f.tree.size() == 0; }));
  }
  CHECK(f.end.result->outcome == TurnOutcome::completed);  // there was no event left to stop it at
  CHECK(f.server->stats().tokens_after_client == 0);
  for (const standin::Record& record : f.server->records())
    REQUIRE(is_complete(json::parse(record.request)["messages"]));
}
