// Fidelity: the same commands give the same events with real sockets, a real poller and a real file as in the
// simulated world.
#include "sim/fidelity.hpp"

#include "sim/generator.hpp"
#include "support/amount.hpp"
#include "support/catch.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace agentcore::sim;

namespace {

// What differs by nature is left out of the script:
// - How many polls it takes until a byte has gone through a socket: after each command the loop is driven
//   until it is quiet.
// - What a server says within a callback, and time that passes there: which requests have reached the
//   server by then depends on the sockets.
// - Faults that a system cannot be made to have on command (its disk, its sockets, its executor): none.
// - What is simulated for a store in memory alone: a second owner, damaged records, code that is missing.
// - The next timer: libcurl has timers of its own. A fixed time passes instead, of two minutes at most:
//   what is due together after hours is one poll in the simulated world, and several with sockets.
// - Limits of calls: who gets a slot that was given back depends on which of two ends is read first.
// - `calm`: all servers answer at once there while minutes pass, as at the end of a run.
// - A budget of no time (small_batches): what is left for the next poll depends on how the bytes arrive.
// - Limits of a few bytes (small_bytes): where an answer is cut depends on its pieces, and one idle
//   connection makes the transport close those of others.
// - Budgets of a subtree: which of two agents gets what is left depends on which answer is read first.
// - Programs: program_fidelity_test.cpp compares these.
// - Time-outs of a second (short_times): a tool and a request that were begun together may end in either
//   order, as at the end of a run.
Script comparable(const Script& script) {
  Script same{script.setup, {}};
  for (const Knob knob : {Knob::small_io, Knob::call_limits, Knob::small_batches, Knob::small_bytes,
                          Knob::short_times, Knob::programs})
    same.setup[knob] = 0;
  for (Command command : script.commands) {
    const bool is_fault =
        (command.act >= Act::disk_fails && command.act <= Act::disk_dies) || command.act == Act::socket_fails;
    const bool is_of_memory = command.act == Act::second_owner || command.act == Act::damage_record ||
                              command.act == Act::lose_code;
    const bool is_poll = command.act == Act::poll || command.act == Act::poll_without_budget;
    const bool is_of_server = command.act >= Act::model_text && command.act <= Act::server_garbage;
    const bool is_time = command.act == Act::time_passes || command.act == Act::next_timer;
    const bool is_new = command.act == Act::create_root || command.act == Act::create_child;
    if (is_fault || is_of_memory || command.act == Act::calm || command.act == Act::grant_subtree) continue;
    if (is_new && command.n[1] % 16 == 14) command.n[1] -= 14;  // World::spec()
    if ((is_of_server || is_time) && command.place.is_callback()) continue;
    if (is_poll && !command.place.is_callback()) command.act = Act::poll_until_quiet;
    if (command.act == Act::next_timer) command.act = Act::time_passes;
    if (command.act == Act::time_passes) command.n[0] %= 4;
    same.commands.push_back(command);
    if (!command.place.is_callback() && command.act != Act::poll_until_quiet)
      same.commands.push_back({.act = Act::poll_until_quiet});
  }
  return same;
}

std::string number_in(const std::string& line, std::string_view before) {
  return line.starts_with(before) ? line.substr(before.size(), line.find(' ', before.size()) - before.size())
                                  : std::string();
}

// What happened after one command, the command first.
Lines comparable_events(const Lines& events, bool had_error, bool only_ends) {
  Lines sent, rest;
  for (std::string line : events) {
    if (line.starts_with("viewer ")) continue;
    if (line.starts_with("answer ")) line.erase(line.rfind(' '));
    if (const std::string id = number_in(line, "transfer "); line.find(" ends cancelled 0") != line.npos) {
      const auto found =
          std::ranges::find_if(sent, [&](const std::string& one) { return number_in(one, "sent ") == id; });
      if (found != sent.end()) {
        sent.erase(found);
        continue;
      }
    }
    const std::string_view delta = "DeltaReceived ";
    const std::string name = line.substr(0, line.find(' ', delta.size()) + 1);
    if (line.starts_with("sent "))
      sent.push_back(had_error ? line.substr(0, line.rfind(' ')) : line);
    else if (line.starts_with(delta) && !rest.empty() && rest.back().starts_with(name))
      rest.back() += line.substr(name.size());
    else
      rest.push_back(std::move(line));
  }
  std::ranges::sort(sent);
  if (only_ends) {
    const auto is_no_end = [](const std::string& line) {
      return !line.starts_with("TurnEnded ") && !line.starts_with("on_end ") &&
             !line.starts_with("ToolEnded ") && !line.starts_with("MessageDropped ");
    };
    std::erase_if(rest, is_no_end);
    for (std::string& line : rest)
      if (const auto reason = line.find(" failed "); reason != line.npos) line.erase(reason + 7);
    std::ranges::sort(rest);
    return rest;
  }
  std::ranges::move(sent, std::back_inserter(rest));
  return rest;
}

// What differs by nature in a trace:
// - The pieces of a text: two that arrive together are one for libcurl.
// - When a request has reached the server, within a command; and whether one that was cut at once has.
// - The text of an error, which a request may cite: after the first one the bodies of requests do not count.
// - At the end of a run all servers answer at once, and minutes pass; and when time passes, several timers
//   may be due together. Which of them, or which answer, comes first is no part of the script, and libcurl
//   tries a request again whose kept connection has ended: only what ends counts there, and how.
// - The bodies of answers of a console, and what its viewers get after which command: the ids of agents that
//   do calls are in them (see below), and events wait for up to 20 ms. console_fidelity_test.cpp compares
//   them.
std::vector<Lines> comparable(const Lines& trace) {
  std::vector<Lines> sections = sections_of(trace);
  bool had_error = false, time_passes = false, only_ends = false;
  for (Lines& section : sections) {
    had_error = had_error || std::ranges::any_of(section, [](const std::string& line) {
                  return line.starts_with("transfer ") && line.find(" ends  ") == line.npos;
                });
    only_ends =
        section.front() == "-- everybody answers" || (only_ends && !section.front().starts_with("> "));
    const bool time_has_passed = std::exchange(time_passes, section.front().starts_with("> time_passes"));
    section = comparable_events(section, had_error, only_ends || time_has_passed);
  }
  return sections;
}

// - The end of a transfer is read when its descriptor is, and not where a poll asks its sources. So what
//   happens in one poll to one agent may come before or behind what happens to another one.
Lines by_agent(Lines lines) {
  const auto agent_of = [](const std::string& line) {
    const std::size_t words = line.starts_with("begun ") ? 2 : 1;
    std::size_t begin = 0;
    for (std::size_t i = 0; i < words; ++i) begin = line.find(' ', begin) + 1;
    return line.substr(begin, line.find(' ', begin) - begin);
  };
  std::ranges::stable_sort(lines, {}, agent_of);
  return lines;
}

// - A poll goes on with the source where the last one has ended. So what a request to the console ends may
//   be reported before or behind the end of its transfer.
bool is_same_in_other_order(const Lines& one, const Lines& other) {
  if (by_agent(one) == by_agent(other)) return true;
  const auto is_answer = [](const std::string& line) { return line.starts_with("answer "); };
  return std::ranges::any_of(one, is_answer) && std::ranges::is_permutation(one, other);
}

// The ids of agents that do calls have the number of a slot: which one is free depends on whether the one
// before is deleted already. They are replaced by their order.
Lines with_numbered_delegates(const Lines& trace) {
  std::map<std::string, std::string> names;
  std::size_t count = 0;
  Lines numbered;
  for (const std::string& line : trace) {
    const std::string created = number_in(line, "AgentCreated ");
    if (created.starts_with('@')) names[created] = "@" + std::to_string(++count) + "*";
    std::string text;
    for (std::size_t at = 0; at < line.size();) {
      const std::size_t end = std::min(line.find(' ', at), line.size());
      const std::string word = line.substr(at, end - at);
      const auto name = names.find(word);
      text += name == names.end() ? word : name->second;
      if (end < line.size()) text += ' ';
      at = end + 1;
    }
    numbered.push_back(std::move(text));
  }
  return numbered;
}

std::vector<Lines> comparable_trace(const Script& script, std::uint32_t real, std::string& problem) {
  return comparable(with_numbered_delegates(trace_of(script, real, problem)));
}

Comparison compare(const Script& script) {
  const Script same = comparable(script);
  std::string simulated, real;
  const auto expected = comparable_trace(same, 2, simulated), found = comparable_trace(same, 1, real);
  const Comparison result = comparison(expected, found, is_same_in_other_order);
  INFO(to_string(same));
  CHECK(simulated == "");
  CHECK(real == "");
  CHECK(result.difference == "");
  return result;
}

}  // namespace

TEST_CASE("scenarios give the same events with real sockets and files", "[sim][fidelity]") {
  std::uint32_t models = 1;
  for (Script script : scripts_in(AGENTCORE_SIM_SCENARIOS)) {
    compare(script);
    script.setup[Knob::models] = models;
    models += 5;
    compare(script);
  }
}

TEST_CASE("kept scripts give the same events with real sockets and files", "[sim][fidelity]") {
  for (const Script& script : scripts_in(AGENTCORE_SIM_CORPUS)) compare(script);
}

TEST_CASE("seeds with models over HTTP give the same events with real sockets and files", "[sim][fidelity]") {
  const int wanted = agentcore::test::amount(200, 40);
  int compared = 0;
  Comparison all;
  for (std::uint64_t seed = 1; compared < wanted; ++seed) {
    const Script script = script_of_seed(seed);
    const bool is_large =
        std::ranges::find(script.commands, Act::create_many, &Command::act) != script.commands.end();
    if (script.setup[Knob::models] == 0 || is_large) continue;
    ++compared;
    CAPTURE(seed);
    all += compare(script);
  }
  CHECK(all.in_other_order < all.sections / 50);
}

// The comparison can fail.
TEST_CASE("another answer is a difference", "[sim][fidelity]") {
  const auto trace = [](std::string_view answer, std::uint32_t real) {
    std::string problem;
    const Script script = script_from("set models 1\ncreate_root\nsend\n" + std::string(answer));
    return comparable_trace(comparable(script), real, problem);
  };
  const auto difference = [&](std::string_view answer) {
    return comparison(trace("model_answers", 2), trace(answer, 1), is_same_in_other_order).difference;
  };
  CHECK(difference("model_answers") == "");
  CHECK(difference("server_errors 0 6") != "");
  CHECK(difference("server_sends") != "");
}
