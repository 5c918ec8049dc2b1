// The properties of the stop and delete design (S1), one by one.
#include "property/forest.hpp"
#include "support/prop.hpp"

#include <algorithm>

using namespace agentcore;
using namespace agentcore::test;

namespace {

using Plants = std::vector<Plant>;

// Stops or deletes; true when it took effect.
bool close(const Agent& agent, bool del) {
  return del ? agent.terminate().terminated : agent.stop().stopped;
}

bool open(const Agent& agent) {
  return can_process(agent.state().value());
}

std::vector<std::string> queues_and_histories(const std::vector<Agent>& agents) {
  std::vector<std::string> all;
  for (const Agent& agent : agents)
    all.push_back(agent.id() + std::to_string(agent.queue_length()) + written(agent.conversation()));
  return all;
}

}  // namespace

TEST_CASE("S1-P1: a stop or a delete ends the model calls at once", "[property][S1-P1][C1][D1]") {
  prop("when the verb returns, every call below has been told to stop, and no other",
       [](const Plants& plants, int who, bool del) {
         Forest f(plants);
         const Agent root = f.pick(who & 0xff);
         std::vector<std::string> inside;
         for (const Agent& agent : f.subtree(root)) inside.push_back(agent.id());
         std::vector<FakeClient::Call*> calls = f.t.llm->open_calls();
         RC_PRE(close(root, del));
         f.t.poll();  // at most eight are cut by the stopping thread itself
         for (FakeClient::Call* call : calls) {
           const bool hit = std::find(inside.begin(), inside.end(), call->request.agent_id) != inside.end();
           const bool aborted = call != f.t.llm->find(call->request.agent_id) && !hit;
           if (!aborted && !hit && f.t[call->request.agent_id].state().value() == AgentState::waiting_llm)
             RC_ASSERT(!call->stop.stop_requested());
           if (hit) RC_ASSERT(call->stop.stop_requested());
         }
       });
}

TEST_CASE("S1-P2: after a stop the state is stopped", "[property][S1-P2][C5][C9][C11]") {
  prop("a stop shows stopping at once and stopped when it has settled",
       [](const Plants& plants, int who, bool cascade) {
         Forest f(plants);
         const Agent& root = f.pick(who & 0xff);
         RC_PRE(open(root));
         RC_ASSERT(root.stop({.cascade = cascade}).stopped);
         RC_ASSERT(root.state().value() == AgentState::stopping);
         f.finish();
         RC_ASSERT(root.state().value() == AgentState::stopped);
         RC_ASSERT(f.t.seen.violations.empty());
       });
}

TEST_CASE("S1-P3: a stop or a delete empties the mailboxes", "[property][S1-P3][C3][D2]") {
  prop("no message of the subtree is left or handled, none of the others is lost",
       [](const Plants& plants, int who, bool del) {
         Forest f(plants);
         const Agent root = f.pick(who & 0xff);
         const auto inside = f.subtree(root);
         const auto outside = f.others(root);
         const auto before = queues_and_histories(outside);
         RC_PRE(close(root, del));
         const std::size_t calls = f.t.llm->calls();
         f.finish();
         for (const Agent& agent : inside) RC_ASSERT(agent.queue_length() == 0U);
         RC_ASSERT(f.t.llm->calls() == calls);
         RC_ASSERT(queues_and_histories(outside) == before);
       });
}

TEST_CASE("S1-P4: a stopped agent refuses messages", "[property][S1-P4][C6][C7][G12]") {
  prop("every send below is refused with the state as the reason, and nothing is queued",
       [](const Plants& plants, int who, bool settled) {
         Forest f(plants);
         const Agent& root = f.pick(who & 0xff);
         static_cast<void>(root.stop());
         const auto inside = f.subtree(root);
         if (settled) f.finish();
         for (const Agent& agent : inside) {
           const std::size_t before = agent.queue_length();
           const AgentState state = agent.state().value();
           const SendResult sent = agent.send("x");
           RC_ASSERT(is_stopped(state));
           RC_ASSERT(!sent.accepted);
           RC_ASSERT(sent.reason ==
                     (state == AgentState::stopped ? Errc::agent_stopped : Errc::agent_stopping));
           RC_ASSERT(agent.queue_length() == before);
         }
       });
}

TEST_CASE("S1-P5: a stop or a delete notifies no agent", "[property][S1-P5][C8][D6][E4][G11]") {
  prop("no other agent gets a message or a line in its history", [](const Plants& plants, int who, bool del) {
    Forest f(plants);
    const Agent root = f.pick(who & 0xff);
    const auto outside = f.others(root);
    const auto before = queues_and_histories(outside);
    const auto kept = queues_and_histories({root});
    RC_PRE(close(root, del));
    f.finish();
    RC_ASSERT(queues_and_histories(outside) == before);
    if (!del) {
      const std::size_t questions = root.conversation().size();
      RC_ASSERT((kept.front().empty() || questions <= 1 + f.agents.size() * 4));
      for (const ChatMessage& message : root.conversation())
        RC_ASSERT((message.content == "first" || message.content == "queued"));
    }
  });
}

TEST_CASE("S1-P6: what a model says after a stop or a delete is dropped", "[property][S1-P6][C4][D5][G7]") {
  prop("late text, answers and failures change nothing and start nothing",
       [](const Plants& plants, int who, bool del, bool fails) {
         Forest f(plants);
         const Agent root = f.pick(who & 0xff);
         const auto inside = f.subtree(root);
         RC_PRE(close(root, del));
         std::vector<std::string> ids;
         for (const Agent& agent : inside) ids.push_back(agent.id());
         const std::size_t calls = f.t.llm->calls();
         f.t.seen.clear();
         for (const std::string& id : ids) {
           f.t.llm->delta(id, "LATE");
           if (fails)
             f.t.llm->fail(id);
           else
             f.t.llm->answer(id, "LATE");
         }
         f.finish();
         RC_ASSERT(f.t.seen.count("delta") == 0U);
         RC_ASSERT(f.t.llm->calls() == calls);
         for (const Agent& agent : inside)
           RC_ASSERT(written(agent.conversation()).find("LATE") == std::string::npos);
         for (const auto& line : f.t.seen.with("ended"))
           RC_ASSERT(line.find("completed") == std::string::npos);
         RC_ASSERT(f.t.seen.violations.empty());
       });
}

TEST_CASE("S1-P7: a deleted agent is in no table", "[property][S1-P7][D3][D4][G13]") {
  prop("nothing refers to any agent of the deleted subtree, and its ids are free",
       [](const Plants& plants, int who) {
         Forest f(plants);
         const Agent root = f.pick(who & 0xff);
         const auto inside = f.subtree(root);
         std::vector<std::string> ids;
         for (const Agent& agent : inside) ids.push_back(agent.id());
         const std::size_t size = f.t.tree->size();
         RC_ASSERT(root.terminate().terminated);
         f.finish();
         RC_ASSERT(f.t.tree->size() == size - inside.size());
         for (const Agent& agent : inside) RC_ASSERT(!agent.exists());
         for (const std::string& id : ids) {
           RC_ASSERT(f.t.tree->references(id) == 0U);
           RC_ASSERT(!f.t.tree->find(id).has_value());
           RC_ASSERT(f.t.tree->create({.id = id}).has_value());
         }
       });
}

TEST_CASE("S1-P8: a stop stops all descendants", "[property][S1-P8][E1]") {
  prop("every descendant is closed at once and stopped in the end, and nobody else",
       [](const Plants& plants, int who) {
         Forest f(plants);
         const Agent& root = f.pick(who & 0xff);
         const auto outside = f.others(root);
         std::vector<AgentState> before;
         for (const Agent& agent : outside) before.push_back(agent.state().value());
         static_cast<void>(root.stop());
         for (const Agent& agent : f.subtree(root)) RC_ASSERT(is_stopped(agent.state().value()));
         f.finish();
         for (const Agent& agent : f.subtree(root)) RC_ASSERT(agent.state().value() == AgentState::stopped);
         for (std::size_t i = 0; i < outside.size(); ++i) RC_ASSERT(outside[i].state().value() == before[i]);
       });
}

TEST_CASE("S1-P9: a delete deletes all descendants", "[property][S1-P9][E2]") {
  prop("every descendant is terminating at once and gone in the end, children before parents",
       [](const Plants& plants, int who) {
         Forest f(plants);
         const Agent root = f.pick(who & 0xff);
         const auto inside = f.subtree(root);
         const auto outside = f.others(root);
         std::vector<std::pair<std::string, std::string>> pairs;
         for (const Agent& agent : inside)
           if (agent != root) pairs.emplace_back(agent.id(), agent.parent().value().id());
         RC_ASSERT(root.terminate().terminated);
         for (const Agent& agent : inside) RC_ASSERT(agent.state().value() == AgentState::terminating);
         f.finish();
         for (const Agent& agent : inside) RC_ASSERT(!agent.exists());
         for (const Agent& agent : outside) RC_ASSERT(agent.exists());
         for (const auto& [child, parent] : pairs)
           RC_ASSERT(f.t.seen.index("deleted " + child) < f.t.seen.index("deleted " + parent));
       });
}

TEST_CASE("S1-P10: a cascade does to each agent what a direct stop would", "[property][S1-P10][E3]") {
  prop("an agent stopped with its parent looks as if it had been stopped itself",
       [](const Plants& plants, int who, bool del) {
         Forest whole(plants);
         Forest single(plants);
         const Agent root = whole.pick(who & 0xff);
         const auto inside = whole.subtree(root);
         RC_PRE(close(root, del));
         // The same agents of the other tree, one by one, leaves first.
         for (auto agent = inside.rbegin(); agent != inside.rend(); ++agent)
           static_cast<void>(close(single.t[agent->id()], del));
         std::vector<std::string> ids;
         for (const Agent& agent : inside) ids.push_back(agent.id());
         whole.finish();
         single.finish();
         for (const std::string& id : ids) {
           const Agent a = whole.t[id];
           const Agent b = single.t[id];
           RC_ASSERT(a.exists() == b.exists());
           RC_ASSERT(written(a.conversation()) == written(b.conversation()));
           if (a.exists()) RC_ASSERT(a.state().value() == b.state().value());
           RC_ASSERT(whole.t.seen.with("settled " + id + " ") == single.t.seen.with("settled " + id + " "));
           RC_ASSERT(whole.t.seen.with("ended " + id + " ") == single.t.seen.with("ended " + id + " "));
         }
       });
}

TEST_CASE("S1-P11: several stops at once execute exactly one", "[property][S1-P11][C12]") {
  prop("of any number of stops one takes effect, all learn of the end, and it settles once",
       [](const Plants& plants, int who, int times) {
         Forest f(plants);
         const Agent& root = f.pick(who & 0xff);
         RC_PRE(open(root));
         const int stops = 1 + (times & 7);
         int executed = 0;
         int reports = 0;
         for (int i = 0; i < stops; ++i) {
           const StopResult result = root.stop({.on_settled = [&](const StopReport&) { ++reports; }});
           RC_ASSERT(result.ok);
           executed += result.stopped ? 1 : 0;
           RC_ASSERT((result.stopped || result.reason == Errc::stopping));
         }
         RC_ASSERT(executed == 1);
         f.finish();
         RC_ASSERT(reports == stops);
         RC_ASSERT(f.t.seen.count("settled " + root.id() + " ") == 1U);
       });
}

TEST_CASE("S1-P12: an agent that is stopping refuses every new operation", "[property][S1-P12][C10]") {
  prop("sends, children, calls, aborts and resumes are refused until it has settled",
       [](const Plants& plants, int who) {
         Forest f(plants);
         const Agent& root = f.pick(who & 0xff);
         RC_PRE(open(root));
         const std::size_t calls = f.t.llm->calls();
         const std::size_t size = f.t.tree->size();
         RC_ASSERT(root.stop().stopped);
         for (const bool settled : {false, true}) {
           if (settled) f.t.settle();
           for (const Agent& agent : f.subtree(root)) {
             if (agent.state().value() != AgentState::stopping) continue;
             RC_ASSERT(agent.send("x").reason == Errc::agent_stopping);
             RC_ASSERT(agent.create_child().error().code == Errc::agent_stopping);
             RC_ASSERT(!agent.abort().aborted);
             RC_ASSERT(agent.resume().reason == Errc::stopping);
             RC_ASSERT(agent.stop().reason == Errc::stopping);
           }
         }
         f.finish();
         RC_ASSERT(f.t.llm->calls() == calls);
         RC_ASSERT(f.t.tree->size() == size);
       });
}

TEST_CASE("S1-P13: a stop that meets an answer wins", "[property][S1-P13][C13][C23][D17]") {
  prop("an answer that is ready in the same poll is not handled, whichever was first in line",
       [](const Plants& plants, int who, bool del, bool answer_first) {
         Forest f(plants);
         const Agent root = f.pick(who & 0xff);
         const auto inside = f.subtree(root);
         std::vector<std::string> ids;
         for (const Agent& agent : inside) ids.push_back(agent.id());
         const auto answers = [&] {
           for (const std::string& id : ids) f.t.runtime->post([&f, id] { f.t.llm->answer(id, "ANSWER"); });
         };
         if (answer_first) answers();
         RC_PRE(close(root, del));
         if (!answer_first) answers();
         f.finish();
         for (const auto& line : f.t.seen.with("ended"))
           RC_ASSERT(line.find("completed") == std::string::npos);
         for (const Agent& agent : inside)
           RC_ASSERT(written(agent.conversation()).find("ANSWER") == std::string::npos);
       });
}

TEST_CASE("S1-P14: a stop cancels everything that was pending", "[property][S1-P14][C14]") {
  prop("when it has settled nothing of the subtree is in flight, scheduled or remembered as under way",
       [](const Plants& plants, int who, bool del) {
         Forest f(plants);
         const Agent root = f.pick(who & 0xff);
         const auto inside = f.subtree(root);
         RC_PRE(close(root, del));
         f.finish();
         const std::size_t calls = f.t.llm->calls();
         f.t.seen.clear();
         f.t.advance(std::chrono::hours(1));
         RC_ASSERT(f.t.llm->calls() == calls);
         RC_ASSERT(f.t.seen.lines.empty());
         for (const Agent& agent : inside)
           RC_ASSERT((!agent.exists() || agent.state().value() == AgentState::stopped));
         for (const Agent& agent : f.agents) static_cast<void>(agent.clear_queue());
         for (FakeClient::Call* call : f.t.llm->open_calls())
           FakeClient::finish(*call, ChatOutcome::cancelled());
         f.finish();
         RC_ASSERT(!f.t.tree->busy());
         RC_ASSERT(f.t.seen.violations.empty());
       });
}
