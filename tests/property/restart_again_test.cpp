// What a restart has found, the next restart finds, too.
#include "property/restart_moves.hpp"
#include "support/prop.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

using namespace agentcore;
using namespace agentcore::test;

// The state after a restart is derived: from the gates of ancestors, from verbs that had not taken effect,
// from turns that were at work. Here one program is restarted once where another one is restarted twice or
// three times: at once, so that nothing was committed in between, and later, when verbs have changed some of
// what was derived. Process ends come at any time, also while agents are being stopped or deleted.
TEST_CASE("further restarts change nothing that the first one has found",
          "[property][persist][restore][G3][G14]") {
  prop("all that can be asked is the same after one restart and after several", [] {
    const auto moves = *any_moves();
    const auto polls = *rc::gen::container<std::vector<int>>(moves.size(), rc::gen::inRange(0, 5));
    const auto rounds = *rc::gen::container<std::vector<int>>(moves.size(), rc::gen::inRange(0, 6));
    const auto turns = *rc::gen::element(InterruptedTurns::end, InterruptedTurns::go_on);
    const RestoreOptions options{.durability = Durability::each_message, .turns = turns};
    RestartWorld once(false, ProcessEnd::killed, options);
    RestartWorld often(false, ProcessEnd::killed, options);
    const std::array worlds{&once, &often};
    const bool tools_hold = *rc::gen::arbitrary<bool>();
    for (RestartWorld* const world : worlds) {
      world->model_delay = std::chrono::seconds(1);
      world->tools_hold = tools_hold;
    }
    std::string names;
    const auto check_same = [&](const char* after) {
      const std::string expected = once.ask_all(false);
      if (const std::string found = often.ask_all(false);
          without_unknown(found, found) != without_unknown(expected, found))
        RC_FAIL(names + ": after " + after + " there is" + difference(expected, found));
    };
    for (std::size_t i = 0; i < moves.size(); ++i) {
      names += (names.empty() ? "" : ", ") + written(moves[i]) + ' ' + std::to_string(polls[i]) + " polls";
      const std::string expected = act(once, moves[i]), found = act(often, moves[i]);
      if (found != expected) RC_FAIL(names + ": \"" + found + "\" instead of \"" + expected + '"');
      for (RestartWorld* const world : worlds) world->poll(polls[i]);
      if (rounds[i] == 0 || rounds[i] == 1) {
        names += ", restart";
        for (RestartWorld* const world : worlds) world->restart();
        check_same("a restart");
        for (int again = 0; again <= rounds[i]; ++again) often.restart();
        check_same("restarts without a commit in between");
      } else if (rounds[i] == 2) {
        for (RestartWorld* const world : worlds) world->settle_slowly();
        if (!once.is_at_rest() || !often.is_at_rest()) continue;
        std::size_t waiting = 0;  // with InterruptedTurns::end, a restart holds their mailboxes
        once.tree().walk([&](const Agent& agent) { waiting += agent.queue_length().value(); });
        if (turns == InterruptedTurns::end && waiting != 0) continue;
        names += ", restart at rest";
        for (RestartWorld* const world : worlds) RC_ASSERT(bool(world->tree().flush()));
        often.restart();
        check_same("a restart at rest");
      }
    }
  });
}
