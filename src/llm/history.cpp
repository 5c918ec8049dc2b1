#include <agentcore/history.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

namespace agentcore {
namespace {

// Where a history stands: what may come next.
struct Progress {
  const ChatMessage* question = nullptr;     // of the turn
  bool answered = false;                     // in words; the turn is over
  std::unordered_set<std::string_view> ids;  // of all calls so far
  std::vector<std::string_view> open;        // calls that wait for their results

  bool takes_question() const {
    return open.empty() && (!question || answered || question->interruption != Interruption::none);
  }
  bool takes_answer(const ChatMessage& message) const {
    if (!question || answered || !open.empty()) return false;
    return !message.tool_calls.empty() || question->interruption == Interruption::none;
  }
};

bool take(Progress& so_far, const std::vector<ChatMessage>& all, const ChatMessage& message) {
  if (message.role != Role::assistant && !message.tool_calls.empty()) return false;
  if (message.role != Role::tool && !message.tool_call_id.empty()) return false;
  switch (message.role) {
    case Role::system:
      return &message == &all.front();
    case Role::user:
      if (!so_far.takes_question()) return false;
      so_far.question = &message;
      so_far.answered = false;
      return true;
    case Role::assistant:
      if (!so_far.takes_answer(message)) return false;
      so_far.answered = message.tool_calls.empty();
      for (const ToolCall& call : message.tool_calls) {
        if (call.id.empty() || call.name.empty() || !so_far.ids.insert(call.id).second) return false;
        so_far.open.push_back(call.id);
      }
      return true;
    case Role::tool:
      return std::erase(so_far.open, std::string_view(message.tool_call_id)) == 1;
  }
  return false;
}

constexpr std::string_view cancelled_result = "cancelled";

// Writes a valid history, message by message.
class Repair {
 public:
  void take(ChatMessage&& message, std::size_t number) {
    number_ = number;
    if (message.role != Role::assistant && !std::exchange(message.tool_calls, {}).empty())
      note("has tool calls, which only an answer may have: dropped");
    if (message.role != Role::tool && !std::exchange(message.tool_call_id, {}).empty())
      note("names a tool call, which only a result may do: dropped");
    if (message.role != Role::user &&
        std::exchange(message.interruption, Interruption::none) != Interruption::none)
      note("is marked as interrupted, which only a question may be: unmarked");
    switch (message.role) {
      case Role::system:
        return take_system(std::move(message));
      case Role::user:
        return take_question(std::move(message));
      case Role::assistant:
        return take_answer(std::move(message));
      case Role::tool:
        return take_result(std::move(message));
    }
  }

  RepairedHistory finish() {
    end_turn();
    return std::move(done_);
  }

 private:
  struct OpenCall {
    std::string old_id, id;
  };

  void note(std::string_view what) {
    done_.changes.push_back("message " + std::to_string(number_) + " " + std::string(what));
  }

  void take_system(ChatMessage&& message) {
    if (!done_.messages.empty()) return note("is a system message that is not the first: dropped");
    done_.messages.push_back(std::move(message));
  }

  void take_question(ChatMessage&& message) {
    end_turn();
    question_ = done_.messages.size();
    has_question_ = true;
    answered_ = false;
    done_.messages.push_back(std::move(message));
  }

  void take_answer(ChatMessage&& message) {
    if (!has_question_) return note("answers no question: dropped");
    close_calls();
    std::erase_if(message.tool_calls, [this](const ToolCall& call) {
      if (call.name.empty()) note("has a call without a name: dropped");
      return call.name.empty();
    });
    name_calls(message);
    Interruption& mark = done_.messages[question_].interruption;
    if (message.tool_calls.empty() && std::exchange(mark, Interruption::none) != Interruption::none)
      note("answers a question that was marked as interrupted: unmarked");
    if (answered_) {
      note("follows another answer: joined with it");
      ChatMessage& last = done_.messages.back();
      if (!message.content.empty()) last.content += (last.content.empty() ? "" : "\n\n") + message.content;
      if (!message.tool_calls.empty()) last.reasoning = std::move(message.reasoning);  // led to the calls
      last.tool_calls = std::move(message.tool_calls);
      last.pinned = last.pinned || message.pinned;
    } else {
      done_.messages.push_back(std::move(message));
    }
    answered_ = done_.messages.back().tool_calls.empty();
  }

  void name_calls(ChatMessage& message) {
    for (ToolCall& call : message.tool_calls) {
      open_.push_back({call.id, call.id});
      if (!call.id.empty() && ids_.insert(call.id).second) continue;
      note("has a call whose id is missing or taken: renamed");
      do call.id = "call_r" + std::to_string(++renamed_);
      while (!ids_.insert(call.id).second);
      open_.back().id = call.id;
    }
  }

  void take_result(ChatMessage&& message) {
    const auto call = std::find_if(open_.begin(), open_.end(),
                                   [&](const OpenCall& open) { return open.old_id == message.tool_call_id; });
    if (call == open_.end()) return note("is the result of no call: dropped");
    message.tool_call_id = call->id;
    open_.erase(call);
    done_.messages.push_back(std::move(message));
  }

  // What was called and has no result was not run to its end.
  void close_calls() {
    for (const OpenCall& call : std::exchange(open_, {})) {
      note("comes before the result of call " + call.id + ": that counts as cancelled");
      ChatMessage result{Role::tool, std::string(cancelled_result)};
      result.tool_call_id = call.id;
      done_.messages.push_back(std::move(result));
    }
  }

  void end_turn() {
    close_calls();
    if (!has_question_ || answered_) return;
    Interruption& mark = done_.messages[question_].interruption;
    if (mark != Interruption::none) return;
    note("comes before the answer to a question: that counts as stopped");
    mark = Interruption::stopped;
  }

  RepairedHistory done_;
  std::size_t number_ = 0;
  std::size_t question_ = 0;  // of the turn, in done_.messages
  bool has_question_ = false;
  bool answered_ = false;
  std::vector<OpenCall> open_;
  std::unordered_set<std::string> ids_;
  std::size_t renamed_ = 0;
};

}  // namespace

bool is_valid_history(const std::vector<ChatMessage>& messages) {
  Progress so_far;
  for (const ChatMessage& message : messages)
    if (!take(so_far, messages, message)) return false;
  return so_far.open.empty();
}

RepairedHistory repair_history(std::vector<ChatMessage> messages) {
  Repair repair;
  std::size_t number = 0;
  for (ChatMessage& message : messages) repair.take(std::move(message), ++number);
  return repair.finish();
}

}  // namespace agentcore
