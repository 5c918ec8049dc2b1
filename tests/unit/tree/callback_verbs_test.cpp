// Verbs that are called from within each kind of callback.
#include "support/clients/fake_client.hpp"
#include "support/drive/test_clock.hpp"
#include "support/drive/tree_fixture.hpp"
#include "support/observe/event_audit.hpp"

#include <agentcore/history.hpp>
#include <agentcore/tool_registry.hpp>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

using namespace agentcore;
using namespace agentcore::test;

namespace {

// Where the host's code runs in the turn of Story.
const std::vector<std::string> in_turn = {"turn started",
                                          "state waiting_llm",
                                          "client",
                                          "delta",
                                          "own delta",
                                          "own event",
                                          "chunk taken",
                                          "state processing",
                                          "tool started",
                                          "tool",
                                          "tool progress",
                                          "tool ended",
                                          "tool refused",
                                          "question asked",
                                          "answer",
                                          "question closed",
                                          "approval asked",
                                          "task started",
                                          "task",
                                          "model call ended",
                                          "log"};
const std::vector<std::string> after_turn = {"turn ended", "on_end", "state idle"};

std::vector<std::string> everywhere() {
  std::vector<std::string> all = in_turn;
  all.insert(all.end(), after_turn.begin(), after_turn.end());
  return all;
}

// One turn with all kinds of callbacks: two tools, a question, an approval, a background task, and an answer
// that is refused. `verb` is called once, in the callback named `place`.
class Story {
 public:
  Story(std::string place, std::function<void(const Agent&)> verb)
      : place_(std::move(place)), verb_(std::move(verb)) {
    add_tools();
    client_.on_chat = [this](FakeClient&, FakeClient::Call& call) { chat(call); };
    AgentSpec spec{.id = "a", .tools = tools_, .limits = {.parallel_tools = 4, .background_tasks = 1}};
    spec.model.response_format = {.kind = ResponseFormat::Kind::json_object, .validate = true};
    agent = tree->create(std::move(spec)).value();
  }

  // Sends a message, and drives the turn as far as it goes.
  void run() {
    SendOptions options;
    options.on_delta = [this](std::string_view) { at("own delta"); };
    options.on_event = [this](const Event&) { at("own event"); };
    options.on_end = [this](const MessageEnd& end) {
      ends.push_back(end);
      at("on_end");
    };
    CHECK(agent.send("question", std::move(options)).accepted());
    settle();
  }
  void settle() {
    for (int i = 0; i < 20; ++i) {
      while (runtime_.poll()) {
      }
      for (const OpenQuestion& question : tree->questions())
        static_cast<void>(question.kind == QuestionKind::approval ? tree->approve(question.id)
                                                                  : tree->answer(question.id, "yes"));
    }
  }
  bool acted() const noexcept { return acted_; }
  std::size_t model_calls() const noexcept { return client_.calls(); }

  // Counts what begins: turns, model calls, tool calls, approvals and tasks.
  int begun = 0;
  std::vector<MessageEnd> ends;
  Agent agent;

 private:
  void at(std::string_view place) {
    if (place == place_ && !std::exchange(acted_, true)) verb_(agent);
  }

  void add_tools() {
    tools_->add({{.name = "tool"}, [this](const nlohmann::json&, const ToolContext& context, ToolDone done) {
                   context.progress("half");
                   at("tool");
                   done(ToolResult::done("x"));
                 }});
    tools_->add({{.name = "ask"}, [this](const nlohmann::json&, const ToolContext& context, ToolDone done) {
                   context.ask({.text = "Which?"}, [this, done](const Answer&) {
                     at("answer");
                     done(ToolResult::done("y"));
                   });
                 }});
    tools_->add({{.name = "risky", .needs_approval = true},
                 [](const nlohmann::json&, const ToolContext&, const ToolDone& done) {
                   done(ToolResult::done("z"));
                 }});
    tools_->add({{.name = "later", .mode = ToolMode::async},
                 [this](const nlohmann::json&, const ToolContext&, const ToolDone& done) {
                   at("task");
                   done(ToolResult::done("later"));
                 }});
  }

  void chat(FakeClient::Call& call) {
    ++begun;
    at("client");
    ++answers_;
    call.sink.delta(answers_ == 2 ? "words" : "{}");
    at("chunk taken");
    ChatOutcome outcome = ChatOutcome::completed(FinishReason::complete);
    if (answers_ == 1)
      for (const char* const tool : {"tool", "ask", "risky", "later", "unknown"})
        outcome.tool_calls.push_back({{}, tool, "{}", {}});
    FakeClient::finish(call, std::move(outcome));
  }

  void see(const Event& event) {
    if (event.get<TurnStarted>()) return begins("turn started");
    if (const auto* state = event.get<StateChanged>()) at("state " + std::string(to_string(state->to)));
    if (event.get<DeltaReceived>()) at("delta");
    if (event.get<ToolStarted>()) return begins("tool started");
    if (event.get<ToolProgress>()) at("tool progress");
    if (event.get<ToolEnded>()) at("tool ended");
    if (event.get<ToolRefused>()) at("tool refused");
    if (const auto* asked = event.get<QuestionAsked>()) {
      if (asked->question.kind == QuestionKind::approval) return begins("approval asked");
      at("question asked");
    }
    if (event.get<QuestionClosed>()) at("question closed");
    if (const auto* task = event.get<TaskChanged>(); task && task->state == TaskState::started)
      return begins("task started");
    if (event.get<ModelCallEnded>()) at("model call ended");
    if (event.get<TurnEnded>()) at("turn ended");
  }
  void begins(std::string_view place) {
    ++begun;
    at(place);
  }

  std::string place_;
  std::function<void(const Agent&)> verb_;
  bool acted_ = false;
  int answers_ = 0;
  TestClock clock_;
  Runtime runtime_{{.clock = &clock_, .seed = 1, .log = [this](const LogRecord& record) {
                      if (record.message == "the model is asked again") at("log");
                    }}};
  FakeClient client_{runtime_};
  std::shared_ptr<ToolRegistry> tools_ = std::make_shared<ToolRegistry>();

 public:
  std::unique_ptr<AgentTree> tree = std::make_unique<AgentTree>(runtime_, TreeOptions{.llm = &client_});
  Audit audit{*tree};

 private:
  Subscription events_ = tree->on_event([this](const Event& event) { see(event); });
};

TurnOutcome outcome_of(const MessageEnd& end) {
  return end.result ? end.result->outcome : TurnOutcome::failed;
}

}  // namespace

TEST_CASE("an interrupt from every callback ends the turn or comes too late", "[tree][interrupt][G1][X34]") {
  for (const std::string& place : everywhere()) {
    INFO(place);
    VerbResult result;
    AgentState at_return = AgentState::stopped;
    Story story(place, [&](const Agent& agent) {
      result = agent.interrupt();
      at_return = agent.state().value();
    });
    story.run();
    REQUIRE(story.acted());
    CHECK(at_return == AgentState::idle);
    const bool over = std::find(after_turn.begin(), after_turn.end(), place) != after_turn.end();
    CHECK(result.reason == (over ? Errc::turn_over : Errc::none));
    REQUIRE(story.ends.size() == 1);
    CHECK(outcome_of(story.ends[0]) == (over ? TurnOutcome::completed : TurnOutcome::interrupted));
    CHECK(is_valid_history(story.agent.conversation().value()));
    story.run();
    REQUIRE(story.ends.size() == 2);
    CHECK(outcome_of(story.ends[1]) == TurnOutcome::completed);
    CHECK(story.audit.problem == "");
  }
}

TEST_CASE("after a pause from any callback nothing begins and the turn goes on later", "[tree][pause][G1]") {
  for (const std::string& place : everywhere()) {
    INFO(place);
    int begun = 0;
    Story* running = nullptr;
    Story story(place, [&](const Agent& agent) {
      CHECK(agent.pause().took_effect());
      begun = running->begun;
    });
    running = &story;
    story.run();
    REQUIRE(story.acted());
    CHECK(story.begun == begun);
    CHECK(story.agent.unpause().took_effect());
    story.settle();
    REQUIRE(story.ends.size() == 1);
    CHECK(outcome_of(story.ends[0]) == TurnOutcome::completed);
    CHECK(story.model_calls() == 3);
    for (const ToolCallRecord& call : story.ends[0].result->calls)
      CHECK(call.outcome == (call.tool == "unknown" ? ToolOutcome::not_started : ToolOutcome::completed));
    CHECK(story.audit.problem == "");
  }
}

TEST_CASE("a stop for later from any callback lets the step or the turn end", "[tree][stop][later][G1][G9]") {
  const StopWhen when = GENERATE(StopWhen::after_step, StopWhen::after_turn);
  for (const std::string& place : everywhere()) {
    INFO(place << ", " << to_string(when));
    std::size_t calls = 0;
    Story* running = nullptr;
    Story story(place, [&](const Agent& agent) {
      CHECK(agent.stop({.when = when}).took_effect());
      calls = running->model_calls();
    });
    running = &story;
    story.run();
    REQUIRE(story.acted());
    CHECK(story.agent.state().value() == AgentState::stopped);
    REQUIRE(story.ends.size() == 1);
    const bool over = std::find(after_turn.begin(), after_turn.end(), place) != after_turn.end();
    const bool completes = over || when == StopWhen::after_turn;
    CHECK(outcome_of(story.ends[0]) == (completes ? TurnOutcome::completed : TurnOutcome::stopped));
    if (!completes) CHECK(story.model_calls() == calls);
    for (const ToolCallRecord& call : story.ends[0].result->calls)
      CHECK(call.outcome == (call.tool == "unknown" ? ToolOutcome::not_started : ToolOutcome::completed));
    CHECK(story.audit.problem == "");
  }
}
