// What models, tools and faults do in a World.
#include "sim/choices.hpp"
#include "sim/held_call.hpp"
#include "sim/world.hpp"
#include "sim/world_run.hpp"

#include <array>
#include <utility>

namespace agentcore::sim {

void World::end_model_call(test::FakeClient::Call& call, ChatOutcome outcome) {
  // Each fifth call uses more than was expected.
  const std::uint64_t answer = call.number % 5 == 4 ? 400 : 10;
  outcome.usage = {.prompt_tokens = 20, .completion_tokens = answer, .total_tokens = 20 + answer};
  budget_rules_.model_call_ended(call.request.agent_id);
  test::FakeClient::finish(call, std::move(outcome));
}

// In the text protocol.
void World::answer_in_blocks(const Command& command, test::FakeClient::Call& call) {
  const std::string id = call.request.agent_id;
  WrittenCalls written;
  {
    const test::HostCode host;
    written = write_calls(tool_calls(command.n[1], id), command.n[2]);
    block_rules_.said(id, written);
  }
  for (const std::string& piece : pieces_of(written.text, command.n[2] % 7))
    if (call.open()) call.sink.delta(piece);
  if (!call.open()) return;
  if (!call.stop.stop_requested()) block_rules_.said_all(id);
  end_model_call(call, ChatOutcome::completed(one_of(std::array{FinishReason::complete, FinishReason::unknown,
                                                                FinishReason::tool_calls},
                                                     command.n[2])));
}

bool World::act_as_model(const Command& command) {
  if (act_as_server(command)) return true;
  test::FakeClient::Call* const call = model_call(command.n[0]);
  // It may write the text of a call just now.
  if (call && command.place.is_callback()) block_rules_.garbled(call->request.agent_id);
  switch (command.act) {
    case Act::model_text:
      if (call) call->sink.delta("t" + std::to_string(++texts_) + ' ');
      return true;
    case Act::model_reasoning:
      if (call) call->sink.reasoning("r" + std::to_string(++texts_));
      return true;
    case Act::model_answers:
      if (!call) return true;
      if (command.n[1] % 8 != 7) call->sink.delta(command.n[1] % 3 == 2 ? R"({"a":1})" : "an answer");
      if (call->open())
        end_model_call(
            *call, ChatOutcome::completed(one_of(std::array{FinishReason::complete, FinishReason::complete,
                                                            FinishReason::unknown, FinishReason::refusal},
                                                 command.n[2])));
      return true;
    case Act::model_calls: {
      if (!call) return true;
      if (asks_for_blocks(call->request.messages.front().content()))
        return answer_in_blocks(command, *call), true;
      ChatOutcome outcome = ChatOutcome::completed(FinishReason::tool_calls);
      outcome.tool_calls = tool_calls(command.n[1], call->request.agent_id);
      end_model_call(*call, std::move(outcome));
      return true;
    }
    case Act::model_is_cut: {
      if (!call) return true;
      ChatOutcome outcome = ChatOutcome::completed(one_of(
          std::array{FinishReason::length, FinishReason::content_filter, FinishReason::other}, command.n[2]));
      if (command.n[1] % 2 == 1) outcome.tool_calls = tool_calls(command.n[1], call->request.agent_id);
      end_model_call(*call, std::move(outcome));
      return true;
    }
    case Act::model_fails: {
      if (!call) return true;
      ChatError error{Errc::network_error, "the simulated network fails"};
      error.retryable = command.n[1] % 2 == 0;
      end_model_call(*call, ChatOutcome::failed(std::move(error)));
      return true;
    }
    default:
      return false;
  }
}

bool World::act_as_tool(const Command& command) {
  HeldCall* const call = held(command.n[0]);
  if (command.act < Act::tool_done || command.act > Act::tool_creates) return false;
  if (!call) return true;
  switch (command.act) {
    case Act::tool_done: {
      ToolResult result = ToolResult::done("a result");
      result.end_turn = command.n[1] % 5 == 4;
      end_tool(*call, std::move(result));
      return true;
    }
    case Act::tool_fails:
      end_tool(*call, ToolResult::failed("a failure"));
      return true;
    case Act::tool_dropped:
      end_tool(*call, std::nullopt);
      return true;
    default:
      tell_context(command, *call);
      return true;
  }
}

bool World::act_as_fault(const Command& command) {
  if (act_on_disk(command)) return true;
  switch (command.act) {
    case Act::store_refuses:
      if (!healed_) store_.refuse(1 + command.n[0] % 3);
      return true;
    case Act::store_is_unknown:
      if (!healed_) store_.answer_wrongly(1 + command.n[0] % 2);
      return true;
    case Act::callback_throws:
      throws_ = true;
      return true;
    case Act::destroy_tree:
      run_->audit.closed = true;
      tree_is_destroyed_ = true;
      if (depth_ != 0) messages_.ends_are_unheard();
      run_->shown.reset();
      run_->tree.reset();
      return true;
    case Act::kill:
      if (in_poll_) kill_process(command.n[0]);
      return true;
    default:  // restart: run() does it, between two polls
      return true;
  }
}

}  // namespace agentcore::sim
