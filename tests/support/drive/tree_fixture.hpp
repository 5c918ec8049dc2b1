// TreeFixture: a tree of agents under full control of the test: a clock moved by hand, a FakeClient, and a
// recorder of all events.
#pragma once

#include "support/catch.hpp"
#include "support/clients/fake_client.hpp"
#include "support/drive/test_clock.hpp"
#include "support/observe/recorder.hpp"

#include <agentcore/agentcore.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace agentcore::test {

struct TreeFixture {
  explicit TreeFixture(TreeOptions options = {}, bool watch_states = true);
  ~TreeFixture();

  TestClock clock;
  std::vector<std::string> log;  // "level message key=value ..."
  std::unique_ptr<Runtime> runtime;
  std::unique_ptr<FakeClient> llm;
  std::unique_ptr<AgentTree> tree;
  Recorder seen;
  bool check_at_end = true;  // check that the order of events was kept

  Agent root(std::string id, AgentSpec spec = {});
  Agent child(const Agent& parent, std::string id, AgentSpec spec = {});
  Agent operator[](std::string_view id) const { return tree->find(id).value_or(Agent{}); }

  void poll() { runtime->poll(); }
  // Polls until nothing is ready.
  void settle();
  void advance(Duration time);
  AgentState state(std::string_view id) const { return tree->find(id).value().state().value(); }
  bool logged(std::string_view part) const;

  // Sends `text` and drives the agent into its model call.
  void ask(const Agent& agent, std::string text = "question");
};

}  // namespace agentcore::test

namespace Catch {
template <>
struct StringMaker<agentcore::AgentState> {
  static std::string convert(agentcore::AgentState state) { return std::string(agentcore::to_string(state)); }
};
template <>
struct StringMaker<agentcore::Errc> {
  static std::string convert(agentcore::Errc code) {
    return code == agentcore::Errc::none ? "none" : std::string(agentcore::to_string(code));
  }
};
}  // namespace Catch
