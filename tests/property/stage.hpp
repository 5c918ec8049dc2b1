// Stage: a scene played on a real tree, up to the instant of the verb, at it, and after it.
#pragma once

#include "property/generate.hpp"
#include "support/drive/tree_fixture.hpp"
#include "support/prop.hpp"

#include <cstddef>
#include <functional>
#include <optional>
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
  std::vector<bool> calling;                    // a call is open at the model
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
  // Ids below `root`, without it; sorted.
  std::vector<std::string> descendants(std::size_t root) const;
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

  bool send(std::size_t i);
  View look() const;
  // The calls of `i` that are open.
  std::vector<agentcore::test::FakeClient::Call*> open_calls(std::size_t i) const;
  std::size_t owner(std::size_t call) const;  // which agent's call it is

  // Lines told after the verb that begin with `prefix` and belong to `i`: "ended", ... or "" for states.
  std::vector<std::string> told(std::string_view what, std::size_t i) const;

  std::vector<std::vector<std::string>> accepted;  // what the tree took from send(), per agent
  std::vector<std::string> wrong;                  // found inside callbacks
  // Every promise of the events is kept and nothing was found inside callbacks.
  std::string broken() const;
  // What agents outside of `root`'s subtree know beyond what this stage sent them: must be "".
  std::string gossip(std::size_t root) const;

 private:
  static Scene normal(Scene scene);
  void populate(const Adjust& adjust);
  void fill();
  bool is_cue(const agentcore::Event& event) const;
  void enter();
  void run_verb();
  void step(const Step& step);
  std::vector<std::string> taken(std::size_t i) const;

  Scene scene_;
  std::vector<std::optional<std::size_t>> parents_;
  std::vector<agentcore::Agent> agents_;
  std::vector<std::vector<std::string>> handled_;
  std::function<void()> verb_;
  agentcore::Subscription hook_;
};

// For assertions.
std::string text(const std::vector<std::string>& words);
std::vector<std::string> sorted(std::vector<std::string> words);
// "children first" violated by: must be "".
std::string out_of_order(const Stage& stage, const std::vector<std::string>& ids);

}  // namespace property_test
