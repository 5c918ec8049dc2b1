// Trimming arbitrary conversations.
#include "any_history.hpp"
#include "context/trim.hpp"

#include <agentcore/history.hpp>

#include <algorithm>

using namespace agentcore;
using namespace agentcore::detail::context;
using property_test::HistoryWriter;

namespace {

// A conversation with windows, and what has been trimmed of it.
struct Scene {
  std::vector<ChatMessage> messages;
  std::vector<std::size_t> tokens;
  std::vector<bool> sent;
  std::vector<WindowCost> windows;
  std::size_t fixed_tokens = 0;
  ContextOptions options;

  Trimmed trimmed() const { return trim(messages, tokens, sent, windows, fixed_tokens, options); }
  void take(const Trimmed& result) {
    sent = result.keep_message;
    for (std::size_t i = 0; i < windows.size(); ++i) windows[i].shown = result.keep_window[i];
  }
};

std::size_t any_number(int below) {
  return static_cast<std::size_t>(*rc::gen::inRange(0, below));
}

Scene any_scene() {
  Scene scene;
  scene.messages = HistoryWriter(5).write(*rc::gen::inRange(0, 9));
  for (const ChatMessage& message : scene.messages)
    scene.tokens.push_back(message_tokens(message, {}) +
                           (*rc::gen::weightedElement<std::size_t>({{9, 0}, {1, 200}})));
  for (std::size_t left = any_number(7); left > 0; --left)
    scene.windows.push_back({any_number(60), any_number(static_cast<int>(scene.messages.size()) + 1),
                             *rc::gen::arbitrary<bool>(), any_number(5) == 0, any_number(5) != 0});
  scene.fixed_tokens = any_number(30);
  const std::size_t all = scene.trimmed().tokens_before;
  scene.options.max_tokens = all * any_number(110) / 100;
  scene.options.target_tokens = scene.options.max_tokens * any_number(110) / 100;
  scene.options.min_conversation_tokens = all * any_number(70) / 100;
  return scene;
}

std::vector<ChatMessage> kept(const Scene& scene, const Trimmed& result) {
  std::vector<ChatMessage> messages;
  for (std::size_t i = 0; i < scene.messages.size(); ++i)
    if (result.keep_message[i]) messages.push_back(scene.messages[i]);
  return messages;
}

std::size_t total(const Scene& scene, const Trimmed& result) {
  std::size_t sum = scene.fixed_tokens;
  for (std::size_t i = 0; i < scene.messages.size(); ++i)
    if (result.keep_message[i]) sum += scene.tokens[i];
  for (std::size_t i = 0; i < scene.windows.size(); ++i)
    if (result.keep_window[i]) sum += scene.windows[i].tokens;
  return sum;
}

std::size_t conversation(const Scene& scene, const std::vector<bool>& keep) {
  std::size_t sum = 0;
  for (std::size_t i = 0; i < scene.messages.size(); ++i)
    if (keep[i] && scene.messages[i].role != Role::system) sum += scene.tokens[i];
  return sum;
}

std::size_t minimum(const ContextOptions& options) {
  const bool own = options.target_tokens != 0 && options.target_tokens <= options.max_tokens;
  return std::min(options.min_conversation_tokens, own ? options.target_tokens : options.max_tokens / 2);
}

// The newest trimmed message; the end, if none was.
std::size_t last_dropped(const Trimmed& result) {
  const auto& keep = result.keep_message;
  const auto found = std::find(keep.rbegin(), keep.rend(), false);
  return found == keep.rend() ? keep.size() : static_cast<std::size_t>(keep.rend() - found) - 1;
}

// What went together with message i: its turn; of the turn under way, its step.
std::size_t dropped_with(const Scene& scene, const Trimmed& result, std::size_t i) {
  std::size_t sum = 0;
  for (std::size_t at = i + 1; at-- > 0 && !result.keep_message[at];) {
    sum += scene.tokens[at];
    const auto next = std::find_if(scene.messages.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                                   scene.messages.end(), [](const auto& m) { return m.is_question(); });
    const bool in_last_turn = next == scene.messages.end();
    if (in_last_turn ? scene.messages[at].role == Role::assistant : scene.messages[at].is_question()) break;
  }
  return sum;
}

// What trimming never touches, said once more and in another way: i is pinned or in a turn with a pinned
// message, a system message, or of the last turn the question, the last step, or the answer.
bool is_protected(const std::vector<ChatMessage>& messages, std::size_t i) {
  if (messages[i].role == Role::system) return true;
  std::size_t begin = i, end = i + 1;
  while (!messages[begin].is_question()) --begin;
  while (end < messages.size() && !messages[end].is_question()) ++end;
  for (std::size_t j = begin; j < end; ++j)
    if (messages[j].pinned) return true;
  if (end < messages.size()) return false;
  const bool is_of_step = messages[i].role == Role::tool || !messages[i].tool_calls().empty();
  if (!is_of_step) return true;
  for (std::size_t j = i + 1; j < end; ++j)  // is another step after this one?
    if (!messages[j].tool_calls().empty()) return false;
  return true;
}

}  // namespace

TEST_CASE("a trimmed conversation is valid", "[property][context][Y8][G8]") {
  prop("what is kept is a valid history with the system prompt first", [] {
    const Scene scene = any_scene();
    RC_ASSERT(is_valid_history(scene.messages));
    const auto messages = kept(scene, scene.trimmed());
    RC_ASSERT(is_valid_history(messages));
    if (!scene.messages.empty() && scene.messages[0].role == Role::system)
      RC_ASSERT(messages.at(0) == scene.messages[0]);
  });
}

TEST_CASE("trimming keeps its limits", "[property][context][Y8][G15][K4]") {
  prop("no more than max_tokens are left, or only what is protected", [] {
    const Scene scene = any_scene();
    const Trimmed result = scene.trimmed();
    RC_ASSERT(result.tokens_after == total(scene, result));
    RC_CLASSIFY(result.tokens_after != result.tokens_before, "trimmed");
    const std::size_t max = scene.options.max_tokens;
    if (result.tokens_before <= max)
      RC_ASSERT(result.tokens_after == result.tokens_before);
    else if (result.tokens_after > max) {
      for (std::size_t i = 0; i < scene.messages.size(); ++i)
        RC_ASSERT(!result.keep_message[i] || is_protected(scene.messages, i));
      for (std::size_t i = 0; i < scene.windows.size(); ++i)
        RC_ASSERT(!result.keep_window[i] || scene.windows[i].pinned);
    }
  });
}

TEST_CASE("trimming never removes protected messages", "[property][context][Y8]") {
  prop("pinned messages and windows, the system prompt, the question and the last step stay", [] {
    const Scene scene = any_scene();
    const Trimmed result = scene.trimmed();
    for (std::size_t i = 0; i < scene.messages.size(); ++i)
      RC_ASSERT(result.keep_message[i] || !is_protected(scene.messages, i));
    for (std::size_t i = 0; i < scene.windows.size(); ++i)
      if (scene.windows[i].pinned) RC_ASSERT(result.keep_window[i] == scene.windows[i].shown);
  });
}

TEST_CASE("trimming keeps the minimum of the conversation", "[property][context][Y8]") {
  prop("it goes below only where more than max_tokens would be left otherwise", [] {
    const Scene scene = any_scene();
    const Trimmed result = scene.trimmed();
    const std::size_t last = last_dropped(result);
    const std::size_t left = conversation(scene, result.keep_message);
    if (last == scene.messages.size() || left >= minimum(scene.options)) return;
    RC_ASSERT(result.tokens_after + dropped_with(scene, result, last) > scene.options.max_tokens);
  });
}

TEST_CASE("trimming again changes nothing", "[property][context][Y8]") {
  prop("a second time keeps just what the first kept", [] {
    Scene scene = any_scene();
    const Trimmed once = scene.trimmed();
    scene.take(once);
    const Trimmed twice = scene.trimmed();
    RC_ASSERT(twice.keep_message == once.keep_message);
    RC_ASSERT(twice.keep_window == once.keep_window);
    RC_ASSERT(twice.tokens_before == once.tokens_after);
    RC_ASSERT(twice.tokens_after == once.tokens_after);
  });
}

TEST_CASE("what was trimmed stays trimmed", "[property][context][Y8]") {
  prop("a conversation that grows, trimmed after every message, loses messages and windows for good", [] {
    const Scene whole = any_scene();
    Scene scene = whole;
    scene.messages.clear();
    for (std::size_t i = 0; i < whole.messages.size(); ++i) {
      scene.messages.push_back(whole.messages[i]);
      scene.tokens.assign(whole.tokens.begin(), whole.tokens.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      if (!is_valid_history(scene.messages)) continue;  // within a step
      const Trimmed result = scene.trimmed();
      RC_ASSERT(is_valid_history(kept(scene, result)));
      const auto first = static_cast<std::size_t>(std::ranges::find(scene.sent, true) - scene.sent.begin());
      const Trimmed same = trim(scene.messages, scene.tokens, scene.sent, scene.windows, scene.fixed_tokens,
                                scene.options, first);
      RC_ASSERT((same.keep_message == result.keep_message && same.keep_window == result.keep_window));
      RC_ASSERT((same.tokens_before == result.tokens_before && same.tokens_after == result.tokens_after));
      for (std::size_t m = 0; m < scene.sent.size(); ++m) RC_ASSERT(scene.sent[m] || !result.keep_message[m]);
      for (std::size_t w = 0; w < scene.windows.size(); ++w)
        RC_ASSERT(scene.windows[w].shown || !result.keep_window[w]);
      scene.take(result);
    }
  });
}
