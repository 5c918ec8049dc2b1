// The properties of a delete: S1-P7 and P9, and what P1, P3, P5, P6, P10 and P13 say of it.
#include "property/stopping.hpp"
#include "support/store/store_reading.hpp"

#include <agentcore/memory_store.hpp>
#include <agentcore/restore.hpp>
#include <agentcore/testing/references.hpp>

#include <algorithm>
#include <memory>
#include <utility>

using namespace agentcore;
using namespace agentcore::test;
using namespace property_test;

namespace {

// Deletes the target of `stage` at the scene's instant, and records what is reported of it.
struct Deletion {
  explicit Deletion(
      Stage& s, const std::function<void()>& first = [] {})
      : stage(s) {
    stage.act([&] {
      first();
      result = stage.target_agent().terminate(
          {.reason = "over", .on_settled = [this](const StopReport& r) { reports.push_back(r); }});
    });
    RC_ASSERT((result.accepted() && result.took_effect() && result.quiet && result.reason == Errc::none));
  }
  void finish(const std::function<void()>& check = [] {}) {
    stage.play_after(check);
    stage.rest();
    check();
    RC_ASSERT(stage.broken() == "");
    RC_ASSERT(reports.size() == 1U);
  }

  Stage& stage;
  VerbResult result;
  std::vector<StopReport> reports;
};

bool mentions(const std::vector<Agent>& agents, const Agent& agent) {
  return std::find(agents.begin(), agents.end(), agent) != agents.end();
}

// Every way in which the tree could still know the agent: must be "".
std::string known(const Stage& stage, std::size_t i) {
  const AgentTree& tree = *stage.t.tree;
  const Agent agent = stage.agent(i);
  std::string ways;
  if (tree.find(Stage::id(i))) ways += " find";
  if (agent.state() || agent.exists()) ways += " state";
  if (!agent.id().empty()) ways += " id";
  if (testing::count_references(tree, Stage::id(i)) != 0) ways += " references";
  if (mentions(tree.roots(), agent)) ways += " roots";
  tree.walk([&](const Agent& other) {
    if (other == agent || mentions(other.children().value(), agent)) ways += " walk";
  });
  if (agent.queue_length() || agent.conversation() || agent.children() || agent.context() || agent.spent())
    ways += " data";
  if (agent.send("x").reason != Errc::agent_not_found || agent.abort().reason != Errc::agent_not_found ||
      agent.stop().reason != Errc::agent_not_found || agent.resume().reason != Errc::agent_not_found ||
      agent.terminate().reason != Errc::agent_not_found || agent.create_child())
    ways += " verbs";
  return ways;
}

}  // namespace

TEST_CASE("S1-P1: a delete ends the model calls at once", "[property][S1-P1][D1][G1]") {
  prop(
      "after the poll that hears the delete no call of the subtree is uncut, and no other is cut; none is "
      "started",
      [](const Scene& scene) {
        Stage stage(scene);
        Deletion deletion(stage);
        const std::size_t target = stage.target();
        for (std::size_t c = 0; c < stage.before.calls; ++c) {
          if (!stage.inside(stage.owner(c))) RC_ASSERT(stage.after.cut[c] == stage.before.cut[c]);
          const bool has_call = stage.owner(c) == target && stage.t.llm->call(c).open();
          if (has_call) RC_ASSERT(stage.after.cut[c]);
        }
        stage.t.settle();
        for (const FakeClient::Call* call : stage.t.llm->open_calls())
          if (stage.inside(stage.owner(call->number)))
            RC_ASSERT((call->on_stop == OnStop::deaf && call->stop.stop_requested()));
        deletion.finish();
        for (std::size_t i = 0; i < stage.size(); ++i)
          if (stage.inside(i)) RC_ASSERT(stage.open_calls(i).empty());
        for (std::size_t c = stage.before.calls; c < stage.t.llm->calls(); ++c)
          RC_ASSERT(!stage.inside(stage.owner(c)));
      });
}

TEST_CASE("S1-P3: a delete empties the mailboxes", "[property][S1-P3][D2][G12][X33]") {
  prop(
      "from its return on every send is refused, no message that waited is handled, and the report counts "
      "them",
      [](const Scene& scene) {
        Stage stage(scene);
        Deletion deletion(stage);
        std::size_t waiting = 0;
        for (std::size_t i = 0; i < stage.size(); ++i) {
          RC_ASSERT(stage.after.states[i] ==
                    (stage.inside(i) ? AgentState::terminating : stage.before.states[i]));
          if (stage.inside(i)) waiting += stage.before.queued[i];
        }
        const auto refused = [&] {
          for (std::size_t i = 0; i < stage.size(); ++i) {
            if (!stage.inside(i)) continue;
            const Errc reason = stage.agent(i).exists() ? Errc::agent_terminating : Errc::agent_not_found;
            const SendResult sent = stage.agent(i).send("refused");
            RC_ASSERT((!sent.accepted() && sent.reason == reason));
            RC_ASSERT(stage.told("started", i).empty());
          }
        };
        refused();
        deletion.finish(refused);
        RC_ASSERT(deletion.reports.at(0).messages_dropped == waiting);
      });
}

TEST_CASE("S1-P5: a delete sends nothing to agents and reports to the host exactly once",
          "[property][S1-P5][D6][E4][G11][X6]") {
  prop(
      "nobody's mailbox, history or model context holds anything that was not sent to it; each end is told "
      "once",
      [](const Scene& scene) {
        Stage stage(scene);
        Deletion deletion(stage);
        for (std::size_t i = 0; i < stage.size(); ++i) {
          if (stage.inside(i)) continue;
          RC_ASSERT(stage.after.queued[i] == stage.before.queued[i]);
          RC_ASSERT(stage.after.histories[i] == stage.before.histories[i]);
        }
        deletion.finish();
        RC_ASSERT(stage.gossip(stage.target()) == "");
        for (std::size_t i = 0; i < stage.size(); ++i) {
          const std::size_t once = stage.inside(i) ? 1 : 0;
          RC_ASSERT(stage.told("settled", i).size() == once);
          RC_ASSERT(stage.told("deleted", i).size() == once);
          if (once) RC_ASSERT(stage.told("", i).size() == 1U);  // terminating
        }
      });
}

TEST_CASE("S1-P6: results for a deleted agent are dropped", "[property][S1-P6][D5][F7][G7]") {
  prop(
      "late text, answers and failures are told only as discarded, and never reach a new agent of the same "
      "id",
      [](const Scene& scene) {
        Stage stage(with_deaf_models(scene));
        Deletion deletion(stage);
        const auto silent = [&] {
          for (std::size_t i = 0; i < stage.size(); ++i) {
            if (!stage.inside(i)) continue;
            RC_ASSERT(stage.told("delta", i).empty());
            RC_ASSERT(stage.told("started", i).empty());
            for (const std::string& line : stage.told("ended", i)) RC_ASSERT(line.ends_with(" stopped"));
          }
        };
        stage.play_after(silent);
        stage.t.settle();
        if (scene.grace_over) stage.t.advance(std::chrono::seconds(6));
        std::vector<std::pair<Agent, std::size_t>> anew;
        for (std::size_t i = 0; i < stage.size(); ++i)
          if (stage.inside(i) && !stage.agent(i).exists()) anew.emplace_back(stage.t.root(Stage::id(i)), i);
        stage.rest();
        silent();
        RC_ASSERT(stage.broken() == "");
        RC_ASSERT(deletion.reports.size() == 1U);
        for (std::size_t i = 0; i < stage.size(); ++i) {
          if (!stage.inside(i)) continue;
          const std::size_t discarded = late_answers(stage, i);
          const std::size_t open = stage.before.calling[i];
          RC_ASSERT((scene.grace_over ? discarded <= open : discarded == open));
        }
        for (const auto& [agent, i] : anew) {
          RC_ASSERT((agent.state().value() == AgentState::idle && agent.queue_length().value() == 0));
          RC_ASSERT(agent.conversation().value().empty());
        }
      });
}

TEST_CASE("S1-P7: a deleted agent is registered nowhere", "[property][S1-P7][D3][D4][D7][D9][G13][X33]") {
  prop(
      "nothing refers to it, by id or handle; the others stay; its id is taken until it is gone and free "
      "then",
      [](const Scene& scene) {
        Stage stage(scene);
        Deletion deletion(stage);
        const std::size_t gone = stage.descendants(stage.target()).size() + 1;
        deletion.finish([&] {
          for (std::size_t i = 0; i < stage.size(); ++i) {
            if (!stage.agent(i).exists()) continue;
            AgentSpec spec;
            spec.id = Stage::id(i);
            const auto again = stage.t.tree->create(spec);
            RC_ASSERT((!again && again.error().code == Errc::agent_exists));
          }
        });
        RC_ASSERT(stage.t.tree->size() == stage.size() - gone);
        for (std::size_t i = 0; i < stage.size(); ++i) {
          RC_ASSERT(stage.agent(i).exists() != stage.inside(i));
          if (stage.inside(i)) RC_ASSERT(known(stage, i) == "");
        }
        for (std::size_t i = 0; i < stage.size(); ++i) {
          if (!stage.inside(i)) continue;
          const Agent again = stage.t.root(Stage::id(i));
          RC_ASSERT((again.state().value() == AgentState::idle && again.conversation().value().empty()));
          RC_ASSERT((!(again == stage.agent(i)) && !stage.agent(i).exists()));
          RC_ASSERT(again.send("hello").accepted());
        }
        stage.t.settle();
        RC_ASSERT(stage.broken() == "");
      });
}

TEST_CASE("S1-P9: a delete deletes every descendant", "[property][S1-P9][E2][E5][D9][X32]") {
  prop("all below go with it, at any depth, and nobody else; the report lists exactly them, children first",
       [](const Scene& scene) {
         Stage stage(scene);
         const auto watch = stage.t.tree->on_event([&](const Event& event) {
           if (event.get<AgentDeleted>() && !event.agent().children().value().empty())
             stage.wrong.push_back(event.agent().id() + " goes before its children");
         });
         Deletion deletion(stage);
         deletion.finish([&] {
           for (std::size_t i = 0; i < stage.size(); ++i)
             RC_ASSERT((stage.inside(i) ||
                        (stage.agent(i).exists() && can_process(stage.state(i).value()) ==
                                                        can_process(stage.before.states[i].value()))));
         });
         for (std::size_t i = 0; i < stage.size(); ++i) RC_ASSERT(stage.agent(i).exists() != stage.inside(i));
         const StopReport& report = deletion.reports.at(0);
         RC_ASSERT(report.agent_id == Stage::id(stage.target()));
         RC_ASSERT((report.reason == "over" && report.cause == StopCause::terminate));
         RC_ASSERT(text(sorted(report.descendants)) == text(stage.descendants(stage.target())));
         RC_ASSERT(out_of_order(stage, report.descendants) == "");
         for (const std::string& id : report.abandoned) {
           const std::size_t i = std::stoul(id.substr(1));
           RC_ASSERT((scene.grace_over && stage.inside(i)));
           RC_ASSERT(stage.may_linger(i));
         }
       });
}

TEST_CASE("S1-P10: a delete by cascade does what a direct delete does", "[property][S1-P10][E3]") {
  prop("deleting a parent, and deleting each agent of its subtree by itself, are the same to every agent",
       [](Scene scene, bool may_linger) {
         scene.place = Place::outside;
         std::erase_if(scene.after, [](const Step& step) { return step.act == Act::small_poll; });
         scene = with_equal_ends(std::move(scene), may_linger);
         Stage cascade(scene);
         Stage direct(scene);
         cascade.act([&] { static_cast<void>(cascade.target_agent().terminate()); });
         direct.act([&] {
           for (std::size_t i = direct.size(); i-- > 0;)  // children first
             if (direct.inside(i) && !direct.agent(i).terminate().took_effect())
               direct.wrong.push_back("not deleted: " + Stage::id(i));
         });
         RC_ASSERT(cascade.before == direct.before);
         RC_ASSERT(cascade.after.states == direct.after.states);
         for (Stage* each : {&cascade, &direct}) {
           each->play_after();
           each->rest();
           RC_ASSERT(each->broken() == "");
         }
         RC_ASSERT(cascade.look().states == direct.look().states);
         RC_ASSERT(cascade.look().histories == direct.look().histories);
         for (std::size_t i = 0; i < cascade.size(); ++i)
           for (const char* const what : {"", "started", "delta", "ended", "settled", "discarded", "deleted"})
             RC_ASSERT(told_of(cascade, what, i) == told_of(direct, what, i));
       });
}

TEST_CASE("D11: a stopped or stopping agent can be deleted", "[property][S1-P9][D11][X13]") {
  prop(
      "a delete after a stop of the agent, of one above or of some below: the stop ends first, then all of "
      "them go",
      [](Scene scene) {
        scene.place = Place::outside;
        const auto stops = *up_to(4, rc::gen::inRange<std::size_t>(0, 40));
        const auto settled = *rc::gen::arbitrary<bool>();  // by the time of the delete
        Stage stage(scene);
        for (const std::size_t number : stops) {
          const std::size_t i = number % stage.size();
          static_cast<void>(stage.agent(i).stop());
        }
        if (settled) stage.rest();
        Deletion deletion(stage);
        for (std::size_t i = 0; i < stage.size(); ++i) {
          if (!stage.inside(i)) continue;
          const AgentState now = stage.after.states[i].value();
          RC_ASSERT(
              (now == AgentState::stopping || now == AgentState::stopped || now == AgentState::terminating));
          if (settled && !is_stopped(*stage.before.states[i])) RC_ASSERT(now == AgentState::terminating);
        }
        deletion.finish([&] {
          for (std::size_t i = 0; i < stage.size(); ++i)
            if (stage.inside(i) && stage.agent(i).exists()) RC_ASSERT(!stage.agent(i).send("x").accepted());
        });
        for (std::size_t i = 0; i < stage.size(); ++i) {
          RC_ASSERT(stage.agent(i).exists() != stage.inside(i));
          if (stage.inside(i)) RC_ASSERT((known(stage, i) == "" && stage.told("deleted", i).size() == 1));
        }
        RC_ASSERT(text(sorted(deletion.reports.at(0).descendants)) ==
                  text(stage.descendants(stage.target())));
      });
}

TEST_CASE("D9: an agent deletes only its own children", "[property][D9][D13][C19][X10]") {
  prop("of all agents only the parent is obeyed; a refusal says not_child_agent and changes nothing",
       [](Scene scene) {
         const auto number = *rc::gen::resize(100, rc::gen::inRange<std::size_t>(0, 40));
         Stage stage(scene);
         const std::size_t caller = number % stage.size();
         const bool is_parent = mentions(stage.agent(caller).children().value(), stage.target_agent());
         std::size_t reports = 0;
         VerbResult result;
         stage.act([&] {
           result = stage.t[Stage::id(stage.target())].terminate(
               {.caller = Stage::id(caller), .on_settled = [&](const StopReport&) { ++reports; }});
         });
         RC_ASSERT((result.accepted() == is_parent && result.took_effect() == is_parent));
         RC_ASSERT(result.reason == (is_parent ? Errc::none : Errc::not_child_agent));
         if (!is_parent) RC_ASSERT(stage.before == stage.after);
         stage.play_after();
         stage.rest();
         RC_ASSERT(stage.broken() == "");
         RC_ASSERT(reports == (is_parent ? 1U : 0U));
         RC_ASSERT(stage.target_agent().exists() != is_parent);
       });
}

TEST_CASE("S1-P11: of several deletes at once exactly one executes", "[property][S1-P11][X13]") {
  prop(
      "whatever deletes and stops overlap, each agent ends once, and each caller is told whether it was the "
      "one",
      [](Scene scene) {
        scene.place = Place::outside;
        const auto targets = *up_to(8, rc::gen::inRange<std::size_t>(0, 80));
        Stage stage(scene);
        std::size_t reports = 0;
        std::vector<bool> deleted(stage.size());
        stage.act([&] {
          for (const std::size_t target : targets) {
            const std::size_t root = target % stage.size();
            const bool before = deleted[root];
            if (target >= 40) {
              const VerbResult result =
                  stage.agent(root).stop({.on_settled = [&](const StopReport&) { ++reports; }});
              if (!result.accepted() || (before && result.took_effect()))
                stage.wrong.push_back("stop of " + Stage::id(root));
              continue;
            }
            const VerbResult result =
                stage.agent(root).terminate({.on_settled = [&](const StopReport&) { ++reports; }});
            if (!result.accepted() || result.took_effect() == before ||
                (before && result.reason != Errc::agent_terminating))
              stage.wrong.push_back("delete of " + Stage::id(root));
            for (std::size_t i = 0; i < stage.size(); ++i)
              if (stage.within(i, root)) deleted[i] = true;
          }
        });
        stage.play_after();
        stage.rest();
        RC_ASSERT(stage.broken() == "");
        RC_ASSERT(reports == targets.size());
        for (std::size_t i = 0; i < stage.size(); ++i) {
          RC_ASSERT(stage.agent(i).exists() != deleted[i]);
          RC_ASSERT(stage.told("deleted", i).size() == (deleted[i] ? 1U : 0U));
        }
      });
}

namespace {

// The first record of the store that has the id of a deleted agent, or a message that was sent to it: must
// be "".
std::string kept(const Stage& stage, Store& store) {
  for (const auto& [key, body] : records_of(store))
    for (std::size_t i = 0; i < stage.size(); ++i) {
      if (stage.agent(i).exists()) continue;
      std::vector<std::string> traces = stage.accepted[i];
      for (std::string& trace : traces) trace += '"';
      traces.push_back('"' + Stage::id(i) + '"');
      for (const std::string& trace : traces)
        if (body.find(trace) != std::string::npos) return trace + " in " + body;
    }
  return "";
}

// The messages of `i` that wait, without those of calls, which a restart ends.
std::size_t waiting(const Stage& stage, std::size_t i) {
  const auto of_calls = [](const std::string& message) { return message.starts_with('c'); };
  std::size_t sent = stage.accepted[i].size();
  sent -= static_cast<std::size_t>(std::ranges::count_if(stage.accepted[i], of_calls));
  const View now = stage.look();
  for (const std::string& message : now.taken[i]) sent -= of_calls(message) ? 0U : 1U;
  return sent;
}

// A tree from what a store has.
struct NextLife {
  explicit NextLife(MemoryStore records) : store(std::move(records)) {
    t.check_at_end = false;
    RestoreOptions options;
    options.code.add_tools("tools", std::make_shared<ToolRegistry>());
    options.code.add_handler("handler", [](const Agent&, const Message&) {});
    report = t.tree->restore(&store, std::move(options)).value();
  }
  MemoryStore store;
  TreeFixture t;
  RestoreReport report;
};

}  // namespace

TEST_CASE("S1-P15: a delete removes what memory and the store have of the agents",
          "[property][S1-P15][D7][D8][G13]") {
  prop(
      "nothing in flight, no reference, no record; a restart has the other agents, with their messages; when "
      "all agents are deleted, the store is as it was before the first one",
      [](const Scene& scene) {
        MemoryStore store;
        std::size_t records_of_none = 0;
        const auto durability = static_cast<Durability>(*rc::gen::inRange(0, 3));
        Stage stage(scene, [&](TreeFixture& t, AgentSpec& spec) {
          spec.code.tools = "tools";
          if (spec.handler) spec.code.handler = "handler";
          if (t.tree->size() != 0 || store.size() != 0) return;
          t.tree->restore(&store, {.durability = durability}).value();
          t.tree->flush().value();
          records_of_none = store.size();
        });
        Deletion deletion(stage);
        deletion.finish();
        stage.t.tree->flush().value();
        RC_ASSERT(text(stage.in_flight(stage.target())) == "");
        for (std::size_t i = 0; i < stage.size(); ++i)
          if (stage.inside(i)) RC_ASSERT(known(stage, i) == "");
        RC_ASSERT(kept(stage, store) == "");

        const NextLife next(store);
        RC_ASSERT(next.report.deleted == 0U);
        RC_ASSERT(next.t.tree->size() == stage.t.tree->size());
        for (std::size_t i = 0; i < stage.size(); ++i) {
          const Agent again = next.t[Stage::id(i)];
          RC_ASSERT(again.exists() != stage.inside(i));
          if (!stage.inside(i)) RC_ASSERT(again.queue_length().value() == waiting(stage, i));
        }

        for (const Agent& root : stage.t.tree->roots()) static_cast<void>(root.terminate());
        stage.rest();
        RC_ASSERT(stage.t.tree->size() == 0U);
        stage.t.tree->flush().value();
        RC_ASSERT(kept(stage, store) == "");
        RC_ASSERT(store.size() == records_of_none);
      });
}
