#include "sim/transfer_rules.hpp"

#include <agentcore/testing/request_validator.hpp>

namespace agentcore::sim {

void TransferRules::begun(const std::string& agent, bool paused_meanwhile) {
  if (!paused_meanwhile) gates_.may_not_be_paused(agent, "a request");
}

void TransferRules::sent(const Sent& request, bool left) {
  open_[request.id] = {request.agent, gates_.turn_of(request.agent)};
  if (!left) gates_.goes_out(request.agent, "a request");
  const auto problems = testing::validate_request(request.provider, request.body, request.path);
  verdict_.require(problems.empty(), "G8",
                   request.provider + " would refuse a request of " + request.agent + ": " +
                       (problems.empty() ? "" : problems.front()));
}

void TransferRules::ended(const Ended& transfer) {
  const auto call = open_.extract(transfer.id);
  if (!call) return verdict_.fail("G10", "a second end of the transfer " + std::to_string(transfer.id));
  const auto turn = turns_.find(call.mapped().agent);
  if (turn == turns_.end()) return;
  turn->second.most += transfer.counted.total_tokens;
  if (transfer.arrived) turn->second.arrived += transfer.counted.total_tokens;
}

void TransferRules::see(const Event& event) {
  const std::string id = event.agent().id();
  if (event.get<AgentDeleted>() != nullptr || event.get<AgentRestored>() != nullptr) turns_.erase(id);
  if (event.get<TurnStarted>() != nullptr) turns_[id] = {};
  if (const auto* ended = event.get<TurnEnded>()) check_usage(*ended->result, id);
}

// An answer that has arrived is counted, and once.
void TransferRules::check_usage(const TurnResult& result, const std::string& agent) {
  const Usage& told = result.usage;
  const auto turn = turns_.extract(agent);
  if (!turn) return;
  const Counted& sent = turn.mapped();
  const std::string counts =
      std::to_string(told.total_tokens) + " tokens for " + agent + ", and the servers sent ";
  verdict_.require(told.total_tokens >= sent.arrived, "usage",
                   "a turn reports " + counts + std::to_string(sent.arrived));
  verdict_.require(!told.complete || told.total_tokens <= sent.most, "usage",
                   "a turn reports " + counts + std::to_string(sent.most));
}

void TransferRules::process_ended() {
  open_.clear();
  turns_.clear();
}

void TransferRules::check_cut(const HttpModels& models) {
  for (const auto& [id, transfer] : models.transport().transfers()) {
    if (!transfer->launched || transfer->handle->is_cut()) continue;
    const Call& call = open_.at(id);
    verdict_.require(!gates_.is_stopped(call.agent), "G5",
                     "a transfer of a stopped agent goes on: " + call.agent);
    verdict_.require(!gates_.is_cut(call.agent, call.turn), "G5",
                     "a transfer of a turn that was ended goes on: " + call.agent);
  }
}

void TransferRules::check_quiet(const HttpModels& models, const AgentTree& tree) {
  for (const auto& [id, transfer] : models.transport().transfers()) {
    const Call& call = open_.at(id);
    verdict_.require(!transfer->handle->is_cut(), "G4",
                     "a transfer that was cut does not end: " + call.agent);
    const auto agent = tree.find(call.agent);
    const bool works = agent && (agent.value().state().value() == AgentState::waiting_llm ||
                                 agent.value().state().value() == AgentState::processing);
    verdict_.require(works, "G4", "a transfer of no turn: " + call.agent);
  }
}

void TransferRules::check_slots(const HttpModels& models, const Setup& setup) {
  if (models.router() == nullptr) return;
  const CallSlots& slots = models.router()->call_slots();
  const std::size_t open = models.transport().open();
  verdict_.require(
      slots.running() == open, "slots",
      std::to_string(slots.running()) + " slots are in use, for " + std::to_string(open) + " transfers");
  const std::uint32_t limits = setup[Knob::call_limits] % 5;
  verdict_.require(limits != 1 || open <= 1, "slots", "more calls than CallLimits::total");
  verdict_.require(limits != 3 || open <= 2, "slots", "more calls than CallLimits::total");
}

void TransferRules::check_end(const HttpModels& models) {
  verdict_.require(open_.empty() && models.transport().open() == 0, "G5", "a transfer has no end");
  if (const LlmRouter* const router = models.router()) {
    verdict_.require(models.open_calls() == 0, "G5", "a call of the router has no end");
    verdict_.require(router->call_slots().running() == 0, "slots", "a slot was not given back");
    verdict_.require(router->call_slots().waiting() == 0, "slots", "a call waits for a slot for ever");
  }
}

}  // namespace agentcore::sim
