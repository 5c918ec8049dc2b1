// Stops at every suspension point. One story is told again and again; a dry run counts the points at which
// the host's code runs or waits in it, and then every verb is injected at each of them.
#include "stop/audit.hpp"
#include "stop/held_client.hpp"
#include "support/catch.hpp"

#include <agentcore/agent_tree.hpp>
#include <agentcore/runtime.hpp>

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

using namespace agentcore;
using stop_test::Audit;
using stop_test::HeldClient;

namespace {

enum class Injection {
  none,
  abort,
  abort_child,
  stop,
  stop_alone,
  stop_child,
  resume,
  terminate,
  terminate_child,
  destroy
};
constexpr std::array injections = {Injection::abort,      Injection::abort_child,     Injection::stop,
                                   Injection::stop_alone, Injection::stop_child,      Injection::resume,
                                   Injection::terminate,  Injection::terminate_child, Injection::destroy};

// A parent and the child that it makes in mid-answer: a turn to its end, an abort, a stop of a client that is
// deaf to it, late results, a resume, one more turn, the delete. The injected verb may end any of it early.
class Story {
 public:
  Story(std::size_t inject_at, Injection injection)
      : inject_at_(inject_at),
        injection_(injection),
        runtime_({.clock = &clock_, .seed = 1, .log = log_sink()}) {
    tree_ = std::make_unique<AgentTree>(runtime_, TreeOptions{.llm = &client_});
    audit_.emplace(*tree_);
    states_ = tree_->on_state_change([this](const StateChange&) { point(); });
    events_ = tree_->on_event([this](const Event& event) {
      if (const auto* delta = event.get<DeltaReceived>(); delta && delta->agent == parent_) make_child();
      point();
    });
    client_.on_chat = client_.on_stop = [this] { point(); };
  }

  void tell() {
    create();
    turn_to_its_end();
    turn_that_is_aborted();
    stop_of_the_deaf();
    resume_and_delete();
  }

  // The number of points passed.
  std::size_t points() const noexcept { return passed_; }

  const Audit& audit() const noexcept { return *audit_; }

  // What must hold when everything is over, wherever the verb came.
  std::string verdict() {
    if (tree_) {
      cleanup();
      if (audit_->open_turns() != 0) return "a turn has no end";
      if (audit_->turns_started != audit_->turns_ended) return "turns and their ends do not pair";
      if (tree_->busy()) return "something is left in flight";
      if (tree_->size() != 0) return "an agent is left";
      if (tree_->references("parent") + tree_->references("child") != 0) return "references are left";
    }
    if (!histories_valid_ || !client_.histories_were_valid()) return "a history is not valid";
    if (client_.open() != 0) return "a call is left open";
    if (reports_ != reports_wanted_ && tree_) return "a completion did not come, or came twice";
    return audit_->problem;
  }

 private:
  LogSink log_sink() {
    return [this](const LogRecord&) { point(); };
  }

  // Here the host's code runs, or the story waits.
  void point() {
    if (++passed_ != inject_at_ || !tree_) return;
    const auto report = [this](const auto&) { told(); };
    switch (injection_) {
      case Injection::none:
        break;
      case Injection::abort:
        static_cast<void>(parent_.abort());
        break;
      case Injection::abort_child:
        static_cast<void>(child_.abort({.clear_queue = true}));
        break;
      case Injection::stop:
        reports_wanted_ += parent_.stop({.on_settled = report}).ok;
        break;
      case Injection::stop_alone:
        reports_wanted_ += parent_.stop({.cascade = false, .on_settled = report}).ok;
        break;
      case Injection::stop_child:
        reports_wanted_ += child_.stop({.on_settled = report}).ok;
        break;
      case Injection::resume:
        static_cast<void>(parent_.resume());
        break;
      case Injection::terminate:
        reports_wanted_ += parent_.terminate({.on_settled = report}).ok;
        break;
      case Injection::terminate_child:
        reports_wanted_ += child_.terminate({.on_settled = report}).ok;
        break;
      case Injection::destroy:
        tree_.reset();
        audit_->closed = true;
        break;
    }
  }
  void told() {
    ++reports_;
    point();
  }

  void create() {
    point();
    if (!tree_) return;
    AgentSpec spec;
    spec.id = "parent";
    spec.system_prompt = "You are a parent.";
    if (const auto made = tree_->create(std::move(spec))) parent_ = *made;
    point();
  }

  void make_child() {
    if (child_.exists() || !tree_) return;
    AgentSpec spec;
    spec.id = "child";
    if (const auto made = parent_.create_child(std::move(spec))) child_ = *made;
    static_cast<void>(child_.send("of the parent"));
  }

  void send(const Agent& agent, std::string_view text) {
    point();
    static_cast<void>(agent.send(std::string(text)));
    point();
  }
  void poll() {
    runtime_.poll();
    point();
    if (tree_)
      tree_->walk(
          [this](const Agent& agent) { histories_valid_ &= is_valid_history(agent.conversation().value()); });
  }

  // Every open call says a word, and ends if it is told to.
  void speak(bool end) {
    for (const std::size_t call : client_.calls()) {
      client_.delta(call, "word ");
      point();
      if (end) client_.answer(call);
      if (end) point();
    }
    poll();
  }

  void turn_to_its_end() {
    send(parent_, "first");
    send(parent_, "second");
    poll();
    speak(false);
    speak(true);  // the parent has its answer; its second question and the child's first are open
    speak(true);
    speak(true);
  }

  void turn_that_is_aborted() {
    send(parent_, "third");
    send(child_, "third");
    poll();
    speak(false);
    static_cast<void>(parent_.abort({.reason = "changed my mind"}));
    point();
    poll();
    client_.cancel_stopped();
    poll();
    speak(true);
  }

  void stop_of_the_deaf() {
    send(parent_, "fourth");
    send(child_, "fourth");
    send(child_, "fifth");
    poll();
    speak(false);
    reports_wanted_ += parent_.stop({.on_settled = [this](const StopReport&) { told(); }}).ok;
    point();
    poll();
    speak(false);  // late words
    for (const std::size_t call : client_.calls()) {
      client_.answer(call);  // one answers late, the other lets the grace pass
      break;
    }
    poll();
    runtime_.run_for(std::chrono::seconds(6));
    point();
    speak(true);
  }

  void resume_and_delete() {
    static_cast<void>(parent_.resume());
    point();
    poll();
    send(parent_, "sixth");
    send(child_, "sixth");
    poll();
    speak(false);
    reports_wanted_ += parent_.terminate({.on_settled = [this](const TerminateReport&) { told(); }}).ok;
    point();
    poll();
    client_.cancel_stopped();
    poll();
    point();
  }

  void cleanup() {
    if (tree_) static_cast<void>(parent_.terminate());
    for (int i = 0; i < 4; ++i) {
      runtime_.run_for(std::chrono::seconds(6));
      client_.cancel_stopped();
      client_.answer_all();
    }
  }

  const std::size_t inject_at_;
  const Injection injection_;
  std::size_t passed_ = 0;
  std::size_t reports_ = 0;
  std::size_t reports_wanted_ = 0;
  bool histories_valid_ = true;

  ManualClock clock_;
  HeldClient client_;
  Runtime runtime_;
  Agent parent_;
  Agent child_;
  std::unique_ptr<AgentTree> tree_;
  std::optional<Audit> audit_;
  Subscription states_;
  Subscription events_;
};

// As counted when the story was last changed. Fewer: something that used to be a point is none any more.
constexpr std::size_t recorded_points = 149;

}  // namespace

TEST_CASE("every verb at every suspension point", "[stop][G1][G4][G7][G8][G10][G13][Q3]") {
  Story dry(0, Injection::none);
  dry.tell();
  CHECK(dry.verdict() == "");
  const std::size_t points = dry.points();
  INFO(points << " points");
  CHECK(points >= recorded_points);
  CHECK(dry.audit().turns_aborted == 1);
  CHECK(dry.audit().abandoned == 1);
  CHECK(dry.audit().dropped == 1);
  CHECK(dry.audit().settled == 4);
  CHECK(dry.audit().deleted == 2);

  std::size_t failures = 0;
  for (const Injection injection : injections) {
    for (std::size_t at = 1; at <= points; ++at) {
      Story story(at, injection);
      story.tell();
      const std::string verdict = story.verdict();
      if (verdict.empty() || ++failures > 20) continue;
      UNSCOPED_INFO("injection " << static_cast<int>(injection) << " at point " << at << ": " << verdict);
    }
  }
  CHECK(failures == 0);
}
