#include "core/message_items.hpp"
#include "llm/history_problem.hpp"

#include <agentcore/history.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <variant>

namespace agentcore {
namespace {

// What is wrong with a message, as the rest of a sentence that begins with the message; empty: nothing.
using Problem = std::string;

// Fields that only messages of another role may have.
constexpr std::string_view stray_calls = "has tool calls, which only an answer may have";
constexpr std::string_view stray_call_id = "names a tool call, which only a result may do";
constexpr std::string_view stray_end = "says how a tool call ended, which only a result may do";
constexpr std::string_view stray_mark =
    "is marked as interrupted, which only a question and an answer without tool calls may be";
constexpr std::string_view answer_mark = "is a question with a mark that only an answer may have";
constexpr std::string_view stray_reasoning =
    "has reasoning, which a part of an answer may not have, because it belongs to the whole";
constexpr std::string_view after_part = "follows a part of an answer that was interrupted";
constexpr std::string_view unmarked_question =
    "is a part of an answer that ends its turn, but the question is not marked as interrupted";
constexpr std::string_view stray_parts =
    "has images, documents or sounds, which only a question and a result may have";
constexpr std::string_view stray_steer = "is marked as steered, which only a user message may be";
constexpr std::string_view marked_steer =
    "is marked as interrupted and as steered; mark the question instead";
constexpr std::string_view late_steer = "is marked as steered, but no turn is open before it";
constexpr std::string_view stray_summary =
    "is marked as a summary, which only a user message before the first question may be";
constexpr std::string_view marked_summary = "is marked as a summary, and as interrupted or steered";

// A mark that only a question may have, or an answer without calls.
bool may_be_marked(const ChatMessage& message) noexcept {
  return message.role == Role::user || (message.role == Role::assistant && message.tool_calls().empty());
}

bool may_have_parts(Role role) noexcept {
  return role == Role::user || role == Role::tool;
}

// A mark of answers.
bool is_of_answers(Interruption mark) noexcept {
  return mark == Interruption::steered || mark == Interruption::truncated;
}

// An answer that is not the model's whole answer has no reasoning.
bool is_cut(const ChatMessage& message) noexcept {
  return message.role == Role::assistant && message.interruption != Interruption::none;
}

constexpr std::string_view late_system = "is a system message that is not the first";

// Checks the order of the messages of a history.
class Progress {
 public:
  Problem take(const ChatMessage& message) {
    ++number_;
    if (message.role != Role::assistant && !message.tool_calls().empty()) return Problem(stray_calls);
    if (message.role != Role::tool && !message.tool_call_id.empty()) return Problem(stray_call_id);
    if (message.role != Role::tool && message.call_end) return Problem(stray_end);
    if (message.interruption != Interruption::none && !may_be_marked(message)) return Problem(stray_mark);
    if (is_cut(message) && !message.reasoning().empty()) return Problem(stray_reasoning);
    if (!may_have_parts(message.role) && !message.parts().empty()) return Problem(stray_parts);
    if (message.summary) return take_summary(message);
    if (message.steered) return take_steered(message);
    switch (message.role) {
      case Role::system:
        return Problem(number_ == 1 ? std::string_view() : late_system);
      case Role::user:
        return take_question(message);
      case Role::assistant:
        return take_answer(message);
      case Role::tool:
        return take_result(message);
    }
    return "has an unknown role";
  }

  // After the last message: the number of an answer that is not finished; 0: none.
  std::size_t unfinished() const {
    return !open_.empty() || (part_ && !is_question_marked()) ? answer_at_ : 0;
  }
  Problem end_problem() const {
    if (open_.empty()) return Problem(unmarked_question);
    return "has no result of its tool call '" + std::string(open_.front()) + "'";
  }

 private:
  Problem too_early() const {
    return "comes before the result of tool call '" + std::string(open_.front()) + "'";
  }

  Problem take_steered(const ChatMessage& message) {
    if (message.role != Role::user) return Problem(stray_steer);
    if (message.interruption != Interruption::none) return Problem(marked_steer);
    if (!open_.empty()) return too_early();
    if (!question_ || answered_) return Problem(late_steer);
    if (part_ && part_->interruption != Interruption::steered) return Problem(after_part);
    part_ = nullptr;
    return {};
  }

  bool is_question_marked() const { return question_->interruption != Interruption::none; }

  // It begins no turn, and needs no answer.
  Problem take_summary(const ChatMessage& message) {
    if (message.role != Role::user || question_) return Problem(stray_summary);
    return Problem(message.steered || message.interruption != Interruption::none ? marked_summary
                                                                                 : std::string_view());
  }

  Problem take_question(const ChatMessage& message) {
    if (!open_.empty()) return too_early();
    if (question_ && !answered_ && !is_question_marked())
      return "comes before the answer to the question before it, which is not marked as interrupted";
    if (is_of_answers(message.interruption)) return Problem(answer_mark);
    question_ = &message;
    part_ = nullptr;
    answered_ = false;
    return {};
  }

  Problem take_answer(const ChatMessage& message) {
    if (!question_) return "answers no question";
    if (!open_.empty()) return too_early();
    if (answered_) return "follows another answer";
    if (part_) return Problem(after_part);
    answer_at_ = number_;
    if (message.is_partial()) {
      part_ = &message;
      return {};
    }
    answered_ = message.tool_calls().empty();
    if (answered_ && is_question_marked()) return "answers a question that is marked as interrupted";
    for (const ToolCall& call : message.tool_calls()) {
      if (call.id.empty()) return "has a tool call without an id";
      if (call.name.empty()) return "has a tool call without a name";
      if (!ids_.insert(call.id).second) return "has a tool call whose id '" + call.id + "' is taken";
      open_.push_back(call.id);
    }
    return {};
  }

  Problem take_result(const ChatMessage& message) {
    if (std::erase(open_, std::string_view(message.tool_call_id)) == 1) return {};
    return "is the result of no open tool call: '" + message.tool_call_id + "'";
  }

  std::size_t number_ = 0;                    // of messages taken
  const ChatMessage* question_ = nullptr;     // of the turn
  bool answered_ = false;                     // without calls; the turn is over
  std::unordered_set<std::string_view> ids_;  // of all calls so far
  std::vector<std::string_view> open_;        // calls that wait for their results
  const ChatMessage* part_ = nullptr;         // the last message, if it is a part of an answer
  std::size_t answer_at_ = 0;                 // number of the last answer
};

constexpr std::string_view cancelled_result = "cancelled";

// Writes a valid history, message by message.
class Repair {
 public:
  void take(ChatMessage&& message, std::size_t number) {
    number_ = number;
    if (message.role != Role::assistant && message.remove<ToolCall>()) note(stray_calls, ": dropped");
    if (message.role != Role::tool && !std::exchange(message.tool_call_id, {}).empty())
      note(stray_call_id, ": dropped");
    if (message.role != Role::tool && std::exchange(message.call_end, {})) note(stray_end, ": dropped");
    if (message.interruption != Interruption::none && !may_be_marked(message)) unmark(message, stray_mark);
    if (is_cut(message) && message.remove<ReasoningBlock>()) note(stray_reasoning, ": dropped");
    if (!may_have_parts(message.role) && message.remove<ContentPart>()) note(stray_parts, ": dropped");
    if (message.summary && is_bad_summary(message)) message.summary = false;
    if (message.steered && is_bad_steer(message)) message.steered = false;
    if (message.steered) return take_steered(std::move(message));
    if (message.summary) {
      close_calls();
      done_.messages.push_back(std::move(message));
      return;
    }
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

  void note(std::string_view what, std::string_view done = {}) {
    done_.changes.push_back("message " + std::to_string(number_) + " " + std::string(what) +
                            std::string(done));
  }

  void take_system(ChatMessage&& message) {
    if (!done_.messages.empty()) return note(late_system, ": dropped");
    done_.messages.push_back(std::move(message));
  }

  void unmark(ChatMessage& message, std::string_view why) {
    note(why, ": unmarked");
    message.interruption = Interruption::none;
  }

  void take_steered(ChatMessage&& message) {
    close_calls();
    if (ChatMessage& last = done_.messages.back();
        last.is_partial() && std::exchange(last.interruption, Interruption::steered) != Interruption::steered)
      note("is steered, after a part of an answer with another mark: that is marked as steered");
    done_.messages.push_back(std::move(message));
  }

  // A steered message that cannot be one: it counts as any other.
  bool is_bad_steer(const ChatMessage& message) {
    const bool is_user = message.role == Role::user;
    if (is_user && message.interruption == Interruption::none && has_question_ && !answered_) return false;
    note(!is_user                                     ? stray_steer
         : message.interruption != Interruption::none ? marked_steer
                                                      : late_steer,
         ": unmarked");
    return true;
  }

  // A summary that cannot be one: it counts as any other message.
  bool is_bad_summary(const ChatMessage& message) {
    const bool is_marked = message.steered || message.interruption != Interruption::none;
    if (message.role == Role::user && !has_question_ && !is_marked) return false;
    note(message.role == Role::user && !has_question_ ? marked_summary : stray_summary, ": unmarked");
    return true;
  }

  void take_question(ChatMessage&& message) {
    end_turn();
    if (is_of_answers(message.interruption)) unmark(message, answer_mark);
    question_ = done_.messages.size();
    has_question_ = true;
    answered_ = false;
    done_.messages.push_back(std::move(message));
  }

  void take_answer(ChatMessage&& message) {
    if (!has_question_) return note("answers no question: dropped");
    close_calls();
    std::erase_if(message.items, [this](const MessageItem& item) {
      const auto* const call = std::get_if<ToolCall>(&item);
      if (!call || !call->name.empty()) return false;
      note("has a call without a name: dropped");
      return true;
    });
    name_calls(message);
    if (answered_ || done_.messages.back().is_partial())
      join(std::move(message));
    else
      done_.messages.push_back(std::move(message));
    const ChatMessage& last = done_.messages.back();
    answered_ = last.tool_calls().empty() && !last.is_partial();
    Interruption& mark = done_.messages[question_].interruption;
    if (answered_ && std::exchange(mark, Interruption::none) != Interruption::none)
      note("answers a question that was marked as interrupted: unmarked");
  }

  // Two answers in a row become one. A final answer stays final, unless calls follow.
  void join(ChatMessage&& message) {
    note("follows another answer: joined with it");
    ChatMessage& last = done_.messages.back();
    const bool calls = !message.tool_calls().empty();
    if (calls)
      last.remove<ReasoningBlock>();  // only what led to the calls is kept
    else
      message.remove<ReasoningBlock>();
    if (!answered_ || calls) last.interruption = message.interruption;
    join_texts(last, message);
    last.append(std::move(message.items));
    last.pinned = last.pinned || message.pinned;
  }

  // Two texts that would follow each other become one.
  static void join_texts(ChatMessage& last, ChatMessage& message) {
    auto* const before = last.items.empty() ? nullptr : std::get_if<TextItem>(&last.items.back());
    auto* const after = message.items.empty() ? nullptr : std::get_if<TextItem>(&message.items.front());
    if (!before || !after || before->phase != after->phase || before->refusal != after->refusal) return;
    if (!before->text.empty() && !after->text.empty()) before->text += detail::core::between_texts;
    before->text += after->text;
    message.items.erase(message.items.begin());
  }

  void name_calls(ChatMessage& message) {
    for (ToolCall& call : message.tool_calls()) {
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

  // Calls without a result were not completed.
  void close_calls() {
    for (const OpenCall& call : std::exchange(open_, {})) {
      note("comes before the result of call " + call.id + ": that counts as cancelled");
      done_.messages.push_back(ChatMessage::tool_result(call.id, std::string(cancelled_result)));
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

std::string detail::llm::history_problem(const std::vector<ChatMessage>& messages) {
  const auto with_place = [&](std::size_t number, const Problem& problem) {
    const std::string_view role = to_string(messages[number - 1].role);
    return "message " + std::to_string(number) + " (" + std::string(role) + ") " + problem;
  };
  Progress so_far;
  std::size_t number = 0;
  for (const ChatMessage& message : messages) {
    ++number;
    if (const Problem problem = so_far.take(message); !problem.empty()) return with_place(number, problem);
  }
  const std::size_t unfinished = so_far.unfinished();
  return unfinished == 0 ? std::string() : with_place(unfinished, so_far.end_problem());
}

bool is_valid_history(const std::vector<ChatMessage>& messages) {
  return detail::llm::history_problem(messages).empty();
}

RepairedHistory repair_history(std::vector<ChatMessage> messages) {
  Repair repair;
  std::size_t number = 0;
  for (ChatMessage& message : messages) repair.take(std::move(message), ++number);
  return repair.finish();
}

}  // namespace agentcore
