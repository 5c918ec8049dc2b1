// Errors of the tree: creating and finding agents, and reading them.
#include "support/drive/tool_turn.hpp"
#include "support/observe/counted_heap.hpp"
#include "support/sanitized.hpp"
#include "unit/errors/error_rows.hpp"

#include <thread>

using namespace agentcore;
using namespace agentcore::test;

namespace {

Error of(const Result<void>& result) {
  return result ? Error{} : result.error();
}
template <typename T>
Error error_of(const Result<T>& result) {
  return result ? Error{Errc::none, "there was no error"} : result.error();
}

const std::string handle_is_empty = "the Agent handle is empty; get one from AgentTree::create() or find()";
const std::string agent_is_gone = "the agent does not exist: it was deleted, or its tree was destroyed";
const std::string runtime_is_gone = "the Runtime of this tree was destroyed";

void add_ids(ErrorRows& rows) {
  TreeFixture t;
  t.root("a");
  const std::string rule = "AgentSpec::id must be 1 to 255 bytes of UTF-8 and must not begin with '@'";
  rows.push_back({"an id with @", error_of(t.tree->create({.id = "@1"})), Errc::invalid_agent_id, rule});
  rows.push_back(
      {"an id not in UTF-8", error_of(t.tree->create({.id = "\xff"})), Errc::invalid_agent_id, rule});
  rows.push_back({"an id twice", error_of(t.tree->create({.id = "a"})), Errc::agent_exists,
                  "an agent with the id 'a' exists already"});
  rows.push_back({"no id", error_of(t.tree->find("")), Errc::missing_agent_id, "the agent id is empty"});
  rows.push_back({"an unknown message", of(t.root("mail").remove_queued(MessageId{17})),
                  Errc::message_not_found,
                  "no message m17 waits in the mailbox of the agent: its turn has begun, it was dropped, or "
                  "it was sent to "
                  "another agent"});
  rows.push_back(
      {"an unknown grant", of(t.tree->revoke(17)), Errc::grant_not_found, "no grant has the id 17"});
  rows.push_back({"an unknown turn", error_of(t.root("talk").rewind(3)), Errc::turn_not_found,
                  "turn 3 is not in the conversation of the agent; see Agent::turns()"});
  rows.push_back(
      {"an unknown id", error_of(t.tree->find("x")), Errc::agent_not_found, "no agent has the id 'x'"});
}

void add_limits(ErrorRows& rows) {
  TreeOptions options;
  options.max_depth = 2;
  options.max_agents = 3;
  TreeFixture t(options);
  const Agent child = t.child(t.root("a"), "b");
  rows.push_back({"a child below the last level", error_of(child.create_child()), Errc::depth_limit,
                  "the tree would become deeper than TreeOptions::max_depth (2)"});
  t.root("c");
  rows.push_back({"one agent too many", error_of(t.tree->create()), Errc::agent_limit,
                  "the tree has as many agents as TreeOptions::max_agents allows (3)"});
  rows.push_back({"a null spec", error_of(t.tree->create(SharedAgentSpec())), Errc::invalid_config,
                  "the shared AgentSpec is null; pass a spec"});
}

void add_other_threads(ErrorRows& rows) {
  TreeFixture t;
  const Agent agent = t.root("a");
  Error create, change;
  std::thread([&] {
    create = t.tree->create().error();
    change = of(agent.set_model("m"));
  }).join();
  const std::string rest =
      "() was called on another thread than that of the loop; call it in a function that you pass to "
      "Runtime::post()";
  rows.push_back({"create() on another thread", create, Errc::wrong_thread, "AgentTree::create" + rest});
  rows.push_back({"set_model() on another thread", change, Errc::wrong_thread, "Agent::set_model" + rest});
}

void add_missing_agents(ErrorRows& rows) {
  TreeFixture t;
  const Agent none;
  const Agent agent = t.root("a");
  rows.push_back({"state() of a root's parent", error_of(agent.parent()), Errc::agent_not_found,
                  "a root agent has no parent"});
  TerminateScope scope(*t.tree);
  scope.close();
  rows.push_back({"a closed scope", error_of(scope.create()), Errc::agent_not_found,
                  "the TerminateScope is closed; make a new one"});
  CHECK(agent.terminate().accepted());
  t.settle();
  rows.push_back(
      {"state() of an empty handle", error_of(none.state()), Errc::agent_not_found, handle_is_empty});
  rows.push_back({"create_child() of an empty handle", error_of(none.create_child()), Errc::agent_not_found,
                  handle_is_empty});
  rows.push_back(
      {"parent() of an empty handle", error_of(none.parent()), Errc::agent_not_found, handle_is_empty});
  rows.push_back({"grant() of an empty handle", of(none.grant({})), Errc::agent_not_found, handle_is_empty});
  rows.push_back(
      {"state() of a deleted agent", error_of(agent.state()), Errc::agent_not_found, agent_is_gone});
  rows.push_back({"create_child() of a deleted agent", error_of(agent.create_child()), Errc::agent_not_found,
                  agent_is_gone});
  rows.push_back(
      {"parent() of a deleted agent", error_of(agent.parent()), Errc::agent_not_found, agent_is_gone});
  rows.push_back({"grant() of a deleted agent", of(agent.grant({})), Errc::agent_not_found, agent_is_gone});
}

void add_closed_gates(ErrorRows& rows) {
  TreeFixture t;
  t.llm->on_stop = OnStop::deaf;
  const Agent parent = t.root("a");
  t.ask(parent);
  CHECK(parent.stop().took_effect());
  rows.push_back({"a child of a stopping agent", error_of(parent.create_child()), Errc::agent_stopping,
                  "the parent, or an ancestor of it, is stopping; resume it after the stop has ended"});
  t.llm->answer("a", "late");
  t.settle();
  rows.push_back({"a child of a stopped agent", error_of(parent.create_child()), Errc::agent_stopped,
                  "the parent, or an ancestor of it, is stopped; resume it first"});
  CHECK(parent.terminate().took_effect());
  rows.push_back({"a child of an agent that is being deleted", error_of(parent.create_child()),
                  Errc::agent_terminating, "the parent, or an ancestor of it, is being deleted"});
  t.settle();
}

void add_stop_all(ErrorRows& rows) {
  TreeFixture t;
  t.llm->on_stop = OnStop::deaf;
  t.ask(t.root("a"));
  CHECK(t.tree->stop_all().took_effect());
  rows.push_back({"a root during stop_all()", error_of(t.tree->create()), Errc::agent_stopping,
                  "the tree is stopping; call AgentTree::resume_all() after the stop has ended"});
  t.llm->answer("a", "late");
  t.settle();
  rows.push_back({"a root after stop_all()", error_of(t.tree->create()), Errc::agent_stopped,
                  "the tree is stopped; call AgentTree::resume_all() first"});
}

void add_runtime_gone(ErrorRows& rows) {
  TreeFixture t;
  const Agent agent = t.root("a");
  t.runtime.reset();
  rows.push_back(
      {"create() without a Runtime", error_of(t.tree->create()), Errc::runtime_gone, runtime_is_gone});
  rows.push_back(
      {"find() without a Runtime", error_of(t.tree->find("b")), Errc::runtime_gone, runtime_is_gone});
  rows.push_back({"state() without a Runtime", error_of(agent.state()), Errc::runtime_gone, runtime_is_gone});
  rows.push_back(
      {"parent() without a Runtime", error_of(agent.parent()), Errc::runtime_gone, runtime_is_gone});
  rows.push_back({"grant() without a Runtime", of(agent.grant({})), Errc::runtime_gone, runtime_is_gone});
}

void add_questions(ErrorRows& rows) {
  ToolTurn t;
  t.tools->add(make_ask_human_tool());
  t.tools->add({{.name = "careful", .needs_approval = true}, t.held.start()});
  t.ask(t.agent({.limits = {.parallel_tools = 2}}));
  t.call({{.name = "ask_human", .arguments = R"({"question":"Why?"})"}, {.name = "careful"}});
  rows.push_back({"an answer to no question", of(t.tree->answer("q_9", "so")), Errc::question_not_found,
                  "there is no question with this id"});
  rows.push_back({"an approval of a question", of(t.tree->approve("q_1")), Errc::not_an_approval,
                  "the question is not an approval: answer it"});
  rows.push_back({"an answer to an approval", of(t.tree->answer("q_2", "yes")), Errc::is_an_approval,
                  "the question is an approval: approve or decline it"});
  CHECK(t.tree->answer("q_1", "so"));
  rows.push_back(
      {"a second answer", of(t.tree->answer("q_1", "so")), Errc::question_closed, "the question is closed"});
  CHECK(t["a"].stop().took_effect());
  rows.push_back({"an approval for a stopped agent", of(t.tree->approve("q_2")), Errc::agent_stopping,
                  "the agent of the question is being stopped or deleted, or is stopped"});
  rows.push_back({"an acknowledgement after the turn", of(t["a"].acknowledge({MessageId{7}, 1, 1})),
                  Errc::turn_over, "the turn of message m7 is not in progress"});
  rows.push_back({"an acknowledgement of no call", of(t["a"].acknowledge({MessageId{7}, 0, 1})),
                  Errc::invalid_config, "Acknowledgement::call is 0; the first model call of a turn is 1"});
  t.settle();
}

#ifndef RACES_WATCHED
void add_out_of_memory(ErrorRows& rows) {
  TreeFixture t;
  const Agent agent = t.root("a");
  Result<void> granted;
  {
    const FailingAllocation failing(1, 100);
    granted = agent.grant({.turns = 1});
  }
  rows.push_back({"grant() without memory", of(granted), Errc::out_of_memory, "out of memory"});
  AgentSpec spec;
  spec.model.name = "m";
  Result<Agent> made = Error{};
  {
    const FailingAllocation failing(1, 1);
    made = t.tree->create(std::move(spec));
  }
  rows.push_back({"create() without memory", error_of(made), Errc::out_of_memory, "out of memory"});
}
#else
void add_out_of_memory(ErrorRows&) {  // no allocation can be made to fail
}
#endif

}  // namespace

ErrorRows test::tree_errors() {
  ErrorRows rows;
  add_ids(rows);
  add_limits(rows);
  add_other_threads(rows);
  add_missing_agents(rows);
  add_closed_gates(rows);
  add_stop_all(rows);
  add_runtime_gone(rows);
  add_questions(rows);
  add_out_of_memory(rows);
  return rows;
}

TEST_CASE("every error of creating and finding agents has its text", "[errors][tree]") {
  check(tree_errors());
}

#ifndef RACES_WATCHED
TEST_CASE("without memory a refusal has its code and no text", "[errors][tree]") {
  TreeFixture t;
  const Agent agent = t.root("a");
  Result<void> answered, acknowledged;
  {
    const FailingAllocation failing(1, 100);
    answered = t.tree->answer("q_9", "so");
    acknowledged = agent.acknowledge({MessageId{7}, 1, 1});
  }
  REQUIRE_FALSE(answered);
  CHECK(answered.error().code == Errc::question_not_found);
  CHECK(answered.error().message.empty());
  REQUIRE_FALSE(acknowledged);
  CHECK(acknowledged.error().code == Errc::turn_over);
  CHECK(acknowledged.error().message.empty());
}
#endif
