// What a model is sent follows the changes of the history.
#include "support/catch.hpp"
#include "turn/turn_data.hpp"

#include <vector>

using namespace agentcore;
using namespace agentcore::detail::turn;

TEST_CASE("a history that was cut behind a message keeps what was left out of it",
          "[turn][context][compaction]") {
  SentContext sent;
  sent.tokens = {1, 2, 3, 4};
  sent.messages = {false, true, true, true};
  sent.windows = {{1, {4, false}}, {2, {1, true}}};
  sent.ends = {1, 2, 4};
  sent.cut(2);
  CHECK(sent.tokens == std::vector<std::size_t>{1, 2});
  CHECK(sent.messages == std::vector<bool>{false, true});
  CHECK((sent.windows[1].opened_at == 2 && !sent.windows[1].shown));
  CHECK(sent.windows[2].opened_at == 1);
  CHECK(sent.ends == std::vector<std::size_t>{1, 2});
}

TEST_CASE("a cut history is sent in full again if it lost a message that a summary stands for",
          "[turn][context][compaction]") {
  SentContext sent;
  sent.tokens = {1, 2, 3, 4};
  sent.messages = {false, false, true, true};
  sent.summarise(ChatMessage::user("summary"), 7);
  sent.ends = {3, 4};
  SECTION("nothing that the summary stands for was lost") {
    sent.cut(2);
    CHECK(sent.messages == std::vector<bool>{false, false});
    CHECK(sent.summary);
    return;
  }
  sent.cut(1);
  CHECK(sent.tokens == std::vector<std::size_t>{1});
  CHECK(sent.messages.empty());  // all are sent
  CHECK(sent.ends.empty());
  CHECK_FALSE(sent.summary);
  CHECK(sent.summary_tokens == 0);
}

TEST_CASE("what is sent moves with a history that lost older messages", "[turn][context][compaction]") {
  SentContext sent;
  sent.tokens = {1, 2, 3, 4};
  sent.messages = {true, false, false, true};
  sent.windows = {{1, {0, true}}, {2, {2, true}}, {3, {4, true}}};
  sent.ends = {1, 3, 4};
  sent.remove(1, 3);
  CHECK(sent.tokens == std::vector<std::size_t>{1, 4});
  CHECK(sent.messages == std::vector<bool>{true, true});
  CHECK(sent.windows[1].opened_at == 0);
  CHECK(sent.windows[2].opened_at == 1);
  CHECK(sent.windows[3].opened_at == 2);
  CHECK(sent.ends == std::vector<std::size_t>{1, 1, 2});
  sent.remove(1, 9);  // beyond what was counted
  CHECK(sent.tokens.size() == 1);
}
