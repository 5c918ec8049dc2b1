#include "sim/block_rules.hpp"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

namespace agentcore::sim {
namespace {

using Names = std::vector<std::string>;

Names names_of(const std::vector<ToolCall>& calls) {
  Names names;
  for (const ToolCall& call : calls) names.push_back(call.name);
  return names;
}

std::string text_of_names(const Names& names) {
  std::string text;
  for (const std::string& name : names) text += ' ' + name;
  return text;
}

}  // namespace

void BlockRules::said(const std::string& agent, const WrittenCalls& written) {
  writers_.insert(agent);
  if (const auto turn = turns_.find(agent); turn != turns_.end())
    turn->second.said.push_back({written, false});
}

void BlockRules::said_all(const std::string& agent) {
  const auto turn = turns_.find(agent);
  if (turn != turns_.end() && !turn->second.said.empty()) turn->second.said.back().is_all = true;
}

void BlockRules::see(const Event& event) {
  const std::string id = event.agent().id();
  if (event.get<AgentCreated>() != nullptr || event.get<AgentRestored>() != nullptr) {
    writers_.erase(id);
    turns_.erase(id);
  }
  if (event.get<TurnStarted>() != nullptr) turns_[id] = {};
  const auto in_turn = turns_.find(id);
  if (event.get<ModelCallEnded>() != nullptr && in_turn != turns_.end()) in_turn->second.shown.clear();
  if (const auto* delta = event.get<DeltaReceived>();
      delta != nullptr && in_turn != turns_.end() && writers_.contains(id)) {
    std::string& shown = in_turn->second.shown;
    shown += delta->text;
    verdict_.require(shown.find("<tool_call>") == shown.npos && shown.find("action_id") == shown.npos,
                     "text protocol", "a part of a call is shown as text of " + id + ": " + shown);
  }
  if (const auto* ended = event.get<TurnEnded>()) {
    const auto turn = turns_.extract(id);
    const auto simulated = simulated_.find(ended->message);
    if (simulated != simulated_.end())
      check(*ended, id, {simulated->second});
    else if (turn && writers_.contains(id) && !perhaps_.contains(ended->message))
      check(*ended, id, turn.mapped().said);
  }
}

void BlockRules::check(const TurnEnded& ended, const std::string& agent, const std::vector<Said>& said) {
  std::map<std::uint32_t, Names> rounds;
  for (const ToolCallRecord& record : ended.result->calls) rounds[record.round].push_back(record.tool);
  auto at = said.begin();
  const Said* last = nullptr;
  for (const auto& [round, names] : rounds) {
    while (at != said.end() && names_of(at->written.calls) != names) ++at;
    if (at == said.end())
      return verdict_.fail("text protocol",
                           agent + " makes calls that its model has not written:" + text_of_names(names));
    last = &*at++;
  }
  if (ended.result->outcome == TurnOutcome::completed) {
    std::size_t whole = 0;
    for (const Said& one : said) whole += one.is_all && !one.written.calls.empty() ? 1U : 0U;
    verdict_.require(rounds.size() >= whole, "text protocol",
                     "calls that its model has written were not made: " + agent);
  }
  if (last == nullptr || !last->written.has_known_params || !ended.result->last_call) return;
  const auto made = nlohmann::json::parse(ended.result->last_call->arguments, nullptr, false);
  // An answer with calls of the same names may have been cut before, by a steered message.
  const Names names = names_of(last->written.calls);
  const bool is_written = std::any_of(said.begin(), said.end(), [&](const Said& one) {
    return names_of(one.written.calls) == names &&
           nlohmann::json::parse(one.written.calls.back().arguments, nullptr, false) == made;
  });
  verdict_.require(is_written, "text protocol",
                   "the arguments of a call of " + agent + " are " + ended.result->last_call->arguments);
}

void BlockRules::process_ended() {
  writers_.clear();
  turns_.clear();
  for (const auto& [id, said] : std::exchange(simulated_, {})) perhaps_.insert(id);
}

}  // namespace agentcore::sim
