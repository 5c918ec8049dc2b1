// What the API says of calls and pauses: their ends as they are, also after the conversation is read again.
#include "support/console/console_life.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace agentcore;
using namespace agentcore::test;
using nlohmann::json;

namespace {

// Keeps the completion of a call until the test uses or drops it.
struct Held {
  std::vector<ToolDone> calls;
};

Tool held_tool(std::string name, const std::shared_ptr<Held>& held) {
  return {.spec = {.name = std::move(name)},
          .start = [held](const nlohmann::json&, const ToolContext&, ToolDone done) {
            held->calls.push_back(std::move(done));
          }};
}

// The message of the only tool call of "a".
json tool_message(ConsoleLife& life) {
  const json page = life.get("/api/agent/a/conversation").json();
  for (const json& message : page["messages"])
    if (message["role"] == "tool") return message;
  return nullptr;
}

std::vector<json> of_type(const ConsoleClient& stream, const std::string& type) {
  std::vector<json> events;
  for (const json& event : ConsoleLife::events_of(stream))
    if (event["type"] == type) events.push_back(event);
  return events;
}

void give_tool(ConsoleLife& life, const std::shared_ptr<ToolRegistry>& tools, const std::string& tool) {
  AgentSpec spec;
  spec.id = "a";
  spec.tools = tools;
  const Agent agent = life.tree->create(std::move(spec)).value();
  testing::ScriptedReply reply;
  reply.tool_calls = {{.id = "c1", .name = tool, .arguments = "{}"}};
  life.llm.enqueue(reply);
  life.llm.enqueue({.deltas = {"so"}});
  REQUIRE(agent.send("go"));
}

}  // namespace

TEST_CASE("a result in a conversation says how its call ended", "[console][G9]") {
  const auto tools = std::make_shared<ToolRegistry>();
  tools->add(make_tool({.name = "good"},
                       [](const nlohmann::json&, const ToolContext&) { return ToolResult::done("yes"); }));
  tools->add(make_tool({.name = "bad"},
                       [](const nlohmann::json&, const ToolContext&) { return ToolResult::failed("no"); }));
  const auto end_of = [&](const std::string& tool) {
    ConsoleLife life;
    give_tool(life, tools, tool);
    life.until([&] { return !tool_message(life).is_null() && tool_message(life)["open"] == false; });
    life.poll();
    const json message = tool_message(life);
    return json{message["outcome"], message["success"]};
  };
  CHECK(end_of("good") == json{"completed", true});
  CHECK(end_of("bad") == json{"completed", false});
  CHECK(end_of("unknown") == json{"not_started", nullptr});
}

TEST_CASE("a call that a stop has interrupted is not shown as completed", "[console][G9]") {
  const auto tools = std::make_shared<ToolRegistry>();
  const auto held = std::make_shared<Held>();
  tools->add(held_tool("slow", held));
  ConsoleLife life({}, {.stop_grace = std::chrono::hours(1)});
  give_tool(life, tools, "slow");
  life.until([&] { return !held->calls.empty(); });
  CHECK(tool_message(life)["open"] == true);
  CHECK(tool_message(life)["outcome"] == nullptr);
  life.post("/api/agent/a/stop");
  life.poll();
  CHECK(tool_message(life)["outcome"] == "interrupted");
  CHECK(tool_message(life)["success"] == nullptr);
}

TEST_CASE("a call that was given up is shown as abandoned", "[console][G9]") {
  const auto tools = std::make_shared<ToolRegistry>();
  const auto held = std::make_shared<Held>();
  tools->add(held_tool("stuck", held));
  ConsoleLife life({}, {.stop_grace = Duration(0)});
  give_tool(life, tools, "stuck");
  life.until([&] { return !held->calls.empty(); });
  const json stopped = life.post("/api/agent/a/stop?wait=settled").json();
  CHECK(stopped["cascadeFailed"] == json{"a"});
  life.poll();
  CHECK(tool_message(life)["outcome"] == "abandoned");
}

TEST_CASE("a pause of an ancestor is seen from its event", "[console]") {
  ConsoleLife life;
  life.create("root");
  life.create("mid", "root");
  life.create("leaf", "mid");
  life.create("other", "root");
  ConsoleClient stream = life.follow("/api/events");
  life.post("/api/agent/mid/pause");
  life.post("/api/agent/root/pause");
  life.post("/api/agent/mid/pause");
  life.post("/api/agent/root/unpause");
  life.until([&] { return of_type(stream, "paused").size() == 3; }, {&stream});
  const std::vector<json> events = of_type(stream, "paused");
  CHECK(events[1]["agentId"] == "root");
  CHECK(events[1]["stillPaused"] == json::array());
  CHECK(events[2]["paused"] == false);
  CHECK(events[2]["stillPaused"] == json{"mid"});
  CHECK(life.get("/api/agent/leaf").json()["agent"]["paused"] == true);
  CHECK(life.get("/api/agent/other").json()["agent"]["paused"] == false);
}

TEST_CASE("an agent that an ancestor pauses is not shown as running on", "[console]") {
  ConsoleLife life;
  life.create("root");
  life.create("mid", "root");
  life.post("/api/agent/mid/pause");
  life.post("/api/agent/root/pause");
  ConsoleClient stream = life.follow("/api/events");
  life.post("/api/agent/mid/unpause");
  life.until([&] { return of_type(stream, "paused").size() == 1; }, {&stream});
  CHECK(of_type(stream, "paused")[0]["paused"] == true);  // by its ancestor
}

TEST_CASE("a pause of all agents has an event", "[console]") {
  ConsoleLife life;
  life.create("root");
  life.create("mid", "root");
  life.post("/api/agent/mid/pause");
  ConsoleClient stream = life.follow("/api/events");
  const bool over_http = GENERATE(true, false);
  if (over_http) {
    life.post("/api/tree/pause", R"({"reason":"lunch"})");
    life.post("/api/tree/unpause");
  } else {
    CHECK(life.tree->pause_all({.reason = "lunch"}).took_effect());
    CHECK(life.tree->unpause_all().took_effect());
  }
  life.post("/api/agent/mid/unpause");
  life.until([&] { return of_type(stream, "paused").size() == 1; }, {&stream});
  const std::vector<json> events = of_type(stream, "tree_paused");
  REQUIRE(events.size() == 2);
  CHECK(events[0]["paused"] == true);
  CHECK(events[0]["reason"] == "lunch");
  CHECK(events[0]["stillPaused"] == json::array());
  CHECK(events[1]["paused"] == false);
  CHECK(events[1]["stillPaused"] == json{"mid"});
}
