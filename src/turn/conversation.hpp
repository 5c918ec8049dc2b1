// Conversation: the history of one agent, valid after every change (G8).
#pragma once

#include <agentcore/agent_spec.hpp>
#include <agentcore/chat.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace agentcore::detail::turn {

// The system prompt of an agent: that of its spec, else the system message of the history that the agent
// began with. Windows and instructions are not part of it: tools::Protocol adds them to each request.
const std::string& system_prompt_of(const AgentSpec& spec) noexcept;

class Conversation {
 public:
  // The text of a call's result until there is a real one. It is correct at every moment: if the turn ends
  // now, it stays (G9).
  static constexpr std::string_view not_started = "not started: its turn ended before it began";
  static constexpr std::string_view interrupted =
      "interrupted: it had begun when its turn ended, and its effect is unknown";

  // Begins with the history of an earlier run; it must be valid. A system message is left out: it is the
  // system prompt. A last question without an answer counts as stopped.
  void restore(std::vector<ChatMessage> history);

  // Allocates the space for a question: ask() then allocates nothing.
  void make_room();
  // The question that begins a turn. It stays, however the turn ends (X22).
  void ask(std::string question, std::vector<ContentPart> parts = {});
  // A message that was put into the turn of the question. No call may be without a result. Throws
  // std::bad_alloc; make_room() prevents that.
  void steer(std::string text, std::vector<ContentPart> parts);
  // The answer that ends the turn.
  void answer(std::string text, std::vector<ReasoningBlock> reasoning = {});
  // An answer with tool calls, and a result `not_started` for each call, so that every call has a result.
  // Missing and duplicate ids are replaced by call_<turn>_<index> (J8). Returns the position of the first
  // result; the others follow in order.
  std::size_t act(std::string text, std::vector<ToolCall> calls, std::uint32_t turn,
                  std::vector<ReasoningBlock> reasoning = {});
  void set_result(std::size_t place, std::string text) { messages_[place].content = std::move(text); }
  // The turn's question will get no answer. No part of an unfinished answer is kept (A19).
  void interrupt(Interruption why);

  const std::vector<ChatMessage>& messages() const noexcept { return messages_; }
  // The system prompt, if any, and the messages marked in `sent`; those beyond its end are included.
  std::vector<ChatMessage> rendered(const std::string& system_prompt,
                                    const std::vector<bool>& sent = {}) const;

 private:
  bool has_call(std::string_view id) const noexcept;

  std::vector<ChatMessage> messages_;
  std::size_t question_ = 0;  // of the last turn
  bool open_ = false;         // it has no answer yet
};

}  // namespace agentcore::detail::turn
