// What the model reads about background tasks that have ended: at its agent's next turn, in the history.
#include "support/drive/tool_turn.hpp"

#include <agentcore/conversation.hpp>
#include <agentcore/history.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

using namespace agentcore;
using namespace agentcore::test;
using nlohmann::json;

namespace {

struct EndedTasks : ToolTurn {
  std::vector<std::string> ids;
  Subscription watch;

  explicit EndedTasks(TreeOptions options = {}) : ToolTurn(options) {
    tools->add({{.name = "bg", .mode = ToolMode::async}, held.start()});
    watch = tree->on_event([this](const Event& event) {
      const auto* const change = event.get<TaskChanged>();
      if (change && change->state == TaskState::started) ids.push_back(change->task_id);
    });
  }
  // Begins so many tasks in one turn.
  Agent begin(std::size_t count, AgentSpec spec = {}) {
    spec.limits.background_tasks = 10;
    const Agent made = agent(std::move(spec));
    ask(made);
    call(std::vector<ToolCall>(count, ToolCall{.name = "bg"}));
    answer("begun");
    REQUIRE(ids.size() == count);
    return made;
  }
  std::string line(std::size_t task, std::string_view state, std::optional<std::string> said = {}) {
    json line{{"task_id", ids.at(task)}, {"tool", "bg"}, {"state", state}};
    if (said) line["result"] = *said;
    return line.dump() + "\n";
  }
  std::string last_question() { return llm->call(llm->calls() - 1).request.messages.back().content(); }
};

const std::string heading = "Background tasks that have ended:\n";

}  // namespace

TEST_CASE("the next turn reports ended tasks to the model in order and once", "[turn][background][G8][G11]") {
  EndedTasks t({.tool_timeout = std::chrono::seconds(30)});
  const Agent agent = t.begin(4);
  t.held.calls[1].done(ToolResult::failed("no luck"));
  t.settle();
  t.held.calls[0].done(ToolResult::done("found it", R"({"n":1})"));
  t.settle();
  CHECK(t.tree->cancel_task(t.ids[2]).took_effect());
  t.advance(std::chrono::seconds(31));
  CHECK(t.llm->calls() == 2);  // no task begins a turn
  t.ask(agent, "Well?");
  CHECK(t.last_question() == heading + t.line(1, "failed", "error: no luck") +
                                 t.line(0, "completed", "found it\n{\"n\":1}") + t.line(2, "cancelled") +
                                 t.line(3, "failed", "error: timed out after 30 s; its effect is unknown") +
                                 "\nWell?");
  const std::vector<ChatMessage> history = agent.conversation().value();
  CHECK(is_valid_history(history));
  CHECK(history.back().content() == t.last_question());
  const auto restored = history_from_json(history_to_json(history));
  REQUIRE(restored);
  CHECK(restored->back().content() == t.last_question());
  t.answer("good");
  t.ask(agent, "Anything else?");
  CHECK(t.last_question() == "Anything else?");
}

TEST_CASE("results of ended tasks have at most a quarter of a request", "[turn][background][context][G15]") {
  EndedTasks t;
  ContextOptions options{.max_tokens = 2000, .target_tokens = 1000};
  options.count_tokens = [](std::string_view text) { return text.size(); };
  const Agent agent = t.begin(1, {.context = std::move(options)});
  t.held.calls[0].done(ToolResult::done("found " + std::string(1500, 'x') + " it"));
  t.settle();
  t.ask(agent, "Well?");
  const std::string sent = t.last_question();
  CHECK(sent.size() < 500 + heading.size() + 10);
  CHECK(sent.starts_with(heading + R"({"result":"found x)"));
  CHECK(sent.ends_with("\n\nWell?"));
  CHECK(sent.find("bytes left out of the middle") != std::string::npos);
  CHECK(agent.conversation().value().back().content().find(std::string(1500, 'x')) != std::string::npos);
}

TEST_CASE("a task that ends within a turn is reported in the next one", "[turn][background][G8]") {
  EndedTasks t;
  const Agent agent = t.begin(1);
  t.ask(agent, "two");
  t.held.calls[0].done(ToolResult::done("found it"));
  t.settle();
  CHECK(t.last_question() == "two");
  t.answer("answer");
  t.ask(agent, "three");
  CHECK(t.last_question() == heading + t.line(0, "completed", "found it") + "\nthree");
}

TEST_CASE("tasks that a stop cancelled are not reported to the model", "[turn][background][G11][X17]") {
  for (const bool late : {false, true}) {
    EndedTasks t;
    const Agent agent = t.begin(2);
    t.held.calls[0].done(ToolResult::done("found it"));
    t.settle();
    CHECK(agent.stop().took_effect());
    if (!late) t.settle();
    t.held.calls[1].done(ToolResult::done("too late"));
    t.settle();
    REQUIRE(t.state("a") == AgentState::stopped);
    CHECK(agent.resume().took_effect());
    t.ask(agent, "Well?");
    CHECK(t.last_question() == heading + t.line(0, "completed", "found it") + "\nWell?");
    CHECK(t.history().find("running") == std::string::npos);
    CHECK(t.history().find("stopped") == std::string::npos);
    CHECK(t.history().find("cancel") == std::string::npos);
    CHECK(is_valid_history(agent.conversation().value()));
  }
}

TEST_CASE("the model reads why a task was cancelled", "[turn][background][cancel_call][G8]") {
  EndedTasks t({.max_tool_result_bytes = 100});
  const Agent agent = t.begin(2);
  CHECK(t.tree->cancel_task(t.ids[0], {.reason = "not \"needed\""}).took_effect());
  t.settle();
  CHECK(t.tree->cancel_task(t.ids[1], {.reason = std::string(1000, 'r')}).took_effect());
  t.settle();
  CHECK(t.logged("a background task was cancelled agent=a tool=bg task=" + t.ids[0] +
                 " reason=not \"needed\""));
  t.ask(agent, "Well?");
  const json first{
      {"reason", "not \"needed\""}, {"state", "cancelled"}, {"task_id", t.ids[0]}, {"tool", "bg"}};
  CHECK(t.last_question().starts_with(heading + first.dump() +
                                      "\n{\"reason\":\"\\n[1000 bytes more were dropped]"));
}

TEST_CASE("the results of tasks in the history are bounded", "[turn][background][G15]") {
  EndedTasks t({.max_tool_result_bytes = 400});
  const Agent agent = t.begin(10);
  for (HeldTool::Call& call : t.held.calls) call.done(ToolResult::done(std::string(300, 'x')));
  t.settle();
  t.ask(agent, "Well?");
  const std::string told = t.last_question();
  for (const std::string& id : t.ids) CHECK(told.find(id) != std::string::npos);
  CHECK(std::count(told.begin(), told.end(), 'x') <= 400);
  CHECK(told.find("300 bytes more were dropped") != std::string::npos);
}

TEST_CASE("the results of tasks are kept when the context is trimmed", "[turn][background][G8]") {
  EndedTasks t;
  AgentSpec spec;
  spec.context.max_tokens = 400;
  spec.context.target_tokens = 100;
  spec.context.min_conversation_tokens = 0;
  const Agent agent = t.begin(1, spec);
  for (int i = 0; i < 5; ++i) {
    t.ask(agent, std::string(300, 'q'));
    t.answer(std::string(300, 'a'));
  }
  t.held.calls[0].done(ToolResult::done("found it"));
  t.settle();
  t.ask(agent, "Well?");
  CHECK(t.last_question() == heading + t.line(0, "completed", "found it") + "\nWell?");
  CHECK(agent.context().value().size() < agent.conversation().value().size());
  CHECK(is_valid_history(agent.context().value()));
}

TEST_CASE("a simulated turn neither reports tasks nor starts reported tasks", "[turn][background][G8]") {
  EndedTasks t;
  const Agent agent = t.begin(1);
  t.held.calls[0].done(ToolResult::done("found it"));
  t.settle();
  CHECK(agent.simulate(R"(<tool_call>{"calls":[{"window_id":"tools","action_id":"bg"}]}</tool_call>)")
            .accepted());
  t.settle();
  REQUIRE(t.held.calls.size() == 2);
  t.held.calls[1].done(ToolResult::done("simulated"));
  t.settle();
  t.ask(agent, "Well?");
  CHECK(t.last_question() == heading + t.line(0, "completed", "found it") + "\nWell?");
}

TEST_CASE("an empty question still reports ended tasks", "[turn][background][G8]") {
  EndedTasks t;
  const Agent agent = t.begin(1);
  t.held.calls[0].done(ToolResult::done("found it"));
  t.settle();
  Message picture;
  picture.parts.push_back({.url = "https://example.com/a.png"});
  CHECK(agent.send(std::move(picture)).accepted());
  t.settle();
  CHECK(t.last_question() == heading + t.line(0, "completed", "found it"));
}

TEST_CASE("the text protocol also reports ended tasks", "[turn][background][G8]") {
  EndedTasks t;
  const Agent agent = t.agent({.tool_protocol = ToolProtocol::text, .limits = {.background_tasks = 1}});
  t.ask(agent);
  t.llm->answer("a", R"(<tool_call>{"calls":[{"window_id":"tools","action_id":"bg"}]}</tool_call>)");
  t.settle();
  t.answer("begun");
  t.held.calls.at(0).done(ToolResult::done("found it"));
  t.settle();
  t.ask(agent, "Well?");
  CHECK(t.last_question() == heading + t.line(0, "completed", "found it") + "\nWell?");
  CHECK(is_valid_history(agent.conversation().value()));
}

TEST_CASE("a rewind returns the question of the person, and the ends of tasks go into the next question",
          "[turn][background][rewind][G8]") {
  EndedTasks t;
  const Agent agent = t.begin(2);
  t.held.calls[0].done(ToolResult::done("one"));
  t.settle();
  t.ask(agent, "second");
  CHECK(t.last_question() == heading + t.line(0, "completed", "one") + "\nsecond");
  t.held.calls[1].done(ToolResult::done("two"));
  t.settle();
  SECTION("rewind") {
    const auto removed = agent.rewind(2);
    REQUIRE(removed);
    CHECK(removed->front().content() == "second");
    t.ask(agent, "edited");
    CHECK(t.last_question() ==
          heading + t.line(0, "completed", "one") + t.line(1, "completed", "two") + "\nedited");
  }
  SECTION("regenerate") {
    CHECK(agent.regenerate());
    t.settle();
    CHECK(t.last_question() ==
          heading + t.line(0, "completed", "one") + t.line(1, "completed", "two") + "\nsecond");
  }
}
