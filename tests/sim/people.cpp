#include "sim/people.hpp"

#include <agentcore/turn_result.hpp>

namespace agentcore::sim {

void People::see(const Event& event) {
  tasks.see(event);
  if (std::string line = line_of(event); !line.empty()) lines.push_back(std::move(line));
  const std::string id = event.agent().id();
  if (const auto* delta = event.get<DeltaReceived>())
    texts[{id, delta->turn, delta->call, false}] += delta->text;
  if (const auto* reasoning = event.get<ReasoningReceived>())
    texts[{id, reasoning->turn, reasoning->call, true}] += reasoning->text;
  if (event.get<AgentCreated>() != nullptr || event.get<AgentDeleted>() != nullptr) spent.erase(id);
  if (const auto* ended = event.get<TurnEnded>()) {
    ++spent[id].turns;
    spent[id].tokens += static_cast<std::uint64_t>(ended->result->usage.total_tokens);
  }
  const auto* const change = event.get<StateChanged>();
  if (event.get<AgentDeleted>() != nullptr || (change != nullptr && change->to == AgentState::terminating))
    created.erase(id);
}

void People::tree_ended() {
  tasks.tree_ended();
  receipts.clear();
  lines.clear();
  texts.clear();
  spent.clear();
}

void People::leaves(ConsoleClient& client, bool in_order) {
  may_have_effect(client);
  client.leave(in_order);
}

// Its answers are not seen.
void People::may_have_effect(ConsoleClient& client) {
  client.for_each_open([this](const Asked& asked) {
    if (asked.is_complete && makes_task(asked.request)) tasks.may_be_created();
    has_logged_out = has_logged_out || asked.request == Request::log_out;
  });
}

bool People::may_have_logged_out() {
  bool may = has_logged_out;
  for (ConsoleClient& client : clients)
    client.for_each_open([&](const Asked& asked) { may = may || asked.request == Request::log_out; });
  return may;
}

void People::process_ended() {
  for (ConsoleClient& client : clients) {
    may_have_effect(client);
    client.forget();
  }
  for (EventViewer& viewer : viewers) viewer.forget();
  cookie.clear();
  has_logged_out = false;
}

}  // namespace agentcore::sim
