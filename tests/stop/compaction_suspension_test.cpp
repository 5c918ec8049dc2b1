// Every verb at every suspension point of turns that summarise older messages: a summary that is used, one
// that fails, one of the steps of the same turn, and one that a stop ends.
#include "support/drive/suspension_story.hpp"
#include "support/sanitized.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

using namespace agentcore;
using namespace agentcore::test;

namespace {

const std::string long_text(200, 'x');

class CompactionStory final : public SuspensionStory {
 public:
  CompactionStory(std::size_t inject_at, Injections verbs) : SuspensionStory(inject_at, verbs) {
    tools_->add(make_tool({.name = "quick"}, [this](const nlohmann::json&, const ToolContext& context) {
      begins(context.agent());
      return ToolResult::done(long_text);
    }));
  }
  std::size_t summaries() const { return summaries_; }

 private:
  void tell() override {
    AgentSpec spec;
    spec.tools = tools_;
    spec.limits.turn_timeout = time_of_a_turn;
    spec.partial_answers = PartialAnswers::keep;
    spec.context = {.max_tokens = 900, .target_tokens = 400, .min_conversation_tokens = 1};
    spec.context.compact = Compaction{.prompt = "Sum up."};
    spec.context.archive_bytes = 500;
    spec.context.count_tokens = [](std::string_view text) { return text.size(); };
    create_parent(std::move(spec));
    first_turns();
    summary_of_steps();
    failed_summary();
    stop_of_a_summary();
    resume_and_delete();
  }

  void on_event(const Event& event) override {
    if (const auto* change = event.get<CompactionChanged>(); change && change->used) ++summaries_;
    if (const auto* delta = event.get<DeltaReceived>(); delta && delta->text.find("SUM") != delta->text.npos)
      note("the text of a summary was reported as a delta");
  }

  void ask() {
    send(parent_, "question" + long_text);
    poll_twice();
  }
  void poll_twice() {
    poll();
    poll();
  }
  bool summarises() const {
    const FakeClient::Call* const call = oldest_call();
    return call && call->request.messages.front().content() == "Sum up.";
  }
  // The oldest open call is answered: a summary in any case with words.
  void answer(bool with_call = false) {
    while (FakeClient::Call* const call = oldest_call()) {
      const bool summary = summarises();
      deliver(*call, summary ? "SUM" : "word" + long_text);
      ChatOutcome outcome = ChatOutcome::completed(FinishReason::complete, {3, 2, 5});
      if (with_call && !summary) outcome.tool_calls.push_back({{}, "quick", "{}", {}});
      end(*call, std::move(outcome));
      poll_twice();
      if (!summary) return;
    }
  }

  void first_turns() {
    for (int i = 0; i < 2; ++i) {
      ask();
      answer();
    }
  }
  void summary_of_steps() {
    ask();
    for (int i = 0; i < 4; ++i) answer(true);
    answer();
  }
  void failed_summary() {
    for (int i = 0; i < 4 && !summarises(); ++i) {
      answer();
      ask();
    }
    if (FakeClient::Call* const call = oldest_call())
      end(*call, ChatOutcome::failed({Errc::network_error, "no network"}));
    poll_twice();
    answer();
    // The next turn offers the same messages to a summary again.
    ask();
    answer();
  }
  void stop_of_a_summary() {
    for (int i = 0; i < 4 && !summarises(); ++i) {
      answer();
      ask();
    }
    if (FakeClient::Call* const call = oldest_call()) deliver(*call, "SUM");
    stop_parent();
    poll_twice();
    answer();  // late
    poll_twice();
  }
  void resume_and_delete() {
    resume_parent();
    point();
    poll_twice();
    ask();
    answer();
    ask();
    terminate_parent();
    poll_twice();
  }

  std::shared_ptr<ToolRegistry> tools_ = std::make_shared<ToolRegistry>();
  std::size_t summaries_ = 0;
};

// As counted when the story was last changed. If there are fewer, a suspension point is no longer tested.
constexpr std::size_t recorded_points = 276;

}  // namespace

TEST_CASE("every verb at every suspension point of a turn with a summary",
          "[stop][compaction][context][G1][G4][G5][G7][G8][G10]") {
  CompactionStory dry(0, Injection::none);
  CHECK(dry.run() == "");
  const std::size_t points = dry.points();
  INFO(points << " points");
  CHECK(points >= recorded_points);
  CHECK(dry.summaries() >= 3);

#if defined(RACES_WATCHED)
  constexpr std::size_t step = 12;  // one thread runs it
#elif defined(SANITIZED)
  constexpr std::size_t step = 3;
#else
  constexpr std::size_t step = 1;
#endif
  CHECK(failures_of<CompactionStory>(every_verb, points, step) == 0);
}
