// The tree of agents of the terminal view.
#include "console/top/agents.hpp"

#include "support/catch.hpp"

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

using namespace console_app::top;

namespace {

Json agent(const std::string& id, const std::string& parent = "", const std::string& state = "idle") {
  Json json = {{"id", id}, {"parentAgentId", nullptr}, {"computeStatus", state}, {"queueLength", 0}};
  if (!parent.empty()) json["parentAgentId"] = parent;
  return json;
}

Agents family() {
  Agents agents;
  agents.upsert(agent("a"));
  agents.upsert(agent("b", "a"));
  agents.upsert(agent("c", "b"));
  agents.upsert(agent("d"));
  return agents;
}

std::string rows(Agents& agents) {
  std::string all;
  for (const AgentNode* each : agents.rows()) all += each->id;
  return all;
}

std::string selected(Agents& agents) {
  const AgentNode* const node = agents.selected();
  return node != nullptr ? node->id : "";
}

}  // namespace

TEST_CASE("a pause of an agent is shown at all below it", "[console_top]") {
  Agents agents = family();
  const auto paused = [&] {
    std::string ids;
    for (const char* id : {"a", "b", "c", "d"})
      if (agents.find(id)->paused) ids += id;
    return ids;
  };
  agents.apply({{"type", "paused"}, {"agentId", "a"}, {"paused", true}, {"stillPaused", Json::array()}});
  CHECK(paused() == "abc");
  agents.apply({{"type", "paused"}, {"agentId", "a"}, {"paused", false}, {"stillPaused", {"b"}}});
  CHECK(paused() == "bc");
  agents.apply({{"type", "tree_paused"}, {"paused", true}, {"stillPaused", Json::array()}});
  CHECK(paused() == "abcd");
  agents.apply({{"type", "tree_paused"}, {"paused", false}, {"stillPaused", {"c"}}});
  CHECK(paused() == "c");
}

TEST_CASE("agents are rows of a tree", "[console_top]") {
  Agents agents = family();
  agents.upsert(agent("e", "a"));
  CHECK(rows(agents) == "abced");
  CHECK(agents.find("c")->depth == 2);
  CHECK(agents.find("a")->descendants == 3);
  CHECK(agents.count(State::idle) == 5);
}

TEST_CASE("events change agents", "[console_top]") {
  Agents agents = family();
  agents.apply({{"type", "state"}, {"agentId", "b"}, {"to", "waiting_llm"}});
  CHECK(agents.find("b")->is_running());
  CHECK(agents.count(State::waiting_llm) == 1);
  agents.apply({{"type", "queue"}, {"agentId", "b"}, {"length", 3}});
  CHECK(agents.find("b")->queue_length == 3);
  agents.apply({{"type", "paused"}, {"agentId", "b"}, {"paused", true}});
  CHECK(agents.find("b")->paused);
  agents.apply({{"type", "stop_pending"}, {"agentId", "b"}, {"withdrawn", false}});
  CHECK(agents.find("b")->stop_pending);
  agents.apply({{"type", "state"}, {"agentId", "b"}, {"to", "stopped"}});
  CHECK_FALSE(agents.find("b")->stop_pending);
  agents.apply({{"type", "turn_ended"}, {"agentId", "b"}, {"usage", {{"totalTokens", 7}}}});
  CHECK(agents.find("b")->tokens == 7);
  agents.apply({{"type", "created"}, {"agent", agent("e", "d")}});
  CHECK(rows(agents) == "abcde");
}

TEST_CASE("a deleted agent goes with all below it", "[console_top]") {
  Agents agents = family();
  agents.select(2);
  agents.apply({{"type", "deleted"}, {"agentId", "b"}});
  CHECK(rows(agents) == "ad");
  CHECK(selected(agents) == "d");
  CHECK(agents.find("a")->descendants == 0);
  CHECK(agents.count(State::idle) == 2);
  agents.apply({{"type", "deleted"}, {"agentId", "c"}});  // its own event
  agents.apply({{"type", "deleted"}, {"agentId", "a"}});
  agents.apply({{"type", "deleted"}, {"agentId", "d"}});
  CHECK(rows(agents).empty());
  CHECK(agents.selected() == nullptr);
}

TEST_CASE("what a reload does not bring is forgotten", "[console_top]") {
  Agents agents = family();
  agents.select(2);
  agents.begin_reload();
  agents.upsert(agent("a"));
  agents.upsert(agent("c", "a"));  // another one with the same id
  agents.end_reload();
  CHECK(rows(agents) == "ac");
  CHECK(agents.find("c")->depth == 1);
  CHECK(selected(agents) == "c");
}

TEST_CASE("the selection moves, collapses and expands", "[console_top]") {
  Agents agents = family();
  CHECK(selected(agents) == "a");
  agents.collapse();
  CHECK(rows(agents) == "ad");
  agents.expand();
  CHECK(rows(agents) == "abcd");
  agents.expand();
  CHECK(selected(agents) == "b");
  agents.select(99);
  CHECK(selected(agents) == "d");
  agents.select(2);
  agents.collapse();  // it has no children: to its parent
  CHECK(selected(agents) == "b");
  agents.apply({{"type", "created"}, {"agent", agent("e", "a")}});
  CHECK(selected(agents) == "b");
}

TEST_CASE("a search opens what is collapsed", "[console_top]") {
  Agents agents = family();
  agents.collapse();
  CHECK(agents.search("C"));
  CHECK(rows(agents) == "abcd");
  CHECK(selected(agents) == "c");
  CHECK(agents.search("a"));  // around the end
  CHECK(selected(agents) == "a");
  CHECK_FALSE(agents.search("x"));
  CHECK(selected(agents) == "a");
  CHECK_FALSE(Agents().search("a"));
}

TEST_CASE("agents of a wrong shape are no harm", "[console_top]") {
  Agents agents = family();
  for (const char* text :
       {"null", "[]", "{}", R"({"id":7})", R"({"id":"a","parentAgentId":"a"})",
        R"({"id":"e","parentAgentId":"nobody","computeStatus":5,"queueLength":-1,"usage":[]})",
        R"({"id":"a","parentAgentId":"c"})"})
    agents.upsert(Json::parse(text));
  agents.apply(Json::parse(R"({"type":"state","agentId":"e","to":null})"));
  CHECK(agents.size() == agents.rows().size());
  CHECK(agents.find("e")->state == State::unknown);
}

TEST_CASE("a deep tree needs no deep stack", "[console_top]") {
  Agents agents;
  agents.upsert(agent("0"));
  for (int i = 1; i < 3000; ++i) agents.upsert(agent(std::to_string(i), std::to_string(i - 1)));
  CHECK(agents.rows().size() == 3000);
  agents.apply({{"type", "deleted"}, {"agentId", "1"}});
  CHECK(agents.size() == 1);
}
