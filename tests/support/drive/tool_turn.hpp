// An agent with tools, under full control of the test.
#pragma once

#include "support/checked.hpp"
#include "support/drive/tree_fixture.hpp"

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace agentcore::test {

// Its calls end when the test ends them.
struct HeldTool {
  struct Call {
    nlohmann::json arguments;
    ToolContext context;
    ToolDone done;
  };
  Checked<Call> calls;

  ToolStart start();
};

// Agents whose registry has the tools `add`, `held` and `throws`.
struct ToolTurn : TreeFixture {
  std::shared_ptr<ToolRegistry> tools = std::make_shared<ToolRegistry>();
  HeldTool held;
  // The result of the turn that ended last.
  CheckedPointer<std::shared_ptr<const TurnResult>> result;
  ChatError error;
  Subscription ends;

  explicit ToolTurn(TreeOptions options = {});

  // Creates the root agent "a", which has the tools.
  Agent agent(AgentSpec spec = {});
  // The model of "a" answers with tool calls.
  void call(std::vector<ToolCall> calls, std::string_view text = {});
  // The model of "a" answers with text.
  void answer(std::string_view text);
  // Drives the loop until `done`, and waits on its descriptor meanwhile. False: `done` was never true.
  bool drive(const std::function<bool()>& done);
  std::string history() { return written((*this)["a"].conversation().value()); }
};

ToolCall add_call(std::string id, int a, int b);

}  // namespace agentcore::test
