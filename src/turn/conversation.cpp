#include "turn/conversation.hpp"

#include "core/blank.hpp"
#include "core/message_items.hpp"
#include "core/utf8.hpp"

#include <algorithm>
#include <iterator>
#include <new>
#include <utility>

namespace agentcore::detail::turn {
namespace {

// True for an answer that ends its turn.
bool is_final(const ChatMessage& message) noexcept {
  return message.role == Role::assistant && message.tool_calls().empty() && !message.is_partial();
}

constexpr std::string_view tasks_heading = "Background tasks that have ended:\n";

// Puts the lines before the question. Returns their size; 0 if there are none, or no memory.
std::size_t put_before(std::string& question, std::string& lines) noexcept {
  const std::size_t size = lines.size();
  if (size == 0) return 0;
  try {
    std::string text = std::string(tasks_heading) + lines;
    if (!question.empty()) text.append("\n").append(question);
    question = std::move(text);
    lines.clear();
    return size;
  } catch (const std::bad_alloc&) {
    return 0;
  }
}

}  // namespace

const std::string& system_prompt_of(const AgentSpec& spec) noexcept {
  const bool in_history =
      spec.system_prompt.empty() && !spec.history.empty() && spec.history.front().role == Role::system;
  return in_history ? core::first_text(spec.history.front()) : spec.system_prompt;
}

void Conversation::restore(std::vector<ChatMessage> history) {
  messages_ = std::move(history);
  call_ids_.forget_from(0);
  changes_.note(0);
  if (!messages_.empty() && messages_.front().role == Role::system) messages_.erase(messages_.begin());
  for (std::size_t i = 0; i < messages_.size(); ++i)
    if (messages_[i].is_question()) turns_.push_back({.turn = turns_.size() + 1, .question = i});
  const bool answered = messages_.empty() || is_final(messages_.back());
  if (answered || turns_.empty()) return;
  Interruption& mark = messages_[turns_.back().question].interruption;
  if (mark == Interruption::none) mark = Interruption::stopped;
}

void Conversation::load(std::vector<ChatMessage> messages, std::vector<TurnPlace> turns) noexcept {
  messages_ = std::move(messages);
  call_ids_.forget_from(0);
  turns_ = std::move(turns);
  open_ = false;
  changes_ = {};
}

void Conversation::make_room(std::size_t messages, std::size_t parts) {
  if (messages_.capacity() - messages_.size() < messages)
    messages_.reserve(std::max(2 * messages_.size(), messages_.size() + messages));
  if (turns_.size() == turns_.capacity()) turns_.reserve(2 * turns_.size() + 1);
  if (room_.size() < messages) room_.resize(messages);
  for (std::vector<MessageItem>& items : room_) items.reserve(1 + parts);
}

// A message with one text, in the space of make_room(). Without that it throws std::bad_alloc.
ChatMessage Conversation::made(Role role, std::string text, std::vector<ContentPart> parts) {
  ChatMessage message{.role = role};
  if (!room_.empty()) {
    message.items = std::move(room_.back());
    room_.pop_back();
  }
  message.items.reserve(1 + parts.size());
  message.items.emplace_back(TextItem{std::move(text)});
  message.append(std::move(parts));
  return message;
}

void Conversation::ask(std::string question, std::vector<ContentPart> parts, std::uint64_t turn,
                       MessageId message) {
  turns_.push_back({turn, messages_.size(), message});
  open_ = true;
  changes_.note(messages_.size());
  messages_.push_back(made(Role::user, std::move(question), std::move(parts)));
}

void Conversation::put_before_question(std::string& ended_tasks) noexcept {
  TurnPlace& place = turns_.back();
  place.tasks = put_before(core::first_text(messages_[place.question]), ended_tasks);
  changes_.note(place.question);
}

void Conversation::steer(std::string text, std::vector<ContentPart> parts) {
  changes_.note(messages_.size());
  messages_.push_back(made(Role::user, std::move(text), std::move(parts)));
  messages_.back().steered = true;
}

void Conversation::answer(std::vector<MessageItem> items) {
  changes_.note(messages_.size());
  messages_.push_back(ChatMessage::assistant(std::move(items)));
  open_ = false;
}

std::size_t Conversation::act(std::vector<MessageItem> items, std::uint32_t turn) {
  // Either all of it is written, or nothing: every call must have a result.
  std::vector<ChatMessage> written;
  written.reserve(1 + items.size());
  std::vector<std::string> ids;
  const auto is_taken = [&](const std::string& id) {
    return std::find(ids.begin(), ids.end(), id) != ids.end() || call_ids_.contain(id, messages_);
  };
  for (ToolCall& call : ItemsOf<ToolCall>(items)) {
    if (call.id.empty() || is_taken(call.id))
      call.id = "call_" + std::to_string(turn) + "_" + std::to_string(ids.size() + 1);
    while (is_taken(call.id)) call.id += "_";
    ids.push_back(call.id);
  }
  written.push_back(ChatMessage::assistant(std::move(items)));
  for (std::string& id : ids) {
    ChatMessage result = ChatMessage::tool_result(std::move(id), std::string(not_started));
    result.call_end = {.outcome = ToolOutcome::not_started};
    written.push_back(std::move(result));
  }
  const std::size_t first = messages_.size() + 1;
  changes_.note(messages_.size());
  messages_.insert(messages_.end(), std::move_iterator(written.begin()), std::move_iterator(written.end()));
  return first;
}

void Conversation::abandon(std::uint64_t turn, std::string_view call_id) noexcept {
  const auto place = std::lower_bound(turns_.begin(), turns_.end(), turn,
                                      [](const TurnPlace& one, std::uint64_t it) { return one.turn < it; });
  if (place == turns_.end() || place->turn != turn) return;
  const std::size_t end = place + 1 == turns_.end() ? messages_.size() : (place + 1)->question;
  for (std::size_t at = place->question; at < end; ++at) {
    ChatMessage& message = messages_[at];
    if (message.tool_call_id != call_id || !message.call_end) continue;
    if (message.call_end->outcome != ToolOutcome::interrupted) return;
    message.call_end->outcome = ToolOutcome::abandoned;
    return changes_.note(at);
  }
}

void Conversation::cut_off(std::string part) {
  changes_.note(messages_.size());
  messages_.push_back(made(Role::assistant, std::move(part)));
  messages_.back().interruption = Interruption::steered;
}

void Conversation::interrupt(Interruption why, std::string part) noexcept {
  if (!std::exchange(open_, false)) return;
  messages_[turns_.back().question].interruption = why;
  changes_.note(turns_.back().question);
  if (part.empty() || room_.empty() || messages_.size() == messages_.capacity()) return;
  messages_.push_back(made(Role::assistant, std::move(part)));
  messages_.back().interruption = why;
}

bool Conversation::shorten_answer(std::size_t bytes) noexcept {
  ChatMessage& answer = messages_.back();
  if (!core::truncate_content(answer, bytes)) return false;
  answer.remove<ReasoningBlock>();
  changes_.note(turns_.back().question);  // whose mark may change
  if (answer.interruption == Interruption::none) answer.interruption = Interruption::truncated;
  if (!core::is_blank(answer)) return true;
  messages_.pop_back();
  call_ids_.forget_from(messages_.size());
  Interruption& mark = messages_[turns_.back().question].interruption;
  if (mark == Interruption::none) mark = Interruption::interrupted;
  return true;
}

void Conversation::take_back(const TurnPlace& from, std::vector<ChatMessage>& removed,
                             std::string& ended_tasks) {
  const std::uint64_t turn = from.turn;  // `from` may be one of turns_
  for (auto place = turns_.rbegin(); place != turns_.rend() && place->turn >= turn; ++place) {
    if (place->tasks == 0) continue;
    std::string& text = core::first_text(messages_[place->question]);
    ended_tasks.insert(0, text, std::min(tasks_heading.size(), text.size()), place->tasks);
    text.erase(0, text.size() - text_of(*place).size());
  }
  const auto first = messages_.begin() + static_cast<std::ptrdiff_t>(from.question);
  changes_.note(from.question);
  removed.insert(removed.end(), std::move_iterator(first), std::move_iterator(messages_.end()));
  messages_.erase(first, messages_.end());
  call_ids_.forget_from(messages_.size());
  std::erase_if(turns_, [turn](const TurnPlace& place) { return place.turn >= turn; });
}

std::string_view tasks_of(const ChatMessage& question, const TurnPlace& place) noexcept {
  const std::string_view text = core::first_text(question);
  if (place.tasks == 0 || text.size() < tasks_heading.size()) return {};
  return text.substr(tasks_heading.size(), place.tasks);
}

std::size_t Conversation::tasks_since(std::uint64_t turn) const noexcept {
  std::size_t bytes = 0;
  for (const TurnPlace& place : turns_)
    if (place.turn >= turn) bytes += place.tasks;
  return bytes;
}

std::string_view Conversation::text_of(const TurnPlace& place) const noexcept {
  const std::string_view text = core::first_text(messages_[place.question]);
  const std::size_t before = place.tasks == 0 ? 0 : tasks_heading.size() + place.tasks;
  return text.substr(std::min(text.size(), before == 0 ? 0 : before + 1));  // and an empty line
}

std::string_view Conversation::text_of_tools(std::size_t message) const noexcept {
  const ChatMessage& said = messages_[message];
  if (said.role == Role::tool) return core::first_text(said);
  if (!said.is_question()) return {};
  const auto place =
      std::lower_bound(turns_.begin(), turns_.end(), message,
                       [](const TurnPlace& turn, std::size_t at) { return turn.question < at; });
  return place != turns_.end() && place->question == message ? tasks_of(said, *place) : std::string_view();
}

Conversation Conversation::first_turns(std::size_t turns) const {
  Conversation copy;
  const std::size_t size = turns < turns_.size() ? turns_[turns].question : messages_.size();
  copy.messages_.assign(messages_.begin(), messages_.begin() + static_cast<std::ptrdiff_t>(size));
  copy.turns_.assign(turns_.begin(), turns_.begin() + static_cast<std::ptrdiff_t>(turns));
  copy.changes_.note(0);
  return copy;
}

bool Conversation::ends_with_answer() const noexcept {
  return !messages_.empty() && messages_.back().role == Role::assistant &&
         messages_.back().tool_calls().empty();
}

void Conversation::remove(std::size_t begin, std::size_t end) noexcept {
  const auto at = [this](std::size_t index) {
    return messages_.begin() + static_cast<std::ptrdiff_t>(index);
  };
  if (begin == 0)
    changes_.note_removed(end);
  else
    changes_.note(begin);
  messages_.erase(at(begin), at(end));
  call_ids_.forget_from(begin);
  std::erase_if(turns_, [&](const TurnPlace& turn) { return turn.question >= begin && turn.question < end; });
  for (TurnPlace& turn : turns_)
    if (turn.question >= end) turn.question -= end - begin;
}

std::vector<ChatMessage> Conversation::rendered(const std::string& system_prompt,
                                                const std::vector<bool>& sent, const ChatMessage* summary,
                                                std::size_t first, const context::Cuts& cuts) const {
  std::vector<ChatMessage> all;
  all.reserve(messages_.size() - first + 2);
  if (!system_prompt.empty()) all.push_back(ChatMessage::system(system_prompt));
  if (summary) all.push_back(*summary);
  context::CutReader cut(cuts);
  for (std::size_t i = first; i < messages_.size(); ++i) {
    if (i < sent.size() && !sent[i]) continue;
    all.push_back(messages_[i]);
    if (const context::Cut* const found = cut.at(i))
      all.back().set_content(context::without(messages_[i].content(), *found));
  }
  return all;
}

ConversationPage page_of(const Conversation& conversation, const std::string& system_prompt,
                         std::size_t count, std::optional<std::size_t> end) {
  const std::vector<ChatMessage>& messages = conversation.messages();
  const std::size_t prompts = system_prompt.empty() ? 0 : 1;
  ConversationPage page{.total = messages.size() + prompts};
  const std::size_t last = std::min(end.value_or(page.total), page.total);
  page.first = last - std::min(count, last);
  page.messages.reserve(last - page.first);
  for (std::size_t i = page.first; i < last; ++i)
    page.messages.push_back(i < prompts ? ChatMessage::system(system_prompt) : messages[i - prompts]);
  return page;
}

}  // namespace agentcore::detail::turn
