// agentcore-store list and show, on a file that a running tree writes.
#include "integration/store_program/team.hpp"
#include "support/catch.hpp"
#include "support/store/store_folder.hpp"
#include "support/store/store_program.hpp"

#include <string>

#include <nlohmann/json.hpp>

using namespace agentcore;
using agentcore::test::ProgramRun;
using agentcore::test::run_store_program;
using agentcore::test::StoreFolder;
using agentcore::test::Team;
using nlohmann::json;

namespace {

bool says(const std::string& text, const std::string& what) {
  INFO(text);
  CHECK(text.find(what) != std::string::npos);
  return text.find(what) != std::string::npos;
}

json show(const StoreFolder& folder, const std::string& agent) {
  const ProgramRun run = run_store_program({"show", "--json", folder.file(), agent});
  INFO(run.err);
  REQUIRE(run.code == 0);
  return json::parse(run.out);
}

}  // namespace

TEST_CASE("list shows the agents of a running tree as a tree", "[store_program]") {
  const StoreFolder folder;
  Team team(folder.file());
  const ProgramRun run = run_store_program({"list", folder.file()});
  CHECK(run.code == 0);
  CHECK(run.err.empty());
  CHECK(run.out == folder.file() +
                       ": 6 agents, 2 messages waiting\n"
                       "planner     open, 1 turn\n"
                       "`- helper   stopped (user), 1 turn\n"
                       "   `- " +
                       team.generated_id() +
                       "  stopped (parent), 0 turns\n"
                       "writer      open, paused, 0 turns, 2 messages waiting\n"
                       "voice       open, 1 turn\n"
                       "thinker     open, 1 turn, turn 1 in progress\n");
}

TEST_CASE("list --json has the state of each agent", "[store_program]") {
  const StoreFolder folder;
  Team team(folder.file());
  const ProgramRun run = run_store_program({"list", folder.file(), "--json"});
  REQUIRE(run.code == 0);
  const json list = json::parse(run.out);
  CHECK(list["stopped"] == false);
  REQUIRE(list["agents"].size() == 6);
  CHECK(list["agents"][0]["parent"] == nullptr);
  CHECK(list["agents"][1] == json{{"id", "helper"},
                                  {"parent", "planner"},
                                  {"state", "stopped"},
                                  {"cause", "user"},
                                  {"stopped_by_ancestor", false},
                                  {"paused", false},
                                  {"held", false},
                                  {"messages", 0},
                                  {"turns", 1},
                                  {"turn_in_progress", nullptr}});
  CHECK(list["agents"][2]["stopped_by_ancestor"] == true);
  CHECK(list["agents"][3]["messages"] == 2);
  CHECK(list["agents"][5]["turn_in_progress"] == 1);
}

TEST_CASE("list shows a deferred stop, a hold, and a stop and a pause of the whole tree", "[store_program]") {
  const StoreFolder folder;
  Team team(folder.file());
  REQUIRE(team.life().find("thinker").stop({.when = StopWhen::after_turn}).took_effect());
  team.life().llm.enqueue({.silent = true});
  const Agent held = team.life().create("held");
  REQUIRE(held.send("Think, too."));
  for (int i = 0; i < 8; ++i) team.life().runtime.poll();
  REQUIRE(held.interrupt({.queue = QueueAction::hold}).took_effect());
  for (int i = 0; i < 8; ++i) team.life().runtime.poll();
  const std::string text = run_store_program({"list", folder.file()}).out;
  says(text, "thinker     stopping (user), 1 turn, turn 1 in progress\n");
  says(text, "held        open, held, 1 turn\n");
  CHECK(show(folder, "thinker")["agent"]["stop_pending"] == "after_turn");
  REQUIRE(team.life().tree->stop_all().took_effect());
  REQUIRE(team.life().tree->pause_all().took_effect());
  for (int i = 0; i < 8; ++i) team.life().runtime.poll();
  const std::string stopped = run_store_program({"list", folder.file()}).out;
  says(stopped, "waiting; the whole tree is stopped; the whole tree is paused\n");
  says(stopped, "voice       stopped (parent), paused");
}

TEST_CASE("show has the conversation of an agent with its tool calls", "[store_program]") {
  const StoreFolder folder;
  Team team(folder.file());
  const ProgramRun run = run_store_program({"show", folder.file(), "planner"});
  CHECK(run.code == 0);
  says(run.out, "  role: system\n");
  says(run.out, "  system_prompt:\n    You plan trips.\n    Be brief.\n");
  says(run.out, "  turn_timeout_seconds: 90.0\n");
  says(run.out, "  code.tools: calculator\n");
  says(run.out, "  budget.tokens: 5000\n");
  says(run.out,
       "messages waiting: 0\nmessages in the conversation: 4\n"
       "   1 user, turn 1\n     What is 2 + 40?\n"
       "   2 assistant\n     call call_1: add {\"a\":2,\"b\":40}\n"
       "   3 tool, result of call_1\n     42\n"
       "   4 assistant\n     It is 42.\n");
  const json whole = show(folder, "planner");
  CHECK(whole["spec"]["temperature"] == 0.25);
  CHECK(whole["conversation"][0]["turn"] == 1);
  CHECK(whole["conversation"][1]["tool_calls"][0]["function"]["name"] == "add");
  CHECK(whole["agent"]["budget"]["tokens"] == 5000);
}

TEST_CASE("show has the marks of messages", "[store_program]") {
  const StoreFolder folder;
  Team team(folder.file());
  says(run_store_program({"show", folder.file(), "helper"}).out,
       "   1 user, turn 1, pinned\n     Keep this.\n");
  says(run_store_program({"show", folder.file(), "voice"}).out,
       "   1 user, turn 1, interrupted\n     Tell me a story.\n"
       "   2 assistant, partial, interrupted\n     Once upon ");
  CHECK(show(folder, "helper")["conversation"][0]["pinned"] == true);
  CHECK(show(folder, "voice")["conversation"][1]["interruption"] == "interrupted");
  CHECK(show(folder, "helper")["spec"]["code"]["unnamed"] == json{"handler"});
}

TEST_CASE("show has the messages that wait, and the turn in progress", "[store_program]") {
  const StoreFolder folder;
  Team team(folder.file());
  says(run_store_program({"show", folder.file(), "writer"}).out,
       "messages waiting: 2\n  " + team.waiting_id() +
           ", from editor, kind note, urgent\n     first\n     of all\n");
  const json waiting = show(folder, "writer")["messages"];
  REQUIRE(waiting.size() == 2);
  CHECK(waiting[0]["id"] == team.waiting_id());
  CHECK(waiting[0]["priority"] == "urgent");
  CHECK(waiting[1]["text"] == "second");
  const json turn = show(folder, "thinker")["agent"]["turn"];
  CHECK(turn["number"] == 1);
  CHECK(turn["question_in_conversation"] == true);
}

TEST_CASE("an agent with a generated id can be shown", "[store_program]") {
  const StoreFolder folder;
  Team team(folder.file());
  CHECK(show(folder, team.generated_id())["agent"]["parent"] == "helper");
}

TEST_CASE("show follows a tree that writes", "[store_program]") {
  const StoreFolder folder;
  Team team(folder.file());
  REQUIRE(team.life().find("planner").send("And now?"));
  for (int i = 0; i < 16; ++i) team.life().runtime.poll();
  CHECK(show(folder, "planner")["conversation"].size() == 6);
}
