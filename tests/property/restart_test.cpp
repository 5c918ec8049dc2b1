// A program that ends and begins again at any time is like one that never ends.
#include "property/restart_moves.hpp"
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

// Between two moves in the order of the agents: which of two agents comes first is not said. Nor is which of
// two deadlines that have passed meanwhile.
std::vector<std::string> by_agent(std::vector<std::string> log) {
  // By design: a call of a safe tool that waits beside an approval may have begun, as far as the store knows.
  static const std::string unknown =
      ",safe,interrupted,0,unknown: the program ended before the result was stored; the call may have begun, "
      "and "
      "its effect is unknown";
  for (std::string& line : log)
    for (std::size_t at = 0; (at = line.find(unknown, at)) != std::string::npos;)
      line.replace(at, unknown.size(), ",safe,not_started,0,not started: its turn ended before it began");
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

// What a restart in the middle of a turn changes by design.
bool is_left_out(const RestartMove& move) {
  const std::string step = name_of_step(move), script = script_of(move);
  const bool sends = step.starts_with("send") || step == "steer" || step.starts_with("edit");
  return step == "simulate" || step == "an hour passes" || step == "send with a deadline" ||
         step == "send three" ||
         (sends && (script.starts_with("delegate") || script == "task" || script == "finish"));
}

// A model call that is open counts in no budget that is granted meanwhile; the one that a restart makes again
// does.
bool grants_at_work(RestartWorld& world, const RestartMove& move) {
  return name_of_step(move).starts_with("grant") && !world.tree().tasks().empty();
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

// Does what is to be done with a world that restarts, and fails if anything has changed. By design: a call of
// a safe tool that waits beside a call that is to be approved may have begun, as far as the store knows.
void restart_unchanged(RestartWorld& world, const std::string& moves) {
  const std::string before = world.ask_all(true);
  world.restart();
  if (const std::string after = world.ask_all(true);
      without_unknown(after, after) != without_unknown(before, after))
    RC_FAIL(moves + " then a restart changes" + difference(before, after));
  world.settle();
  if (const std::string after = world.ask_all(true);
      without_unknown(after, after) != without_unknown(before, after))
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
    RestartWorld memory(false, ProcessEnd::never, options);
    RestartWorld file(true, ProcessEnd::never, options);
    RestartWorld ended(true, ProcessEnd::orderly, options);
    // What it has not written is lost, so it writes everything.
    RestartWorld killed(false, ProcessEnd::killed,
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
        if (const std::string found = world->ask_all(false);
            without_unknown(found, found) != without_unknown(all, found))
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
    RestartWorld whole(false, ProcessEnd::never, options);
    RestartWorld ended(true, ProcessEnd::orderly, options);
    RestartWorld killed(false, ProcessEnd::killed, options);
    const std::array worlds{&whole, &ended, &killed};
    std::string names;
    bool steered = false, approved = false;
    for (RestartWorld* const world : worlds) world->model_delay = std::chrono::seconds(1);
    for (std::size_t i = 0; i < moves.size(); ++i) {
      if (is_left_out(moves[i]) || grants_at_work(whole, moves[i])) continue;
      const std::string step = name_of_step(moves[i]);
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
      // A message that a restart has brought back begins one commit later, so that a pause can withhold it.
      const bool begins_later = std::ranges::any_of(worlds, [&](const RestartWorld* world) {
        return world->waiting_in_pause() != whole.waiting_in_pause();
      });
      const bool unpauses = whole.is_paused_at_work() || begins_later;
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
    RestartWorld world(!is_killed, is_killed ? ProcessEnd::killed : ProcessEnd::orderly,
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
