// Recorder: records the events and state changes of a tree, and checks their order.
#pragma once

#include <agentcore/agent_tree.hpp>
#include <agentcore/chat.hpp>
#include <agentcore/event.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

namespace agentcore::test {

// Records the notifications of a tree, one line each, and checks the order of events:
//   "created a", "started a 1", "delta a 1 text", "ended a 1 completed", "settled a stopped", "discarded a 1
//   answer", "deleted a", "a idle>waiting_llm", "tool a call_1_1 add {}", "tool-end a call_1_1 completed ok",
//   "progress a call_1_1 half", "asked a q_1 question Why?", "closed a q_1 answered", "task a add started",
//   "abandoned a tool call add".
class Recorder {
 public:
  void watch(AgentTree& tree, bool states = true);
  void unwatch();

  std::vector<std::string> lines;
  std::vector<std::string> violations;  // of the order in event.hpp

  // Lines that begin with `prefix`.
  std::vector<std::string> with(std::string_view prefix) const;
  std::size_t count(std::string_view prefix) const { return with(prefix).size(); }
  // The position of the line; -1 if there is none.
  int index(std::string_view line) const;
  void clear() { lines.clear(); }
  // The state reported last.
  std::optional<AgentState> reported_state(const Agent& agent) const;

 private:
  struct Reported {
    AgentState state = AgentState::idle;
    std::uint64_t turn = 0;
    bool in_turn = false;
    bool deleted = false;
    int tools = 0, questions = 0, tasks = 0;  // begun and not ended
  };
  void on_state(const StateChanged& change);
  template <typename... Types>
  void watch_all_but_states(AgentTree& tree, const std::variant<Types...>* types);
  void on_event(const Event& event);
  std::string tool_line(const Event& event, const std::string& id);
  void number(std::uint64_t sequence);
  void broken(const std::string& what) {
    violations.push_back(what + " after: " + (lines.empty() ? "" : lines.back()));
  }
  void begin_turn(Reported& reported, std::uint64_t turn);

  std::vector<Subscription> events_;
  std::uint64_t last_ = 0;
  std::unordered_map<Agent, Reported> reported_;
};

// "a b c"
std::string joined(const std::vector<std::string>& words);
// "system:you, user:hello!aborted, user:add, assistant:[add id], tool:id=5, assistant:hi"
std::string written(const std::vector<ChatMessage>& history);

}  // namespace agentcore::test
