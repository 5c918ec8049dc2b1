// What the model test does: commands as data, and the tree under test that they drive.
#pragma once

#include "property/tree_model.hpp"
#include "support/drive/tree_fixture.hpp"

#include <algorithm>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include <rapidcheck.h>

namespace agentcore::test {

enum class What {
  create,
  send,
  abort,
  stop,
  stop_all,
  resume,
  resume_all,
  terminate,
  delta,
  answer,
  fail,
  cancel,
  settle,
  give_up
};

// One command. It is printed as it would be written, so that a counterexample can be read.
struct Command {
  What what = What::settle;
  int agent = 0;  // "a" to "h"
  int other = 0;  // parent or caller: "a" to "h", else none
  bool flag = false;
  int kind = 0;  // of an agent that is created

  std::string id() const { return std::string(1, static_cast<char>('a' + agent)); }
  std::string second() const { return other > 7 ? "" : std::string(1, static_cast<char>('a' + other)); }
  ModelSpec spec() const {
    return {kind == 1   ? AgentRole::system
            : kind == 2 ? AgentRole::user
                        : AgentRole::normal,
            kind == 3, kind == 4, kind >= 6};
  }
};

inline std::ostream& operator<<(std::ostream& out, const Command& c) {
  const std::string rest = c.second().empty() ? "" : ", \"" + c.second() + "\"";
  const char* const flag = c.flag ? ", true)" : ", false)";
  static const char* const kinds[] = {"",          ", system", ", user", ", auto_resume",
                                      ", handler", "",         ", deaf", ", deaf"};
  switch (c.what) {
    case What::create:
      return out << "create(\"" << c.id() << "\"" << rest << kinds[c.kind] << ")";
    case What::send:
      return out << "send(\"" << c.id() << "\")";
    case What::abort:
      return out << "abort(\"" << c.id() << "\""
                 << ", drop_queue" << flag;
    case What::stop:
      return out << "stop(\"" << c.id() << "\", caller" << rest << ", cascade" << flag;
    case What::stop_all:
      return out << "stop_all()";
    case What::resume:
      return out << "resume(\"" << c.id() << "\", cascade" << flag;
    case What::resume_all:
      return out << "resume_all(cascade" << flag;
    case What::terminate:
      return out << "terminate(\"" << c.id() << "\", caller" << rest << ")";
    case What::delta:
      return out << "delta(\"" << c.id() << "\", newest" << flag;
    case What::answer:
      return out << "answer(\"" << c.id() << "\", newest" << flag;
    case What::fail:
      return out << "fail(\"" << c.id() << "\", newest" << flag;
    case What::cancel:
      return out << "cancel(\"" << c.id() << "\", newest" << flag;
    case What::settle:
      return out << "settle()";
    case What::give_up:
      return out << "give_up()";
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
    options.scope = c.flag || c.what == What::stop_all ? Scope::subtree : Scope::agent;
    options.on_settled = [this, number = verbs++](const StopReport& r) {
      report(number, "stop " + r.agent_id, r.descendants, r.abandoned, r.messages_dropped);
    };
    return options;
  }
  TerminateOptions terminate_options(const Command& c) {
    TerminateOptions options;
    options.caller = c.second();
    options.on_settled = [this, number = verbs++](const StopReport& r) {
      report(number, "terminate " + r.agent_id, r.descendants, r.abandoned, r.messages_dropped);
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
  void report(int number, std::string line, std::vector<std::string> done, std::vector<std::string> failed,
              std::size_t dropped) {
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

}  // namespace agentcore::test

namespace rc {

template <>
struct Arbitrary<agentcore::test::Command> {
  static Gen<agentcore::test::Command> arbitrary() {
    using agentcore::test::Command;
    using agentcore::test::What;
    const auto what = gen::weightedElement<What>({{6, What::create},
                                                  {6, What::send},
                                                  {2, What::abort},
                                                  {5, What::stop},
                                                  {1, What::stop_all},
                                                  {4, What::resume},
                                                  {1, What::resume_all},
                                                  {3, What::terminate},
                                                  {2, What::delta},
                                                  {3, What::answer},
                                                  {1, What::fail},
                                                  {1, What::cancel},
                                                  {6, What::settle},
                                                  {1, What::give_up}});
    const auto other = gen::weightedOneOf<int>({{2, gen::just(8)}, {3, gen::inRange(0, 8)}});
    return gen::build<Command>(gen::set(&Command::what, what), gen::set(&Command::agent, gen::inRange(0, 8)),
                               gen::set(&Command::other, other), gen::set(&Command::flag),
                               gen::set(&Command::kind, gen::inRange(0, 8)));
  }
};

}  // namespace rc
