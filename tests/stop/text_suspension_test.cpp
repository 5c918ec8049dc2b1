// Stops at every suspension point of turns whose model writes its tool calls into the text: words that are
// held back, a call that cannot be read, the repair, the tools. A dry run counts the points at which the
// host's code runs or waits, and then every verb is injected at each of them.
#include "stop/audit.hpp"
#include "stop/held_client.hpp"
#include "stop/strict_history.hpp"
#include "support/catch.hpp"

#include <agentcore/agent_tree.hpp>
#include <agentcore/interaction.hpp>
#include <agentcore/runtime.hpp>
#include <agentcore/tool_registry.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

using namespace agentcore;
using stop_test::Audit;
using stop_test::HeldClient;

namespace {

enum class Injection { none, abort, stop, terminate, stop_and_resume, destroy };
constexpr std::array injections = {Injection::abort, Injection::stop, Injection::terminate,
                                   Injection::stop_and_resume, Injection::destroy};

const std::string good = R"(<tool_call>{"calls":[{"window_id":"tools","action_id":"quick"}]}</tool_call>)";
const std::string broken = "<tool_call>{</tool_call>";

class TextStory {
 public:
  TextStory(std::size_t inject_at, Injection injection)
      : inject_at_(inject_at),
        injection_(injection),
        runtime_({.clock = &clock_, .seed = 1, .log = [this](const LogRecord&) { point(); }}) {
    tree_ = std::make_unique<AgentTree>(runtime_, TreeOptions{.llm = &client_});
    audit_.emplace(*tree_);
    states_ = tree_->on_state_change([this](const StateChange&) { point(); });
    events_ = tree_->on_event([this](const Event& event) { on_event(event); });
    client_.on_chat = client_.on_stop = [this] { point(); };
    tools_->add(make_tool({.name = "quick"}, [this](const nlohmann::json&, const ToolContext& context) {
      if (!can_process(context.agent().state().value_or(AgentState::stopped)))
        note("a tool began behind a closed gate");
      ++tools_run_;
      point();
      return ToolResult::done("quick");
    }));
  }

  void tell() {
    create();
    turn_to_its_end();
    stop_of_the_repair();
    resume_and_delete();
  }

  std::size_t points() const noexcept { return passed_; }
  std::size_t tools_run() const noexcept { return tools_run_; }
  std::size_t model_calls() const noexcept { return client_.started(); }

  // What must hold when everything is over, wherever the verb came.
  std::string verdict() {
    cleanup();
    if (tree_) {
      if (audit_->open_turns() != 0) return "a turn has no end";
      if (audit_->turns_started != audit_->turns_ended) return "turns and their ends do not pair";
      if (tree_->busy() || !tree_->tasks().empty()) return "something is left in flight";
      if (tree_->size() != 0) return "an agent is left";
    }
    if (!problem_.empty()) return problem_;
    if (!client_.histories_were_valid()) return "a history that was sent is not valid";
    if (client_.open() != 0) return "a model call is left open";
    return audit_->problem;
  }

 private:
  void note(std::string what) {
    if (problem_.empty()) problem_ = std::move(what);
  }

  void point() {
    if (tree_ && agent_.exists())
      if (const std::string why = stop_test::refusal(agent_.conversation().value()); !why.empty())
        note("a history no provider would take: " + why);
    if (++passed_ != inject_at_ || !tree_) return;
    switch (injection_) {
      case Injection::none:
        break;
      case Injection::abort:
        static_cast<void>(agent_.abort());
        break;
      case Injection::stop:
        static_cast<void>(agent_.stop());
        break;
      case Injection::terminate:
        static_cast<void>(agent_.terminate());
        break;
      case Injection::stop_and_resume:
        static_cast<void>(agent_.stop());
        static_cast<void>(agent_.resume());
        break;
      case Injection::destroy:
        tree_.reset();
        audit_->closed = true;
        break;
    }
  }

  void on_event(const Event& event) {
    if (const auto* delta = event.get<DeltaReceived>())
      if (delta->text.find("tool_call") != delta->text.npos) note("a raw block was shown");
    if (const auto* ended = event.get<TurnEnded>(); ended && ended->result)
      if (ended->text.find("tool_call") != ended->text.npos && ended->result->parse_error.empty())
        note("a raw block was the answer, without a word");
    point();
  }

  void create() {
    point();
    if (!tree_) return;
    AgentSpec spec;
    spec.id = "writer";
    spec.tools = tools_;
    spec.tool_protocol = ToolProtocol::text;
    if (const auto made = tree_->create(std::move(spec))) agent_ = *made;
    point();
  }
  void send(std::string_view text) {
    point();
    static_cast<void>(agent_.send(std::string(text)));
    point();
    poll();
  }
  void poll() {
    runtime_.poll();
    point();
    runtime_.poll();
    point();
  }
  // The oldest open call says this in pieces, and ends.
  void answer(const std::string& text) {
    constexpr std::size_t piece = 16;
    const auto calls = client_.calls();
    if (calls.empty()) return;
    for (std::size_t at = 0; at < text.size(); at += piece) {
      client_.delta(calls.front(), std::string_view(text).substr(at, piece));
      point();
    }
    client_.finish(calls.front(), ChatOutcome::completed(FinishReason::complete, {3, 2, 5}));
    point();
    poll();
  }

  void turn_to_its_end() {
    send("first");
    answer("I try. " + broken + " Ready <tool_");
    answer("Again. " + good + " Ready <tool_");
    answer("Done <");
  }
  void stop_of_the_repair() {
    send("second");
    answer(broken);
    const auto calls = client_.calls();
    if (!calls.empty()) client_.delta(calls.front(), "Sorry <tool_");
    point();
    static_cast<void>(agent_.stop());
    point();
    poll();
    answer(good);  // late
    poll();
  }
  void resume_and_delete() {
    static_cast<void>(agent_.resume());
    point();
    poll();
    send("third");
    answer(broken);
    answer(broken);  // the turn ends with it
    send("fourth");
    answer(broken);
    static_cast<void>(agent_.terminate());
    point();
    poll();
  }
  void cleanup() {
    if (tree_) static_cast<void>(agent_.terminate());
    for (int i = 0; i < 4; ++i) {
      runtime_.run_for(std::chrono::seconds(6));
      client_.cancel_stopped();
      client_.answer_all();
    }
  }

  const std::size_t inject_at_;
  const Injection injection_;
  std::size_t passed_ = 0;
  std::size_t tools_run_ = 0;
  std::string problem_;

  ManualClock clock_;
  HeldClient client_;
  Runtime runtime_;
  std::shared_ptr<ToolRegistry> tools_ = std::make_shared<ToolRegistry>();
  Agent agent_;
  std::unique_ptr<AgentTree> tree_;
  std::optional<Audit> audit_;
  Subscription states_;
  Subscription events_;
};

// As counted when the story was last changed. Fewer: something that used to be a point is none any more.
constexpr std::size_t recorded_points = 145;

}  // namespace

TEST_CASE("every verb at every suspension point of a turn with calls in the text",
          "[stop][tools][G1][G4][G5][G7][G8][G10][X30]") {
  TextStory dry(0, Injection::none);
  dry.tell();
  CHECK(dry.verdict() == "");
  const std::size_t points = dry.points();
  INFO(points << " points");
  CHECK(points >= recorded_points);
  CHECK(dry.tools_run() == 1);
  CHECK(dry.model_calls() == 9);

  std::size_t failures = 0;
  for (const Injection injection : injections) {
    for (std::size_t at = 1; at <= points; ++at) {
      TextStory story(at, injection);
      story.tell();
      const std::string verdict = story.verdict();
      if (verdict.empty() || ++failures > 20) continue;
      UNSCOPED_INFO("injection " << static_cast<int>(injection) << " at point " << at << ": " << verdict);
    }
  }
  CHECK(failures == 0);
}
