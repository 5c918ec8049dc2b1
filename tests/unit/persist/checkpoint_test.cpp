// Agents as a document: what is in it, and what an import makes of it.
#include "persist/agent_document.hpp"
#include "support/catch.hpp"
#include "support/drive/unhurried.hpp"
#include "support/store/life.hpp"

#include <agentcore/agentcore.hpp>
#include <agentcore/memory_store.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

using namespace agentcore;
using agentcore::test::Life;
using nlohmann::json;

namespace {

testing::ScriptedReply reply_of(std::string text) {
  testing::ScriptedReply reply;
  reply.deltas = {std::move(text)};
  return reply;
}

// A tree without a store.
struct Program {
  explicit Program(TreeOptions options = {}) {
    options.llm = &llm;
    tree.emplace(runtime, std::move(options));
    on_created = tree->on<AgentCreated>([this](const AgentCreated&) { ++created; });
  }
  Agent find(std::string_view id) { return tree->find(id).value(); }

  Runtime runtime{test::unhurried()};
  testing::ScriptedClient llm{runtime};
  std::optional<AgentTree> tree;
  Subscription on_created;
  int created = 0;
};

// "boss" has the children "writer" (a tool call, a pin), "reader" (paused, with mail) and one without a
// chosen id, which is stopped; "boss" has budgets of which something was used.
std::string fill(Program& program) {
  auto tools = std::make_shared<ToolRegistry>();
  tools->add(make_tool({.name = "look"}, [](const nlohmann::json&, const ToolContext&) {
    return ToolResult::done("nothing");
  }));
  AgentSpec spec{.id = "boss", .system_prompt = "You lead.", .code = {.tools = "tools"}};
  spec.tools = tools;
  spec.limits.budget.turns = 9;
  spec.limits.subtree_budget.tokens = 1'000'000;
  const Agent boss = program.tree->create(spec).value();
  const Agent writer =
      boss.create_child({.id = "writer", .tools = tools, .code = {.tools = "tools"}}).value();
  const Agent reader = boss.create_child({.id = "reader"}).value();
  const Agent nameless = boss.create_child().value();
  testing::ScriptedReply call;
  call.tool_calls = {{.id = "c1", .name = "look", .arguments = "{}"}};
  program.llm.enqueue(call);
  program.llm.enqueue(reply_of("I saw nothing."));
  CHECK(writer.send("Look!"));
  program.runtime.run_until_idle();
  CHECK(boss.send("Well?"));
  program.runtime.run_until_idle();
  CHECK(reader.pause().took_effect());
  CHECK(reader.send("first"));
  CHECK(reader.send({.text = "second", .sender = "boss"}));
  CHECK(nameless.stop().took_effect());
  program.runtime.run_until_idle();
  return export_agents(boss).value();
}

ImportOptions with_tools() {
  ImportOptions options;
  options.code.add_tools("tools", std::make_shared<ToolRegistry>());
  return options;
}

// The document with one change.
std::string changed(const std::string& document, const std::string& pointer, const json& value) {
  json object = json::parse(document);
  object[json::json_pointer(pointer)] = value;
  return object.dump();
}

}  // namespace

TEST_CASE("agents that are imported are those that were exported", "[checkpoint][export]") {
  Program program;
  const std::string document = fill(program);
  Program other;
  const ImportReport report = import_agents(*other.tree, document, with_tools()).value();
  REQUIRE(report.agents.size() == 4);
  CHECK(other.created == 4);
  CHECK(report.messages == 2);
  CHECK(report.unbound.empty());
  CHECK(report.agents[0] == other.find("boss"));
  CHECK(other.find("writer").parent().value() == other.find("boss"));
  CHECK(report.agents[3].state().value() != AgentState::idle);
  CHECK(other.find("reader").status().value().paused);
  CHECK(other.find("boss").conversation().value() == program.find("boss").conversation().value());
  CHECK(other.find("writer").conversation().value() == program.find("writer").conversation().value());
  CHECK(other.find("writer").turns().value().size() == 1);
  CHECK(other.find("reader").queued().value().at(1).message.sender == "boss");
  other.runtime.run_until_idle();
  CHECK(report.agents[3].state().value() == AgentState::stopped);
  CHECK(json::parse(export_agents(other.find("boss")).value()) == json::parse(document));
  // They work on.
  REQUIRE(other.find("reader").unpause().took_effect());
  other.runtime.run_until_idle();
  CHECK(Life::texts(other.find("reader")) == std::vector<std::string>{"first", "first", "second", "second"});
  REQUIRE(other.find("writer").send("again"));
  other.runtime.run_until_idle();
  CHECK(other.find("writer").turns().value().back().turn == 2);
}

TEST_CASE("an import changes no agent that exists", "[checkpoint][import]") {
  Program program;
  const std::string document = fill(program);
  program.created = 0;
  const auto again = import_agents(*program.tree, document, with_tools());
  REQUIRE_FALSE(again);
  CHECK(again.error().code == Errc::agent_exists);
  CHECK(again.error().message.find("'boss'") != std::string::npos);
  REQUIRE(program.find("boss").terminate().took_effect());
  program.runtime.run_until_idle();
  CHECK(program.created == 0);
  REQUIRE(import_agents(*program.tree, document, with_tools()));
  CHECK(program.created == 4);
}

TEST_CASE("an agent whose code is missing is imported as stopped", "[checkpoint][import]") {
  Program program;
  const std::string document = fill(program);
  Program other;
  const ImportReport report = import_agents(*other.tree, document).value();
  REQUIRE(report.unbound.size() == 2);
  CHECK(report.unbound[0] == "boss: tools 'tools' is not in ImportOptions::code");
  other.runtime.run_until_idle();
  CHECK(other.find("boss").state().value() == AgentState::stopped);
  CHECK(other.find("reader").state().value() == AgentState::idle);
}

TEST_CASE("a busy agent is exported up to its last ended turn", "[checkpoint][export]") {
  Program program;
  const Agent agent = program.tree->create({.id = "a"}).value();
  REQUIRE(agent.send("one"));
  program.runtime.run_until_idle();
  testing::ScriptedReply silent;
  silent.silent = true;
  program.llm.enqueue(silent);
  REQUIRE(agent.send("two"));
  REQUIRE(agent.send("three"));
  program.runtime.poll();
  program.runtime.poll();
  REQUIRE(agent.state().value() == AgentState::waiting_llm);
  const std::string document = export_agents(agent).value();
  CHECK(agent.state().value() == AgentState::waiting_llm);
  Program other;
  REQUIRE(import_agents(*other.tree, document));
  CHECK(Life::texts(other.find("a")) == std::vector<std::string>{"one", "one"});
  CHECK(other.find("a").queued().value().size() == 1);
}

TEST_CASE("a document may be imported below an agent, and one agent exported alone", "[checkpoint]") {
  Program program;
  fill(program);
  const std::string alone = export_agents(program.find("writer"), {.scope = Scope::agent}).value();
  Program other;
  const Agent parent = other.tree->create({.id = "parent"}).value();
  ImportOptions options = with_tools();
  options.parent = parent;
  const ImportReport report = import_agents(*other.tree, alone, options).value();
  REQUIRE(report.agents.size() == 1);
  CHECK(report.agents[0].parent().value() == parent);
  options.parent = program.find("reader");
  CHECK(import_agents(*other.tree, alone, options).error().code == Errc::agent_not_found);
}

TEST_CASE("a document that is damaged is refused with the place, and nothing is created",
          "[checkpoint][import]") {
  Program program;
  const std::string document = fill(program);
  struct Case {
    std::string text;
    Errc code;
    std::string says;
  };
  std::vector<Case> cases{
      {"nonsense", Errc::invalid_config, "cannot be read"},
      {"[]", Errc::invalid_config, "not a JSON object"},
      {"{}", Errc::invalid_config, "\"format\""},
      {changed(document, "/version", 2), Errc::invalid_config, "its version is 2"},
      {changed(document, "/agents", json::array()), Errc::invalid_config, "no agents"},
      {changed(document, "/agents/1/agent/parent", 3), Errc::invalid_config, "agent 2: its parent"},
      {changed(document, "/agents/0/agent/parent", 1), Errc::invalid_config, "agent 1: its parent"},
      {changed(document, "/agents/1/agent/spec", 99), Errc::invalid_config, "agent 2: its spec"},
      {changed(document, "/agents/1/agent/name", "@7"), Errc::invalid_config, "agent 2: its id"},
      {changed(document, "/agents/1/agent/name", "boss"), Errc::invalid_config,
       "two agents have the id 'boss'"},
      {changed(document, "/agents/1/agent/turns", 0), Errc::invalid_config, "agent 2: it has more turns"},
      {changed(document, "/agents/1/agent/gate", 9), Errc::invalid_config, "gate"},
      {changed(document, "/agents/1/messages/1",
               json{{"role", "tool"}, {"content", "x"}, {"tool_call_id", "y"}}),
       Errc::invalid_history, "agent 2: "},
      {changed(document, "/agents/1/messages", 5), Errc::invalid_config, "cannot be read"},
      {changed(document, "/agents/1/context", json{{"runs", {1'000'000'000'000}}}), Errc::invalid_config,
       "more messages than there are"},
      {changed(document, "/agents/2/mail/0/text", 5), Errc::invalid_config, "cannot be read"},
      {changed(document, "/specs/0/max_tokens", "many"), Errc::invalid_config, "spec 0"},
      {document.substr(0, document.size() / 2), Errc::invalid_config, "cannot be read"},
  };
  // A turn begins where the one before it began, or earlier.
  REQUIRE(program.find("writer").send("And?"));
  program.runtime.run_until_idle();
  const std::string with_two_turns = export_agents(program.find("boss")).value();
  const json messages = json::parse(with_two_turns).at("agents").at(1).at("messages");
  const std::size_t second = messages.size() - 2;
  REQUIRE(messages.at(second).at("turn") == 2);
  for (const int turn : {0, 1})
    cases.push_back(
        {changed(with_two_turns, "/agents/1/messages/" + std::to_string(second) + "/turn", turn),
         turn == 0 ? Errc::invalid_config : Errc::invalid_history,
         turn == 0 ? "begins with a message that is no question" : "a turn begins with an invalid"});
  Program other;
  for (const Case& one : cases) {
    const auto result = import_agents(*other.tree, one.text, with_tools());
    CAPTURE(one.says);
    REQUIRE_FALSE(result);
    CAPTURE(result.error().message);
    CHECK(result.error().code == one.code);
    CHECK(result.error().message.find(one.says) != std::string::npos);
  }
  CHECK(other.created == 0);
  Program small({.max_agents = 3});
  CHECK(import_agents(*small.tree, document, with_tools()).error().code == Errc::agent_limit);
  Program flat({.max_depth = 1});
  CHECK(import_agents(*flat.tree, document, with_tools()).error().code == Errc::depth_limit);
  flat.runtime.run_until_idle();
  CHECK_FALSE(flat.tree->find("boss"));
}

TEST_CASE("lines about ended tasks of a turn that is left out are for the next one", "[checkpoint][export]") {
  Program program;
  std::optional<ToolDone> end;
  auto tools = std::make_shared<ToolRegistry>();
  tools->add(
      {.spec = {.name = "long", .mode = ToolMode::async},
       .start = [&](const nlohmann::json&, const ToolContext&, ToolDone done) { end = std::move(done); }});
  testing::ScriptedReply call, silent;
  call.tool_calls = {{.id = "c1", .name = "long", .arguments = "{}"}};
  silent.silent = true;
  program.llm.enqueue(call);
  program.llm.enqueue(reply_of("It runs."));
  program.llm.enqueue(silent);
  const Agent agent =
      program.tree->create({.id = "a", .tools = tools, .limits = {.background_tasks = 1}}).value();
  const auto poll = [&] {
    for (int i = 0; i < 12; ++i) program.runtime.poll();
  };
  REQUIRE(agent.send("one"));
  poll();
  (*end)(ToolResult::done("The task has its result."));
  poll();
  REQUIRE(agent.send("two"));
  poll();
  REQUIRE(agent.state().value() == AgentState::waiting_llm);
  const std::string document = export_agents(agent).value();
  Program other;
  REQUIRE(import_agents(*other.tree, document));
  const Agent imported = other.find("a");
  other.runtime.run_until_idle();
  REQUIRE(imported.resume().accepted());  // it was stopped: its tools have no name
  other.runtime.run_until_idle();
  REQUIRE(imported.send("three"));
  other.runtime.run_until_idle();
  const std::string question = imported.conversation().value()[4].content();
  CHECK(question.find("The task has its result.") != std::string::npos);
  CHECK(question.find("three") != std::string::npos);
}

TEST_CASE("what ended before a turn that is left out is told before what ended within it",
          "[checkpoint][export]") {
  using namespace detail::persist;
  DocumentAgent agent;
  agent.record.turns = 2;
  agent.record.ended_tasks = "[later]\n";
  agent.conversation.messages = {ChatMessage::user("one"), ChatMessage::assistant("1"),
                                 ChatMessage::user("Background tasks that have ended:\n[earlier]\n\ntwo")};
  agent.conversation.turns = {{.turn = 1, .question = 0}, {.turn = 2, .question = 2, .tasks = 10}};
  SECTION("a turn in progress") {
    make_portable(agent, true, nullptr);
    CHECK(agent.record.ended_tasks == "[earlier]\n[later]\n");
    CHECK(agent.conversation.messages.size() == 2);
    CHECK(agent.conversation.turns.size() == 1);
  }
  SECTION("a turn that has ended") {
    agent.conversation.messages.push_back(ChatMessage::assistant("2"));
    make_portable(agent, false, nullptr);
    CHECK(agent.record.ended_tasks == "[later]\n");
    CHECK(agent.conversation.messages.size() == 4);
  }
}

TEST_CASE("an agent that is exported alone has the stops, pauses and holds that were above it",
          "[checkpoint][export][stop]") {
  Program program;
  const Agent top = program.tree->create({.id = "top"}).value();
  const Agent middle = top.create_child({.id = "middle"}).value();
  const Agent leaf = middle.create_child({.id = "leaf"}).value();
  struct Found {
    bool stopped, paused, held;
    bool operator==(const Found&) const = default;
  };
  // As another program works with the document.
  const auto found = [&](const char* id) {
    Program other;
    REQUIRE(import_agents(*other.tree, export_agents(middle).value()));
    other.runtime.run_until_idle();
    const Agent agent = other.find(id);
    const bool held = agent.status().value().queue_held;
    static_cast<void>(agent.send("hello"));
    other.runtime.run_until_idle();
    CHECK((Life::texts(agent).empty()) ==
          (held || agent.state().value() == AgentState::stopped || agent.status().value().paused));
    return Found{agent.state().value() == AgentState::stopped, agent.status().value().paused, held};
  };
  SECTION("nothing") {
    for (const char* const id : {"middle", "leaf"}) CHECK(found(id) == Found{false, false, false});
  }
  SECTION("a hold of the subtree") {
    static_cast<void>(top.interrupt({.scope = Scope::subtree, .queue = QueueAction::hold}));
    for (const char* const id : {"middle", "leaf"}) CHECK(found(id) == Found{false, false, true});
  }
  SECTION("a hold of the agent above alone") {
    static_cast<void>(top.interrupt({.queue = QueueAction::hold}));
    for (const char* const id : {"middle", "leaf"}) CHECK(found(id) == Found{false, false, false});
  }
  SECTION("a hold of the agent itself") {
    static_cast<void>(middle.interrupt({.queue = QueueAction::hold}));
    CHECK(found("middle") == Found{false, false, true});
    CHECK(found("leaf") == Found{false, false, false});
  }
  SECTION("a stop") {
    REQUIRE(top.stop().took_effect());
    for (const char* const id : {"middle", "leaf"}) CHECK(found(id) == Found{true, false, false});
  }
  SECTION("a stop of the agent above alone") {
    REQUIRE(top.stop({.scope = Scope::agent}).took_effect());
    for (const char* const id : {"middle", "leaf"}) CHECK(found(id) == Found{false, false, false});
  }
}

TEST_CASE("an agent that is to be deleted after its turn is not exported", "[checkpoint][export][later]") {
  Program program;
  testing::ScriptedReply silent;
  silent.silent = true;
  program.llm.enqueue(silent);
  const Agent boss = program.tree->create({.id = "boss"}).value();
  const Agent busy = boss.create_child({.id = "busy"}).value();
  REQUIRE(busy.create_child({.id = "below"}));
  REQUIRE(busy.send("work"));
  for (int i = 0; i < 6; ++i) program.runtime.poll();
  CHECK(json::parse(export_agents(boss).value()).at("agents").size() == 3);
  REQUIRE(busy.terminate({.when = StopWhen::after_turn}).accepted());
  for (int i = 0; i < 6; ++i) program.runtime.poll();
  REQUIRE(busy.state().value() == AgentState::waiting_llm);
  CHECK(json::parse(export_agents(boss).value()).at("agents").size() == 1);
}

TEST_CASE("an agent of a tool call, and one that is being deleted, are not exported",
          "[checkpoint][export]") {
  Program program;
  auto tools = std::make_shared<ToolRegistry>();
  tools->add(make_agent_tool({.tool = {.name = "research"}}));
  const Agent boss = program.tree->create({.id = "boss", .tools = tools}).value();
  testing::ScriptedReply call;
  call.tool_calls = {{.id = "c1", .name = "research", .arguments = R"({"message":"read"})"}};
  program.llm.enqueue(call);
  testing::ScriptedReply silent;
  silent.silent = true;
  program.llm.enqueue(silent);
  REQUIRE(boss.send("go"));
  for (int i = 0; i < 10; ++i) program.runtime.poll();
  REQUIRE(boss.children().value().size() == 1);
  CHECK(json::parse(export_agents(boss).value()).at("agents").size() == 1);
  CHECK(export_agents(boss.children().value()[0]).error().code == Errc::agent_not_found);
  REQUIRE(boss.terminate().took_effect());
  CHECK(export_agents(boss).error().code == Errc::agent_terminating);
  program.runtime.run_until_idle();
  CHECK(export_agents(boss).error().code == Errc::agent_not_found);
  CHECK(export_agents(Agent()).error().code == Errc::agent_not_found);
}

TEST_CASE("imported agents are kept by the store of their tree", "[checkpoint][import][persist]") {
  Program program;
  const std::string document = fill(program);
  MemoryStore store;
  RestoreOptions options{.turns = InterruptedTurns::go_on};  // a mailbox that the restart holds would differ
  options.code.add_tools("tools", std::make_shared<ToolRegistry>());
  std::string exported;
  {
    Life life(store, options);
    REQUIRE(import_agents(*life.tree, document));  // the code is that of RestoreOptions
    life.runtime.run_until_idle();
    REQUIRE(life.tree->flush());
  }
  Life life(store, options);
  CHECK(life.report->agents == 4);
  CHECK(json::parse(export_agents(life.find("boss")).value()) == json::parse(document));
}

TEST_CASE("what a document says of stops, holds and missing code is in force after the import",
          "[checkpoint][import][stop]") {
  Program program;
  auto tools = std::make_shared<ToolRegistry>();
  AgentSpec spec{.id = "top", .code = {.tools = "tools"}};
  spec.tools = tools;
  spec.auto_resume = true;
  const Agent top = program.tree->create(spec).value();
  const Agent middle = top.create_child({.id = "middle"}).value();
  const Agent leaf = middle.create_child({.id = "leaf"}).value();
  REQUIRE(leaf.interrupt({.queue = QueueAction::hold}).reason == Errc::turn_over);
  REQUIRE(middle.stop({.scope = Scope::agent}).took_effect());
  program.runtime.run_until_idle();
  REQUIRE(top.stop().took_effect());
  program.runtime.run_until_idle();
  Program other;
  REQUIRE(import_agents(*other.tree, export_agents(middle).value()));
  other.runtime.run_until_idle();
  CHECK(other.find("middle").state().value() == AgentState::stopped);
  CHECK(other.find("leaf").state().value() == AgentState::stopped);
  CHECK(other.find("leaf").status().value().queue_held);
  // A message does not open an agent without its code.
  Program third;
  REQUIRE(top.resume().took_effect());
  program.runtime.run_until_idle();
  REQUIRE(import_agents(*third.tree, export_agents(top).value()));
  third.runtime.run_until_idle();
  CHECK_FALSE(third.find("top").send("run!"));
  CHECK(third.find("top").state().value() == AgentState::stopped);
}

TEST_CASE("a document keeps how far a hold reaches, and a hold above the agent that reaches it",
          "[checkpoint][export][import]") {
  const bool below = GENERATE(true, false);
  Program program;
  const Agent top = program.tree->create({.id = "top"}).value();
  const Agent child = top.create_child({.id = "child"}).value();
  REQUIRE(
      top.interrupt({.scope = below ? Scope::subtree : Scope::agent, .queue = QueueAction::hold}).accepted());
  program.runtime.run_until_idle();
  REQUIRE(child.status().value().queue_held == below);
  Program all;
  REQUIRE(import_agents(*all.tree, export_agents(top).value()));
  all.runtime.run_until_idle();
  CHECK(all.find("top").status().value().queue_held);
  CHECK(all.find("child").status().value().queue_held == below);
  REQUIRE(all.find("top").release_queue().took_effect());
  CHECK_FALSE(all.find("child").status().value().queue_held);  // nothing of its own held it
  Program alone;
  REQUIRE(import_agents(*alone.tree, export_agents(child).value()));
  alone.runtime.run_until_idle();
  CHECK(alone.find("child").status().value().queue_held == below);
}

TEST_CASE("an agent keeps a field of its spec although it is the only one that is set",
          "[checkpoint][export][create]") {
  struct Field {
    const char* name;
    std::function<void(AgentSpec&)> set;
  };
  const std::vector<Field> fields{
      {"system_prompt", [](AgentSpec& spec) { spec.system_prompt = "x"; }},
      {"model", [](AgentSpec& spec) { spec.model.name = "x"; }},
      {"role", [](AgentSpec& spec) { spec.role = AgentRole::system; }},
      {"mailbox_limit", [](AgentSpec& spec) { spec.limits.mailbox = 3; }},
      {"auto_resume", [](AgentSpec& spec) { spec.auto_resume = true; }},
      {"temperature", [](AgentSpec& spec) { spec.model.temperature = 0; }},
      {"max_tokens", [](AgentSpec& spec) { spec.model.max_tokens = 9; }},
      {"top_p", [](AgentSpec& spec) { spec.model.top_p = 0; }},
      {"stop_sequences", [](AgentSpec& spec) { spec.model.stop_sequences = {"x"}; }},
      {"reasoning_effort", [](AgentSpec& spec) { spec.model.reasoning_effort = "low"; }},
      {"stream", [](AgentSpec& spec) { spec.model.stream = false; }},
      {"response_format",
       [](AgentSpec& spec) { spec.model.response_format.kind = ResponseFormat::Kind::json_object; }},
      {"tool_choice",
       [](AgentSpec& spec) {
         spec.model.tool_choice = {ToolChoice::Mode::named, "x"};
       }},
      {"tools", [](AgentSpec& spec) { spec.tools = std::make_shared<ToolRegistry>(); }},
      {"tool_protocol", [](AgentSpec& spec) { spec.tool_protocol = ToolProtocol::text; }},
      {"max_repairs", [](AgentSpec& spec) { spec.limits.repairs = 0; }},
      {"max_tool_rounds", [](AgentSpec& spec) { spec.limits.tool_rounds = 11; }},
      {"parallel_tool_calls", [](AgentSpec& spec) { spec.model.parallel_tool_calls = false; }},
      {"parallel_tools", [](AgentSpec& spec) { spec.limits.parallel_tools = 2; }},
      {"turn_timeout", [](AgentSpec& spec) { spec.limits.turn_timeout = std::chrono::seconds(1); }},
      {"lease", [](AgentSpec& spec) { spec.limits.lease = std::chrono::hours(1); }},
      {"partial_answers", [](AgentSpec& spec) { spec.partial_answers = PartialAnswers::keep; }},
      {"background_tasks", [](AgentSpec& spec) { spec.limits.background_tasks = 1; }},
      {"cache_key", [](AgentSpec& spec) { spec.model.cache_key = "x"; }},
      {"context.max_tokens", [](AgentSpec& spec) { ++spec.context.max_tokens; }},
      {"context.target_tokens", [](AgentSpec& spec) { ++spec.context.target_tokens; }},
      {"context.min_conversation_tokens", [](AgentSpec& spec) { ++spec.context.min_conversation_tokens; }},
      {"context.archive_bytes", [](AgentSpec& spec) { spec.context.archive_bytes = 1'000; }},
      {"context.volatile_place",
       [](AgentSpec& spec) { spec.context.volatile_place = VolatilePlace::system_prompt; }},
      {"context.compact", [](AgentSpec& spec) { spec.context.compact.emplace(); }},
      {"history",
       [](AgentSpec& spec) {
         spec.history = {ChatMessage::user("x"), ChatMessage::assistant("y")};
       }},
      {"budget", [](AgentSpec& spec) { spec.limits.budget.turns = 9; }},
      {"subtree_budget", [](AgentSpec& spec) { spec.limits.subtree_budget.cost = 1; }},
      {"prices.prompt", [](AgentSpec& spec) { spec.model.prices.prompt = 1; }},
      {"prices.completion", [](AgentSpec& spec) { spec.model.prices.completion = 1; }},
      {"prices.cached_prompt", [](AgentSpec& spec) { spec.model.prices.cached_prompt = 1; }},
      {"prices.cache_write", [](AgentSpec& spec) { spec.model.prices.cache_write = 1; }},
      {"code", [](AgentSpec& spec) { spec.code.handler = "x"; }},
  };
  // With an id that is generated, as with one that is chosen.
  const auto document_of = [](AgentSpec spec) {
    Program program;
    return export_agents(program.tree->create(std::move(spec)).value()).value();
  };
  const std::string plain = document_of({});
  CHECK(document_of({}) == plain);
  for (const Field& field : fields) {
    INFO(field.name);
    AgentSpec spec;
    field.set(spec);
    CHECK(document_of(std::move(spec)) != plain);
  }
}

TEST_CASE("an import takes the messages that waited beyond the limit of the mailbox",
          "[checkpoint][export][steer]") {
  MemoryStore records;
  Runtime runtime{test::unhurried()};
  testing::ScriptedClient llm(runtime);
  {
    AgentTree tree(runtime, {.llm = &llm});
    REQUIRE(tree.restore(&records));
    const Agent agent = tree.create({.id = "a", .limits = {.mailbox = 1}}).value();
    llm.enqueue({.silent = true});
    REQUIRE(agent.send("begun"));
    for (int i = 0; i < 5; ++i) runtime.poll();
    REQUIRE(agent.steer("steered"));
    REQUIRE(agent.send("waits"));
    REQUIRE(tree.flush());
  }
  AgentTree tree(runtime, {.llm = &llm});
  REQUIRE(tree.restore(&records));
  const Agent agent = tree.find("a").value();
  REQUIRE(agent.queue_length().value() == 2);
  const std::string document = export_agents(agent).value();
  AgentTree other(runtime, {.llm = &llm});
  const Agent made = import_agents(other, document).value().agents.at(0);
  CHECK(made.queue_length().value() == 2);
  CHECK(made.send("one too many").reason == Errc::mailbox_full);
}
