// Every verb at every suspension point of turns with tools: two steps, parallel tools, a background task, a
// question, an approval and a child agent.
#include "support/drive/suspension_story.hpp"
#include "support/sanitized.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

using namespace agentcore;
using namespace agentcore::test;

namespace {

class ToolStory final : public SuspensionStory {
 public:
  ToolStory(std::size_t inject_at, Injections verbs) : SuspensionStory(inject_at, verbs) { add_tools(); }

 private:
  // A tool call that ends when the story says so.
  struct Held {
    std::string tool;
    ToolContext context;
    ToolDone done;
    std::unique_ptr<std::stop_callback<std::function<void()>>> on_stop;
  };

  void tell() override {
    AgentSpec spec;
    spec.system_prompt = "You are a parent.";
    spec.tools = tools_;
    spec.limits.parallel_tools = 3;
    spec.limits.background_tasks = 2;
    spec.limits.turn_timeout = time_of_a_turn;
    spec.partial_answers = PartialAnswers::keep;
    create_parent(std::move(spec));
    turn_to_its_end();
    stop_that_tools_ignore();
    resume_and_delete();
  }

  void release() override {
    held_.clear();
    child_done_.reset();
  }

  void on_event(const Event& event) override {
    if (const auto* asked = event.get<QuestionAsked>()) question_ = asked->question.id;
    if (const auto* ended = event.get<TurnEnded>(); ended && ended->agent == child_ && child_done_)
      std::exchange(child_done_, nullptr)->operator()(ToolResult::done("the answer of the child"));
  }

  ToolStart held(std::string name) {
    return [this, name](const nlohmann::json&, const ToolContext& context, ToolDone done) {
      begins(context.agent());
      context.progress("begun");
      held_.push_back({name, context, std::move(done), nullptr});
      held_.back().on_stop =
          std::make_unique<std::stop_callback<std::function<void()>>>(context.stop(), [this] { point(); });
    };
  }

  void add_tools() {
    const auto add = [this](std::string name, ToolStart start, bool approve = false,
                            ToolMode mode = ToolMode::sync) {
      ToolSpec spec;
      spec.name = std::move(name);
      spec.needs_approval = approve;
      spec.mode = mode;
      tools_->add({std::move(spec), std::move(start)});
    };
    add("quick", [this](const nlohmann::json&, const ToolContext& context, const ToolDone& done) {
      begins(context.agent());
      done(ToolResult::done("quick"));
      point();
    });
    add("slow", held("slow"));
    add("careful", held("careful"), true);
    add("job", held("job"), false, ToolMode::async);
    add("ask", [this](const nlohmann::json&, const ToolContext& context, ToolDone done) {
      begins(context.agent());
      context.ask({.text = "Why?"}, [this, done](const Answer& answer) {
        point();
        done(answer.outcome == QuestionOutcome::answered ? ToolResult::done(answer.text)
                                                         : ToolResult::failed("no answer"));
      });
    });
    add("spawn", [this](const nlohmann::json&, const ToolContext& context, ToolDone done) {
      begins(context.agent());
      AgentSpec spec;
      spec.id = "child";
      if (const auto made = context.agent().create_child(std::move(spec))) child_ = *made;
      point();
      if (!child_.send("of the parent")) return done(ToolResult::failed("no child"));
      child_done_ = std::make_unique<ToolDone>(std::move(done));
    });
  }

  void ask(std::string_view text) {
    send(parent_, text);
    poll_twice();
  }
  void poll_twice() {
    poll();
    poll();
  }

  // The oldest open call delivers a word and asks for these tools; none: it answers in words.
  void answer(const std::vector<std::string>& tools) {
    FakeClient::Call* const call = oldest_call();
    if (!call) return;
    deliver(*call, "word ");
    ChatOutcome outcome = ChatOutcome::completed(FinishReason::complete, {3, 2, 5});
    for (const std::string& tool : tools) outcome.tool_calls.push_back({{}, tool, "{}", {}});
    end(*call, std::move(outcome));
    poll_twice();
  }

  // The oldest call of that tool ends.
  void finish(std::string_view tool) {
    for (std::size_t i = 0; i < held_.size(); ++i) {
      if (held_[i].tool != tool) continue;
      const Held ended = std::move(held_[i]);
      held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(i));
      ended.context.progress("nearly done");
      point();
      ended.done(ToolResult::done(std::string(tool)));
      point();
      break;
    }
    poll_twice();
  }
  // The oldest question is answered; if none is open, the last one again.
  void reply() {
    if (tree_) {
      const auto open = tree_->questions();
      const std::string id = open.empty() ? question_ : open.front().id;
      if (tree_->answer(id, "because").code() == Errc::is_an_approval) static_cast<void>(tree_->approve(id));
    }
    point();
    poll_twice();
  }

  void turn_to_its_end() {
    ask("first");
    answer({"quick", "slow", "slow", "job", "ask", "spawn", "careful", "unknown"});
    finish("slow");
    finish("slow");
    reply();     // the question
    answer({});  // of the child
    reply();     // the approval
    finish("careful");
    answer({"quick"});  // the second step
    answer({});
    finish("job");
  }

  // Two tools and a background task that ignore the stop, and an approval that is never given.
  void stop_that_tools_ignore() {
    ask("second");
    answer({"slow", "job", "slow", "careful"});
    stop_parent();
    poll_twice();
    finish("slow");  // late; the others exceed the grace period
    runtime_.run_for(std::chrono::seconds(6));
    point();
    reply();
    finish("job");
    finish("slow");
  }

  void resume_and_delete() {
    resume_parent();
    point();
    poll_twice();
    ask("third");
    answer({"ask", "slow", "job"});
    terminate_parent();
    poll_twice();
    finish("slow");
    finish("job");
  }

  std::string question_;
  std::shared_ptr<ToolRegistry> tools_ = std::make_shared<ToolRegistry>();
  std::vector<Held> held_;
  std::unique_ptr<ToolDone> child_done_;
};

// As counted when the story was last changed. If there are fewer, a suspension point is no longer tested.
constexpr std::size_t recorded_points = 265;

}  // namespace

TEST_CASE("every verb at every suspension point of a turn with tools",
          "[stop][tools][G1][G4][G7][G8][G9][G10][G13][Q3][X17][I2][I15][I7][I8][X29][I17][S1-P14]") {
  ToolStory dry(0, Injection::none);
  CHECK(dry.run() == "");
  const std::size_t points = dry.points();
  INFO(points << " points");
  CHECK(points >= recorded_points);
  CHECK(dry.tools_started() == 14);
  CHECK(dry.audit().calls_started == 11);
  CHECK(dry.audit().calls_interrupted == 4);
  CHECK(dry.audit().given_up == 2);
  CHECK(dry.audit().deleted == 2);

  // All of it runs on one thread, so a part of it shows ThreadSanitizer as much; AddressSanitizer takes every
  // third point, a different part for each verb, so that the test stays far from its time limit.
#if defined(RACES_WATCHED)
  constexpr std::size_t step = 6;
#elif defined(SANITIZED)
  constexpr std::size_t step = 3;
#else
  constexpr std::size_t step = 1;
#endif
  CHECK(failures_of<ToolStory>(every_verb, points, step) == 0);
}

// There are some 800 pairs, so each is tested at a few points, others for each pair.
TEST_CASE("pairs of verbs at suspension points of a turn with tools", "[stop][tools][G1][G4][G7][G8][G10]") {
  ToolStory dry(0, Injection::none);
  CHECK(dry.run() == "");
#ifdef SANITIZED
  constexpr std::size_t step = 1400;
#else
  constexpr std::size_t step = 130;
#endif
  CHECK(failures_of_pairs<ToolStory>(lasting_verbs, every_verb, dry.points(), step) == 0);
}
