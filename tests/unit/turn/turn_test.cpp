// A turn: one message to one result.
#include "support/drive/tree_fixture.hpp"
#include "support/drive/unhurried.hpp"
#include "turn/conversation.hpp"

#include <agentcore/testing/scripted_client.hpp>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>
#include <signal.h>

using namespace agentcore;
using namespace agentcore::test;

TEST_CASE("a message leads to a call and deltas and an answer and the agent is idle again",
          "[turn][B3][B5][B6][G8]") {
  TreeFixture t;
  const Agent agent = t.root(
      "a", {.system_prompt = "You plan.", .model = {.name = "m", .temperature = 0.5, .max_tokens = 9}});
  t.ask(agent, "hello");
  const ChatRequest& request = t.llm->call(0).request;
  CHECK(request.agent_id == "a");
  CHECK(request.model == "m");
  CHECK(request.temperature == 0.5);
  CHECK(request.max_tokens == 9U);
  CHECK(written(request.messages) == "system:You plan., user:hello");
  t.llm->delta("a", "good ");
  t.llm->answer("a", "day");
  t.settle();
  CHECK(t.seen.lines == std::vector<std::string>{"created a", "started a 1", "a idle>waiting_llm",
                                                 "delta a 1 good ", "delta a 1 day",
                                                 "a waiting_llm>processing", "ended a 1 completed",
                                                 "a processing>idle"});
  CHECK(written(agent.conversation().value()) == "system:You plan., user:hello, assistant:good day");
}

TEST_CASE("the end of a turn reports text and finish reason and usage and the history", "[turn][G8]") {
  TreeFixture t;
  const Agent agent = t.root("a");
  int ends = 0;
  const auto hook = t.tree->on_event([&](const Event& event) {
    const auto* ended = event.get<TurnEnded>();
    if (!ended) return;
    ++ends;
    CHECK(ended->result->text == "hi");
    CHECK(ended->result->finish_reason == FinishReason::length);
    CHECK(ended->result->usage.total_tokens == 12);
    CHECK(written(agent.conversation().value()) == "user:question, assistant:hi");
    CHECK(agent.state().value() == AgentState::idle);  // its StateChanged follows
  });
  t.ask(agent);
  t.llm->delta("a", "hi");
  FakeClient::finish(*t.llm->find("a"), ChatOutcome::completed(FinishReason::length, {5, 7, 12}));
  CHECK(ends == 1);
}

TEST_CASE("a failed call fails its turn and the agent goes on", "[turn][B12][A8]") {
  TreeFixture t;
  const Agent agent = t.root("a");
  Error error;
  const auto hook = t.tree->on_event([&](const Event& event) {
    if (const auto* ended = event.get<TurnEnded>(); ended && ended->turn == 1) error = ended->result->error;
  });
  t.ask(agent, "one");
  t.llm->delta("a", "partial");
  CHECK(agent.send("two").accepted());
  t.llm->fail("a", Errc::http_error);
  t.settle();
  CHECK(error.code == Errc::http_error);
  CHECK(t.seen.count("ended a 1 failed") == 1);
  CHECK(t.seen.index("a waiting_llm>idle") > 0);
  t.llm->answer("a", "ok");
  CHECK(written(agent.conversation().value()) == "user:one!failed, user:two, assistant:ok");
}

TEST_CASE("a call that its client cancels by itself is an aborted turn", "[turn][A8]") {
  TreeFixture t;
  const Agent agent = t.root("a");
  t.ask(agent);
  FakeClient::finish(*t.llm->find("a"), ChatOutcome::cancelled());
  t.settle();
  CHECK(t.seen.count("ended a 1 aborted") == 1);
  CHECK(t.state("a") == AgentState::idle);
}

TEST_CASE("a turn starts no thread and handles no signal", "[turn][Q1][G16]") {
  const auto threads = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
  };
  const auto handlers = [] {
    std::vector<void (*)(int)> all;
    for (int number = 1; number < NSIG; ++number) {
      struct sigaction action {};
      ::sigaction(number, nullptr, &action);
      all.push_back(action.sa_handler);
    }
    return all;
  };
  const auto threads_before = threads();
  const auto handlers_before = handlers();
  TreeFixture t;
  const Agent agent = t.root("a");
  t.ask(agent);
  CHECK(threads() == threads_before);
  t.llm->answer("a", "done");
  t.settle();
  CHECK(t.seen.count("ended a 1 completed") == 1);
  CHECK(threads() == threads_before);
  CHECK(handlers() == handlers_before);
}

TEST_CASE("a client may answer from within chat", "[turn]") {
  TreeFixture t;
  t.llm->on_chat = [](FakeClient&, FakeClient::Call& call) {
    call.sink.delta("at once");
    FakeClient::finish(call, ChatOutcome::completed(FinishReason::complete));
  };
  const Agent agent = t.root("a");
  for (int i = 0; i < 3; ++i) CHECK(agent.send("x").accepted());
  t.settle();
  CHECK(t.seen.count("ended") == 3);
  CHECK(agent.conversation().value().size() == 6);
  CHECK(t.state("a") == AgentState::idle);
}

TEST_CASE("a client that fails or throws or drops its sink fails the turn", "[turn][G16]") {
  TreeFixture t;
  int way = 0;
  t.llm->on_chat = [&](FakeClient&, FakeClient::Call& call) {
    if (way == 0) FakeClient::finish(call, ChatOutcome::failed({Errc::network_error, ""}));
    if (way == 1) ChatSink().operator=(std::move(call.sink));
    if (way == 2) {
      const ChatSink lost = std::move(call.sink);
      throw std::runtime_error("no network today");
    }
  };
  std::vector<Errc> codes;
  const auto hook = t.tree->on_event([&](const Event& event) {
    if (const auto* ended = event.get<TurnEnded>()) codes.push_back(ended->result->error.code);
  });
  const Agent agent = t.root("a");
  for (; way < 3; ++way) {
    CHECK(agent.send("x").accepted());
    t.settle();
    CHECK(t.state("a") == AgentState::idle);
  }
  CHECK(codes ==
        std::vector<Errc>{Errc::network_error, Errc::client_dropped_call, Errc::client_dropped_call});
  CHECK(t.logged("no network today"));
}

TEST_CASE("an agent without a model fails its turn with the reason", "[turn]") {
  TestClock clock;
  Runtime runtime({.clock = &clock});
  AgentTree tree(runtime);
  Errc code = Errc::none;
  const auto hook = tree.on_event([&](const Event& event) {
    if (const auto* ended = event.get<TurnEnded>()) code = ended->result->error.code;
  });
  const Agent agent = tree.create().value();
  CHECK(agent.send("x").accepted());
  while (runtime.poll()) {
  }
  CHECK(code == Errc::no_llm_client);
  CHECK(agent.state().value() == AgentState::idle);
}

TEST_CASE("an answer that is too long fails the turn and cuts the call", "[turn][G15]") {
  TreeOptions options;
  options.max_answer_bytes = 4;
  TreeFixture t(options);
  const Agent agent = t.root("a");
  t.ask(agent);
  t.llm->delta("a", "1234");
  CHECK(t.state("a") == AgentState::waiting_llm);
  t.llm->delta("a", "5");
  CHECK(t.llm->call(0).stop.stop_requested());
  t.settle();
  CHECK(t.seen.count("ended a 1 failed") == 1);
  CHECK(t.seen.count("delta") == 1);
  CHECK(t.seen.count("discarded") == 0);
  CHECK(t.state("a") == AgentState::idle);
}

TEST_CASE("a handler receives its messages and an exception fails only its turn", "[turn][B4][G16]") {
  TreeFixture t;
  const Agent agent = t.root("a", {.handler = [&](const Agent& self, const Message& message) {
                               CHECK(self.state().value() == AgentState::processing);
                               if (message.text == "throw") throw std::runtime_error("in the handler");
                             }});
  CHECK(agent.send("throw").accepted());
  CHECK(agent.send("fine").accepted());
  t.settle();
  CHECK(joined(t.seen.with("ended")) == "ended a 1 failed ended a 2 completed");
  CHECK(t.logged("in the handler"));
  CHECK(t.state("a") == AgentState::idle);
}

TEST_CASE("an outcome from inside the stop callback ends the turn in order", "[turn][G4][G7]") {
  TreeFixture t;
  t.llm->on_stop = OnStop::at_once;
  const Agent parent = t.root("parent");
  const Agent child = t.child(parent, "child");
  t.ask(parent);
  t.ask(child);
  CHECK(parent.stop().took_effect());
  CHECK(t.llm->open_calls().empty());
  t.settle();
  CHECK(t.seen.index("ended child 1 stopped") < t.seen.index("settled child stopped"));
  CHECK(t.seen.index("settled child stopped") < t.seen.index("settled parent stopped"));
  CHECK(t.seen.count("discarded") == 0);
}

TEST_CASE("late text is counted and reported with the end of its call", "[turn][G7][A19]") {
  TreeFixture t;
  t.llm->on_stop = OnStop::deaf;
  const Agent agent = t.root("a");
  t.ask(agent);
  CHECK(agent.stop().took_effect());
  std::size_t deltas = 0;
  const auto hook = t.tree->on_event([&](const Event& event) {
    if (const auto* discarded = event.get<Discarded>()) deltas = discarded->deltas;
  });
  t.llm->delta("a", "1");
  t.settle();
  t.llm->delta("a", "2");
  FakeClient::finish(*t.llm->find("a"), ChatOutcome::cancelled());
  t.settle();
  CHECK(deltas == 2);
  CHECK(t.seen.count("discarded a 1 text") == 1);
  CHECK(t.seen.count("delta") == 0);
  CHECK(t.state("a") == AgentState::stopped);
}

TEST_CASE("the Runtime is not idle while a model call is open", "[turn][Q2]") {
  TreeFixture t;
  const Agent agent = t.root("a");
  t.ask(agent);
  CHECK(t.tree->busy());
  CHECK_FALSE(t.runtime->run_until_idle(Duration(0)));
  t.llm->answer("a", "x");
  CHECK(t.runtime->run_until_idle());
  CHECK_FALSE(t.tree->busy());
}

TEST_CASE("the Runtime is not idle while a tool runs on another thread", "[turn][tools][Q2]") {
  Runtime runtime{test::unhurried()};
  testing::ScriptedClient llm(runtime);
  llm.enqueue({.tool_calls = {{.name = "wait"}}});
  AgentTree tree(runtime, {.llm = &llm, .tool_timeout = no_limit});
  std::atomic<bool> heard{false};
  const auto events = tree.on_event([&](const Event& event) {
    if (event.get<ToolProgress>()) heard = true;
  });
  const auto pool = std::make_shared<ThreadPool>(1);
  const auto tools = std::make_shared<ToolRegistry>();
  tools->add(
      make_blocking_tool({.name = "wait"}, pool, [&](const nlohmann::json&, const ToolContext& context) {
        context.progress("here");
        while (!heard) std::this_thread::yield();
        return ToolResult::done("over");
      }));
  const Agent agent = tree.create({.tools = tools}).value();
  CHECK(agent.send("go"));
  CHECK(runtime.run_until_idle());
  CHECK(agent.conversation().value().size() == 4);
}

TEST_CASE("a conversation keeps the question and drops the partial answer", "[turn][X22][A18][A19]") {
  detail::turn::Conversation conversation;
  conversation.ask("one", {}, 1, {});
  conversation.interrupt(Interruption::stopped);
  conversation.ask("two", {}, 2, {});
  conversation.answer({TextItem{"2"}});
  conversation.interrupt(Interruption::failed);  // answered already: nothing to mark
  CHECK(written(conversation.rendered("sys")) == "system:sys, user:one!stopped, user:two, assistant:2");
  CHECK(written(conversation.rendered("")) == "user:one!stopped, user:two, assistant:2");
  CHECK(is_valid_history(conversation.rendered("sys")));
}
