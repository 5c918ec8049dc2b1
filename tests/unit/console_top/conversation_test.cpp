// The conversation that the terminal view shows, and the stream that it comes from.
#include "console/top/conversation.hpp"

#include "console/top/event_parser.hpp"
#include "support/catch.hpp"

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

using namespace console_app::top;

namespace {

Json text_event(const std::string& text, int call = 1) {
  return {{"type", "text"}, {"agentId", "a"}, {"turn", 1}, {"call", call}, {"text", text}};
}

Json page(const std::string& last_event, const std::string& live) {
  return {{"agentId", "a"},
          {"total", 1},
          {"messages", {{{"role", "user"}, {"content", "hello"}}}},
          {"live", {{"turn", 1}, {"call", 1}, {"text", live}}},
          {"lastEventId", last_event}};
}

EventId at(std::uint64_t number) {
  return {"e", number};
}

}  // namespace

TEST_CASE("text continues the page that it came after", "[console_top]") {
  Conversation conversation;
  conversation.open("a");
  conversation.begin_load();
  CHECK(conversation.apply(at(4), text_event("old ")));  // the page has it
  CHECK(conversation.apply(at(6), text_event("three ")));
  conversation.take_page(page("e-5", "one two "));
  CHECK(conversation.apply(at(7), text_event("four")));
  CHECK(conversation.live().text == "one two three four");
  REQUIRE(conversation.messages().size() == 1);
  CHECK(conversation.messages()[0].text == "hello");

  // A second page, older than what has come.
  conversation.begin_load();
  conversation.apply(at(8), text_event("!"));
  conversation.take_page(page("e-7", "one two three four"));
  CHECK(conversation.live().text == "one two three four!");
  conversation.apply(at(9), text_event("next", 2));
  CHECK(conversation.live().text == "next");
}

TEST_CASE("text of another run of the server is not mixed in", "[console_top]") {
  Conversation conversation;
  conversation.open("a");
  conversation.take_page(page("e-5", "one"));
  conversation.apply({"f", 9}, text_event("two"));
  CHECK(conversation.live().text == "one");
  Json of_another = text_event("three");
  of_another["agentId"] = "b";
  conversation.apply(at(9), of_another);
  CHECK(conversation.live().text == "one");
}

TEST_CASE("a model call that is made again takes back its text", "[console_top]") {
  Conversation conversation;
  conversation.open("a");
  conversation.take_page(page("e-5", "caf\u00e9 au lait"));
  CHECK_FALSE(
      conversation.apply(at(6), {{"type", "reask"}, {"agentId", "a"}, {"call", 1}, {"keptBytes", 4}}));
  CHECK(conversation.live().text == "caf");  // 4 bytes end within a character
}

TEST_CASE("an answer that was cut stays on the screen", "[console_top]") {
  Conversation conversation;
  conversation.open("a");
  conversation.take_page(page("e-5", "one two"));
  CHECK_FALSE(conversation.apply(
      at(6), {{"type", "turn_ended"}, {"agentId", "a"}, {"outcome", "stopped"}, {"partial", false}}));
  CHECK(conversation.live().text.empty());
  CHECK(conversation.cut_answer() == "one two");
  CHECK_FALSE(conversation.apply(at(7), {{"type", "turn_started"}, {"agentId", "a"}}));
  CHECK(conversation.cut_answer().empty());
}

TEST_CASE("an endless answer does not need endless memory", "[console_top]") {
  Conversation conversation;
  conversation.open("a");
  conversation.take_page(page("e-5", ""));
  for (std::uint64_t i = 0; i < 100; ++i) conversation.apply(at(6 + i), text_event(std::string(10'000, 'x')));
  CHECK(conversation.live().text.size() < 300'000);
  CHECK(conversation.live().truncated);
}

TEST_CASE("ids of events are compared within a run of the server", "[console_top]") {
  CHECK(event_id("17.5-12").text() == "17.5-12");
  CHECK(event_id("e-2").is_after(event_id("e-1")));
  CHECK_FALSE(event_id("e-1").is_after(event_id("e-1")));
  CHECK_FALSE(event_id("f-2").is_after(event_id("e-1")));
  for (const char* wrong : {"", "e", "e-", "e-x", "e-1x"}) CHECK(event_id(wrong).text().empty());
}

TEST_CASE("events come in pieces of any size", "[console_top]") {
  const std::string stream =
      ": heartbeat\n\nid: e-1\r\ndata: {\"a\":1}\r\n\r\ndata:two\ndata: lines\n\nid: e-3\n\n";
  for (std::size_t size = 1; size < stream.size(); ++size) {
    std::vector<std::string> seen;
    EventParser parser(
        [&](const std::string& id, const std::string& data) { seen.push_back(id + "|" + data); });
    for (std::size_t i = 0; i < stream.size(); i += size) CHECK(parser.take(stream.substr(i, size)));
    CHECK(seen == std::vector<std::string>{"e-1|{\"a\":1}", "e-1|two\nlines", "e-3|"});
  }
}

TEST_CASE("an event without an end is refused", "[console_top]") {
  EventParser parser([](const std::string&, const std::string&) {});
  const std::string piece(1 << 20, 'x');
  int taken = 0;
  while (taken < 100 && parser.take(piece)) ++taken;
  CHECK(taken < 20);
}
