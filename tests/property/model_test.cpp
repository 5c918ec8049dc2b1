// Random commands against the tree and against its model.
#include "property/tree_world.hpp"
#include "support/drive/tree_fixture.hpp"
#include "support/prop.hpp"

#include <agentcore/testing/references.hpp>

#include <algorithm>
#include <ostream>
#include <set>

using namespace agentcore;
using namespace agentcore::test;

namespace agentcore::test {

Reply answer_of(const VerbResult& result) {
  return {result.accepted(), result.took_effect(), result.reason};
}

// The same for a verb that reports its end.
Reply counted(World& world, const VerbResult& result) {
  if (result.took_effect()) world.effects.insert(world.verbs - 1);
  return answer_of(result);
}

std::string words(const Reply& a) {
  return std::string(a.ok ? "ok" : "refused") + (a.done ? " done " : " - ") +
         std::string(to_string(a.reason));
}

std::string lines(std::vector<std::string> all) {
  std::sort(all.begin(), all.end());
  std::string text;
  for (const auto& line : all) text += "\n  " + line;
  return text;
}

std::string text_of(const std::map<std::string, AgentState>& states) {
  std::string all;
  for (const auto& [id, state] : states) all += " " + id + "=" + std::string(to_string(state));
  return all;
}

// The agent of the command; an empty handle if it does not exist.
Agent agent_of(const AgentTree& tree, const Command& c) {
  return tree.find(c.id()).value_or(Agent{});
}

// Gives one command to both, and compares what they answer.
void apply(World& world, TreeModel& model, const Command& c) {
  const auto same = [&](const Reply& real, const Reply& expected) {
    RC_ASSERT(words(real) == words(expected));
  };
  AgentTree& tree = *world.t.tree;
  switch (c.what) {
    case What::create:
      RC_ASSERT(to_string(world.create(c)) == to_string(model.create(c.second(), c.id(), c.spec())));
      break;
    case What::send: {
      const SendResult sent = agent_of(tree, c).send("m");
      same({sent.accepted(), sent.accepted(), sent.reason}, model.send(c.id(), "m"));
      break;
    }
    case What::abort:
      same(answer_of(agent_of(tree, c).abort({.queue = c.flag ? QueueAction::drop : QueueAction::deliver})),
           model.abort(c.id(), c.flag));
      break;
    case What::stop:
      same(counted(world, agent_of(tree, c).stop(world.stop_options(c))),
           model.stop(c.id(), c.flag, c.second()));
      break;
    case What::stop_all:
      same(counted(world, tree.stop_all(world.stop_options(c))), model.stop("", true, ""));
      break;
    case What::resume:
      same(answer_of(agent_of(tree, c).resume({.scope = c.flag ? Scope::subtree : Scope::agent})),
           model.resume(c.id(), c.flag));
      break;
    case What::resume_all:
      same(answer_of(tree.resume_all({.scope = c.flag ? Scope::subtree : Scope::agent})),
           model.resume("", c.flag));
      break;
    case What::terminate:
      same(counted(world, agent_of(tree, c).terminate(world.terminate_options(c))),
           model.terminate(c.id(), c.second()));
      break;
    case What::delta:
      world.delta(c);
      model.delta(c.id(), c.flag);
      break;
    case What::answer:
      world.outcome(c, ChatOutcome::completed(FinishReason::complete));
      model.outcome(c.id(), c.flag, ChatOutcome::Kind::completed);
      break;
    case What::fail:
      world.outcome(c, ChatOutcome::failed({Errc::network_error, "as told"}));
      model.outcome(c.id(), c.flag, ChatOutcome::Kind::failed);
      break;
    case What::cancel:
      world.outcome(c, ChatOutcome::cancelled());
      model.outcome(c.id(), c.flag, ChatOutcome::Kind::cancelled);
      break;
    case What::settle:
      world.settle(false);
      model.settle();
      break;
    case What::give_up:
      world.give_up();
      model.give_up();
      break;
  }
}

// At rest everything is comparable.
void compare_at_rest(World& world, const TreeModel& model) {
  std::vector<std::string> told;
  for (const auto& line : world.t.seen.lines)
    if (line.find('>') == line.npos && !line.starts_with("delta")) told.push_back(line);
  RC_ASSERT(lines(told) == lines(model.events));
  RC_ASSERT(lines(world.reports) == lines(model.reports));
  world.t.tree->walk([&](const Agent& agent) {
    RC_ASSERT(written(agent.conversation().value()) == model.history(agent.id()));
    RC_ASSERT(is_valid_history(agent.conversation().value()));
    RC_ASSERT(to_string(world.t.seen.reported_state(agent).value_or(AgentState::idle)) ==
              to_string(agent.state().value()));
  });
  for (char id = 'a'; id <= 'h'; ++id)
    if (!model.states().contains(std::string(1, id)))
      RC_ASSERT(testing::count_references(*world.t.tree, std::string(1, id)) == 0U);
}

// After every command.
void compare_always(World& world, const TreeModel& model) {
  RC_ASSERT(lines(world.t.seen.violations) == "");
  RC_ASSERT(text_of(world.states()) == text_of(model.states()));
  for (const auto& [id, state] : model.states())
    RC_ASSERT(world.t[id].queue_length().value() == model.queue_length(id));
}

}  // namespace agentcore::test

TEST_CASE("the tree does what its model says", "[property][tree][B13][C12][X13][X32][G4][G8][G13]") {
  prop("every answer, state, queue, event, report and history is the model's",
       [](const std::vector<Command>& commands) {
         World world;
         TreeModel model;
         for (const char* const id : {"a", "b", "c"}) {
           const Command create{What::create, id[0] - 'a', id[0] == 'a' ? 8 : id[0] - 'b', false,
                                id[0] == 'c' ? 6 : 0};
           apply(world, model, create);
         }
         for (const Command& command : commands) {
           apply(world, model, command);
           compare_always(world, model);
           if (command.what == What::settle || command.what == What::give_up) compare_at_rest(world, model);
         }
         apply(world, model, {What::settle});
         compare_always(world, model);
         compare_at_rest(world, model);
       });
}

TEST_CASE("small budgets and interfering callbacks break no guarantee", "[property][tree][G4][G16][Q2][Q3]") {
  prop("whatever happens in whatever order, everything comes to rest",
       [](const std::vector<Command>& commands) {
         World world;
         std::size_t next = 0;  // commands that callbacks take out of turn
         int depth = 0;
         const auto run = [&](const Command& c) {
           AgentTree& tree = *world.t.tree;
           switch (c.what) {
             case What::create:
               static_cast<void>(world.create(c));
               break;
             case What::send:
               static_cast<void>(agent_of(tree, c).send("m"));
               break;
             case What::abort:
               static_cast<void>(
                   agent_of(tree, c).abort({.queue = c.flag ? QueueAction::drop : QueueAction::deliver}));
               break;
             case What::stop:
               static_cast<void>(agent_of(tree, c).stop(world.stop_options(c)));
               break;
             case What::stop_all:
               static_cast<void>(tree.stop_all(world.stop_options(c)));
               break;
             case What::resume:
               static_cast<void>(agent_of(tree, c).resume({.scope = c.flag ? Scope::subtree : Scope::agent}));
               break;
             case What::resume_all:
               static_cast<void>(tree.resume_all({.scope = c.flag ? Scope::subtree : Scope::agent}));
               break;
             case What::terminate:
               static_cast<void>(agent_of(tree, c).terminate(world.terminate_options(c)));
               break;
             case What::delta:
               world.delta(c);
               break;
             case What::answer:
               world.outcome(c, ChatOutcome::completed(FinishReason::complete));
               break;
             case What::fail:
               world.outcome(c, ChatOutcome::failed({Errc::network_error, "as told"}));
               break;
             case What::cancel:
               world.outcome(c, ChatOutcome::cancelled());
               break;
             case What::settle:
               world.settle(c.flag);
               break;
             case What::give_up:
               world.t.clock.advance(std::chrono::seconds(6));
               break;
           }
         };
         // Every third event runs the next command inside its callback.
         std::size_t events = 0;
         const auto interfere = [&] {
           if (++events % 3 != 0 || depth > 2 || next >= commands.size()) return;
           ++depth;
           run(commands[next++]);
           --depth;
         };
         const auto states = world.t.tree->on<StateChanged>([&](const StateChanged&) { interfere(); });
         const auto hooks = world.t.tree->on_event([&](const Event&) { interfere(); });
         for (const char* const id : {"a", "b", "c"})
           run({What::create, id[0] - 'a', id[0] == 'a' ? 8 : id[0] - 'b', false, id[0] == 'c' ? 6 : 0});
         while (next < commands.size()) {
           run(commands[next++]);
           world.t.tree->walk(
               [](const Agent& agent) { RC_ASSERT(is_valid_history(agent.conversation().value())); });
         }
         world.give_up();
         world.t.advance(std::chrono::seconds(6));
         RC_ASSERT(lines(world.t.seen.violations) == "");
         for (const auto& [id, state] : world.states()) {
           RC_ASSERT(state == AgentState::idle || state == AgentState::waiting_llm ||
                     state == AgentState::stopped);
           RC_ASSERT(world.t.seen.reported_state(world.t[id]).value_or(AgentState::idle) == state);
           RC_ASSERT(state == AgentState::waiting_llm || world.t[id].queue_length().value() == 0U);
           RC_ASSERT((state == AgentState::waiting_llm) <= (world.t.llm->find(id) != nullptr));
         }
         for (FakeClient::Call* call : world.t.llm->open_calls())
           FakeClient::finish(*call, ChatOutcome::cancelled());
         static_cast<void>(world.t.tree->stop_all());
         world.t.advance(std::chrono::seconds(6));
         RC_ASSERT(!world.t.tree->busy());
       });
}
