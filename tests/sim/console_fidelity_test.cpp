// Fidelity of a console: its clients have sockets of the system, and all happens as in the simulated world.
#include "sim/console_requests.hpp"
#include "sim/fidelity.hpp"
#include "sim/generator.hpp"
#include "support/amount.hpp"
#include "support/catch.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

using namespace agentcore::sim;

namespace {

// What is left out of a script. Its models are no servers: fidelity_test.cpp has these, and must compare
// less.
// - Faults that a system cannot be made to have on command (its disk, its sockets).
// - What is simulated for a store in memory alone: a second owner, damaged records, code that is missing.
// - Programs: program_fidelity_test.cpp compares these.
// - A poller that finds one descriptor at a time: none of the system does.
Script comparable_with_console(const Script& script) {
  Script same{script.setup, {}};
  for (const Knob knob : {Knob::models, Knob::programs}) same.setup[knob] = 0;
  if (same.setup[Knob::small_io] == 1) same.setup[Knob::small_io] = 0;
  for (const Command& command : script.commands) {
    const bool is_fault =
        (command.act >= Act::disk_fails && command.act <= Act::disk_dies) || command.act == Act::socket_fails;
    const bool is_of_memory = command.act == Act::second_owner || command.act == Act::damage_record ||
                              command.act == Act::lose_code;
    if (!is_fault && !is_of_memory) same.commands.push_back(command);
  }
  return same;
}

// Where the system takes no more of an answer, because its client reads later, is no part of a script. So
// what one client gets may come before or behind what another one gets.
bool is_same_for_each_client(Lines one, Lines other) {
  const auto client_of = [](const std::string& line) {
    return line.starts_with("viewer ")   ? line.substr(0, 8)
           : line.starts_with("answer ") ? line.substr(0, 6)
                                         : std::string();
  };
  std::ranges::stable_sort(one, {}, client_of);
  std::ranges::stable_sort(other, {}, client_of);
  return one == other;
}

struct Compared {
  Comparison comparison;
  Counts counts;
};

Compared compare_with_console(const Script& script) {
  const Script same = comparable_with_console(script);
  std::string simulated, real;
  Compared result;
  const auto expected = sections_of(trace_of(same, 2, simulated));
  const auto found = sections_of(trace_of(same, 1, real, &result.counts));
  result.comparison = comparison(expected, found, is_same_for_each_client);
  INFO(to_string(same));
  CHECK(simulated == "");
  CHECK(real == "");
  CHECK(result.comparison.difference == "");
  return result;
}

Compared compare_with_console(std::string_view script) {
  return compare_with_console(script_from(script));
}

}  // namespace

TEST_CASE("seeds with a console give the same events with real clients", "[sim][fidelity]") {
  const int wanted = agentcore::test::amount(200, 40);
  int compared = 0;
  Comparison all;
  Counts counts;
  for (std::uint64_t seed = 1; compared < wanted; ++seed) {
    const Script script = script_of_seed(seed);
    if (script.setup[Knob::console] == 0) continue;
    ++compared;
    CAPTURE(seed);
    const Compared one = compare_with_console(script);
    all += one.comparison;
    counts.add(one.counts);
  }
  CHECK(all.in_other_order <= all.sections / 1'000);
  // Not all were refused.
  for (const char* const what : {"answer 200", "answer 201", "a viewer was compared", "http_moves: done",
                                 "http_leaves: done", "http_reads: done"}) {
    CAPTURE(what);
    CHECK(counts.done[what] >= static_cast<std::uint64_t>(wanted / 40));
  }
}

TEST_CASE("scripts with a console give the same events with real clients", "[sim][fidelity]") {
  for (const char* const folder : {AGENTCORE_SIM_SCENARIOS, AGENTCORE_SIM_CORPUS})
    for (const Script& script : scripts_in(folder))
      if (script.setup[Knob::console] != 0) compare_with_console(script);
}

TEST_CASE("each request gives the same answer over real sockets", "[sim][fidelity]") {
  std::string text = "set console 2\nset store 1\ncreate_root 0 7\nhttp_follows 0\nhttp_follows 1\n";
  // Whole; and in pieces by another client.
  for (std::size_t request = 0; request < static_cast<std::size_t>(Request::last); ++request) {
    const std::string number = std::to_string(request);
    text += "create_root 0 " + number + "\nsend " + number + "\npoll\n";
    text += "http_request 0 " + number + " 0\npoll_until_quiet\nmodel_calls\npoll_until_quiet\n";
    text += "http_request 0 " + number + " 7\npoll_until_quiet\nhttp_moves 41 1\npoll_until_quiet\n";
    text += "http_moves 0 1\npoll_until_quiet\ntime_passes 1\npoll_until_quiet\nhttp_reads 3\n";
  }
  Compared compared = compare_with_console(text);
  CHECK(compared.comparison.in_other_order == 0);
  std::uint64_t answers = 0;
  for (const auto& [what, count] : compared.counts.done)
    if (what.starts_with("answer ") && !what.starts_with("answer 0")) answers += count;
  CHECK(answers >= 2 * static_cast<std::size_t>(Request::last));
}

TEST_CASE("a client that leaves is the same for a console over real sockets", "[sim][fidelity]") {
  const auto compare_leave = [](const std::string& before, const std::string& leaves) {
    for (const char* const how : {"0", "1"}) {  // in order; by a reset
      CAPTURE(before, leaves, how);
      const Compared compared = compare_with_console("set console 1\ncreate_root\n" + before + leaves + how +
                                                     "\npoll_until_quiet\ntime_passes 1\npoll_until_quiet\n"
                                                     "http_request 0 19\npoll_until_quiet\n");
      CHECK(compared.comparison.in_other_order == 0);
    }
  };
  const std::string client = "http_leaves 0 ", viewer = "http_leaves 2 ", late = "http_leaves 6 ";
  compare_leave("http_request\n", client);                                       // before it is accepted
  compare_leave("http_request 0 19\npoll_until_quiet\nhttp_request\n", client);  // unread by the console
  compare_leave("http_request 0 0 3\npoll_until_quiet\n", client);               // a part of its request
  compare_leave("http_request 0 0 3\npoll_until_quiet\nhttp_moves\n", client);   // and the rest, unread
  compare_leave("send\npoll_until_quiet\nhttp_request 0 4\npoll_until_quiet\n", client);  // while it waits
  compare_leave("in Settled: http_leaves 0 0\nhttp_request 0 2\npoll_until_quiet\n", client);
  compare_leave("http_follows\n", viewer);
  compare_leave("http_follows\npoll_until_quiet\n", viewer);
  compare_leave("http_follows\npoll_until_quiet\nsend\npoll_until_quiet\nmodel_answers\n", viewer);
  compare_leave("http_follows 1\npoll_until_quiet\nsend\npoll_until_quiet\n", late);  // with events unread
  compare_leave("http_follows 1\npoll_until_quiet\nsend\npoll_until_quiet\nhttp_reads 7\npoll\nsend\n", late);
}

// How much the system keeps for a client that reads nothing, and when, is no part of a script.
TEST_CASE("a viewer that does not read is closed over a real socket as well", "[sim][fidelity]") {
  const std::string ask = "http_request 0 " + std::to_string(static_cast<int>(Request::show_document)) + '\n';
  std::string text =
      "set console 1\ncreate_root\nhttp_follows 1\npoll_until_quiet\n"
      "create_many 0 500\npoll_until_quiet\n";
  text += ask + "poll_until_quiet\n";       // a long answer, in several polls
  text += ask + "poll\nhttp_leaves 0 1\n";  // half of it
  for (int i = 0; i < 20; ++i) text += "time_passes 2\npoll_until_quiet\n";  // two minutes
  text += "http_reads\npoll_until_quiet\nhttp_request 0 19\npoll_until_quiet\n";
  const auto seen = [script = script_from(text)](std::uint32_t real) {
    std::string problem;
    Lines trace = trace_of(script, real, problem);
    CHECK(problem == "");
    const auto end = std::ranges::find(trace, "> http_reads");
    CHECK(std::count(trace.begin(), end, "viewer 1 is closed") >= 1);
    CHECK(std::count(trace.begin(), end, "viewer 1 follows") >= 2);
    std::erase_if(trace, [](const std::string& line) { return line.starts_with("viewer "); });
    return trace;
  };
  CHECK(seen(0) == seen(3));
}

// The comparison can fail.
TEST_CASE("another request is a difference over real sockets", "[sim][fidelity]") {
  const auto trace = [](std::string_view request, std::uint32_t real) {
    std::string problem;
    return sections_of(
        trace_of(script_from("set console 1\ncreate_root\n" + std::string(request)), real, problem));
  };
  const auto difference = [&](std::string_view request) {
    return comparison(trace("http_request 0 19", 2), trace(request, 1), is_same_for_each_client).difference;
  };
  CHECK(difference("http_request 0 19") == "");
  CHECK(difference("http_request 0 20") != "");
  CHECK(difference("http_request 0 19 3") != "");
}
