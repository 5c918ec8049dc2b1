#include "console/top/agents.hpp"

#include <algorithm>

namespace console_app::top {
namespace {

constexpr std::array<std::string_view, state_count> state_names{
    "idle", "waiting_llm", "processing", "stopping", "stopped", "terminating", ""};

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
}

bool has_text(std::string_view id, std::string_view text) {
  return std::search(id.begin(), id.end(), text.begin(), text.end(),
                     [](char a, char b) { return lower(a) == lower(b); }) != id.end();
}

// Adds the agents from top to bottom. Without recursion: a tree may be as deep as it likes.
void add_rows(std::vector<AgentNode*>& rows, const std::vector<AgentNode*>& roots, bool all) {
  std::vector<AgentNode*> open(roots.rbegin(), roots.rend());
  while (!open.empty()) {
    AgentNode* const next = open.back();
    open.pop_back();
    rows.push_back(next);
    if (all || next->expanded) open.insert(open.end(), next->children.rbegin(), next->children.rend());
  }
}

}  // namespace

State state_of(std::string_view name) {
  const auto found = std::find(state_names.begin(), state_names.end(), name);
  return found == state_names.end() ? State::unknown : static_cast<State>(found - state_names.begin());
}

void Agents::begin_reload() {
  for (auto& [id, node] : nodes_) node->stale = true;
}

void Agents::end_reload() {
  std::vector<std::string> stale;
  for (const auto& [id, node] : nodes_)
    if (node->stale) stale.push_back(id);
  for (const std::string& id : stale)
    if (const auto found = nodes_.find(id); found != nodes_.end()) forget(*found->second);
}

AgentNode& Agents::node(const std::string& id, const std::string& parent_id) {
  if (const auto found = nodes_.find(id); found != nodes_.end()) {
    const AgentNode* const above = found->second->parent;
    if ((above != nullptr ? above->id : "") == parent_id) return *found->second;
    forget(*found->second);  // another agent has its id now
  }
  const auto parent = nodes_.find(parent_id);
  AgentNode* const above = parent == nodes_.end() ? nullptr : parent->second.get();
  auto& added = nodes_[id] = std::make_unique<AgentNode>(AgentNode{.id = id, .parent = above});
  added->depth = above != nullptr ? above->depth + 1 : 0;
  (above != nullptr ? above->children : roots_).push_back(added.get());
  for (AgentNode* up = above; up != nullptr; up = up->parent) ++up->descendants;
  ++counts_[static_cast<std::size_t>(added->state)];
  rows_valid_ = false;
  return *added;
}

void Agents::upsert(const Json& agent) {
  const std::string id = text_in(agent, "id"), parent_id = text_in(agent, "parentAgentId");
  if (id.empty() || id == parent_id) return;
  AgentNode& changed = node(id, parent_id);
  changed.stale = false;
  changed.model = text_in(agent, "model");
  changed.role = text_in(agent, "role");
  set_state(changed, state_of(text_in(agent, "computeStatus")));
  changed.paused = flag_in(agent, "paused");
  changed.queue_held = flag_in(agent, "queueHeld");
  changed.stop_pending = member(agent, "stopPending") != nullptr;
  changed.queue_length = number_in(agent, "queueLength");
  if (const Json* const usage = member(agent, "usage")) {
    changed.tokens = number_in(*usage, "totalTokens");
    changed.turns = number_in(*usage, "turns");
  }
}

void Agents::apply(const Json& event) {
  const std::string type = text_in(event, "type");
  if (type == "created") {
    if (const Json* const agent = member(event, "agent")) upsert(*agent);
    return;
  }
  if (type == "tree_paused") {
    for (AgentNode* const root : roots_) set_paused(*root, flag_in(event, "paused"));
    set_still_paused(event);
    return;
  }
  const auto found = nodes_.find(text_in(event, "agentId"));
  if (found == nodes_.end()) return;
  AgentNode& changed = *found->second;
  if (type == "deleted") {
    forget(changed);
  } else if (type == "state") {
    set_state(changed, state_of(text_in(event, "to")));
    if (changed.state == State::stopped || changed.state == State::terminating) changed.stop_pending = false;
  } else if (type == "paused") {
    set_paused(changed, flag_in(event, "paused"));
    set_still_paused(event);
  } else if (type == "stop_pending") {
    changed.stop_pending = !flag_in(event, "withdrawn");
  } else if (type == "queue_held") {
    changed.queue_held = flag_in(event, "held");
  } else if (type == "queue") {
    changed.queue_length = number_in(event, "length");
  } else if (type == "turn_ended") {
    ++changed.turns;
    if (const Json* const usage = member(event, "usage")) changed.tokens += number_in(*usage, "totalTokens");
  }
}

const AgentNode* Agents::find(const std::string& id) const {
  const auto found = nodes_.find(id);
  return found == nodes_.end() ? nullptr : found->second.get();
}

// An agent is paused with its ancestors, which have the only event of it.
void Agents::set_paused(AgentNode& top, bool paused) {
  std::vector<AgentNode*> open{&top};
  while (!open.empty()) {
    AgentNode& node = *open.back();
    open.pop_back();
    node.paused = paused;
    open.insert(open.end(), node.children.begin(), node.children.end());
  }
}

// What is paused by itself below an agent that is not paused any more.
void Agents::set_still_paused(const Json& event) {
  const Json* const ids = member(event, "stillPaused");
  if (ids == nullptr || !ids->is_array()) return;
  for (const Json& id : *ids)
    if (const auto found = id.is_string() ? nodes_.find(id.get<std::string>()) : nodes_.end();
        found != nodes_.end())
      set_paused(*found->second, true);
}

void Agents::set_state(AgentNode& node, State state) {
  --counts_[static_cast<std::size_t>(node.state)];
  node.state = state;
  ++counts_[static_cast<std::size_t>(state)];
}

// With all below it: a delete reaches them, too.
void Agents::forget(AgentNode& node) {
  std::vector<AgentNode*>& siblings = node.parent != nullptr ? node.parent->children : roots_;
  siblings.erase(std::find(siblings.begin(), siblings.end(), &node));
  for (AgentNode* up = node.parent; up != nullptr; up = up->parent) up->descendants -= node.descendants + 1;
  std::vector<AgentNode*> gone;
  add_rows(gone, {&node}, true);
  for (const AgentNode* each : gone) {
    if (each == selected_) selected_ = nullptr;
    --counts_[static_cast<std::size_t>(each->state)];
    nodes_.erase(std::string(each->id));
  }
  rows_valid_ = false;
}

const std::vector<AgentNode*>& Agents::rows() {
  if (rows_valid_) return rows_;
  rows_.clear();
  add_rows(rows_, roots_, false);
  rows_valid_ = true;
  const auto found = std::find(rows_.begin(), rows_.end(), selected_);
  if (selected_ != nullptr && found != rows_.end())
    row_ = static_cast<std::size_t>(found - rows_.begin());
  else
    select(row_);
  return rows_;
}

const AgentNode* Agents::selected() {
  rows();
  return selected_;
}

std::size_t Agents::selected_row() {
  rows();
  return row_;
}

void Agents::select(std::size_t row) {
  rows();
  row_ = rows_.empty() ? 0 : std::min(row, rows_.size() - 1);
  selected_ = rows_.empty() ? nullptr : rows_[row_];
}

void Agents::select(const std::string& id) {
  if (const auto found = nodes_.find(id); found != nodes_.end()) show(*found->second);
}

void Agents::expand() {
  rows();
  if (selected_ == nullptr || selected_->children.empty()) return;
  if (selected_->expanded) return select(row_ + 1);
  selected_->expanded = true;
  rows_valid_ = false;
}

void Agents::collapse() {
  rows();
  if (selected_ == nullptr) return;
  if (selected_->children.empty() || !selected_->expanded) {
    if (selected_->parent != nullptr) show(*selected_->parent);
    return;
  }
  selected_->expanded = false;
  rows_valid_ = false;
}

void Agents::show(AgentNode& node) {
  for (AgentNode* above = node.parent; above != nullptr; above = above->parent) above->expanded = true;
  selected_ = &node;
  rows_valid_ = false;
}

bool Agents::search(std::string_view text) {
  rows();
  std::vector<AgentNode*> all;
  add_rows(all, roots_, true);
  const auto here = std::find(all.begin(), all.end(), selected_);
  if (here == all.end()) return false;
  std::rotate(all.begin(), here + 1, all.end());
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const AgentNode* each) { return has_text(each->id, text); });
  if (found == all.end()) return false;
  show(**found);
  return true;
}

}  // namespace console_app::top
