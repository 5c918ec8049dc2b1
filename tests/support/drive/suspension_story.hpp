// SuspensionStory: a test of one verb at every suspension point. A story is run once to count the points at
// which the host's code runs or the story waits; then again for each verb and each point, with the verb
// injected there.
#pragma once

#include "support/amount.hpp"
#include "support/catch.hpp"
#include "support/clients/fake_client.hpp"
#include "support/observe/event_audit.hpp"
#include "support/sanitized.hpp"

#include <agentcore/agent_tree.hpp>
#include <agentcore/runtime.hpp>
#include <agentcore/testing/manual_clock.hpp>
#include <agentcore/tool_registry.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace agentcore::test {

// The verb that is injected. Without another name its agent is the parent.
enum class Injection {
  none,
  abort,
  abort_child,  // drops the queue of the child, too
  interrupt,
  interrupt_and_drop,
  interrupt_and_hold,
  interrupt_child_and_release,  // a hold and its end
  interrupt_subtree,
  stop,
  stop_alone,  // without the subtree
  stop_child,
  stop_all,
  resume,
  stop_and_resume,
  terminate,
  terminate_child,
  steer,          // into the running turn, at its next step
  steer_now,      // the open model call is ended for it
  steer_child,    // at once; comes back if the turn ends
  cancel_task,    // of every background task
  cancel_call,    // of every tool call, begun or not
  complete_call,  // of every tool call, begun or not
  deadline,       // of the parent's turn; the loop notices it late
  lease,          // of the parent; the loop notices it late
  pause,
  pause_child,
  pause_and_unpause,
  stop_after_step,
  stop_after_turn,  // with an escalation
  stop_alone_later,
  stop_child_later,
  stop_later_and_resume,
  terminate_later,
  rewind,  // to the middle of the conversation
  regenerate,
  fork,
  truncate_answer,
  acknowledge,
  destroy,  // of the tree; the last one
};

inline constexpr auto every_verb = [] {
  std::array<Injection, static_cast<std::size_t>(Injection::destroy)> all{};
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<Injection>(i + 1);
  return all;
}();
// For pairs with every verb: those that leave the agent usable, or take effect later.
inline constexpr std::array lasting_verbs = {Injection::interrupt,
                                             Injection::interrupt_and_hold,
                                             Injection::interrupt_subtree,
                                             Injection::steer_now,
                                             Injection::cancel_call,
                                             Injection::complete_call,
                                             Injection::deadline,
                                             Injection::lease,
                                             Injection::pause,
                                             Injection::pause_and_unpause,
                                             Injection::stop_after_step,
                                             Injection::stop_after_turn,
                                             Injection::terminate_later,
                                             Injection::rewind,
                                             Injection::regenerate,
                                             Injection::acknowledge};

// One verb, or two at the same point.
struct Injections {
  Injections(Injection only)
      : first(only) {}  // NOLINT(google-explicit-constructor): one verb is the usual case
  Injections(Injection one, Injection other) : first(one), second(other) {}
  Injection first;
  Injection second = Injection::none;
};

// A derived class creates the parent, perhaps a child, and runs the story with the functions below. Every
// function is safe when the injected verb has ended any part of it, the tree included.
class SuspensionStory {
 public:
  SuspensionStory(std::size_t inject_at, Injections injections);
  virtual ~SuspensionStory() = default;

  // Runs the story, then ends everything. Returns the violated condition, for a verb at any point; "" if
  // there is none.
  std::string run();

  std::size_t points() const noexcept { return passed_; }
  const Audit& audit() const noexcept { return *audit_; }
  std::size_t model_calls() const noexcept { return client_.calls(); }
  std::size_t tools_started() const noexcept { return tools_started_; }

 protected:
  static constexpr Duration time_of_a_turn = std::chrono::hours(1);  // for AgentLimits::turn_timeout
  static constexpr Duration lease = std::chrono::hours(24);          // of the parent

  virtual void tell() = 0;
  virtual void on_event(const Event&) {}
  // False: what an agent does is a part of a tool call, which a deferred stop above it lets end.
  virtual bool is_withheld(const Agent&) const { return true; }
  // Ends what the story holds open, e.g. tool calls.
  virtual void release() {}

  // A point: here the host's code runs, or the story waits.
  void point();
  void poll();
  // Keeps the first problem.
  void note(std::string problem);
  // A tool call begins: the gate of its agent must be open (G1).
  void begins(const Agent& agent);

  void create_parent(AgentSpec spec);
  void send(const Agent& agent, std::string_view text);
  void stop_parent();
  void resume_parent();
  void terminate_parent();
  // The call that has been open for longest, or null.
  FakeClient::Call* oldest_call() const;
  void deliver(FakeClient::Call& call, std::string_view text);
  void end(FakeClient::Call& call, ChatOutcome outcome);

  testing::ManualClock clock_;
  FakeClient client_;
  Runtime runtime_;
  Agent parent_;
  Agent child_;
  std::unique_ptr<AgentTree> tree_;

 private:
  void inject(Injection injection);
  void steer(const Agent& agent, SteerOptions options);
  void check_steered(const Event& event);
  void interrupt(const Agent& agent, InterruptOptions options);
  void check_interrupted(const Event& event);
  // Nothing begins for a paused agent, or after the step or the turn with a stop pending.
  void check_withheld(const Event& event);
  void end_pause();
  // Every tool call of the parent that was asked for in its turn, and is not over.
  template <typename End>
  void end_calls(const End& end);
  std::string check_end();
  // The completion of a stop or a delete for later. It is called once, unless a resume has withdrawn the
  // verb.
  struct LaterReport {
    std::size_t resumes = 0;  // before the verb
    std::size_t calls = 0;
  };
  void stop_later(const Agent& agent, StopOptions options);
  void terminate_later();
  void count(LaterReport& report);
  // For `on_settled`; each that is accepted must be called once.
  template <typename Options>
  Options with_report(Options options);

  const std::size_t inject_at_;
  const Injections injections_;
  std::size_t passed_ = 0;
  std::size_t reports_ = 0;
  std::size_t reports_expected_ = 0;
  std::size_t tools_started_ = 0;
  std::size_t resumes_ = 0;
  std::list<LaterReport> later_reports_;
  bool closed_ = false;  // by a verb without a resume since then
  std::string problem_;
  std::vector<ChatMessage> parents_history_, childs_history_;  // as they were last found valid
  std::unordered_map<Agent, std::uint64_t> last_turn_;         // that began
  MessageId message_;                                          // of the parent's last turn
  std::unordered_map<Agent, std::uint64_t> interrupted_;       // turns up to this one were interrupted
  std::unordered_set<std::string> ended_calls_;                // by cancel_call and complete_call
  std::size_t steers_ = 0;                                     // messages that were taken
  std::unordered_map<Agent, bool> cut_;  // its model call was ended, and nothing of it follows
  std::optional<Audit> audit_;
  Subscription states_;
  Subscription events_;
};

// A story runs on one thread. Without a sanitizer all points are tried that a test names; with one, and where
// samples run, a part of them.
#if defined(SANITIZED)
inline const std::size_t sparseness = amount<std::size_t>(4, 40);
#else
inline const std::size_t sparseness = amount<std::size_t>(1, 20);
#endif

// Runs the story for each pair of a new verb and another one, in both orders, at every `step`-th point.
// Returns the number of failures, and adds the first 20 to the messages of the test.
template <typename Story, typename New, typename All>
std::size_t failures_of_pairs(const New& verbs, const All& others, std::size_t points, std::size_t step) {
  step *= sparseness;
  std::size_t failures = 0;
  std::size_t part = 0;
  const auto run = [&](Injection first, Injection second) {
    for (std::size_t at = 1 + part++ % step; at <= points; at += step) {
      const std::string problem = Story(at, Injections{first, second}).run();
      if (problem.empty() || ++failures > 20) continue;
      UNSCOPED_INFO("injections " << static_cast<int>(first) << " and " << static_cast<int>(second)
                                  << " at point " << at << ": " << problem);
    }
  };
  for (const Injection verb : verbs)
    for (const Injection other : others) {
      run(verb, other);
      run(other, verb);
    }
  return failures;
}

// Runs the story for each injection at each point, or at every `step`-th, a different part for each
// injection. Returns the number of failures, and adds the first 20 to the messages of the test.
template <typename Story, typename Injections>
std::size_t failures_of(const Injections& injections, std::size_t points, std::size_t step = 1) {
  step *= sparseness;
  std::size_t failures = 0;
  for (const Injection injection : injections) {
    for (std::size_t at = 1 + static_cast<std::size_t>(injection) % step; at <= points; at += step) {
      const std::string problem = Story(at, injection).run();
      if (problem.empty() || ++failures > 20) continue;
      UNSCOPED_INFO("injection " << static_cast<int>(injection) << " at point " << at << ": " << problem);
    }
  }
  return failures;
}

}  // namespace agentcore::test
