// Company: the agents of the demo and their progress.
#pragma once

#include <agentcore/agentcore.hpp>
#include <agentcore/http.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace demo {

struct Model {
  std::string base_url;
  std::string api_key;
  std::string name;
};

// One line of the display.
struct Member {
  std::string id;
  int level = 0;
  agentcore::Agent agent;
  std::unique_ptr<agentcore::HttpLlmClient> llm;  // one per agent: a header names the agent to the server
  agentcore::AgentState state = agentcore::AgentState::idle;
  std::string text;
  std::size_t tokens = 0;             // deltas delivered
  std::size_t tokens_after_stop = 0;  // deltas delivered after a verb on it had returned: must stay 0
  bool halted = false;                // a verb on it, or on an agent above it, has returned
  bool settled = false;
  bool gone = false;
  std::string failure;
};

// planner -> scout -> (maps, weather), planner -> writer -> (drafter, critic)
class Company {
 public:
  Company(agentcore::Runtime& runtime, const Model& model);

  // Gives every agent its task.
  void begin();

  const std::vector<std::unique_ptr<Member>>& members() const noexcept { return members_; }
  Member* find(const std::string& id);
  // The agent of that id and everything below it.
  std::vector<Member*> below(const std::string& id);
  bool all_have_text() const;
  std::string first_failure() const;

 private:
  void hire(const std::string& id, const std::string& boss, const std::string& role);
  void on_event(const agentcore::Event& event);

  agentcore::Runtime& runtime_;
  Model model_;
  agentcore::AgentTree tree_;
  std::vector<std::unique_ptr<Member>> members_;
  agentcore::Subscription states_;
  agentcore::Subscription events_;
};

}  // namespace demo
