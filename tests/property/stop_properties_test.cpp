// The properties of a stop: S1-P1 to S1-P6 and P8. The others are in stop_order_properties_test.cpp.
#include "property/stopping.hpp"

#include <algorithm>
#include <utility>

using namespace agentcore;
using namespace agentcore::test;
using namespace property_test;

namespace {

Errc refusal(AgentState state) {
  return state == AgentState::stopping ? Errc::agent_stopping : Errc::agent_stopped;
}

Scene with_idle_target(Scene scene) {
  scene.members[scene.target % scene.members.size()].asked = false;
  for (Member& member : scene.members)  // no parent gives it work
    if (member.work == Work::child) member.work = Work::tool;
  scene.place = Place::outside;
  scene.before.clear();
  return scene;
}

}  // namespace

TEST_CASE("S1-P1: a stop ends the model calls at once", "[property][S1-P1][C1][C16][G1]") {
  prop(
      "when stop returns the target's call is cut, in the next poll all of the subtree's are, before "
      "anything else",
      [](const Scene& scene) {
        Stage stage(scene);
        std::vector<bool> meant(stage.t.llm->calls());
        std::vector<bool> cut;
        VerbResult result;
        stage.act([&] {
          meant.clear();
          for (std::size_t c = 0; c < stage.t.llm->calls(); ++c) {
            const FakeClient::Call& call = stage.t.llm->call(c);
            meant.push_back(call.stop.stop_requested() || (call.open() && stage.inside(stage.owner(c))));
          }
          // Posted before the stop, and all the same later than its cuts.
          stage.t.runtime->post([&] {
            for (std::size_t c = 0; c < meant.size(); ++c)
              cut.push_back(stage.t.llm->call(c).stop.stop_requested());
          });
          result = stage.target_agent().stop();
        });
        RC_ASSERT(result.took_effect());
        std::size_t at_once = 0;
        std::size_t all = 0;
        for (std::size_t c = 0; c < meant.size(); ++c) {
          RC_ASSERT(stage.after.cut[c] <= meant[c]);
          if (meant[c] && stage.owner(c) == stage.target()) RC_ASSERT(stage.after.cut[c]);
          at_once += stage.after.cut[c] ? 1U : 0U;
          all += meant[c] ? 1U : 0U;
        }
        RC_ASSERT(at_once >= std::min(all, std::size_t{8}));  // the stopping thread's share
        stage.t.settle();
        // In the observer of an aborted turn the loop is among the control operations already: the stop's
        // comes with the next ones.
        if (stage.scene().place != Place::abort) RC_ASSERT(cut == meant);
        for (std::size_t c = 0; c < meant.size(); ++c)
          if (meant[c]) RC_ASSERT(stage.t.llm->call(c).stop.stop_requested());
        for (const FakeClient::Call* call : stage.t.llm->open_calls())
          RC_ASSERT((!stage.inside(stage.owner(call->number)) || call->on_stop == OnStop::deaf));
        stage.play_after();
        stage.rest();
        RC_ASSERT(stage.broken() == "");
        for (std::size_t i = 0; i < stage.size(); ++i)
          if (stage.inside(i)) RC_ASSERT(stage.open_calls(i).empty());
        for (std::size_t c = meant.size(); c < stage.t.llm->calls(); ++c)
          RC_ASSERT(!stage.inside(stage.owner(c)));
      });
}

TEST_CASE("S1-P2: a stopped agent reports stopping and then stopped and nothing else",
          "[property][S1-P2][C5][C9][C11][X2][B8][B9]") {
  prop("stopping when stop returns, stopped in the end, never idle in between; the others are left alone",
       [](const Scene& scene) {
         Stage stage(scene);
         Stopping stop(stage);
         for (std::size_t i = 0; i < stage.size(); ++i)
           RC_ASSERT(stage.after.states[i] == (stage.hit(i) ? AgentState::stopping : stage.before.states[i]));
         const auto watch = stage.t.tree->on_event([&](const Event&) {
           for (std::size_t i = 0; i < stage.size(); ++i)
             if (stage.inside(i) && !is_stop_state(stage.state(i)))
               stage.wrong.push_back(Stage::id(i) + " shows otherwise");
         });
         stop.finish([&] {
           for (std::size_t i = 0; i < stage.size(); ++i)
             RC_ASSERT(is_stop_state(stage.state(i)) ==
                       (stage.inside(i) || is_stop_state(stage.before.states[i])));
         });
         for (std::size_t i = 0; i < stage.size(); ++i) {
           if (!stage.inside(i)) continue;
           RC_ASSERT(stage.state(i) == AgentState::stopped);
           if (!stage.hit(i)) {  // it had stopped before
             RC_ASSERT(text(stage.told("", i)) == "");
             continue;
           }
           const std::string from(to_string(stage.before.shown[i]));
           RC_ASSERT(text(stage.told("", i)) ==
                     Stage::id(i) + " " + from + ">stopping " + Stage::id(i) + " stopping>stopped");
         }
       });
}

TEST_CASE("X28: an idle agent can be stopped", "[property][S1-P2][X28][C5]") {
  prop("the stop of an idle agent is done, stopped=true, whatever lies in its mailbox or below it",
       [](const Scene& scene) {
         Stage stage(with_idle_target(scene));
         Stopping stop(stage);
         RC_ASSERT(stage.before.states[stage.target()] == AgentState::idle);
         stop.finish();
         RC_ASSERT(stage.state(stage.target()) == AgentState::stopped);
         RC_ASSERT(stage.look().taken[stage.target()] == stage.before.taken[stage.target()]);
       });
}

TEST_CASE("S1-P3: a stop empties the mailboxes", "[property][S1-P3][C3]") {
  prop(
      "no message that waited is handled, not even after a resume; the report counts them; others keep "
      "theirs",
      [](const Scene& scene) {
        Stage stage(scene);
        Stopping stop(stage);
        std::size_t waiting = 0;
        for (std::size_t i = 0; i < stage.size(); ++i)
          if (stage.inside(i))
            waiting += stage.before.queued[i];
          else
            RC_ASSERT(stage.after.queued[i] == stage.before.queued[i]);
        stop.finish();
        RC_ASSERT(stop.reports.at(0).messages_dropped == waiting);
        RC_ASSERT(stage.target_agent().resume().took_effect());
        stage.t.settle();
        View end = stage.look();
        for (std::size_t i = 0; i < stage.size(); ++i) {
          if (!stage.inside(i)) continue;
          RC_ASSERT(end.states[i] == (stage.hit(i) ? AgentState::idle : AgentState::stopped));
          RC_ASSERT(end.queued[i] == 0U);
          RC_ASSERT(end.taken[i] == stage.before.taken[i]);
        }
        const std::size_t target = stage.target();
        stage.open_up();
        RC_ASSERT(stage.send(target));
        stage.t.settle();
        end = stage.look();
        RC_ASSERT(end.taken[target].size() == stage.before.taken[target].size() + 1);
        RC_ASSERT(end.taken[target].back() == stage.accepted[target].back());
      });
}

TEST_CASE("S1-P4: a stopped agent refuses new messages", "[property][S1-P4][C6][C7][G12][B19]") {
  prop(
      "from the return of stop on every send is refused with the state as the reason, and nothing is queued "
      "or handled",
      [](const Scene& scene) {
        Stage stage(scene);
        Stopping stop(stage);
        const auto refused = [&] {
          for (std::size_t i = 0; i < stage.size(); ++i) {
            if (!stage.inside(i)) continue;
            const std::size_t queued = stage.agent(i).queue_length().value();
            const Errc reason = refusal(stage.state(i).value());
            const SendResult by_handle = stage.agent(i).send("refused");
            const SendResult by_id = stage.t[Stage::id(i)].send("refused");
            RC_ASSERT((!by_handle.accepted() && by_handle.reason == reason));
            RC_ASSERT((!by_id.accepted() && by_id.reason == reason));
            RC_ASSERT(stage.agent(i).queue_length().value() == queued);
          }
        };
        refused();
        stop.finish(refused);
        stage.t.advance(std::chrono::hours(1));
        refused();
        const View end = stage.look();
        for (std::size_t i = 0; i < stage.size(); ++i)
          if (stage.inside(i)) RC_ASSERT((end.queued[i] == 0 && end.taken[i] == stage.before.taken[i]));
      });
}

TEST_CASE("S1-P5: a stop sends nothing to agents and reports to the host exactly once",
          "[property][S1-P5][C8][E4][G11][X6]") {
  prop(
      "nobody's mailbox, history or model context holds anything that was not sent to it; each stopped agent "
      "is told once",
      [](const Scene& scene) {
        Stage stage(scene);
        Stopping stop(stage);
        for (std::size_t i = 0; i < stage.size(); ++i) {
          if (stage.inside(i)) continue;
          RC_ASSERT(stage.after.queued[i] == stage.before.queued[i]);
          RC_ASSERT(stage.after.histories[i] == stage.before.histories[i]);
        }
        stop.finish();
        RC_ASSERT(stage.gossip(stage.target()) == "");
        for (std::size_t i = 0; i < stage.size(); ++i) {
          const std::size_t once = stage.hit(i) ? 1 : 0;
          RC_ASSERT(stage.told("settled", i).size() == once);
          if (once) RC_ASSERT(stage.told("", i).size() == 2U);  // stopping, stopped
          if (stage.inside(i)) RC_ASSERT(stage.look().histories[i] == interrupted(stage, i));
        }
      });
}

TEST_CASE("S1-P6: results for a stopped agent are dropped", "[property][S1-P6][C4][F7][G7]") {
  prop("late text, answers and failures change no history, start nothing and are told only as discarded",
       [](const Scene& scene) {
         Stage stage(with_deaf_models(scene));
         Stopping stop(stage);
         const auto silent = [&] {
           for (std::size_t i = 0; i < stage.size(); ++i) {
             if (!stage.inside(i)) continue;
             RC_ASSERT(stage.told("delta", i).empty());
             RC_ASSERT(stage.told("started", i).empty());
             for (const std::string& line : stage.told("ended", i)) RC_ASSERT(line.ends_with(" stopped"));
           }
         };
         stop.finish(silent);
         const View end = stage.look();
         for (std::size_t i = 0; i < stage.size(); ++i) {
           if (!stage.inside(i)) continue;
           const std::size_t discarded = late_answers(stage, i);
           const std::size_t open = stage.before.calling[i];
           RC_ASSERT((scene.grace_over ? discarded <= open : discarded == open));
           RC_ASSERT(end.histories[i] == interrupted(stage, i));
           RC_ASSERT(end.taken[i] == stage.before.taken[i]);
         }
       });
}

TEST_CASE("S1-P8: a stop stops every descendant", "[property][S1-P8][E1][E5][C15][C17][C22][X32]") {
  prop("all below stop with it, at any depth, and nobody else; the report lists exactly them, children first",
       [](const Scene& scene) {
         Stage stage(scene);
         Stopping stop(stage);
         stop.finish();
         for (std::size_t i = 0; i < stage.size(); ++i)
           RC_ASSERT((stage.state(i) == AgentState::stopped) ==
                     (stage.inside(i) || is_stop_state(stage.before.states[i])));
         const StopReport& report = stop.reports.at(0);
         RC_ASSERT(report.agent_id == Stage::id(stage.target()));
         RC_ASSERT(text(sorted(report.descendants)) == text(stage.open_descendants(stage.target())));
         RC_ASSERT(out_of_order(stage, report.descendants) == "");
         for (const std::string& id : report.abandoned) {
           const std::size_t i = std::stoul(id.substr(1));
           RC_ASSERT((scene.grace_over && stage.inside(i)));
           RC_ASSERT(stage.may_linger(i));
         }
         for (std::size_t i = 0; i < stage.size(); ++i) {  // the settled events: children first, too
           const int own = stage.t.seen.index("settled " + Stage::id(i) + " stopped");
           for (std::size_t up = 0; up < i; ++up)
             if (stage.hit(i) && stage.hit(up) && stage.within(i, up))
               RC_ASSERT(own <
                         std::max(stage.t.seen.index("settled " + Stage::id(up) + " stopped"),
                                  stage.t.seen.index("settled " + Stage::id(up) + " stopped abandoned")));
         }
       });
}
