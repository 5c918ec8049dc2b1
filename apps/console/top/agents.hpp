// What is known of the agents: a tree, kept up to date by events.
#pragma once

#include "console/top/json_fields.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace console_app::top {

enum class State { idle, waiting_llm, processing, stopping, stopped, terminating, unknown };
constexpr std::size_t state_count = 7;

State state_of(std::string_view name);

struct AgentNode {
  std::string id;
  AgentNode* parent = nullptr;
  std::vector<AgentNode*> children = {};  // in the order of creation
  std::size_t depth = 0;
  std::size_t descendants = 0;
  std::string model = {};  // empty: the default one
  std::string role = {};   // "normal", "system", "user"
  State state = State::unknown;
  bool paused = false;
  bool queue_held = false;
  bool stop_pending = false;
  std::uint64_t queue_length = 0;
  std::uint64_t tokens = 0;
  std::uint64_t turns = 0;
  bool expanded = true;
  bool stale = false;  // it was not seen yet since begin_reload()

  bool is_running() const { return state == State::waiting_llm || state == State::processing; }
};

class Agents {
 public:
  // Between the two the whole tree is read again: what was not upserted is forgotten.
  void begin_reload();
  void end_reload();
  void upsert(const Json& agent);
  void apply(const Json& event);

  std::size_t size() const { return nodes_.size(); }
  std::size_t count(State state) const { return counts_[static_cast<std::size_t>(state)]; }
  const AgentNode* find(const std::string& id) const;

  // The agents that are not below a collapsed one, from top to bottom.
  const std::vector<AgentNode*>& rows();

  // Null: there is no agent. Otherwise one is always selected, and it is in a row.
  const AgentNode* selected();
  std::size_t selected_row();
  void select(std::size_t row);        // the last one, if there are fewer
  void select(const std::string& id);  // if there is such an agent
  void expand();                       // or go to the first child
  void collapse();                     // or go to the parent
  // Selects the next agent, in the order of the whole tree, whose id has the text; false: there is none.
  // Letters of ASCII are equal in both cases.
  bool search(std::string_view text);

 private:
  AgentNode& node(const std::string& id, const std::string& parent_id);
  void set_state(AgentNode& node, State state);
  static void set_paused(AgentNode& top, bool paused);
  void set_still_paused(const Json& event);
  void forget(AgentNode& node);
  void show(AgentNode& node);

  std::unordered_map<std::string, std::unique_ptr<AgentNode>> nodes_ = {};
  std::vector<AgentNode*> roots_ = {};
  std::array<std::size_t, state_count> counts_ = {};
  std::vector<AgentNode*> rows_ = {};
  bool rows_valid_ = false;
  AgentNode* selected_ = nullptr;  // null: the agent in row `row_`
  std::size_t row_ = 0;            // of the selected agent, if the rows are valid
};

}  // namespace console_app::top
