// What a model is still sent of a conversation that has grown too long.
#include "context/trim.hpp"

#include "support/catch.hpp"

#include <agentcore/history.hpp>

#include <string>
#include <vector>

using namespace agentcore;
using namespace agentcore::detail::context;

namespace {

// A conversation in which every message costs what the test says.
struct Scene {
  std::vector<ChatMessage> messages;
  std::vector<std::size_t> tokens;
  std::vector<bool> sent;
  std::vector<WindowCost> windows;
  std::size_t fixed_tokens = 0;
  ContextOptions options = {100, 50, 0, {}};

  Scene& say(Role role, std::size_t cost) {
    messages.push_back({.role = role, .items = {TextItem{"text"}}});
    tokens.push_back(cost);
    return *this;
  }
  Scene& turn(std::size_t cost) { return say(Role::user, cost / 2).say(Role::assistant, cost - cost / 2); }
  Scene& step(std::size_t cost) {
    const std::string id = "c" + std::to_string(messages.size());
    say(Role::assistant, cost / 2).say(Role::tool, cost - cost / 2);
    messages[messages.size() - 2].items.emplace_back(ToolCall{id, "look", "{}"});
    messages.back().tool_call_id = id;
    return *this;
  }
  Scene& pinned() {
    messages.back().pinned = true;
    return *this;
  }
  Scene& window(std::size_t cost, bool important = false, bool stays = false) {
    windows.push_back({cost, messages.size(), important, stays});
    return *this;
  }

  Trimmed trimmed() const { return trim(messages, tokens, sent, windows, fixed_tokens, options); }
};

std::string marks(const std::vector<bool>& keep) {
  std::string text;
  for (const bool kept : keep) text += kept ? '+' : '-';
  return text;
}

// "+" for what stays and "-" for what goes: messages, and after a blank the windows.
std::string kept(const Scene& scene) {
  const Trimmed result = scene.trimmed();
  return marks(result.keep_message) + (scene.windows.empty() ? "" : " " + marks(result.keep_window));
}

}  // namespace

TEST_CASE("one token is estimated for every 2.5 characters", "[context][Y8]") {
  CHECK(estimate_tokens("") == 0);
  CHECK(estimate_tokens("a") == 1);
  CHECK(estimate_tokens("ab") == 1);
  CHECK(estimate_tokens("abc") == 2);
  CHECK(estimate_tokens("abcde") == 2);
  CHECK(estimate_tokens("abcdef") == 3);
  CHECK(estimate_tokens("\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80zz") == 2);  // five code points
  CHECK(estimate_tokens(std::string(1'000'000, 'x')) == 400'000);
}

TEST_CASE("the estimate of a message counts its texts and their framing", "[context][Y8]") {
  ChatMessage message = ChatMessage::assistant("hello");
  CHECK(message_tokens(message, {}) == 4 + 2);
  message.append(std::vector<ToolCall>{{"an id that costs nothing", "look!", "{\"a\":1}"}, {"2", "b", ""}});
  CHECK(message_tokens(message, {}) == 4 + 2 + (2 + 3) + 1);
  CHECK(message_tokens(message, [](std::string_view text) { return text.size(); }) == 4 + 5 + (5 + 7) + 1);
}

TEST_CASE("nothing is trimmed while max_tokens are enough", "[context][Y8]") {
  Scene scene;
  scene.turn(40).turn(40).turn(20).window(0);
  CHECK(kept(scene) == "++++++ +");
  scene.fixed_tokens = 1;
  CHECK(kept(scene) == "----++ +");
  const Trimmed result = scene.trimmed();
  CHECK(result.tokens_before == 101);
  CHECK(result.tokens_after == 21);
  scene.options.max_tokens = no_limit;
  CHECK(kept(scene) == "++++++ +");
}

TEST_CASE("an empty conversation is trimmed", "[context][Y8]") {
  Scene scene;
  scene.fixed_tokens = 1000;
  const Trimmed result = scene.trimmed();
  CHECK(result.keep_message.empty());
  CHECK(result.tokens_after == 1000);
}

TEST_CASE("old turns are trimmed as a whole down to the target", "[context][Y8]") {
  Scene scene;
  scene.turn(30).say(Role::user, 5).step(20).say(Role::assistant, 5).turn(30).turn(20);
  CHECK(kept(scene) == "------++++");  // 110, 80, 50
  scene.options.target_tokens = 80;
  CHECK(kept(scene) == "--++++++++");
  scene.options.target_tokens = 0;  // half of max_tokens
  CHECK(kept(scene) == "------++++");
  scene.options.target_tokens = 101;  // so is this
  CHECK(kept(scene) == "------++++");
}

TEST_CASE("the system prompt and pinned messages are never trimmed", "[context][Y8]") {
  Scene scene;
  scene.say(Role::system, 60).turn(30).turn(30).pinned().turn(30).turn(10);
  CHECK(kept(scene) == "+--++--++");
}

TEST_CASE("an interrupted turn is trimmed like any other", "[context][Y8][G8]") {
  Scene scene;
  scene.say(Role::user, 60).turn(40).say(Role::user, 10);
  scene.messages[0].interruption = Interruption::stopped;
  CHECK(kept(scene) == "-+++");
}

TEST_CASE("trimming keeps the minimum of the conversation", "[context][Y8]") {
  Scene scene;
  scene.fixed_tokens = 30;
  scene.options.min_conversation_tokens = 40;
  scene.turn(30).turn(30).turn(20);
  CHECK(kept(scene) == "--++++");              // not below 50 of the conversation
  scene.options.min_conversation_tokens = 51;  // counts as the target: 50
  CHECK(kept(scene) == "--++++");
  scene.options.min_conversation_tokens = 0;
  CHECK(kept(scene) == "----++");
}

TEST_CASE("no turn is trimmed before an older one", "[context][Y8]") {
  Scene scene;
  scene.options.min_conversation_tokens = 40;
  scene.turn(60).turn(10).turn(20).window(20);
  CHECK(kept(scene) == "++++++ -");  // without the first only 30 would be left
}

TEST_CASE("the minimum of the conversation is reduced only as far as max_tokens requires",
          "[context][Y8][K4]") {
  Scene scene;
  scene.options.min_conversation_tokens = 50;
  scene.turn(80).turn(20).turn(20);
  CHECK(kept(scene) == "--++++");
  scene.fixed_tokens = 60;  // 100 is left, not the target
  CHECK(kept(scene) == "--++++");
  scene.fixed_tokens = 61;
  CHECK(kept(scene) == "----++");
}

TEST_CASE("turns and windows are trimmed in the order of their age", "[context][Y8]") {
  Scene scene;
  scene.options.target_tokens = 60;
  scene.window(20).turn(30).window(20).turn(30).window(20).turn(10);
  CHECK(kept(scene) == "--++++ --+");  // 130: 110, 80, 60
}

TEST_CASE("important windows are trimmed last and pinned ones never", "[context][Y8]") {
  Scene scene;
  scene.window(20, true).window(20, false, true).window(20, true).turn(30).window(30).turn(10);
  CHECK(kept(scene) == "--++ -++-");
}

TEST_CASE("windows are ordered by the time at which they were opened", "[context][Y8]") {
  Scene scene;
  scene.options.target_tokens = 80;
  scene.windows = {{60, 9}, {60, 3}};
  CHECK(kept(scene) == " +-");
}

TEST_CASE("messages that are not sent are not counted and stay unsent", "[context][Y8]") {
  Scene scene;
  scene.turn(60).turn(60).turn(10).window(50);
  scene.sent = {false, false};  // what comes after is sent
  scene.windows[0].shown = false;
  CHECK(kept(scene) == "--++++ -");
  CHECK(scene.trimmed().tokens_before == 70);
  CHECK(scene.trimmed().tokens_after == 70);
}

TEST_CASE("the current turn loses its first steps when nothing else can be trimmed", "[context][Y8][K4]") {
  Scene scene;
  scene.turn(10).say(Role::user, 10).step(40).step(30).step(20);
  CHECK(kept(scene) == "--+++++++");  // 110, and without the first turn 100
  scene.step(20);
  CHECK(kept(scene) == "--+----++++");  // 130: 120, 80, 50
  scene.window(30, true);
  CHECK(kept(scene) == "--+----++++ -");
  scene.messages[2].pinned = true;
  CHECK(kept(scene) == "--+++++++++ -");
}

TEST_CASE("the question and the last step are never trimmed", "[context][Y8]") {
  Scene scene;
  scene.say(Role::user, 200).step(10).step(200);
  CHECK(kept(scene) == "+--++");
  scene.say(Role::assistant, 200);
  CHECK(kept(scene) == "+--+++");
}

TEST_CASE("steps are trimmed only while the conversation keeps its minimum", "[context][Y8]") {
  Scene scene;
  scene.options.target_tokens = scene.options.min_conversation_tokens = 60;
  scene.say(Role::user, 10).step(60).step(20).step(20).step(20);
  CHECK(kept(scene) == "+--++++++");
}

TEST_CASE("a history that is not valid is trimmed without harm", "[context][Y8]") {
  Scene scene;
  scene.say(Role::tool, 60).say(Role::assistant, 60).say(Role::system, 60).step(60).say(Role::system, 60);
  scene.say(Role::user, 1).say(Role::tool, 60);
  CHECK(kept(scene) == "--+--+++");
}
