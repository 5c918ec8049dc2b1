// Every verb at every suspension point of turns whose answers are checked: an answer that is refused, the
// request for another one, its answer, a turn that fails.
#include "support/drive/suspension_story.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

using namespace agentcore;
using namespace agentcore::test;

namespace {

const std::string matching = R"({"age":7})";
const std::string differing = R"({"aeg":7})";

class AnswerStory final : public SuspensionStory {
 public:
  AnswerStory(std::size_t inject_at, Injections verbs) : SuspensionStory(inject_at, verbs) {
    tools_->add(make_tool({.name = "quick"}, [this](const nlohmann::json&, const ToolContext& context) {
      begins(context.agent());
      return ToolResult::done("quick");
    }));
  }

  std::size_t refusals() const noexcept { return refusals_; }

 private:
  void tell() override {
    AgentSpec spec;
    spec.tools = tools_;
    spec.limits.repairs = 2;
    spec.limits.turn_timeout = time_of_a_turn;
    spec.partial_answers = PartialAnswers::keep;
    spec.model.response_format = {.kind = ResponseFormat::Kind::json_schema,
                                  .schema = R"({"type":"object","required":["age"]})"};
    create_parent(std::move(spec));
    turn_to_its_end();
    turn_that_fails();
    stop_of_the_next_call();
    resume_and_delete();
  }

  void on_event(const Event& event) override {
    if (event.get<ModelCallEnded>()) ++refusals_;
    if (const auto* ended = event.get<TurnEnded>(); ended && ended->result->success())
      if (ended->result->text != matching) note("a turn completed with an answer that does not match");
  }

  void ask(std::string_view text) {
    send(parent_, text);
    poll_twice();
  }
  void poll_twice() {
    poll();
    poll();
  }
  // The oldest open call delivers the text in two pieces, and ends.
  void answer(const std::string& text, std::vector<ToolCall> calls = {}) {
    FakeClient::Call* const call = oldest_call();
    if (!call) return;
    deliver(*call, std::string_view(text).substr(0, 2));
    deliver(*call, std::string_view(text).substr(2));
    ChatOutcome outcome = ChatOutcome::completed(FinishReason::complete, {3, 2, 5});
    outcome.tool_calls = std::move(calls);
    end(*call, std::move(outcome));
    poll_twice();
  }

  void turn_to_its_end() {
    ask("first");
    answer(differing);
    answer("I look.", {{.id = "x", .name = "quick", .arguments = "{}"}});
    answer(differing);
    answer(matching);
  }
  void turn_that_fails() {
    ask("second");
    for (int i = 0; i < 3; ++i) answer(differing);
  }
  void stop_of_the_next_call() {
    ask("third");
    answer(differing);
    if (FakeClient::Call* const call = oldest_call()) deliver(*call, "{");
    stop_parent();
    poll_twice();
    answer(matching);  // late
    poll_twice();
  }
  void resume_and_delete() {
    resume_parent();
    point();
    poll_twice();
    ask("fourth");
    answer(differing);
    terminate_parent();
    poll_twice();
  }

  std::shared_ptr<ToolRegistry> tools_ = std::make_shared<ToolRegistry>();
  std::size_t refusals_ = 0;
};

// As counted when the story was last changed. If there are fewer, a suspension point is no longer tested.
constexpr std::size_t recorded_answer_points = 199;

}  // namespace

TEST_CASE("every verb at every suspension point of a turn whose answer is checked",
          "[stop][tools][G1][G4][G5][G7][G8][G10][X52]") {
  AnswerStory dry(0, Injection::none);
  CHECK(dry.run() == "");
  const std::size_t points = dry.points();
  INFO(points << " points");
  CHECK(points >= recorded_answer_points);
  CHECK(dry.tools_started() == 1);
  CHECK(dry.refusals() == 6);
  CHECK(dry.model_calls() == 11);

  CHECK(failures_of<AnswerStory>(every_verb, points) == 0);
}
