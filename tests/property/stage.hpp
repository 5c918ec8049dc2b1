// Stage: a scene played on a real tree, up to the instant of the verb, at it, and after it.
#pragma once

#include "property/generate.hpp"
#include "support/drive/tree_fixture.hpp"
#include "support/prop.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace property_test {

// What can be seen at one instant, per agent; and how much had happened by then.
struct View {
  std::vector<std::optional<agentcore::AgentState>> states;  // nullopt: deleted
  std::vector<agentcore::AgentState> shown;                  // the states reported last
  std::vector<std::size_t> queued;
  std::vector<std::string> histories;
  std::vector<std::vector<std::string>> taken;  // messages that left the mailbox for a turn
  std::vector<std::size_t> calling;             // calls that are open at the model
  std::vector<bool> in_turn;                    // a stop would interrupt a turn: its history will say so
  std::vector<std::size_t> question_ends;       // the place in `histories` after the last question
  std::vector<bool> cut;                        // per call: its stop token is triggered
  std::size_t calls = 0;                        // calls started
  std::size_t lines = 0;                        // written down by the Recorder

  bool operator==(const View&) const = default;
};

// No assertion inside a verb or an observer: what it throws ends in the library (G16). Views are taken there,
// and judged afterwards.
class Stage {
 public:
  // `adjust` has the last word on each agent's spec.
  using Adjust = std::function<void(agentcore::test::TreeFixture&, agentcore::AgentSpec&)>;
  explicit Stage(Scene scene, const Adjust& adjust = {});

  agentcore::test::TreeFixture t;

  std::size_t size() const { return scene_.members.size(); }
  std::size_t target() const { return scene_.target; }
  const Scene& scene() const { return scene_; }
  const Member& member(std::size_t i) const { return scene_.members[i]; }
  static std::string id(std::size_t i) { return "a" + std::to_string(i); }
  agentcore::Agent agent(std::size_t i) const { return agents_[i]; }
  agentcore::Agent target_agent() const { return agents_[target()]; }
  std::optional<agentcore::AgentState> state(std::size_t i) const;

  // `i` is `root` or lies below it.
  bool within(std::size_t i, std::size_t root) const;
  bool inside(std::size_t i) const { return within(i, target()); }  // of the target's subtree
  // Of the target's subtree, and open when the verb was called.
  bool hit(std::size_t i) const { return inside(i) && !agentcore::is_stopped(*before.states[i]); }
  // The history right before the verb, with `mark` at the question of the turn if one was in progress. A call
  // that waits in the mailbox of a child has not begun.
  std::string marked(std::size_t i, std::string_view mark) const;
  // A call of `i` may outlast a stop: its model ignores the stop.
  bool may_linger(std::size_t i) const;
  // Ids below `root`, without it; sorted.
  std::vector<std::string> descendants(std::size_t root) const;
  // The same, of those that were open when the verb was called.
  std::vector<std::string> open_descendants(std::size_t root) const;
  bool is_below(const std::string& id, const std::string& root) const;

  // Plays the scene up to its instant, and calls `verb` at its place, once. `before` and `after` are the
  // views right before and right after it, within the same callback.
  void act(const std::function<void()>& verb);
  View before;
  View after;

  // What follows. `check` is called after every step, outside of all callbacks.
  void play(
      const std::vector<Step>& steps, const std::function<void()>& check = [] {});
  void play_after(const std::function<void()>& check = [] {}) { play(scene_.after, check); }
  // Everything that can come to rest does. Calls that ignored their stop let go with a late answer, after
  // their grace is over if the scene says so.
  void rest();

  bool send(std::size_t i, bool urgent = false);
  // What the model of `i` answers first, if that is not words: Member::work.
  std::vector<agentcore::ToolCall> calls_of(std::size_t i) const;
  // A person answers the oldest question of `i`.
  void reply(std::size_t i);
  // The turns, calls, background tasks and questions of `root` and below, and tools that have not ended.
  std::vector<std::string> in_flight(std::size_t root) const;
  // Nothing is paused or held any more.
  void open_up();
  View look() const;
  // The calls of `i` that are open.
  std::vector<agentcore::test::FakeClient::Call*> open_calls(std::size_t i) const;
  std::size_t owner(std::size_t call) const;  // which agent's call it is

  // Lines told after the verb that begin with `prefix` and belong to `i`: "ended", ... or "" for states.
  std::vector<std::string> told(std::string_view what, std::size_t i) const;

  // What the tree took from send() and from calls of agents, per agent. Urgent messages begin with 'u', those
  // of calls with 'c': they go when their call ends.
  std::vector<std::vector<std::string>> accepted;
  std::vector<std::string> wrong;  // found inside callbacks
  // Every promise of the events is kept and nothing was found inside callbacks.
  std::string broken() const;
  // What agents outside of `root`'s subtree know beyond what this stage sent them: must be "".
  std::string gossip(std::size_t root) const;

 private:
  static Scene normal(Scene scene);
  // A call of a tool that runs until the test or a stop ends it.
  struct HeldCall {
    HeldCall(std::size_t number, agentcore::ToolDone how, bool is_task)
        : agent(number), done(std::move(how)), task(is_task) {}
    std::size_t agent;
    agentcore::ToolDone done;
    bool task;  // a background task
    bool over = false;
    std::optional<std::stop_callback<std::function<void()>>> on_stop;
  };

  void populate(const Adjust& adjust);
  void add_tools();
  void hold(const agentcore::ToolContext& context, agentcore::ToolDone done, bool task);
  void leave();
  void fill();
  std::optional<std::size_t> child_with_model(std::size_t i) const;
  // The last call of `i` to its child waits in the mailbox of the child, in `before`.
  bool waits_for_child(std::size_t i) const;
  void work(std::size_t i);
  void give_result(std::size_t i);
  bool is_cue(const agentcore::Event& event) const;
  void enter();
  void run_verb();
  void step(const Step& step);
  std::vector<std::string> taken(std::size_t i) const;

  Scene scene_;
  std::vector<std::optional<std::size_t>> parents_;
  std::vector<agentcore::Agent> agents_;
  std::vector<std::vector<std::string>> handled_;
  std::shared_ptr<agentcore::ToolRegistry> tools_ = std::make_shared<agentcore::ToolRegistry>();
  std::vector<std::shared_ptr<HeldCall>> held_;
  std::function<void()> verb_;
  std::vector<bool> waiting_;  // waits_for_child(), right before the verb: a drop changes `accepted`
  agentcore::Subscription hook_;
};

// True if each message in `got` is the next one of its priority in `sent`. `held`: of an agent whose messages
// are held back, but for those of tool calls.
bool in_order(const std::vector<std::string>& got, const std::vector<std::string>& sent, bool held = false);
// True if `got` is in order, and is all that was sent.
bool all_in_order(const std::vector<std::string>& got, const std::vector<std::string>& sent);

// For assertions.
std::string text(const std::vector<std::string>& words);
std::vector<std::string> sorted(std::vector<std::string> words);
// "children first" violated by: must be "".
std::string out_of_order(const Stage& stage, const std::vector<std::string>& ids);

}  // namespace property_test
