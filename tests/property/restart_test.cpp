// A program that ends and begins again at any time is like one that never ends.
#include "property/restart_world.hpp"
#include "support/prop.hpp"
#include "support/store/store_reading.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <ostream>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

using namespace agentcore;
using namespace agentcore::test;

namespace {

// ---- What may happen. Each returns what the host was told.

struct RestartMove {
  std::size_t what;
  int agent;  // which
  int other;  // a number whose meaning depends on what happens
};

std::string name_of(int number) {
  return std::string(1, static_cast<char>('a' + number));
}

std::string told(const VerbResult& result) {
  return std::string(to_string(result.status)) + ' ' + std::string(to_string(result.reason));
}
std::string told(const ChangeResult& result) {
  return std::string(to_string(result.reason));
}
std::string told(const AnswerResult& result) {
  return std::string(to_string(result.reason));
}
template <typename T>
std::string told(const Result<T>& result) {
  return result ? "done" : std::string(to_string(result.error().code));
}

struct RestartStep {
  const char* name;
  std::function<std::string(RestartWorld&, const Agent&, const RestartMove&)> act;
};

constexpr std::array scripts{"say",  "never",    "safe",       "careful", "both", "question",      "much",
                             "fail", "loop",     "unreadable", "finish",  "task", "delegate",      "absent",
                             "json", "question", "careful",    "both",    "say",  "delegate_never"};

const char* script_of(const RestartMove& move) {
  return scripts[static_cast<std::size_t>(move.other) % scripts.size()];
}

OpenQuestion question_of(RestartWorld& world, const RestartMove& move) {
  const auto open = world.questions();
  return open.empty() ? OpenQuestion() : open[static_cast<std::size_t>(move.other) % open.size()];
}

MessageId waiting_of(const Agent& agent, const RestartMove& move) {
  const auto queued = agent.queued();
  if (!queued || queued->empty()) return {};
  return (*queued)[static_cast<std::size_t>(move.other) % queued->size()].id;
}

std::uint64_t turn_of(const Agent& agent, const RestartMove& move) {
  const auto turns = turns_of(agent);
  if (!turns || turns->empty()) return 1;
  return (*turns)[static_cast<std::size_t>(move.other) % turns->size()].turn;
}

StopWhen when_of(const RestartMove& move) {
  return std::array{StopWhen::now, StopWhen::after_step,
                    StopWhen::after_turn}[static_cast<std::size_t>(move.other % 3)];
}

const std::vector<RestartStep> restart_steps{
    {"create a root",
     [](RestartWorld& w, const Agent&, const RestartMove& m) {
       AgentSpec spec = spec_of(m.other % spec_kinds);
       spec.id = name_of(m.agent);
       return told(w.tree().create(std::move(spec)));
     }},
    {"create a child",
     [](RestartWorld& w, const Agent& a, const RestartMove& m) {
       AgentSpec spec = spec_of(m.other % spec_kinds);
       spec.id = name_of((m.agent + 1 + m.other) % 4);
       static_cast<void>(w);
       return told(a.create_child(std::move(spec)));
     }},
    {"create twins of a shared spec",
     [](RestartWorld& w, const Agent& a, const RestartMove& m) {
       auto spec = std::make_shared<AgentSpec>(spec_of(m.other % spec_kinds));
       static_cast<void>(w);
       if (a.children() && a.children()->size() > 3) return std::string("enough");
       const std::string first = told(a.create_child(spec));
       return first + told(a.create_child(spec));
     }},
    {"send", [](RestartWorld& w, const Agent& a,
                const RestartMove& m) { return w.note(a.send(w.text(script_of(m)))); }},
    {"send", [](RestartWorld& w, const Agent& a,
                const RestartMove& m) { return w.note(a.send(w.text(script_of(m)))); }},
    {"send", [](RestartWorld& w, const Agent& a,
                const RestartMove& m) { return w.note(a.send(w.text(script_of(m)))); }},
    {"send three",
     [](RestartWorld& w, const Agent& a, const RestartMove& m) {
       std::string all;
       for (int i = 0; i < 3; ++i) all += w.note(a.send(w.text(script_of({m.what, m.agent, m.other + i}))));
       return all;
     }},
    {"send urgent",
     [](RestartWorld& w, const Agent& a, const RestartMove& m) {
       return w.note(a.send({.text = w.text(script_of(m)),
                             .sender = "s",
                             .parts = {{.url = "https://example.com/a.png"}},
                             .kind = "k",
                             .priority = MessagePriority::urgent}));
     }},
    {"send with a deadline",
     [](RestartWorld& w, const Agent& a, const RestartMove& m) {
       return w.note(
           a.send(w.text(script_of(m)), {.deadline = w.clock.now() + std::chrono::hours(1 + m.other % 3)}));
     }},
    {"simulate", [](RestartWorld& w, const Agent& a,
                    const RestartMove&) { return w.note(a.simulate(w.text("simulated"))); }},
    {"steer",
     [](RestartWorld& w, const Agent& a, const RestartMove& m) {
       return w.note(a.steer(w.text(script_of(m)),
                             {.fallback = m.other % 2 ? SteerFallback::queue : SteerFallback::give_back}));
     }},
    {"edit a queued message",
     [](RestartWorld& w, const Agent& a, const RestartMove& m) {
       return told(a.edit_queued(waiting_of(a, m), {.text = w.text(script_of(m)), .kind = "edited"}));
     }},
    {"remove a queued message", [](RestartWorld&, const Agent& a,
                                   const RestartMove& m) { return told(a.remove_queued(waiting_of(a, m))); }},
    {"clear the queue",
     [](RestartWorld&, const Agent& a, const RestartMove&) { return told(a.clear_queue()); }},
    {"approve",
     [](RestartWorld& w, const Agent&, const RestartMove& m) {
       constexpr std::array scopes{GrantScope::once, GrantScope::agent, GrantScope::subtree};
       return told(w.tree().approve(question_of(w, m).id, scopes[static_cast<std::size_t>(m.other % 3)]));
     }},
    {"approve",
     [](RestartWorld& w, const Agent&, const RestartMove& m) {
       return told(w.tree().approve(question_of(w, m).id, GrantScope::subtree));
     }},
    {"answer", [](RestartWorld& w, const Agent&,
                  const RestartMove& m) { return told(w.tree().answer(question_of(w, m).id, "an answer")); }},
    {"decline", [](RestartWorld& w, const Agent&,
                   const RestartMove& m) { return told(w.tree().decline(question_of(w, m).id, "no")); }},
    {"revoke",
     [](RestartWorld& w, const Agent&, const RestartMove& m) {
       const auto grants = w.tree().grants();
       if (grants.empty()) return std::string("none");
       return told(w.tree().revoke(grants[static_cast<std::size_t>(m.other) % grants.size()].id));
     }},
    {"stop",
     [](RestartWorld&, const Agent& a, const RestartMove& m) {
       return told(a.stop({.cascade = m.other % 4 != 0, .reason = "r", .when = when_of(m)}));
     }},
    {"stop below", [](RestartWorld&, const Agent& a,
                      const RestartMove&) { return told(a.stop({.descendants_only = true})); }},
    {"stop all",
     [](RestartWorld& w, const Agent&, const RestartMove& m) {
       return m.other % 3 == 0 ? told(w.tree().stop_all()) : std::string("not now");
     }},
    {"resume", [](RestartWorld&, const Agent& a,
                  const RestartMove& m) { return told(a.resume({.cascade = m.other % 4 != 0})); }},
    {"resume", [](RestartWorld&, const Agent& a, const RestartMove&) { return told(a.resume()); }},
    {"resume all",
     [](RestartWorld& w, const Agent&, const RestartMove&) { return told(w.tree().resume_all()); }},
    {"pause", [](RestartWorld&, const Agent& a, const RestartMove&) { return told(a.pause()); }},
    {"unpause", [](RestartWorld&, const Agent& a, const RestartMove&) { return told(a.unpause()); }},
    {"pause all",
     [](RestartWorld& w, const Agent&, const RestartMove& m) {
       return m.other % 3 == 0 ? told(w.tree().pause_all()) : std::string("not now");
     }},
    {"unpause all",
     [](RestartWorld& w, const Agent&, const RestartMove&) { return told(w.tree().unpause_all()); }},
    {"interrupt",
     [](RestartWorld&, const Agent& a, const RestartMove& m) {
       InterruptOptions options;
       options.scope = m.other % 2 ? InterruptScope::subtree : InterruptScope::turn;
       options.queue = std::array{QueueAction::deliver, QueueAction::hold,
                                  QueueAction::drop}[static_cast<std::size_t>(m.other % 3)];
       return told(a.interrupt(options));
     }},
    {"release the queue",
     [](RestartWorld&, const Agent& a, const RestartMove&) { return told(a.release_queue()); }},
    {"terminate",
     [](RestartWorld&, const Agent& a, const RestartMove& m) {
       return told(a.terminate({.when = when_of(m), .forks = m.other % 5 ? Forks::keep : Forks::terminate}));
     }},
    {"fork",
     [](RestartWorld&, const Agent& a, const RestartMove& m) {
       ForkOptions options{.id = name_of((m.agent + 1 + m.other) % 4)};
       if (m.other % 2) options.at = turn_of(a, m);
       return told(fork(a, std::move(options)));
     }},
    {"rewind",
     [](RestartWorld&, const Agent& a, const RestartMove& m) { return told(rewind(a, turn_of(a, m))); }},
    {"regenerate", [](RestartWorld& w, const Agent& a, const RestartMove&) { return w.note(regenerate(a)); }},
    {"truncate the answer",
     [](RestartWorld& w, const Agent& a, const RestartMove& m) {
       return told(truncate_answer(a, w.message(static_cast<std::size_t>(m.other)),
                                   static_cast<std::size_t>(m.other % 12)));
     }},
    {"grant",
     [](RestartWorld&, const Agent& a, const RestartMove& m) {
       return told(a.grant({.turns = static_cast<std::uint64_t>(m.other % 5 + 1)}));
     }},
    {"grant a subtree",
     [](RestartWorld&, const Agent& a, const RestartMove& m) {
       return told(a.grant_subtree({.tokens = static_cast<std::uint64_t>(m.other * 100 + 500)}));
     }},
    {"set the system prompt", [](RestartWorld& w, const Agent& a,
                                 const RestartMove&) { return told(a.set_system_prompt(w.text("prompt"))); }},
    {"set the model",
     [](RestartWorld& w, const Agent& a, const RestartMove&) { return told(a.set_model(w.text("model"))); }},
    {"cancel a call", [](RestartWorld& w, const Agent& a,
                         const RestartMove& m) { return told(a.cancel_call(question_of(w, m).call_id)); }},
    {"complete a call",
     [](RestartWorld& w, const Agent& a, const RestartMove& m) {
       return told(a.complete_call(question_of(w, m).call_id, ToolResult::done("by hand")));
     }},
    {"an hour passes",
     [](RestartWorld& w, const Agent&, const RestartMove&) {
       w.clock.advance(std::chrono::hours(1));
       return std::string();
     }},
    {"poll until at rest",
     [](RestartWorld& w, const Agent&, const RestartMove&) {
       w.settle();
       return std::string();
     }},
};

Agent agent_of(RestartWorld& world, const RestartMove& move) {
  return world.find(name_of(move.agent));
}

std::string written(const RestartMove& move) {
  return std::string(restart_steps[move.what].name) + "(" + name_of(move.agent) + ", " +
         std::to_string(move.other) + ")";
}

// For rapidcheck.
void showValue(const RestartMove& move, std::ostream& out) {
  out << written(move);
}

std::string act(RestartWorld& world, const RestartMove& move) {
  world.log.push_back("> " + written(move));
  return restart_steps[move.what].act(world, agent_of(world, move), move);
}

// The first line in which they differ, with those before it.
std::string difference(const std::string& a, const std::string& b) {
  std::size_t at = 0;
  while (at < a.size() && at < b.size() && a[at] == b[at]) ++at;
  const std::size_t from = at > 600 ? a.find('\n', at - 600) : 0;
  return "\n---- " + a.substr(from, at - from + 400) + "\n---- " + b.substr(from, at - from + 400);
}

// Between two moves in the order of the agents: which of two agents comes first is not said. Nor is which of
// two deadlines that have passed meanwhile.
std::vector<std::string> by_agent(std::vector<std::string> log) {
  const auto agent_of_line = [](const std::string& line) {
    std::istringstream words(line);
    std::string what, agent;
    words >> what >> agent;
    return agent;
  };
  const auto is_move = [](const std::string& line) { return line.starts_with("> "); };
  for (auto begin = log.begin(); begin != log.end();) {
    const auto end = std::find_if(begin, log.end(), is_move);
    std::stable_sort(begin, end, [&](const std::string& a, const std::string& b) {
      return agent_of_line(a) < agent_of_line(b);
    });
    begin = end == log.end() ? end : end + 1;
  }
  const auto is_late = [](const std::string& line) { return line.ends_with("deadline_exceeded"); };
  for (auto begin = log.begin(); begin != log.end();) {
    begin = std::find_if(begin, log.end(), is_late);
    const auto end = std::find_if_not(begin, log.end(), is_late);
    std::sort(begin, end);
    begin = end;
  }
  return log;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string all;
  for (const std::string& line : lines) all += line + "\n";
  return all;
}

rc::Gen<std::vector<RestartMove>> any_moves() {
  const auto move = rc::gen::build<RestartMove>(
      rc::gen::set(&RestartMove::what, rc::gen::inRange<std::size_t>(0, restart_steps.size())),
      rc::gen::set(&RestartMove::agent, rc::gen::inRange(0, 3)),
      rc::gen::set(&RestartMove::other, rc::gen::inRange(0, 60)));
  return rc::gen::scale(1.5, rc::gen::container<std::vector<RestartMove>>(move));
}

// Without what is sent to the models.
std::string without_contexts(const std::string& text) {
  std::istringstream lines(text);
  std::string left;
  bool skips = false;
  for (std::string line; std::getline(lines, line);) {
    skips = line.starts_with("  context") || (skips && line.starts_with("    "));
    if (!skips) left += line + '\n';
  }
  return left;
}

// Without the results of calls whose effect is unknown in one of them. They have another length, so another
// part of the conversation may be sent.
std::string without_unknown(std::string text, const std::string& other) {
  static const std::string unknown = "effect is unknown";
  if (other.find(unknown) != std::string::npos) text = without_contexts(text);
  for (std::size_t at = 0; (at = other.find(unknown, at)) != std::string::npos; ++at) {
    const std::size_t of = other.find(" of ", at), end = other.find('\n', of);
    const std::string call = other.substr(of, end - of) + '\n';
    for (std::size_t result = 0; (result = text.find(call, result)) != std::string::npos;) {
      const std::size_t begin = text.rfind('\n', result) + 1;
      text.replace(begin, result - begin, "    t:?");
      result = text.find(call, begin) + call.size();
    }
  }
  return text;
}

// What a restart in the middle of a turn changes by design.
bool is_left_out(const RestartMove& move) {
  const std::string step = restart_steps[move.what].name, script = script_of(move);
  const bool sends = step.starts_with("send") || step == "steer" || step.starts_with("edit");
  return step == "simulate" || step == "an hour passes" || step == "send with a deadline" ||
         step == "send three" ||
         (sends && (script.starts_with("delegate") || script == "task" || script == "finish"));
}

// A model call that is open counts in no budget that is granted meanwhile; the one that a restart makes again
// does.
bool grants_at_work(RestartWorld& world, const RestartMove& move) {
  return std::string(restart_steps[move.what].name).starts_with("grant") && !world.tree().tasks().empty();
}

// The agents that are stopped, or are being stopped.
std::set<std::string> stopped_agents(RestartWorld& world) {
  std::set<std::string> stopped;
  world.tree().walk([&](const Agent& agent) {
    const AgentState state = agent.state().value();
    if (state == AgentState::stopped || state == AgentState::stopping) stopped.insert(agent.id());
  });
  return stopped;
}

// True for a line of the log that says that a turn, a tool or a handler has begun.
bool begins_work(const std::string& line) {
  return line.starts_with("turn ") || line.starts_with("begun ") || line.starts_with("handled ");
}

// Does what is to be done with a world that restarts, and fails if anything has changed.
void restart_unchanged(RestartWorld& world, const std::string& moves) {
  const std::string before = world.ask_all(true);
  world.restart();
  if (const std::string after = world.ask_all(true); after != before)
    RC_FAIL(moves + " then a restart changes" + difference(before, after));
  world.settle();
  if (const std::string after = world.ask_all(true); after != before)
    RC_FAIL(moves + " then a restart and polls change" + difference(before, after));
}

}  // namespace

TEST_CASE("a restart at which no turn is at work changes nothing", "[property][persist][restore]") {
  prop("all that can be asked is the same with and without restarts", [] {
    const auto moves = *any_moves();
    const auto restarts = *rc::gen::container<std::vector<bool>>(moves.size(), rc::gen::arbitrary<bool>());
    const auto durability =
        *rc::gen::element(Durability::each_turn, Durability::each_step, Durability::each_message);
    // With InterruptedTurns::end, messages that wait would be held.
    const RestoreOptions options{.durability = durability, .turns = InterruptedTurns::go_on};
    RestartWorld memory(false, RunEnd::never, options);
    RestartWorld file(true, RunEnd::never, options);
    RestartWorld ended(true, RunEnd::orderly, options);
    // What it has not written is lost, so it writes everything.
    RestartWorld killed(false, RunEnd::killed,
                        {.durability = Durability::each_message, .turns = InterruptedTurns::go_on});
    const std::array worlds{&memory, &file, &ended, &killed};
    std::string names;
    for (std::size_t i = 0; i < moves.size(); ++i) {
      names += (i == 0 ? "" : ", ") + written(moves[i]);
      const std::string expected = act(memory, moves[i]);
      for (RestartWorld* const world : {&file, &ended, &killed}) {
        const std::string found = act(*world, moves[i]);
        if (found != expected) RC_FAIL(names + ": \"" + found + "\" instead of \"" + expected + '"');
      }
      if (!restarts[i]) continue;
      for (RestartWorld* const world : worlds) world->settle();
      if (!memory.is_at_rest()) continue;
      restart_unchanged(ended, names);
      restart_unchanged(killed, names);
      const std::string all = memory.ask_all(false);
      for (RestartWorld* const world : {&file, &ended, &killed})
        if (const std::string found = world->ask_all(false); found != all)
          RC_FAIL(names + ": with restarts there is" + difference(all, found));
    }
    for (RestartWorld* const world : worlds) world->settle();
    for (RestartWorld* const world : {&file, &ended, &killed})
      if (const auto expected = by_agent(memory.log), found = by_agent(world->log); found != expected)
        RC_FAIL(names + ": the events differ" + difference(joined(expected), joined(found)));
  });
}

// By design: the effect of a call that had begun is unknown, a turn of a simulated answer or of a delegated
// message is interrupted, and a deferred stop is a stop.
TEST_CASE("a turn that goes on over a restart ends as it does without one", "[property][persist][turns]") {
  prop("the conversations are equal after the models have answered", [] {
    const auto moves = *any_moves();
    const auto polls = *rc::gen::container<std::vector<int>>(moves.size(), rc::gen::inRange(0, 6));
    const auto rounds = *rc::gen::container<std::vector<int>>(moves.size(), rc::gen::inRange(0, 5));
    const RestoreOptions options{.durability = Durability::each_message, .turns = InterruptedTurns::go_on};
    RestartWorld whole(false, RunEnd::never, options);
    RestartWorld ended(true, RunEnd::orderly, options);
    RestartWorld killed(false, RunEnd::killed, options);
    const std::array worlds{&whole, &ended, &killed};
    std::string names;
    bool steered = false, approved = false;
    for (RestartWorld* const world : worlds) world->model_delay = std::chrono::seconds(1);
    for (std::size_t i = 0; i < moves.size(); ++i) {
      if (is_left_out(moves[i]) || grants_at_work(whole, moves[i])) continue;
      const std::string step = restart_steps[moves[i].what].name;
      steered = steered || step == "steer";
      approved = approved || step == "approve" || step == "answer";
      names += (names.empty() ? "" : ", ") + written(moves[i]) + ' ' + std::to_string(polls[i]) + " polls";
      for (RestartWorld* const world : worlds) {
        static_cast<void>(act(*world, moves[i]));
        world->poll(polls[i]);
        if (rounds[i] == 1) world->clock.advance(world->model_delay);
        if (rounds[i] == 1) world->poll(polls[i]);
      }
      if (rounds[i] != 0) continue;
      names += ", restart";
      for (RestartWorld* const world : worlds) world->poll(1);  // its end writes
      // A turn that waited for that before a tool call goes on at once, and may take a steered message: a
      // kill before the next commit loses it.
      if (steered) RC_ASSERT(bool(killed.tree().flush()));
      if (whole.is_waiting_by_design()) return;
      const bool unpauses = whole.is_paused_at_work();
      // A call that was approved and has not begun is asked about once more: here the pause withholds it.
      for (RestartWorld* const world : worlds) {
        if (!unpauses || !approved) break;
        world->unpause();
        world->poll(3);
      }
      ended.restart();
      killed.restart();
      for (RestartWorld* const world : worlds) world->settle_slowly();
      for (RestartWorld* const world : worlds) {
        if (!unpauses) break;
        world->unpause();
        world->settle_slowly();
      }
      const std::string all = whole.ask_all(false);
      for (RestartWorld* const world : {&ended, &killed}) {
        const std::string found = without_unknown(world->ask_all(false), world->ask_all(false));
        if (const std::string expected = without_unknown(all, world->ask_all(false)); found != expected)
          RC_FAIL(names + ": there is" + (world == &killed ? ", after a kill," : "") +
                  difference(expected, found));
      }
    }
  });
}

// Nothing of what a restart finds begins work until the mailboxes are released.
TEST_CASE("after a restart that ends turns no agent begins work by itself",
          "[property][persist][restore][G14]") {
  prop("nothing begins, histories are valid, and what was stopped is stopped", [] {
    const auto moves = *any_moves();
    const auto polls = *rc::gen::container<std::vector<int>>(moves.size(), rc::gen::inRange(0, 6));
    const auto rounds = *rc::gen::container<std::vector<int>>(moves.size(), rc::gen::inRange(0, 4));
    const bool is_killed = *rc::gen::arbitrary<bool>();
    RestartWorld world(!is_killed, is_killed ? RunEnd::killed : RunEnd::orderly,
                       {.durability = Durability::each_message});
    world.model_delay = std::chrono::seconds(1);
    std::string names;
    for (std::size_t i = 0; i < moves.size(); ++i) {
      names += (names.empty() ? "" : ", ") + written(moves[i]) + ' ' + std::to_string(polls[i]) + " polls";
      static_cast<void>(act(world, moves[i]));
      world.poll(polls[i]);
      if (rounds[i] == 1) world.clock.advance(world.model_delay);
      if (rounds[i] != 0) continue;
      names += ", restart";
      // Its end writes. Without it, a process that is killed loses what was not committed, such as a stop.
      const bool writes = !is_killed || rounds[(i + 1) % rounds.size()] < 2;
      if (writes) world.poll(1);
      const std::set<std::string> stopped = writes ? stopped_agents(world) : std::set<std::string>();
      const std::size_t logged = world.log.size();
      world.restart();
      for (const std::string& id : stopped)
        if (world.find(id).state().value() != AgentState::stopped) RC_FAIL(names + ": not stopped: " + id);
      world.tree().walk([&](const Agent& agent) {
        if (!is_valid_history(agent.conversation().value())) RC_FAIL(names + ": history of " + agent.id());
      });
      world.settle_slowly();
      for (std::size_t line = logged; line < world.log.size(); ++line)
        if (begins_work(world.log[line])) RC_FAIL(names + ": " + world.log[line]);
      if (world.model_calls() != 0) RC_FAIL(names + ": a model was called");
      world.tree().walk([](const Agent& agent) { static_cast<void>(agent.release_queue()); });
    }
    world.settle_slowly();
    world.tree().walk([&](const Agent& agent) {
      if (!is_valid_history(agent.conversation().value())) RC_FAIL(names + ": history of " + agent.id());
    });
  });
}
