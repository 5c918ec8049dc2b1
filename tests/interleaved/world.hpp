// World: agents, their models and tools, and the threads that use them, as a Script says.
#pragma once

#include "interleaved/calls.hpp"
#include "interleaved/gates.hpp"
#include "interleaved/script.hpp"
#include "interleaved/turns.hpp"
#include "sim/verdict.hpp"
#include "support/clients/fake_client.hpp"
#include "support/observe/event_audit.hpp"

#include <agentcore/agent_tree.hpp>
#include <agentcore/executor.hpp>
#include <agentcore/runtime.hpp>
#include <agentcore/terminate_scope.hpp>
#include <agentcore/testing/manual_clock.hpp>
#include <agentcore/tool.hpp>
#include <agentcore/tool_registry.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agentcore::interleaved {

// Runs a job when a command says so, on the thread of the command.
class HeldJobs final : public Executor {
 public:
  std::function<void()> on_submit;

  void submit(std::function<void()> job) override {
    jobs_.push_back(std::move(job));
    if (on_submit) on_submit();
  }
  bool run_one();
  bool empty() const noexcept { return jobs_.empty(); }

 private:
  std::deque<std::function<void()>> jobs_;
};

// All that the threads of a run share. Only one of them runs at a time, and none is interrupted in code of
// the world, but where that calls the library or Scheduler::step(). So nothing here needs a lock; what is
// chosen from may change during a call of the library.
class World {
 public:
  explicit World(const Script& script);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  // What the thread of that number does.
  void run(Scheduler& scheduler, std::uint32_t thread);
  const std::string& problem() const noexcept { return verdict_.problem(); }
  const std::map<std::string, std::uint64_t>& counts() const noexcept { return counts_; }

 private:
  // A call of a tool that has begun.
  struct Held {
    Held(std::string id, ToolContext of, ToolDone with)
        : agent(std::move(id)), context(std::move(of)), done(std::move(with)) {}

    std::string agent;
    ToolContext context;
    ToolDone done;
    bool answered = false;
    bool dropped = false;  // `done` is
  };

  struct OpenScope {
    TerminateScope scope;
    std::vector<std::string> ids = {};
  };

  void prepare();
  AgentSpec spec(std::uint32_t number);
  void add_own_tools(ToolRegistry& tools);
  std::shared_ptr<ToolRegistry> tools(const std::string& helper);
  void wake();

  // The loop thread.
  void poll();
  void sleep();
  bool is_due() const;
  void act_on_loop(const Command& command);
  void create(const Command& command);
  void open_scope(const Command& command);
  void add_agent(const std::string& id, const std::string& parent, const Agent& made);
  // Does what waits for such a callback. Last in each callback: it may end the tree.
  void within(Moment moment);
  void renew_wake();
  void destroy(bool with_runtime);
  // Drives the loop as a host does, until no other thread can go on.
  void drive();
  // From now on everybody answers: all must come to rest.
  void finish();
  void check_ends();

  // Any thread.
  void act(const Command& command);
  bool act_by_message(const Command& command, const Agent& agent);
  bool act_by_stop(const Command& command, const Agent& agent);
  bool act_by_opening(const Command& command, const Agent& agent);
  bool act_on_turn(const Command& command, const Agent& agent);
  bool act_on_tree(const Command& command);
  void act_as_host(const Command& command, const Agent& agent);
  void send(const std::function<SendResult(SendOptions)>& call, const std::string& id);
  enum class Reach : std::uint8_t { subtree, alone, below };
  // Makes a stop or a delete that takes effect at once. `call` receives the verb's on_settled.
  VerbResult close(const std::string& root, Reach reach,
                   const std::function<VerbResult(std::function<void()>)>& call, bool cuts = true);
  VerbResult end_turns(const std::vector<std::string>& ids, bool with_tools,
                       const std::function<VerbResult()>& call);
  void check_cut(const std::vector<std::string>& ids, std::size_t model_calls, std::size_t tool_calls);
  void open(Gates& gates, const std::string& root, bool alone, const std::function<bool()>& call);
  void steer(const Agent& agent, const std::string& id, Message message, SteerWhen when);
  bool act_as_tool(const Command& command, const Agent& agent);
  bool act_as_worker(const Command& command);
  bool act_on_scope(const Command& command);
  void run_job();
  std::vector<ToolCall> tool_calls(std::uint32_t which);
  void end_tool(std::uint32_t number);
  void let_go(const Agent& agent);
  void look(const Agent& agent);

  // What is seen.
  void on_event(const Event& event);
  void begins(const std::string& id, std::string_view what, bool called_directly, bool also_in_pause = false);
  void is_in_turn(const std::string& id, std::uint64_t turn, std::string_view what, bool called_directly);
  void is_cut(const std::string& id, std::uint64_t turn, std::string_view what, const StopToken& stop);
  void begins_call(const ToolContext& context, bool on_loop);
  void check_closed();
  void check_rest();
  void note_creation();
  void require(bool holds, std::string_view rule, const std::string& what);

  Agent agent(std::uint32_t number) const { return handles_[number % handles_.size()]; }
  std::string some_call(const std::string& agent) const;

  const Script script_;
  Scheduler* scheduler_ = nullptr;
  sim::Verdict verdict_;
  Family family_;
  Gates stops_{family_}, pauses_{family_};
  Turns turns_;

  testing::ManualClock clock_;
  HeldJobs jobs_;
  std::unique_ptr<Runtime> runtime_;
  std::unique_ptr<test::FakeClient> client_;
  std::vector<std::unique_ptr<OpenScope>> scopes_;
  std::vector<Command> armed_;          // what waits for a callback
  std::vector<std::uint32_t> workers_;  // threads in Act::work
  std::unique_ptr<AgentTree> tree_;
  std::unique_ptr<test::Audit> audit_;
  Subscription events_, wakes_;
  bool destroyed_ = false;
  int tree_users_ = 0;  // threads that are in a function of the tree or of the Runtime

  std::vector<Agent> handles_;  // never moved: other threads copy them
  std::vector<std::string> ids_;
  std::vector<std::shared_ptr<Held>> held_;
  std::uint64_t polls_ = 0;
  bool in_poll_ = false;   // or in another action of the loop thread; polls_ counts these, too
  bool has_more_ = false;  // what the last poll has returned
  bool in_wake_ = false;
  std::uint64_t current_wake_ = 0;  // of the function of on_wake() that is subscribed
  std::uint64_t texts_ = 0, calls_ = 0;

  struct Sent {
    std::string agent;
    bool accepted = false;
    int ends = 0;  // of on_end
  };
  std::deque<Sent> sent_;
  MessageId newest_message_;
  struct Steer {
    int accepted = 0, fates = 0;
  };
  std::map<MessageId, Steer> steers_;
  Calls known_calls_{
      [this](bool holds, std::string_view rule, const std::string& what) { require(holds, rule, what); }};
  std::map<std::string, std::uint64_t>
      call_started_;  // when ToolStarted was reported: Gates::now() of pauses_
  struct Creation {
    std::string id, parent;
    bool too_late = false;  // the parent was closed before the child was there
  };
  std::optional<Creation> creation_;                     // that runs
  std::uint64_t reports_due_ = 0, reports_ = 0;          // StopOptions::on_settled
  std::map<std::uint32_t, std::uint64_t> posted_, ran_;  // functions of each thread
  bool any_close_ = false;                               // some verb that may close a mailbox was called
  std::map<std::string, std::uint64_t> closers_, deleters_, openers_;  // verbs on an agent that took effect
  std::map<std::string, bool> alone_;  // it was stopped without its descendants, which a later stop adds
  std::map<std::uint32_t, std::uint64_t> job_began_;  // of each thread
  std::map<std::string, std::uint64_t> counts_;
};

}  // namespace agentcore::interleaved
