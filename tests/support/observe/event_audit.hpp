// Audit: observes a tree from outside and counts every violation of the rules in event.hpp.
#pragma once

#include <agentcore/agent_tree.hpp>

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

namespace agentcore::test {

// Subscribes to all events of one tree. `problem` holds the first violation; "" while there is none.
class Audit {
 public:
  // `restores`: the tree gets what a store has, so all agents may be paused already.
  explicit Audit(agentcore::AgentTree& tree, bool restores = false)
      : events_(tree.on_event([this](const agentcore::Event& event) { see(event); })) {
    agents_[agentcore::Agent()].may_be_paused = restores;
  }

  std::string problem;
  std::size_t turns_started = 0;
  std::size_t turns_ended = 0;
  std::size_t turns_aborted = 0;
  std::size_t settled = 0;
  std::size_t deleted = 0;
  std::size_t dropped = 0;            // messages, as reported by Settled
  std::size_t messages_dropped = 0;   // as reported by MessageDropped, for whatever reason
  std::size_t abandoned = 0;          // agents
  std::size_t calls_started = 0;      // of tools
  std::size_t calls_interrupted = 0;  // of tools
  std::size_t given_up = 0;           // model calls, tool calls and tasks
  bool closed = false;                // set by the test when it destroyed the tree: no event may follow

  // Removes the deleted agents.
  void sweep() {
    std::erase_if(agents_, [](const auto& entry) { return entry.second.gone; });
  }
  // Turns that have begun and not ended.
  std::size_t open_turns() const {
    std::size_t count = 0;
    for (const auto& [agent, seen] : agents_) count += seen.turn != 0;
    return count;
  }

  std::size_t steered() const noexcept { return steered_.size(); }

 private:
  struct Seen {
    agentcore::AgentState state = agentcore::AgentState::idle;
    std::uint64_t turn = 0;  // open; 0: none
    std::uint64_t last_turn = 0;
    bool cut = false;                 // a steer has ended a model call of the turn
    agentcore::MessageId message;     // of the last turn
    bool unsettled_stop = false;      // `stopped` was reported, Settled is to come
    bool unsettled_delete = false;    // `terminating` was reported, Settled is to come
    bool compacts = false;            // a summary began and has not ended
    bool paused = false;              // by a pause of its own
    bool may_be_paused = false;       // as the store had it
    bool restart_ended_turn = false;  // with questions that were asked before
    bool stop_pending = false;        // StopPending was reported, and no withdrawal
    bool pause_settled = false;       // and nothing runs below any more
    bool gone = false;                // AgentDeleted was reported
    std::set<std::string> calls;      // of tools, that have begun and not ended
    std::set<std::string> questions;  // that are open
    std::set<std::string> tasks;      // in the background
  };

  void require(bool holds, const char* what, const agentcore::Agent& agent) {
    if (!holds && problem.empty()) problem = std::string(what) + " (" + agent.id() + ")";
  }

  // `may_follow`: what the store acknowledges of an agent may follow its end.
  Seen& look(const agentcore::Agent& agent, std::uint64_t sequence, bool may_follow) {
    require(!closed, "something was told after the tree's end", agent);
    require(sequence > sequence_, "sequence numbers do not rise", agent);
    sequence_ = sequence;
    Seen& seen = agents_[agent];
    require(may_follow || !seen.gone, "something was told after AgentDeleted", agent);
    return seen;
  }

  void see(Seen& seen, const agentcore::StateChanged& change) {
    using agentcore::AgentState;
    require(change.from == seen.state, "state changes do not join", change.agent);
    require(is_allowed(change.from, change.to), "an edge that is not allowed", change.agent);
    require(!seen.unsettled_stop, "Settled is missing after stopped", change.agent);
    require(seen.turn == 0 || change.to != AgentState::stopped, "stopped before the turn's end",
            change.agent);
    seen.state = change.to;
    seen.unsettled_stop = change.to == AgentState::stopped;
    if (change.to == AgentState::terminating) seen.unsettled_delete = true;
  }

  void see(const agentcore::Event& event) {
    const bool is_of_store = event.get<agentcore::StopPersisted>() != nullptr ||
                             event.get<agentcore::MessagePersisted>() != nullptr;
    Seen& seen = look(event.agent(), event.sequence, is_of_store);
    std::visit([&](const auto& body) { see(seen, body); }, detail::event_body(event));
  }
  void see(Seen&, const agentcore::AgentCreated&) {}
  void see(Seen& seen, const agentcore::TurnStarted& body) {
    require(seen.turn == 0, "turns overlap", body.agent);
    require(seen.last_turn == 0 || body.turn == seen.last_turn + 1, "turn numbers have gaps", body.agent);
    seen.restart_ended_turn = false;
    require(can_process(seen.state), "a turn began behind a closed gate", body.agent);
    require(bool(body.message) && body.message != seen.message, "a turn without a message of its own",
            body.agent);
    seen.turn = seen.last_turn = body.turn;
    seen.message = body.message;
    seen.cut = false;
    ++turns_started;
  }
  void see(Seen& seen, const agentcore::DeltaReceived& body) {
    require(seen.turn == body.turn, "a delta outside of its turn", body.agent);
    require(can_process(seen.state), "a delta behind a closed gate", body.agent);
  }
  void see(Seen& seen, const agentcore::ReasoningReceived& body) {
    require(seen.turn == body.turn, "a thought outside of its turn", body.agent);
    require(can_process(seen.state), "a thought behind a closed gate", body.agent);
  }
  void see(Seen& seen, const agentcore::TurnEnded& body) {
    require(seen.turn == body.turn, "the end of a turn that is not open", body.agent);
    require(seen.message == body.message, "the end of a turn with another message", body.agent);
    require(seen.calls.empty(), "the end of a turn with a tool call open", body.agent);
    seen.turn = 0;
    ++turns_ended;
    turns_aborted += body.result->outcome == agentcore::TurnOutcome::aborted;
  }
  void see(Seen&, const agentcore::QueueHeld&) {}
  void see(Seen& seen, const agentcore::PauseChanged& body) {
    const bool is_known = !std::exchange(seen.may_be_paused, false);
    require(!is_known || seen.paused != body.paused, "a pause that was paused already, or not", body.agent);
    seen.paused = body.paused;
    seen.pause_settled = false;
  }
  void see(Seen& seen, const agentcore::StopPending& body) {
    require(body.when != agentcore::StopWhen::now, "a stop that is pending now", body.agent);
    require(seen.stop_pending || !body.withdrawn, "a stop withdrawn that was not pending", body.agent);
    seen.stop_pending = !body.withdrawn;
  }
  void see(Seen& seen, const agentcore::PauseSettled& body) {
    require(seen.paused && !seen.pause_settled, "a pause that settles twice, or is over", body.agent);
    seen.pause_settled = true;
  }
  void see(Seen& seen, const agentcore::WindowClosed& body) {
    require(seen.calls.contains(body.call_id) || seen.tasks.contains(body.call_id),
            "a window closed by a call that is not open", body.agent);
  }
  void see(Seen& seen, const agentcore::MessageDropped& body) {
    require(bool(body.id) && body.id != seen.message, "a message dropped after its turn began", body.agent);
    ++messages_dropped;
  }
  void see(Seen& seen, const agentcore::Settled& body) {
    require(seen.turn == 0, "settled before the turn's end", body.agent);
    require(seen.questions.empty(), "settled with a question open", body.agent);
    require(seen.tasks.empty(), "settled with a background task running", body.agent);
    const bool stopped = body.end == agentcore::AgentState::stopped;
    require(stopped ? seen.unsettled_stop : seen.unsettled_delete, "Settled twice, or without its state",
            body.agent);
    (stopped ? seen.unsettled_stop : seen.unsettled_delete) = false;
    ++settled;
    dropped += body.messages_dropped;
    abandoned += body.abandoned;
  }
  void see(Seen& seen, const agentcore::Discarded& body) {
    // Except for a tool that timed out or was cancelled, and for a model call that a steer has ended: their
    // turn continues.
    require(seen.turn != body.turn || body.kind == agentcore::LateResult::tool_result || seen.cut,
            "discarded within an open turn", body.agent);
  }
  void see(Seen& seen, const agentcore::ToolStarted& body) {
    require(seen.turn == body.turn, "a tool call outside of its turn", body.agent);
    require(can_process(seen.state), "a tool call behind a closed gate", body.agent);
    require(seen.calls.insert(body.call_id).second, "a tool call that began twice", body.agent);
    ++calls_started;
  }
  void see(Seen& seen, const agentcore::ToolRefused& body) {
    require(seen.turn == body.turn, "a refused tool call outside of its turn", body.agent);
    require(can_process(seen.state), "a refused tool call behind a closed gate", body.agent);
    require(!seen.calls.contains(body.call_id), "a refused tool call that began", body.agent);
  }
  void see(Seen& seen, const agentcore::ModelCallEnded& body) {
    require(seen.turn == body.turn, "a void model call outside of its turn", body.agent);
    require(can_process(seen.state), "a void model call behind a closed gate", body.agent);
    seen.cut = seen.cut || body.cause == agentcore::ReaskCause::steered;
  }
  void see(Seen& seen, const agentcore::Steered& body) {
    require(steered_.insert(body.id).second, "two fates of a steered message", body.agent);
    if (body.fate != agentcore::SteerFate::delivered) return;
    require(seen.turn == body.turn, "a steered message outside of its turn", body.agent);
    require(can_process(seen.state), "a steered message behind a closed gate", body.agent);
  }
  void see(Seen&, const agentcore::ConversationChanged&) {}
  void see(Seen& seen, const agentcore::AgentRestored& body) {
    seen.state = body.state;
    seen.may_be_paused = true;
    seen.restart_ended_turn = body.fate == agentcore::RestoredTurn::interrupted;
    seen.last_turn = body.turn;
    seen.turn = body.fate == agentcore::RestoredTurn::continues ? body.turn : 0;
    if (seen.turn != 0) seen.message = body.message;
  }
  void see(Seen&, const agentcore::StopPersisted&) {}
  void see(Seen&, const agentcore::MessagePersisted&) {}
  void see(Seen& seen, const agentcore::ContextTrimmed& body) {
    require(seen.turn == body.turn, "a context trimmed outside of a turn", body.agent);
  }
  void see(Seen& seen, const agentcore::CompactionChanged& body) {
    require(seen.turn == body.turn, "a compaction outside of its turn", body.agent);
    require(seen.compacts != !body.ended, "a compaction that began or ended twice", body.agent);
    seen.compacts = !body.ended;
  }
  void see(Seen& seen, const agentcore::ToolProgress& body) {
    require(can_process(seen.state), "progress behind a closed gate", body.agent);
  }
  void see(Seen& seen, const agentcore::ToolEnded& body) {
    require(seen.turn == body.turn, "the end of a tool call outside of its turn", body.agent);
    require(seen.calls.erase(body.call_id) == 1, "the end of a tool call that is not open", body.agent);
    calls_interrupted += body.outcome == agentcore::ToolOutcome::interrupted;
  }
  void see(Seen& seen, const agentcore::QuestionAsked& body) {
    require(can_process(seen.state), "a question behind a closed gate", body.agent);
    require(seen.questions.insert(body.question.id).second, "a question asked twice", body.agent);
  }
  void see(Seen& seen, const agentcore::QuestionClosed& body) {
    require(seen.questions.erase(body.question_id) == 1 || seen.restart_ended_turn, "a question closed twice",
            body.agent);
  }
  void see(Seen& seen, const agentcore::TaskChanged& body) {
    const bool begins = body.state == agentcore::TaskState::started;
    require(!begins || can_process(seen.state), "a background task behind a closed gate", body.agent);
    require(begins ? seen.tasks.insert(body.task_id).second : seen.tasks.erase(body.task_id) == 1,
            "a background task that began or ended twice", body.agent);
  }
  void see(Seen& seen, const agentcore::Abandoned& body) {
    // As for Discarded.
    require(seen.turn != body.turn || body.kind != agentcore::TaskKind::model_call || seen.cut,
            "a model call given up within its turn", body.agent);
    ++given_up;
  }
  void see(Seen& seen, const agentcore::AgentDeleted& body) {
    require(seen.turn == 0 && seen.state == agentcore::AgentState::terminating && !seen.unsettled_delete,
            "deleted before it settled", body.agent);
    seen.gone = true;
    ++deleted;
  }

  std::unordered_map<agentcore::Agent, Seen> agents_;
  std::set<agentcore::MessageId> steered_;
  std::uint64_t sequence_ = 0;
  agentcore::Subscription events_;
};

}  // namespace agentcore::test
