// Images, documents and sounds of messages and results over HTTP: what they are and how large, never the
// data.
#include "support/console/console_life.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace agentcore;
using namespace agentcore::test;
using nlohmann::json;

namespace {

std::vector<ContentPart> all_kinds() {
  return {{.url = "https://example.com/beach.png"},
          {.data = "aGVsbG8=", .media_type = "image/png"},
          {.data = "aGVsbG8h",
           .media_type = "application/pdf",
           .kind = ContentPart::Kind::document,
           .name = "report.pdf"},
          {.data = "aGVsbA==", .media_type = "audio/wav", .kind = ContentPart::Kind::audio},
          {.data = "", .media_type = "audio/mpeg", .kind = ContentPart::Kind::audio}};
}

const json all_kinds_shown = json::parse(R"([
  {"kind": "image", "name": "", "mediaType": "", "bytes": null},
  {"kind": "image", "name": "", "mediaType": "image/png", "bytes": 5},
  {"kind": "document", "name": "report.pdf", "mediaType": "application/pdf", "bytes": 6},
  {"kind": "audio", "name": "", "mediaType": "audio/wav", "bytes": 4},
  {"kind": "audio", "name": "", "mediaType": "audio/mpeg", "bytes": 0}])");

}  // namespace

TEST_CASE("a conversation says which parts each message and result has", "[console][parts]") {
  ConsoleLife life;
  AgentSpec spec;
  spec.id = "a";
  spec.history = {ChatMessage::user("Look at these.", all_kinds()),
                  ChatMessage::assistant("", {{"c1", "look", "{}"}}),
                  ChatMessage::tool_result("c1", "seen", {all_kinds()[2]}), ChatMessage::assistant("So.")};
  REQUIRE(life.tree->create(std::move(spec)));
  const HttpAnswer answer = life.get("/api/agent/a/conversation");
  const json messages = answer.json()["messages"];
  CHECK(messages[0]["parts"] == all_kinds_shown);
  CHECK(messages[0]["images"] == 5);
  CHECK(messages[1]["parts"] == json::array());
  CHECK(messages[2]["parts"] == json::array({all_kinds_shown[2]}));
  CHECK(messages[2]["images"] == 1);
  CHECK(answer.body.find("aGVsbG") == std::string::npos);
  CHECK(answer.body.find("beach") == std::string::npos);
}

TEST_CASE("a message that waits says which parts it has", "[console][parts]") {
  ConsoleLife life;
  const Agent agent = life.create("a");
  life.let_wait(agent);
  REQUIRE(agent.send(Message{.text = "Look at these.", .parts = all_kinds()}));
  REQUIRE(agent.send("Later."));
  const json waiting = life.get("/api/agent/a/queue").json()["messages"];
  REQUIRE(waiting.size() == 2);
  CHECK(waiting[0]["parts"] == all_kinds_shown);
  CHECK(waiting[1]["parts"] == json::array());
}

TEST_CASE("the event of a result says which parts it has", "[console][parts]") {
  ConsoleLife life;
  const auto tools = std::make_shared<ToolRegistry>();
  tools->add(make_tool({.name = "look"}, [](const json&, const ToolContext&) {
    ToolResult seen = ToolResult::done("seen");
    seen.parts = all_kinds();
    return seen;
  }));
  AgentSpec spec;
  spec.id = "a";
  spec.tools = tools;
  const Agent agent = life.tree->create(std::move(spec)).value();
  testing::ScriptedReply reply;
  reply.tool_calls.push_back({.id = "c1", .name = "look", .arguments = "{}"});
  life.llm.enqueue(reply);
  ConsoleClient stream = life.follow("/api/events");
  REQUIRE(agent.send("go"));
  json ended;
  life.until(
      [&] {
        for (const json& event : ConsoleLife::events_of(stream))
          if (event["type"] == "tool_ended") ended = event;
        return ended.is_object();
      },
      {&stream});
  CHECK(ended["parts"] == all_kinds_shown);
  CHECK(stream.received().find("aGVsbG") == std::string::npos);
}
