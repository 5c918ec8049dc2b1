// Random commands against the tree and against its model.
#include "property/tree_model.hpp"
#include "support/prop.hpp"
#include "support/tree_fixture.hpp"

#include <algorithm>
#include <ostream>
#include <set>

using namespace agentcore;
using namespace agentcore::test;

namespace agentcore::test {

enum class What { create, send, abort, stop, stop_all, resume, resume_all, terminate, delta, answer, fail, cancel, settle, give_up };

// One command. It is printed as it would be written, so that a counterexample can be read.
struct Command {
  What what = What::settle;
  int agent = 0;   // "a" to "h"
  int other = 0;   // parent or caller: "a" to "h", else none
  bool flag = false;
  int kind = 0;    // of an agent that is created

  std::string id() const { return std::string(1, static_cast<char>('a' + agent)); }
  std::string second() const { return other > 7 ? "" : std::string(1, static_cast<char>('a' + other)); }
  ModelSpec spec() const {
    return {kind == 1 ? AgentRole::system : kind == 2 ? AgentRole::user : AgentRole::normal, kind == 3, kind == 4, kind >= 6};
  }
};

std::ostream& operator<<(std::ostream& out, const Command& c) {
  const std::string rest = c.second().empty() ? "" : ", \"" + c.second() + "\"";
  const char* const flag = c.flag ? ", true)" : ", false)";
  static const char* const kinds[] = {"", ", system", ", user", ", auto_resume", ", handler", "", ", deaf", ", deaf"};
  switch (c.what) {
    case What::create: return out << "create(\"" << c.id() << "\"" << rest << kinds[c.kind] << ")";
    case What::send: return out << "send(\"" << c.id() << "\")";
    case What::abort: return out << "abort(\"" << c.id() << "\"" << ", clear_queue" << flag;
    case What::stop: return out << "stop(\"" << c.id() << "\", caller" << rest << ", cascade" << flag;
    case What::stop_all: return out << "stop_all()";
    case What::resume: return out << "resume(\"" << c.id() << "\", cascade" << flag;
    case What::resume_all: return out << "resume_all(cascade" << flag;
    case What::terminate: return out << "terminate(\"" << c.id() << "\", caller" << rest << ")";
    case What::delta: return out << "delta(\"" << c.id() << "\", newest" << flag;
    case What::answer: return out << "answer(\"" << c.id() << "\", newest" << flag;
    case What::fail: return out << "fail(\"" << c.id() << "\", newest" << flag;
    case What::cancel: return out << "cancel(\"" << c.id() << "\", newest" << flag;
    case What::settle: return out << "settle()";
    case What::give_up: return out << "give_up()";
  }
  return out;
}

// The tree under test, driven by commands.
class World {
 public:
  World() : t(options()) {
    t.check_at_end = false;  // a counterexample says it
    t.llm->on_chat = [this](FakeClient&, FakeClient::Call& call) {
      call.on_stop = deaf_.contains(call.request.agent_id) ? OnStop::deaf : OnStop::post;
    };
  }

  Errc create(const Command& c) {
    AgentSpec spec;
    spec.id = c.id();
    const ModelSpec how = c.spec();
    spec.role = how.role;
    spec.auto_resume = how.auto_resume;
    if (how.handler) spec.handler = [](const Agent&, const Message&) {};
    Result<Agent> made = c.second().empty() ? t.tree->create(spec) : t[c.second()].create_child(spec);
    if (!made) return made.error().code;
    if (how.deaf)
      deaf_.insert(spec.id);
    else
      deaf_.erase(spec.id);
    return Errc::none;
  }

  StopOptions stop_options(const Command& c) {
    StopOptions options;
    options.caller = c.what == What::stop_all ? "" : c.second();
    options.cascade = c.flag || c.what == What::stop_all;
    options.on_settled = [this, number = verbs++](const StopReport& r) {
      report(number, "stop " + r.agent_id, r.cascade_stopped, r.cascade_failed, r.messages_dropped);
    };
    return options;
  }
  TerminateOptions terminate_options(const Command& c) {
    TerminateOptions options;
    options.caller = c.second();
    options.on_settled = [this, number = verbs++](const TerminateReport& r) {
      report(number, "terminate " + r.agent_id, r.cascade_terminated, r.cascade_failed, r.messages_dropped);
    };
    return options;
  }

  FakeClient::Call* call(const Command& c) const {
    FakeClient::Call* found = nullptr;
    for (FakeClient::Call* open : t.llm->open_calls())
      if (open->request.agent_id == c.id() && (c.flag || !found)) found = open;
    return found;
  }
  void delta(const Command& c) {
    if (FakeClient::Call* const open = call(c)) open->sink.delta("d");
  }
  void outcome(const Command& c, const ChatOutcome& outcome) {
    if (FakeClient::Call* const open = call(c)) FakeClient::finish(*open, outcome);
  }

  void settle(bool small_budget) {
    t.clock.set_tick(small_budget ? std::chrono::milliseconds(1) : Duration(0));
    if (small_budget)
      t.poll();
    else
      t.settle();
  }
  void give_up() {
    settle(false);
    t.advance(std::chrono::seconds(6));
  }

  std::map<std::string, AgentState> states() const {
    std::map<std::string, AgentState> all;
    t.tree->walk([&](const Agent& agent) { all[agent.id()] = agent.state().value(); });
    return all;
  }

  TreeFixture t;
  std::vector<std::string> reports;
  int verbs = 0;          // stops and deletes called so far
  std::set<int> effects;  // the numbers of those that took effect

 private:
  static TreeOptions options() {
    TreeOptions how;
    how.max_depth = TreeModel::max_depth;
    how.max_agents = TreeModel::max_agents;
    how.mailbox_limit = TreeModel::mailbox_limit;
    return how;
  }
  void report(int number, std::string line, std::vector<std::string> done, std::vector<std::string> failed, std::size_t dropped) {
    if (!effects.contains(number)) return reports.push_back(line + " joined");
    std::sort(done.begin(), done.end());
    std::sort(failed.begin(), failed.end());
    line += ":";
    for (const auto& id : done) line += " " + id;
    line += " failed:";
    for (const auto& id : failed) line += " " + id;
    reports.push_back(line + " dropped: " + std::to_string(dropped));
  }

  std::set<std::string> deaf_;
};

template <typename R, typename Done>
Answer answer_of(const R& result, Done done) {
  return {result.ok, result.*done, result.reason};
}

// The same for a verb that reports its end.
template <typename R, typename Done>
Answer counted(World& world, const R& result, Done done) {
  if (result.*done) world.effects.insert(world.verbs - 1);
  return answer_of(result, done);
}

std::string words(const Answer& a) {
  return std::string(a.ok ? "ok" : "refused") + (a.done ? " done " : " - ") + std::string(to_string(a.reason));
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

// Gives one command to both, and compares what they answer.
void apply(World& world, TreeModel& model, const Command& c) {
  const auto same = [&](const Answer& real, const Answer& expected) { RC_ASSERT(words(real) == words(expected)); };
  AgentTree& tree = *world.t.tree;
  switch (c.what) {
    case What::create:
      RC_ASSERT(to_string(world.create(c)) == to_string(model.create(c.second(), c.id(), c.spec())));
      break;
    case What::send: {
      const SendResult sent = tree.send(c.id(), "m");
      same({sent.accepted, sent.accepted, sent.reason}, model.send(c.id(), "m"));
      break;
    }
    case What::abort:
      same(answer_of(tree.abort(c.id(), {.clear_queue = c.flag}), &AbortResult::aborted), model.abort(c.id(), c.flag));
      break;
    case What::stop:
      same(counted(world, tree.stop(c.id(), world.stop_options(c)), &StopResult::stopped), model.stop(c.id(), c.flag, c.second()));
      break;
    case What::stop_all:
      same(counted(world, tree.stop_all(world.stop_options(c)), &StopResult::stopped), model.stop("", true, ""));
      break;
    case What::resume:
      same(answer_of(tree.resume(c.id(), {.cascade = c.flag}), &ResumeResult::resumed), model.resume(c.id(), c.flag));
      break;
    case What::resume_all:
      same(answer_of(tree.resume_all({.cascade = c.flag}), &ResumeResult::resumed), model.resume("", c.flag));
      break;
    case What::terminate:
      same(counted(world, tree.terminate(c.id(), world.terminate_options(c)), &TerminateResult::terminated),
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
    RC_ASSERT(written(agent.conversation()) == model.history(agent.id()));
    RC_ASSERT(is_valid_history(agent.conversation()));
    RC_ASSERT(to_string(world.t.seen.told(agent).value_or(AgentState::idle)) == to_string(agent.state().value()));
  });
  for (char id = 'a'; id <= 'h'; ++id)
    if (!model.states().contains(std::string(1, id))) RC_ASSERT(world.t.tree->references(std::string(1, id)) == 0U);
}

// After every command.
void compare_always(World& world, const TreeModel& model) {
  RC_ASSERT(lines(world.t.seen.violations) == "");
  RC_ASSERT(text_of(world.states()) == text_of(model.states()));
  for (const auto& [id, state] : model.states())
    RC_ASSERT(world.t[id].queue_length() == model.queue_length(id));
}

}  // namespace agentcore::test

namespace rc {

template <>
struct Arbitrary<Command> {
  static Gen<Command> arbitrary() {
    const auto what = gen::weightedElement<What>({{6, What::create}, {6, What::send}, {2, What::abort}, {5, What::stop},
                                                  {1, What::stop_all}, {4, What::resume}, {1, What::resume_all}, {3, What::terminate},
                                                  {2, What::delta}, {3, What::answer}, {1, What::fail}, {1, What::cancel},
                                                  {6, What::settle}, {1, What::give_up}});
    const auto other = gen::weightedOneOf<int>({{2, gen::just(8)}, {3, gen::inRange(0, 8)}});
    return gen::build<Command>(gen::set(&Command::what, what), gen::set(&Command::agent, gen::inRange(0, 8)),
                               gen::set(&Command::other, other), gen::set(&Command::flag),
                               gen::set(&Command::kind, gen::inRange(0, 8)));
  }
};

}  // namespace rc

TEST_CASE("the tree does what its model says", "[property][tree][B13][C12][X13][X32][G4][G8][G13]") {
  prop("every answer, state, queue, event, report and history is the model's", [](const std::vector<Command>& commands) {
    World world;
    TreeModel model;
    for (const char* const id : {"a", "b", "c"}) {
      const Command create{What::create, id[0] - 'a', id[0] == 'a' ? 8 : id[0] - 'b', false, id[0] == 'c' ? 6 : 0};
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

TEST_CASE("small budgets and interfering callbacks break no promise", "[property][tree][G4][G16][Q2][Q3]") {
  prop("whatever happens in whatever order, everything comes to rest", [](const std::vector<Command>& commands) {
    World world;
    std::size_t next = 0;  // commands that callbacks take out of turn
    int depth = 0;
    const auto run = [&](const Command& c) {
      AgentTree& tree = *world.t.tree;
      switch (c.what) {
        case What::create: static_cast<void>(world.create(c)); break;
        case What::send: static_cast<void>(tree.send(c.id(), "m")); break;
        case What::abort: static_cast<void>(tree.abort(c.id(), {.clear_queue = c.flag})); break;
        case What::stop: static_cast<void>(tree.stop(c.id(), world.stop_options(c))); break;
        case What::stop_all: static_cast<void>(tree.stop_all(world.stop_options(c))); break;
        case What::resume: static_cast<void>(tree.resume(c.id(), {.cascade = c.flag})); break;
        case What::resume_all: static_cast<void>(tree.resume_all({.cascade = c.flag})); break;
        case What::terminate: static_cast<void>(tree.terminate(c.id(), world.terminate_options(c))); break;
        case What::delta: world.delta(c); break;
        case What::answer: world.outcome(c, ChatOutcome::completed(FinishReason::complete)); break;
        case What::fail: world.outcome(c, ChatOutcome::failed({Errc::network_error, "as told"})); break;
        case What::cancel: world.outcome(c, ChatOutcome::cancelled()); break;
        case What::settle: world.settle(c.flag); break;
        case What::give_up: world.t.clock.advance(std::chrono::seconds(6)); break;
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
    const auto states = world.t.tree->on_state_change([&](const StateChange&) { interfere(); });
    const auto hooks = world.t.tree->on_event([&](const Event&) { interfere(); });
    for (const char* const id : {"a", "b", "c"})
      run({What::create, id[0] - 'a', id[0] == 'a' ? 8 : id[0] - 'b', false, id[0] == 'c' ? 6 : 0});
    while (next < commands.size()) {
      run(commands[next++]);
      world.t.tree->walk([](const Agent& agent) { RC_ASSERT(is_valid_history(agent.conversation())); });
    }
    world.give_up();
    world.t.advance(std::chrono::seconds(6));
    RC_ASSERT(lines(world.t.seen.violations) == "");
    for (const auto& [id, state] : world.states()) {
      RC_ASSERT(state == AgentState::idle || state == AgentState::waiting_llm || state == AgentState::stopped);
      RC_ASSERT(world.t.seen.told(world.t[id]).value_or(AgentState::idle) == state);
      RC_ASSERT(state == AgentState::waiting_llm || world.t[id].queue_length() == 0U);
      RC_ASSERT((state == AgentState::waiting_llm) <= (world.t.llm->find(id) != nullptr));
    }
    for (FakeClient::Call* call : world.t.llm->open_calls()) FakeClient::finish(*call, ChatOutcome::cancelled());
    static_cast<void>(world.t.tree->stop_all());
    world.t.advance(std::chrono::seconds(6));
    RC_ASSERT(!world.t.tree->busy());
  });
}
