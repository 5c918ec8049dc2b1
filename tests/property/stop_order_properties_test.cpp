// The properties of a stop against everything else: S1-P10 to P14.
#include "property/stopping.hpp"

#include <agentcore/testing/scripted_client.hpp>

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>
#include <utility>

using namespace agentcore;
using namespace agentcore::test;
using namespace property_test;

namespace {

// The target's call does not end by itself.
Scene with_stubborn_target(Scene scene) {
  Member& target = scene.members[scene.target % scene.members.size()];
  target.handler = false;
  target.asked = true;
  target.work = Work::words;
  target.on_stop = OnStop::deaf;
  return scene;
}

}  // namespace

TEST_CASE("S1-P10: a stop by cascade does what a direct stop does", "[property][S1-P10][E3]") {
  prop("stopping a parent, and stopping each agent of its subtree by itself, are the same to every agent",
       [](Scene scene, bool may_linger) {
         scene.place = Place::outside;
         std::erase_if(scene.after, [](const Step& step) { return step.act == Act::small_poll; });
         scene = with_equal_ends(std::move(scene), may_linger);
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
             if (direct.hit(i) &&
                 !direct.agent(i)
                      .stop({.scope = Scope::agent,
                             .on_settled =
                                 [&](const StopReport& r) { dropped_directly += r.messages_dropped; }})
                      .took_effect())
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
             RC_ASSERT(told_of(cascade, what, i) == told_of(direct, what, i));
           RC_ASSERT(cascade.agent(i).send("x").reason == direct.agent(i).send("x").reason);
         }
       });
}

TEST_CASE("S1-P11: of several stops at once exactly one executes", "[property][S1-P11][C12][G2]") {
  prop("threads that stop one agent at the same time: one does it, the others are told so, all hear the end",
       [](Scene scene) {
         scene.place = Place::outside;
         for (Member& m :
              scene.members)  // a stop callback runs on the stopping thread: it must not end the call there
           if (m.on_stop == OnStop::at_once) m.on_stop = OnStop::post;
         const auto rivals = *rc::gen::resize(100, rc::gen::inRange<std::size_t>(2, 7));
         Stage stage(scene);
         std::vector<VerbResult> results(rivals);
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
         for (const VerbResult& result : results) {
           RC_ASSERT((result.accepted() && result.quiet));
           RC_ASSERT(result.reason == (result.took_effect() ? Errc::none : Errc::agent_stopping));
           executed += result.took_effect() ? 1 : 0;
         }
         RC_ASSERT(executed == 1U);
         stage.play_after();
         stage.rest();
         RC_ASSERT(stage.broken() == "");
         RC_ASSERT(reports == rivals);
         for (std::size_t i = 0; i < stage.size(); ++i) {
           RC_ASSERT(stage.told("settled", i).size() == (stage.hit(i) ? 1U : 0U));
           if (stage.hit(i)) RC_ASSERT(stage.told("", i).size() == 2U);
         }
       });
}

TEST_CASE("S1-P11: stops of an agent and its ancestors and descendants leave one stop for each agent",
          "[property][S1-P11][C12][C20]") {
  prop("whatever stops overlap, each agent stops once, and each caller is told whether it was the one",
       [](Scene scene) {
         scene.place = Place::outside;
         for (Member& member : scene.members)  // all stops are those below
           if (member.was == Was::stopped) member.was = Was::open;
         const auto targets = *up_to(8, rc::gen::inRange<std::size_t>(0, 40));
         Stage stage(scene);
         std::size_t reports = 0;
         std::vector<bool> closed(stage.size());
         stage.act([&] {
           for (const std::size_t target : targets) {
             const std::size_t root = target % stage.size();
             const VerbResult result =
                 stage.agent(root).stop({.on_settled = [&](const StopReport&) { ++reports; }});
             if (!result.accepted() || result.took_effect() == closed[root] ||
                 (closed[root] && result.reason != Errc::agent_stopping))
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

TEST_CASE("X14: a subtree stops at once and settles from the leaves up", "[property][S1-P11][X14][C17]") {
  prop(
      "whoever is told of the first stopping agent sees all of them closed; who has stopped has no child "
      "that has not",
      [](const Scene& scene) {
        Stage stage(scene);
        const auto watch = stage.t.tree->on<StateChanged>([&](const StateChanged& change) {
          if (!is_stopped(change.to) || stage.before.states.empty()) return;  // of earlier stops
          for (std::size_t i = 0; i < stage.size(); ++i) {
            if (stage.inside(i) && !is_stop_state(stage.state(i)))
              stage.wrong.push_back(Stage::id(i) + " is open");
            const bool below = stage.is_below(Stage::id(i), change.agent.id());
            if (change.to == AgentState::stopped && below && stage.state(i) != AgentState::stopped)
              stage.wrong.push_back(change.agent.id() + " has stopped before " + Stage::id(i));
          }
        });
        Stopping stop(stage);
        stop.finish();
      });
}

TEST_CASE("S1-P12: a stopping agent refuses every new operation", "[property][S1-P12][E6][B16][C10]") {
  prop(
      "messages, children, aborts, stops and resumes are refused while it is stopping, and no turn or call "
      "begins",
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
            const VerbResult aborted = agent.abort();
            RC_ASSERT(
                (aborted.accepted() && !aborted.took_effect() && aborted.reason == Errc::not_waiting_llm));
            const VerbResult stopped = agent.stop();
            RC_ASSERT(
                (stopped.accepted() && !stopped.took_effect() && stopped.reason == Errc::agent_stopping));
            const VerbResult resumed = agent.resume();
            RC_ASSERT(
                (!resumed.accepted() && !resumed.took_effect() && resumed.reason == Errc::agent_stopping));
            RC_ASSERT(stage.state(i) == AgentState::stopping);
          }
        };
        refused();
        stop.finish(refused);
        RC_ASSERT(stage.t.tree->size() == agents);
        for (std::size_t i = 0; i < stage.size(); ++i)
          if (stage.hit(i))
            RC_ASSERT((stage.told("started", i).empty() && stage.told("settled", i).size() == 1));
        for (std::size_t c = stage.before.calls; c < stage.t.llm->calls(); ++c)
          RC_ASSERT(!stage.inside(stage.owner(c)));
      });
}

TEST_CASE("S1-P13: a stop takes effect before answers that come at the same time",
          "[property][S1-P13][C13][C4]") {
  prop(
      "answers and failures that are ready in the poll that hears the stop lose; those of other agents count",
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
        VerbResult result;
        stage.act([&] {
          post(early);
          result = stage.target_agent().stop();
          post(late);
        });
        RC_ASSERT(result.took_effect());
        stage.t.settle();
        for (const auto* list : {&early, &late})
          for (const std::size_t number : *list) {
            const std::size_t i = number % stage.size();
            if (stage.before.states[i] == AgentState::waiting_llm && !stage.inside(i))
              RC_ASSERT(!stage.told("ended", i).empty());
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

namespace {

// A model that takes its time, and answers first with the work that the scene has for the agent.
std::unique_ptr<testing::ScriptedClient> slow_model(const Stage& stage, Runtime& runtime) {
  return std::make_unique<testing::ScriptedClient>(runtime, [&stage, &runtime](const ChatRequest& request) {
    testing::ScriptedReply reply;
    if (request.messages.back().role == Role::user)
      reply.tool_calls = stage.calls_of(std::stoul(request.agent_id.substr(1)));
    reply.deltas.assign(runtime.random() % 4, "d");
    reply.first_delay = std::chrono::milliseconds(1 + runtime.random() % 1000);
    reply.interval = std::chrono::milliseconds(1 + runtime.random() % 1000);
    return reply;
  });
}

// The other agents are neither paused nor held any more, time passes, and people answer, until nothing is
// left to do.
void live_on(Stage& stage) {
  for (std::size_t i = 0; i < stage.size(); ++i) {
    if (stage.inside(i)) continue;
    static_cast<void>(stage.agent(i).unpause());
    static_cast<void>(stage.agent(i).release_queue());
  }
  stage.t.settle();
  for (bool idle = false; !idle;) {
    while (const auto next = stage.t.runtime->next_deadline())
      stage.t.advance(*next - stage.t.runtime->now());
    idle = stage.t.tree->questions().empty();
    for (std::size_t i = 0; i < stage.size(); ++i) stage.reply(i);
    stage.t.settle();
  }
}

// A line after the first `lines` ones that is about an agent of the target's subtree: must be "".
std::string told_of_target(const Stage& stage, std::size_t lines) {
  for (std::size_t n = lines; n < stage.t.seen.lines.size(); ++n)
    for (std::size_t i = 0; i < stage.size(); ++i)
      if (stage.inside(i) &&
          (" " + stage.t.seen.lines[n] + " ").find(" " + Stage::id(i) + " ") != std::string::npos)
        return stage.t.seen.lines[n];
  return "";
}

}  // namespace

TEST_CASE("S1-P14: a stop cancels every model call, tool call, background task, question and message",
          "[property][S1-P14][C14]") {
  prop(
      "calls on timers, tools that run, people that are asked, children at work, queued messages and what "
      "they would start: nothing of the subtree is left, without time passing",
      [](Scene scene, const std::vector<bool>& meanwhile) {
        if (scene.place != Place::handler && scene.place != Place::thread) scene.place = Place::outside;
        std::unique_ptr<testing::ScriptedClient> model;
        Stage stage(scene, [&](TreeFixture& t, AgentSpec& spec) {
          if (!model) model = slow_model(stage, *t.runtime);
          spec.llm = model.get();
        });
        for (const bool passes : meanwhile) {  // models answer, tools begin, people are asked
          const auto next = stage.t.runtime->next_deadline();
          if (passes && next) stage.t.advance(*next - stage.t.runtime->now());
        }
        Stopping stop(stage);
        const TimePoint now = stage.t.runtime->now();
        stage.t.settle();
        RC_ASSERT(stage.t.runtime->now() == now);
        RC_ASSERT(text(stage.in_flight(stage.target())) == "");
        for (std::size_t i = 0; i < stage.size(); ++i) {
          if (!stage.inside(i)) continue;
          RC_ASSERT(!model->has_active_request(Stage::id(i)));
          RC_ASSERT(stage.state(i) == AgentState::stopped);
        }
        RC_ASSERT(stop.reports.size() == 1U);
        RC_ASSERT(stop.reports.at(0).abandoned.empty());
        if (stage.t.tree->tasks().empty()) RC_ASSERT(!stage.t.runtime->next_deadline().has_value());
        const std::size_t lines = stage.t.seen.lines.size();
        live_on(stage);
        RC_ASSERT(told_of_target(stage, lines) == "");
        RC_ASSERT((!stage.t.tree->busy() && model->open_calls() == 0));
        RC_ASSERT(stage.broken() == "");
        for (std::size_t i = 0; i < stage.size(); ++i) {
          const bool stopped = stage.inside(i) || is_stop_state(stage.before.states[i]);
          RC_ASSERT(stage.state(i) == (stopped ? AgentState::stopped : AgentState::idle));
          if (!stopped) RC_ASSERT(all_in_order(stage.look().taken[i], stage.accepted[i]));
        }
      });
}
