// An agent with tools, under full control of the test.
#pragma once

#include "support/checked.hpp"
#include "support/tree_fixture.hpp"

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace agentcore::test {

// Its calls end when the test says so.
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
  // Of the turn that ended last.
  CheckedPointer<std::shared_ptr<const InteractionResult>> result;
  Error error;
  Subscription ends;

  explicit ToolTurn(TreeOptions options = {});

  // Makes the root agent "a", which has the tools.
  Agent agent(AgentSpec spec = {});
  // The model of "a" asks for tools.
  void call(std::vector<ToolCall> calls, std::string_view text = {});
  // The model of "a" answers in words.
  void answer(std::string_view text);
  // Drives the loop until `done`, and waits on its descriptor meanwhile. False: `done` was never true.
  bool drive(const std::function<bool()>& done);
  std::string history() { return written((*this)["a"].conversation().value()); }
};

ToolCall add_call(std::string id, int a, int b);

}  // namespace agentcore::test
