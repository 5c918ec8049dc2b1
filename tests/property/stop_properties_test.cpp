// The properties of a stop: S1-P1 to S1-P6, P8 and P10 to P14.
#include "property/stage.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>
#include <utility>

using namespace agentcore;
using namespace agentcore::test;
using namespace property_test;

namespace {

// Stops the target of `stage` at the scene's instant, and keeps what is told of it.
struct Stopping {
  explicit Stopping(Stage& s) : stage(s) {
    stage.act([this] {
      result = stage.target_agent().stop({.on_settled = [this](const StopReport& r) { reports.push_back(r); }});
    });
    RC_ASSERT((result.ok && result.stopped && result.quiet && result.reason == Errc::none));
  }
  // Plays what follows, to the end.
  void finish(const std::function<void()>& check = [] {}) {
    stage.play_after(check);
    stage.rest();
    check();
    RC_ASSERT(stage.broken() == "");
    RC_ASSERT(reports.size() == 1U);
  }

  Stage& stage;
  StopResult result;
  std::vector<StopReport> reports;
};

bool is_stop_state(std::optional<AgentState> state) { return state && is_stopped(*state); }

Errc refusal(AgentState state) {
  return state == AgentState::stopping ? Errc::agent_stopping : Errc::agent_stopped;
}

// What a history becomes when its agent is stopped.
std::string interrupted(const Stage& stage, std::size_t i) {
  return stage.before.histories[i] + (stage.before.states[i] == AgentState::waiting_llm ? "!stopped" : "");
}

Scene with_idle_target(Scene scene) {
  scene.members[scene.target % scene.members.size()].asked = false;
  scene.place = Place::outside;
  scene.before.clear();
  return scene;
}

// The target's call does not let go by itself.
Scene with_stubborn_target(Scene scene) {
  Member& target = scene.members[scene.target % scene.members.size()];
  target.handler = false;
  target.asked = true;
  target.on_stop = OnStop::deaf;
  return scene;
}

Scene with_deaf_models(Scene scene) {
  for (Member& member : scene.members) member.on_stop = OnStop::deaf;
  return scene;
}

}  // namespace

TEST_CASE("S1-P1: a stop ends the model calls at once", "[property][S1-P1][C1][C16][G1]") {
  prop("when stop returns the target's call is cut, in the next poll all of the subtree's are, before anything else",
       [](const Scene& scene) {
         Stage stage(scene);
         std::vector<bool> meant(stage.t.llm->calls());
         std::vector<bool> cut;
         StopResult result;
         stage.act([&] {
           meant.clear();
           for (std::size_t c = 0; c < stage.t.llm->calls(); ++c) {
             const FakeClient::Call& call = stage.t.llm->call(c);
             meant.push_back(call.stop.stop_requested() || (call.open() && stage.inside(stage.owner(c))));
           }
           // Posted before the stop, and all the same later than its cuts.
           stage.t.runtime->post([&] {
             for (std::size_t c = 0; c < meant.size(); ++c) cut.push_back(stage.t.llm->call(c).stop.stop_requested());
           });
           result = stage.target_agent().stop();
         });
         RC_ASSERT(result.stopped);
         std::size_t at_once = 0;
         std::size_t all = 0;
         for (std::size_t c = 0; c < meant.size(); ++c) {
           RC_ASSERT(stage.after.cut[c] <= meant[c]);
           if (meant[c] && stage.owner(c) == stage.target()) RC_ASSERT(stage.after.cut[c]);
           at_once += stage.after.cut[c] && !stage.before.cut[c] ? 1U : 0U;
           all += meant[c] && !stage.before.cut[c] ? 1U : 0U;
         }
         RC_ASSERT(at_once >= std::min(all, std::size_t{8}));  // the stopping thread's share
         stage.t.settle();
         RC_ASSERT(cut == meant);
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

TEST_CASE("S1-P2: a stopped agent shows stopping, then stopped, and nothing else",
          "[property][S1-P2][C5][C9][C11][X2][B8][B9]") {
  prop("stopping when stop returns, stopped in the end, never idle in between; the others are left alone",
       [](const Scene& scene) {
         Stage stage(scene);
         Stopping stop(stage);
         for (std::size_t i = 0; i < stage.size(); ++i)
           RC_ASSERT(stage.after.states[i] == (stage.inside(i) ? AgentState::stopping : stage.before.states[i]));
         const auto watch = stage.t.tree->on_event([&](const Event&) {
           for (std::size_t i = 0; i < stage.size(); ++i)
             if (stage.inside(i) && !is_stop_state(stage.state(i))) stage.wrong.push_back(Stage::id(i) + " shows otherwise");
         });
         stop.finish([&] {
           for (std::size_t i = 0; i < stage.size(); ++i)
             RC_ASSERT(is_stop_state(stage.state(i)) == stage.inside(i));
         });
         for (std::size_t i = 0; i < stage.size(); ++i) {
           if (!stage.inside(i)) continue;
           RC_ASSERT(stage.state(i) == AgentState::stopped);
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
  prop("no message that waited is handled, not even after a resume; the report counts them; others keep theirs",
       [](const Scene& scene) {
         Stage stage(scene);
         Stopping stop(stage);
         std::size_t waiting = 0;
         for (std::size_t i = 0; i < stage.size(); ++i)
           if (stage.inside(i)) waiting += stage.before.queued[i];
           else RC_ASSERT(stage.after.queued[i] == stage.before.queued[i]);
         stop.finish();
         RC_ASSERT(stop.reports[0].messages_dropped == waiting);
         RC_ASSERT(stage.target_agent().resume().resumed);
         stage.t.settle();
         View end = stage.look();
         for (std::size_t i = 0; i < stage.size(); ++i) {
           if (!stage.inside(i)) continue;
           RC_ASSERT(end.states[i] == AgentState::idle);
           RC_ASSERT(end.queued[i] == 0U);
           RC_ASSERT(end.taken[i] == stage.before.taken[i]);
         }
         const std::size_t target = stage.target();
         RC_ASSERT(stage.send(target));
         stage.t.settle();
         end = stage.look();
         RC_ASSERT(end.taken[target].size() == stage.before.taken[target].size() + 1);
         RC_ASSERT(end.taken[target].back() == stage.accepted[target].back());
       });
}

TEST_CASE("S1-P4: a stopped agent refuses new messages", "[property][S1-P4][C6][C7][G12]") {
  prop("from the return of stop on every send is refused with the state as the reason, and nothing is queued or handled",
       [](const Scene& scene) {
         Stage stage(scene);
         Stopping stop(stage);
         const auto refused = [&] {
           for (std::size_t i = 0; i < stage.size(); ++i) {
             if (!stage.inside(i)) continue;
             const std::size_t queued = stage.agent(i).queue_length();
             const Errc reason = refusal(stage.state(i).value());
             const SendResult by_handle = stage.agent(i).send("refused");
             const SendResult by_id = stage.t.tree->send(Stage::id(i), "refused");
             RC_ASSERT((!by_handle.accepted && by_handle.reason == reason));
             RC_ASSERT((!by_id.accepted && by_id.reason == reason));
             RC_ASSERT(stage.agent(i).queue_length() == queued);
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

TEST_CASE("S1-P5: a stop tells no agent, and the host exactly once", "[property][S1-P5][C8][E4][G11][X6]") {
  prop("nobody's mailbox, history or model context holds anything that was not sent to it; each stopped agent is told once",
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
           const std::size_t once = stage.inside(i) ? 1 : 0;
           RC_ASSERT(stage.told("settled", i).size() == once);
           if (once) RC_ASSERT(stage.told("", i).size() == 2U);  // stopping, stopped
           if (once) RC_ASSERT(stage.look().histories[i] == interrupted(stage, i));
         }
       });
}

TEST_CASE("S1-P6: what a model says to a stopped agent is dropped", "[property][S1-P6][C4][F7][G7]") {
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
           const std::size_t discarded = stage.told("discarded", i).size();
           const std::size_t open = stage.before.calling[i] ? 1 : 0;
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
           RC_ASSERT((stage.state(i) == AgentState::stopped) == stage.inside(i));
         const StopReport& report = stop.reports[0];
         RC_ASSERT(report.agent_id == Stage::id(stage.target()));
         RC_ASSERT(text(sorted(report.cascade_stopped)) == text(stage.descendants(stage.target())));
         RC_ASSERT(out_of_order(stage, report.cascade_stopped) == "");
         for (const std::string& id : report.cascade_failed) {
           const std::size_t i = std::stoul(id.substr(1));
           RC_ASSERT((scene.grace_over && stage.inside(i)));
           RC_ASSERT((stage.before.calling[i] && stage.member(i).on_stop == OnStop::deaf));
         }
         for (std::size_t i = 0; i < stage.size(); ++i) {  // the settled events: children first, too
           const int own = stage.t.seen.index("settled " + Stage::id(i) + " stopped");
           for (std::size_t up = 0; up < i; ++up)
             if (own >= 0 && stage.inside(up) && stage.within(i, up))
               RC_ASSERT(own < std::max(stage.t.seen.index("settled " + Stage::id(up) + " stopped"),
                                        stage.t.seen.index("settled " + Stage::id(up) + " stopped abandoned")));
         }
       });
}

TEST_CASE("S1-P10: a stop by cascade does what a direct stop does", "[property][S1-P10][E3]") {
  prop("stopping a parent, and stopping each agent of its subtree by itself, are the same to every agent",
       [](Scene scene) {
         scene.place = Place::outside;
         std::erase_if(scene.after, [](const Step& step) { return step.act == Act::small_poll; });
         scene.after.insert(scene.after.begin(), Step{});  // a poll: all calls are cut then, however many there are
         Stage cascade(scene);
         Stage direct(scene);
         std::size_t dropped_by_cascade = 0;
         std::size_t dropped_directly = 0;
         cascade.act([&] {
           static_cast<void>(cascade.target_agent().stop(
               {.on_settled = [&](const StopReport& r) { dropped_by_cascade += r.messages_dropped; }}));
         });
         direct.act([&] {
           for (std::size_t i = direct.size(); i-- > 0;)  // children first, so that each stop is a stop
             if (direct.inside(i) &&
                 !direct.agent(i)
                      .stop({.cascade = false,
                             .on_settled = [&](const StopReport& r) { dropped_directly += r.messages_dropped; }})
                      .stopped)
               direct.wrong.push_back("not stopped: " + Stage::id(i));
         });
         RC_ASSERT(cascade.before == direct.before);
         RC_ASSERT(cascade.after.states == direct.after.states);
         RC_ASSERT(cascade.after.queued == direct.after.queued);
         for (Stage* each : {&cascade, &direct}) {
           each->play_after();
           each->rest();
           RC_ASSERT(each->broken() == "");
         }
         const View one = cascade.look();
         const View other = direct.look();
         RC_ASSERT(one.states == other.states);
         RC_ASSERT(one.queued == other.queued);
         RC_ASSERT(one.histories == other.histories);
         RC_ASSERT(one.taken == other.taken);
         RC_ASSERT(one.cut == other.cut);
         RC_ASSERT(dropped_by_cascade == dropped_directly);
         for (std::size_t i = 0; i < cascade.size(); ++i) {
           for (const char* const what : {"", "started", "delta", "ended", "settled", "discarded"})
             RC_ASSERT(text(cascade.told(what, i)) == text(direct.told(what, i)));
           RC_ASSERT(cascade.agent(i).send("x").reason == direct.agent(i).send("x").reason);
         }
       });
}

TEST_CASE("S1-P11: of several stops at once exactly one executes", "[property][S1-P11][C12][G2]") {
  prop("threads that stop one agent at the same time: one does it, the others are told so, all hear the end",
       [](Scene scene) {
         scene.place = Place::outside;
         for (Member& m : scene.members)  // a stop callback runs on the stopping thread: it must not end the call there
           if (m.on_stop == OnStop::at_once) m.on_stop = OnStop::post;
         const auto rivals = *rc::gen::resize(100, rc::gen::inRange<std::size_t>(2, 7));
         Stage stage(scene);
         std::vector<StopResult> results(rivals);
         std::size_t reports = 0;
         stage.act([&] {
           std::atomic<std::size_t> ready{0};
           std::vector<std::thread> threads;
           for (std::size_t r = 0; r < rivals; ++r)
             threads.emplace_back([&, r] {
               for (++ready; ready < rivals;) std::this_thread::yield();
               results[r] = stage.target_agent().stop({.on_settled = [&](const StopReport&) { ++reports; }});
             });
           for (std::thread& thread : threads) thread.join();
         });
         std::size_t executed = 0;
         for (const StopResult& result : results) {
           RC_ASSERT((result.ok && result.quiet));
           RC_ASSERT(result.reason == (result.stopped ? Errc::none : Errc::stopping));
           executed += result.stopped ? 1 : 0;
         }
         RC_ASSERT(executed == 1U);
         stage.play_after();
         stage.rest();
         RC_ASSERT(stage.broken() == "");
         RC_ASSERT(reports == rivals);
         for (std::size_t i = 0; i < stage.size(); ++i) {
           RC_ASSERT(stage.told("settled", i).size() == (stage.inside(i) ? 1U : 0U));
           if (stage.inside(i)) RC_ASSERT(stage.told("", i).size() == 2U);
         }
       });
}

TEST_CASE("S1-P11: stops of an agent, its ancestors and its descendants leave one stop for each agent",
          "[property][S1-P11][C12][C20]") {
  prop("whatever stops overlap, each agent stops once, and each caller is told whether it was the one", [](Scene scene) {
    scene.place = Place::outside;
    const auto targets = *up_to(8, rc::gen::inRange<std::size_t>(0, 40));
    Stage stage(scene);
    std::size_t reports = 0;
    std::vector<bool> closed(stage.size());
    stage.act([&] {
      for (const std::size_t target : targets) {
        const std::size_t root = target % stage.size();
        const StopResult result = stage.agent(root).stop({.on_settled = [&](const StopReport&) { ++reports; }});
        if (!result.ok || result.stopped == closed[root] || (closed[root] && result.reason != Errc::stopping))
          stage.wrong.push_back("stop of " + Stage::id(root));
        for (std::size_t i = 0; i < stage.size(); ++i)
          if (stage.within(i, root)) closed[i] = true;
      }
    });
    stage.play_after();
    stage.rest();
    RC_ASSERT(stage.broken() == "");
    RC_ASSERT(reports == targets.size());
    for (std::size_t i = 0; i < stage.size(); ++i) {
      RC_ASSERT(stage.told("settled", i).size() == (closed[i] ? 1U : 0U));
      RC_ASSERT((stage.state(i) == AgentState::stopped) == closed[i]);
    }
  });
}

TEST_CASE("X14: a subtree stops as one, and has stopped from the leaves up", "[property][S1-P11][X14][C17]") {
  prop("whoever is told of the first stopping agent sees all of them closed; who has stopped has no child that has not",
       [](const Scene& scene) {
         Stage stage(scene);
         const auto watch = stage.t.tree->on_state_change([&](const StateChange& change) {
           if (!is_stopped(change.to)) return;
           for (std::size_t i = 0; i < stage.size(); ++i) {
             if (stage.inside(i) && !is_stop_state(stage.state(i))) stage.wrong.push_back(Stage::id(i) + " is open");
             const bool below = stage.is_below(Stage::id(i), change.agent.id());
             if (change.to == AgentState::stopped && below && stage.state(i) != AgentState::stopped)
               stage.wrong.push_back(change.agent.id() + " has stopped before " + Stage::id(i));
           }
         });
         Stopping stop(stage);
         stop.finish();
       });
}

TEST_CASE("S1-P12: a stopping agent refuses every new operation", "[property][S1-P12][C10][E6]") {
  prop("messages, children, aborts, stops and resumes are refused while it is stopping, and no turn or call begins",
       [](const Scene& scene) {
         Stage stage(with_stubborn_target(scene));
         Stopping stop(stage);
         const std::size_t agents = stage.t.tree->size();
         const auto refused = [&] {
           for (std::size_t i = 0; i < stage.size(); ++i) {
             const Agent agent = stage.agent(i);
             if (!stage.inside(i) || stage.state(i) != AgentState::stopping) continue;
             RC_ASSERT(agent.send("x").reason == Errc::agent_stopping);
             const auto child = agent.create_child();
             RC_ASSERT((!child && child.error().code == Errc::agent_stopping));
             const AbortResult aborted = agent.abort();
             RC_ASSERT((aborted.ok && !aborted.aborted && aborted.reason == Errc::not_waiting_llm));
             const StopResult stopped = agent.stop();
             RC_ASSERT((stopped.ok && !stopped.stopped && stopped.reason == Errc::stopping));
             const ResumeResult resumed = agent.resume();
             RC_ASSERT((!resumed.ok && !resumed.resumed && resumed.reason == Errc::stopping));
             RC_ASSERT(stage.state(i) == AgentState::stopping);
           }
         };
         refused();
         stop.finish(refused);
         RC_ASSERT(stage.t.tree->size() == agents);
         for (std::size_t i = 0; i < stage.size(); ++i)
           if (stage.inside(i)) RC_ASSERT((stage.told("started", i).empty() && stage.told("settled", i).size() == 1));
         for (std::size_t c = stage.before.calls; c < stage.t.llm->calls(); ++c)
           RC_ASSERT(!stage.inside(stage.owner(c)));
       });
}

TEST_CASE("S1-P13: a stop goes before answers that come at the same time", "[property][S1-P13][C13][C4]") {
  prop("answers and failures that are ready in the poll that hears the stop lose; those of other agents count",
       [](const Scene& scene) {
         Stage stage(scene);
         const auto early = *up_to(20, rc::gen::inRange<std::size_t>(0, 40));  // posted before the stop
         const auto late = *up_to(20, rc::gen::inRange<std::size_t>(0, 40));   // and after it
         const auto post = [&](const std::vector<std::size_t>& list) {
           for (const std::size_t number : list)
             stage.t.runtime->post([&stage, id = Stage::id(number % stage.size()), fails = number % 3 == 0] {
               if (fails)
                 stage.t.llm->fail(id);
               else
                 stage.t.llm->answer(id, "d");
             });
         };
         StopResult result;
         stage.act([&] {
           post(early);
           result = stage.target_agent().stop();
           post(late);
         });
         RC_ASSERT(result.stopped);
         stage.t.settle();
         for (const auto* list : {&early, &late})
           for (const std::size_t number : *list) {
             const std::size_t i = number % stage.size();
             if (stage.before.states[i] == AgentState::waiting_llm && !stage.inside(i)) RC_ASSERT(!stage.told("ended", i).empty());
           }
         stage.play_after();
         stage.rest();
         RC_ASSERT(stage.broken() == "");
         for (std::size_t i = 0; i < stage.size(); ++i) {
           if (!stage.inside(i)) continue;
           RC_ASSERT(stage.state(i) == AgentState::stopped);
           RC_ASSERT(stage.look().histories[i] == interrupted(stage, i));
           for (const std::string& line : stage.told("ended", i)) RC_ASSERT(line.ends_with(" stopped"));
         }
       });
}

TEST_CASE("S1-P14: a stop cancels everything that is pending", "[property][S1-P14][C14][G5]") {
  prop("calls on timers, queued messages and what they would start: nothing of the subtree is left, without time passing",
       [](Scene scene) {
         if (scene.place != Place::handler) scene.place = Place::outside;
         std::unique_ptr<ScriptedClient> model;
         Stage stage(scene, [&](TreeFixture& t, AgentSpec& spec) {
           if (!model)
             model = std::make_unique<ScriptedClient>(*t.runtime, [&t](const ChatRequest&) {
               ScriptedReply reply;
               reply.deltas.assign(t.runtime->random() % 4, "d");
               reply.first_delay = std::chrono::milliseconds(1 + t.runtime->random() % 1000);
               reply.interval = std::chrono::milliseconds(1 + t.runtime->random() % 1000);
               return reply;
             });
           spec.llm = model.get();
         });
         Stopping stop(stage);
         const auto none_open = [&] {
           for (std::size_t i = 0; i < stage.size(); ++i)
             if (stage.inside(i)) RC_ASSERT(!model->has_active_request(Stage::id(i)));
         };
         const TimePoint now = stage.t.runtime->now();
         stage.t.settle();
         RC_ASSERT(stage.t.runtime->now() == now);
         none_open();
         RC_ASSERT(stop.reports.size() == 1U);
         std::size_t waiting = 0;
         for (std::size_t i = 0; i < stage.size(); ++i) {
           if (stage.state(i) == AgentState::waiting_llm) ++waiting;
           if (stage.inside(i)) RC_ASSERT(stage.state(i) == AgentState::stopped);
         }
         RC_ASSERT(model->open_calls() == waiting);
         RC_ASSERT(stage.t.runtime->next_deadline().has_value() == (waiting > 0));
         const std::size_t lines = stage.t.seen.lines.size();
         while (const auto next = stage.t.runtime->next_deadline()) stage.t.advance(*next - stage.t.runtime->now());
         for (std::size_t n = lines; n < stage.t.seen.lines.size(); ++n)
           for (std::size_t i = 0; i < stage.size(); ++i)
             if (stage.inside(i)) RC_ASSERT((" " + stage.t.seen.lines[n] + " ").find(" " + Stage::id(i) + " ") == std::string::npos);
         RC_ASSERT((!stage.t.tree->busy() && model->open_calls() == 0));
         RC_ASSERT(stage.broken() == "");
         for (std::size_t i = 0; i < stage.size(); ++i)
           RC_ASSERT(stage.state(i) == (stage.inside(i) ? AgentState::stopped : AgentState::idle));
         for (std::size_t i = 0; i < stage.size(); ++i)
           if (!stage.inside(i)) RC_ASSERT(stage.look().taken[i] == stage.accepted[i]);
       });
}
