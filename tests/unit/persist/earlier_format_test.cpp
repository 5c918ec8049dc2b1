// Stores and histories that an earlier version wrote, in which a message had one text, and lists of images,
// calls and reasoning.
#include "support/messages.hpp"
#include "support/store/life.hpp"
#include "support/store/store_folder.hpp"
#include "support/wire/golden.hpp"

#include <agentcore/history.hpp>
#include <agentcore/sqlite_store.hpp>

#include <fstream>
#include <memory>
#include <string>
#include <vector>

using namespace agentcore;
using namespace agentcore::test;

namespace {

using History = std::vector<ChatMessage>;

// What tests/golden/earlier holds.
History written_earlier() {
  ChatMessage look = ChatMessage::user("What is on these?", {{.url = "https://a.test/b.png", .detail = "low"},
                                                             {.data = "aGk=", .media_type = "image/png"}});
  look.pinned = true;
  ChatMessage answer = ChatMessage::assistant(
      "Let me look.", {{"c1", "look", R"({"at":1})"}, {"c2", "notes__add", "{}", "notes", "add"}});
  put_reasoning(
      answer, {{"anthropic_messages", R"({"type":"thinking","thinking":"Hm.","signature":"s"})", "api.test"},
               {"openai_chat", R"({"reasoning_content":"Hm"})"}});
  ChatMessage seen = ChatMessage::tool_result("c1", "a cat"),
              cut = ChatMessage::tool_result("c2", "interrupted");
  seen.call_end = CallEnd{ToolOutcome::completed, true};
  cut.call_end = CallEnd{ToolOutcome::interrupted, false};
  return {ChatMessage::system("Be brief."),
          look,
          answer,
          seen,
          cut,
          steered(ChatMessage::user("Hurry.")),
          ChatMessage::assistant("A cat and a note."),
          marked(ChatMessage::user("And?"), Interruption::aborted),
          marked(ChatMessage::assistant("It is"), Interruption::aborted)};
}

}  // namespace

TEST_CASE("a history of format 4 is read, and written in the newest form", "[persist][G8]") {
  const auto read = history_from_json(read_golden("earlier/history_format_4.json"));
  REQUIRE(read);
  CHECK(*read == written_earlier());
  const auto again = history_from_json(history_to_json(*read));
  REQUIRE(again);
  CHECK(*again == written_earlier());
}

TEST_CASE("a store with messages of format 4 is restored, and goes on", "[persist][restore][G8][G14]") {
  const StoreFolder folder;
  const std::string path = folder.file("earlier.db");
  std::ofstream(path, std::ios::binary) << read_golden("earlier/store_of_format_4.db");
  History expected = written_earlier();
  expected.push_back(ChatMessage::user("One more.", {{.url = "https://a.test/c.png"}}));
  expected.push_back(ChatMessage::assistant("One more."));
  for (const char* const question : {"again", "and again"}) {
    auto store = SqliteStore::open(path);
    REQUIRE(store);
    Life life(**store);
    CHECK(life.report->agents == 2);
    const Agent agent = life.find("a"), held = life.find("held");
    CHECK(agent.conversation().value() == expected);
    CHECK(held.queue_length().value() == 1);
    REQUIRE(agent.send(question));
    life.runtime.run_until_idle();
    expected.push_back(ChatMessage::user(question));
    expected.push_back(ChatMessage::assistant(question));
    CHECK(agent.conversation().value() == expected);
    REQUIRE(life.tree->flush());
    CHECK((*store)->check().value().empty());
  }
}
