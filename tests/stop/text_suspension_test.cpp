// Every verb at every suspension point of turns whose model writes its tool calls into the text: text that is
// held back, a call that cannot be parsed, the repair, the tools.
#include "support/drive/suspension_story.hpp"
#include "support/sanitized.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

using namespace agentcore;
using namespace agentcore::test;

namespace {

const std::string good = R"(<tool_call>{"calls":[{"window_id":"tools","action_id":"quick"}]}</tool_call>)";
const std::string broken = "<tool_call>{</tool_call>";

class TextStory final : public SuspensionStory {
 public:
  TextStory(std::size_t inject_at, Injections verbs) : SuspensionStory(inject_at, verbs) {
    tools_->add(make_tool({.name = "quick"}, [this](const nlohmann::json&, const ToolContext& context) {
      begins(context.agent());
      return ToolResult::done("quick");
    }));
  }

 private:
  void tell() override {
    AgentSpec spec;
    spec.tools = tools_;
    spec.tool_protocol = ToolProtocol::text;
    spec.limits.turn_timeout = time_of_a_turn;
    spec.partial_answers = PartialAnswers::keep;
    create_parent(std::move(spec));
    turn_to_its_end();
    stop_of_the_repair();
    resume_and_delete();
  }

  void on_event(const Event& event) override {
    if (const auto* delta = event.get<DeltaReceived>())
      if (delta->text.find("tool_call") != delta->text.npos) note("a raw block was shown");
    if (const auto* ended = event.get<TurnEnded>(); ended && ended->result)
      if (ended->result->text.find("tool_call") != ended->result->text.npos &&
          ended->result->parse_error.empty())
        note("a raw block was the answer, without a reason");
  }

  void ask(std::string_view text) {
    send(parent_, text);
    poll_twice();
  }
  void poll_twice() {
    poll();
    poll();
  }
  // The oldest open call delivers the text in pieces, and ends.
  void answer(const std::string& text) {
    constexpr std::size_t piece = 16;
    FakeClient::Call* const call = oldest_call();
    if (!call) return;
    for (std::size_t at = 0; at < text.size(); at += piece)
      deliver(*call, std::string_view(text).substr(at, piece));
    end(*call, ChatOutcome::completed(FinishReason::complete, {3, 2, 5}));
    poll_twice();
  }

  void turn_to_its_end() {
    ask("first");
    answer("I try. " + broken + " Ready <tool_");
    answer("Again. " + good + " Ready <tool_");
    answer("Done <");
  }
  void stop_of_the_repair() {
    ask("second");
    answer(broken);
    if (FakeClient::Call* const call = oldest_call()) call->sink.delta("Sorry <tool_");
    point();
    stop_parent();
    poll_twice();
    answer(good);  // late
    poll_twice();
  }
  void resume_and_delete() {
    resume_parent();
    point();
    poll_twice();
    ask("third");
    ask("third");
    answer(broken);
    answer(broken);  // the turn ends with it
    ask("fourth");
    answer(broken);
    terminate_parent();
    poll_twice();
  }

  std::shared_ptr<ToolRegistry> tools_ = std::make_shared<ToolRegistry>();
};

// As counted when the story was last changed. If there are fewer, a suspension point is no longer tested.
constexpr std::size_t recorded_points = 177;

}  // namespace

TEST_CASE("every verb at every suspension point of a turn with calls in the text",
          "[stop][tools][G1][G4][G5][G7][G8][G10][X30]") {
  TextStory dry(0, Injection::none);
  CHECK(dry.run() == "");
  const std::size_t points = dry.points();
  INFO(points << " points");
  CHECK(points >= recorded_points);
  CHECK(dry.tools_started() == 1);
  CHECK(dry.model_calls() == 9);

#ifdef SANITIZED
  constexpr std::size_t step = 3;
#else
  constexpr std::size_t step = 1;
#endif
  CHECK(failures_of<TextStory>(every_verb, points, step) == 0);
}
