#include "context/trim.hpp"

#include <algorithm>
#include <cassert>

namespace agentcore::detail::context {
namespace {

// Messages that are trimmed together: an old turn, or a finished step of the last one.
struct Unit {
  std::size_t begin = 0, end = 0;
  std::size_t tokens = 0;  // of the messages that are sent
};

using Messages = std::vector<ChatMessage>;

// The position behind the step that begins at `begin`.
std::size_t step_end(const Messages& messages, std::size_t begin) {
  std::size_t end = begin + 1;
  while (end < messages.size() && messages[end].role == Role::tool) ++end;
  return end;
}

class Trimmer {
 public:
  Trimmer(const Messages& messages, const std::vector<std::size_t>& tokens, const std::vector<bool>& sent,
          const std::vector<WindowCost>& windows, std::size_t fixed_tokens, const ContextOptions& options,
          std::size_t first)
      : messages_(messages), tokens_(tokens), windows_(windows), max_(options.max_tokens), first_(first) {
    target_ = options.target_tokens == 0 || options.target_tokens > max_ ? max_ / 2 : options.target_tokens;
    minimum_ = std::min(options.min_conversation_tokens, target_);
    done_.keep_message = sent;
    done_.keep_message.resize(messages.size(), true);
    for (const WindowCost& window : windows) done_.keep_window.push_back(window.shown);
    total_ = fixed_tokens;
    count();
    done_.tokens_before = total_;
  }

  Trimmed run() {
    if (total_ > max_) {
      find_units();
      drop_old();
      drop_important();
      if (total_ > max_) drop_units(target_, minimum_);
      if (total_ > max_) drop_units(max_, 0);
    }
    done_.tokens_after = total_;
    return std::move(done_);
  }

 private:
  void count() {
    for (std::size_t i = first_; i < messages_.size(); ++i) {
      if (!done_.keep_message[i]) continue;
      total_ += tokens_[i];
      if (messages_[i].role != Role::system) conversation_ += tokens_[i];
    }
    for (const WindowCost& window : windows_)
      if (window.shown) total_ += window.tokens;
  }

  // The old turns, then the steps of the last turn: the order in which they are trimmed.
  void find_units() {
    std::size_t begin = first_;
    while (begin < messages_.size() && messages_[begin].role == Role::system) ++begin;
    while (begin < messages_.size()) {
      const std::size_t end = turn_end(messages_, begin);
      if (!is_pinned(begin, end)) {
        if (end < messages_.size())
          add_unit(begin, end);
        else
          add_steps(begin, end);
      }
      if (end < messages_.size()) old_turns_ = units_.size();
      begin = end;
    }
  }

  bool is_pinned(std::size_t begin, std::size_t end) const {
    for (std::size_t i = begin; i < end; ++i)
      if (messages_[i].pinned && done_.keep_message[i]) return true;
    return false;
  }

  void add_steps(std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i)
      if (!messages_[i].tool_calls().empty()) add_unit(i, step_end(messages_, i));
    if (units_.size() > old_turns_) units_.pop_back();  // the last step stays
  }

  void add_unit(std::size_t begin, std::size_t end) {
    std::size_t tokens = 0;
    for (std::size_t i = begin; i < end; ++i)
      if (goes(i)) tokens += tokens_[i];
    units_.push_back({begin, end, tokens});
  }

  // A history that is not valid may have a system message anywhere.
  bool goes(std::size_t message) const {
    return done_.keep_message[message] && messages_[message].role != Role::system;
  }

  // The units that may be trimmed, oldest first.
  std::vector<std::size_t> windows(bool important) const {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < windows_.size(); ++i)
      if (windows_[i].shown && !windows_[i].pinned && windows_[i].important == important) found.push_back(i);
    std::stable_sort(found.begin(), found.end(), [this](std::size_t a, std::size_t b) {
      return windows_[a].opened_at < windows_[b].opened_at;
    });
    return found;
  }

  void drop_old() {
    const std::vector<std::size_t> others = windows(false);
    auto window = others.begin();
    do {
      const std::size_t turn = next_ < old_turns_ ? units_[next_].begin : messages_.size();
      for (; window != others.end() && windows_[*window].opened_at <= turn; ++window) drop_window(*window);
    } while (next_ < old_turns_ && drop_unit(target_, minimum_));
    for (; window != others.end(); ++window) drop_window(*window);
  }

  void drop_important() {
    for (const std::size_t window : windows(true)) drop_window(window);
  }

  void drop_window(std::size_t window) {
    if (total_ <= target_) return;
    done_.keep_window[window] = false;
    total_ -= windows_[window].tokens;
  }

  void drop_units(std::size_t goal, std::size_t floor) {
    while (next_ < units_.size() && drop_unit(goal, floor)) continue;
  }

  // Trims the next unit, if more than `goal` is sent and `floor` is left of the conversation.
  bool drop_unit(std::size_t goal, std::size_t floor) {
    const Unit& unit = units_[next_];
    if (total_ <= goal || conversation_ - unit.tokens < floor) return false;
    for (std::size_t i = unit.begin; i < unit.end; ++i)
      if (goes(i)) done_.keep_message[i] = false;
    total_ -= unit.tokens;
    conversation_ -= unit.tokens;
    ++next_;
    return true;
  }

  const Messages& messages_;
  const std::vector<std::size_t>& tokens_;
  const std::vector<WindowCost>& windows_;
  const std::size_t max_;
  const std::size_t first_;  // none before it is sent
  std::size_t target_ = 0;
  std::size_t minimum_ = 0;
  std::size_t total_ = 0;
  std::size_t conversation_ = 0;
  std::vector<Unit> units_;
  std::size_t old_turns_ = 0;  // how many of units_ are turns
  std::size_t next_ = 0;       // of units_: the oldest that is not trimmed
  Trimmed done_;
};

}  // namespace

std::size_t turn_end(const Messages& messages, std::size_t begin) noexcept {
  std::size_t end = begin + 1;
  while (end < messages.size() && !messages[end].is_question()) ++end;
  return end;
}

Trimmed trim(const std::vector<ChatMessage>& messages, const std::vector<std::size_t>& tokens,
             const std::vector<bool>& sent, const std::vector<WindowCost>& windows, std::size_t fixed_tokens,
             const ContextOptions& options, std::size_t first) {
  assert(tokens.size() == messages.size());
  return Trimmer(messages, tokens, sent, windows, fixed_tokens, options, first).run();
}

}  // namespace agentcore::detail::context
