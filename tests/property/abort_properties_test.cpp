// The properties of an abort: S0-P2 to S0-P5.
#include "property/stage.hpp"

#include <agentcore/testing/manual_clock.hpp>
#include <agentcore/testing/scripted_client.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

using namespace agentcore;
using namespace agentcore::test;
using namespace property_test;

namespace {

// The target waits for its model when the verb is called.
Scene with_waiting_target(Scene scene) {
  Member& target = scene.members[scene.target % scene.members.size()];
  target.handler = false;
  target.asked = true;
  target.work = Work::words;
  return scene;
}

bool is_waiting(const Stage& stage, std::size_t i) {
  return stage.before.states[i] == AgentState::waiting_llm;
}

// One thing that happens to a client.
struct ClientStep {
  int what = 0;   // 0, 1: chat, 2: abort, 3: stop token of an earlier call, 4: time passes, 5: poll
  int agent = 0;  // 0: anonymous
  int call = 0;   // counted round
  int deltas = 0;
  int delay = 0;  // ms
  bool silent = false, deaf = false, fails = false;
};

std::ostream& operator<<(std::ostream& out, const ClientStep& s) {
  static const char* const names[] = {"chat", "chat", "abort", "token", "pass", "poll"};
  return out << names[s.what] << " agent " << s.agent << " call " << s.call << " deltas " << s.deltas
             << " delay " << s.delay << (s.silent ? " silent" : "") << (s.deaf ? " deaf" : "")
             << (s.fails ? " fails" : "");
}

// A client, and the call that must be registered for each agent.
class Desk {
 public:
  Desk() : runtime_({.clock = &clock_, .seed = 1}) {
    client_ = std::make_unique<testing::ScriptedClient>(runtime_, [this](const ChatRequest& request) {
      if (!request.agent_id.empty() && !client_->has_active_request(request.agent_id))
        wrong.push_back("asked before it was registered");
      return reply_;
    });
  }
  ~Desk() { client_.reset(); }

  void run(const ClientStep& s) {
    if (s.what <= 1) chat(s);
    if (s.what == 2) abort(s.agent);
    if (s.what == 3 && !calls_.empty()) stop(static_cast<std::size_t>(s.call) % calls_.size());
    if (s.what == 4) runtime_.run_for(std::chrono::milliseconds(s.delay));
    if (s.what == 5) runtime_.poll();
  }
  void check() const {
    for (int agent = 1; agent < 5; ++agent)
      RC_ASSERT(client_->has_active_request(name(agent)) == registered_.contains(agent));
    RC_ASSERT(!client_->has_active_request(""));
    for (const auto& call : calls_) RC_ASSERT(call->outcomes <= 1);
    RC_ASSERT(text(wrong) == "");
  }
  // Every call that was made gets its one outcome.
  void close() {
    runtime_.run_for(std::chrono::hours(1));
    check();
    for (int agent = 1; agent < 5; ++agent) abort(agent);
    check();
    client_.reset();
    for (const auto& call : calls_) RC_ASSERT(call->outcomes == 1);
    RC_ASSERT(registered_.empty());
  }

  std::vector<std::string> wrong;

 private:
  struct Call {
    int agent = 0;
    int outcomes = 0;
    StopSource stop;
  };
  static std::string name(int agent) { return agent == 0 ? "" : "agent " + std::to_string(agent); }

  void chat(const ClientStep& s) {
    reply_ = {};
    reply_.deltas.assign(static_cast<std::size_t>(s.deltas), "word");
    reply_.first_delay = reply_.interval = std::chrono::milliseconds(s.delay);
    reply_.silent = s.silent;
    reply_.deaf = s.deaf;
    if (s.fails) reply_.error = {Errc::network_error, "as the test says"};
    const auto call = std::make_shared<Call>();
    call->agent = s.agent;
    calls_.push_back(call);
    const bool taken = s.agent != 0 && registered_.contains(s.agent);
    if (s.agent != 0 && !taken) registered_[s.agent] = call.get();
    ChatRequest request;
    request.agent_id = name(s.agent);
    client_->chat(std::move(request), call->stop.get_token(),
                  ChatSink([](std::string_view) {}, [this, call](const ChatOutcome& o) { end(*call, o); }));
    if (taken && call->outcomes != 1) wrong.push_back("a second call of an agent was taken");
  }
  void end(Call& call, const ChatOutcome& outcome) {
    ++call.outcomes;
    forget(call);
    const bool refused = outcome.error.code == Errc::request_in_progress;
    if (client_ && !refused &&
        client_->has_active_request(name(call.agent)) != registered_.contains(call.agent))
      wrong.push_back("the outcome is told while the call is still registered");
  }
  void abort(int agent) {
    const bool expected = registered_.erase(agent) > 0;
    if (client_->abort(name(agent)) != expected) wrong.push_back("abort says something else");
  }
  void stop(std::size_t number) {
    Call& call = *calls_[number];
    forget(call);
    call.stop.request_stop();
  }
  void forget(const Call& call) {
    const auto found = registered_.find(call.agent);
    if (found != registered_.end() && found->second == &call) registered_.erase(found);
  }

  testing::ManualClock clock_;
  Runtime runtime_;
  testing::ScriptedReply reply_;
  std::vector<std::shared_ptr<Call>> calls_;
  std::map<int, Call*> registered_;
  std::unique_ptr<testing::ScriptedClient> client_;
};

}  // namespace

namespace rc {

template <>
struct Arbitrary<ClientStep> {
  static Gen<ClientStep> arbitrary() {
    return gen::resize(100, gen::build<ClientStep>(gen::set(&ClientStep::what, gen::inRange(0, 6)),
                                                   gen::set(&ClientStep::agent, gen::inRange(0, 5)),
                                                   gen::set(&ClientStep::call, gen::inRange(0, 40)),
                                                   gen::set(&ClientStep::deltas, gen::inRange(0, 4)),
                                                   gen::set(&ClientStep::delay, gen::inRange(0, 20)),
                                                   gen::set(&ClientStep::silent), gen::set(&ClientStep::deaf),
                                                   gen::set(&ClientStep::fails)));
  }
};

}  // namespace rc

TEST_CASE("S0-P2: a call is registered from before its request until any end",
          "[property][S0-P2][A2][A3][A4][A5][A6][X11]") {
  prop("an agent has an active request exactly from the start of its call to its success, failure or abort",
       [](const std::vector<ClientStep>& steps) {
         Desk desk;
         for (const ClientStep& step : steps) {
           desk.run(step);
           desk.check();
         }
         desk.close();
       });
}

TEST_CASE("S0-P3: an aborted agent is idle and can receive", "[property][S0-P3][C2][X1][A14][A17]") {
  prop(
      "after an abort the agent is idle at once, keeps its mailbox, and takes and answers messages as before",
      [](const Scene& scene) {
        Stage stage(with_waiting_target(scene));
        const std::size_t target = stage.target();
        VerbResult result;
        stage.act([&] { result = stage.target_agent().abort(); });
        RC_PRE(is_waiting(stage, target));
        RC_ASSERT((result.accepted() && result.took_effect() && result.reason == Errc::none));
        RC_ASSERT(stage.after.queued == stage.before.queued);
        for (std::size_t i = 0; i < stage.size(); ++i)
          RC_ASSERT(stage.after.states[i] == (i == target ? AgentState::idle : stage.before.states[i]));
        std::size_t current = 0;
        for (std::size_t c = 0; c < stage.before.calls; ++c)
          if (stage.owner(c) == target) current = c;
        for (std::size_t c = 0; c < stage.before.calls; ++c)
          RC_ASSERT(stage.after.cut[c] == (stage.before.cut[c] || c == current));
        stage.play_after();
        stage.rest();
        RC_ASSERT(stage.told("ended", target).at(0).ends_with(" aborted"));
        stage.open_up();
        RC_ASSERT(stage.send(target));
        for (stage.t.settle(); stage.t.llm->find(Stage::id(target)); stage.t.settle())
          stage.t.llm->answer(Stage::id(target), "d");
        RC_ASSERT(all_in_order(stage.look().taken[target], stage.accepted[target]));
        RC_ASSERT(stage.state(target) == AgentState::idle);
        for (std::size_t i = 0; i < stage.size(); ++i) RC_ASSERT(stage.told("settled", i).empty());
        RC_ASSERT(stage.broken() == "");
      });
}

TEST_CASE("S0-P4: an abort without a call changes nothing", "[property][S0-P4][A13][A20]") {
  prop("such aborts succeed with aborted=false, and everything goes on as if they had not been",
       [](const Scene& scene) {
         Stage stage(scene);
         Stage twin(scene);
         std::vector<std::pair<std::size_t, VerbResult>> results;
         stage.act([&] {
           for (std::size_t i = 0; i < stage.size(); ++i)
             if (!is_waiting(stage, i))
               results.emplace_back(
                   i, stage.agent(i).abort({.queue = i % 2 == 0 ? QueueAction::drop : QueueAction::deliver}));
         });
         twin.act([] {});
         for (const auto& [i, result] : results)
           RC_ASSERT((result.accepted() && !result.took_effect() && result.reason == Errc::not_waiting_llm));
         RC_ASSERT(stage.before == stage.after);
         for (Stage* each : {&stage, &twin}) {
           each->play_after();
           each->rest();
         }
         RC_ASSERT(stage.t.seen.lines == twin.t.seen.lines);
         RC_ASSERT(stage.look() == twin.look());
         RC_ASSERT(stage.broken() == "");
       });
}

TEST_CASE("S0-P5: an abort leaves the history whole and without the partial answer",
          "[property][S0-P5][A18][A19][X22][G8]") {
  prop(
      "the question stays and is marked, what was heard of the answer is nowhere, and every history is valid",
      [](Scene scene) {
        if (scene.place == Place::thread) scene.place = Place::outside;  // the verb delivers deltas
        Stage stage(with_waiting_target(scene));
        std::vector<std::size_t> aborted;
        stage.act([&] {
          for (std::size_t i = 0; i < stage.size(); ++i) {
            if (!stage.inside(i) || !is_waiting(stage, i)) continue;
            stage.t.llm->delta(Stage::id(i), "partial");
            if (stage.agent(i).abort().took_effect()) aborted.push_back(i);
          }
        });
        const auto check = [&] {
          for (FakeClient::Call* call : stage.t.llm->open_calls())
            if (call->stop.stop_requested()) call->sink.delta("partial");
          for (std::size_t i = 0; i < stage.size(); ++i)
            RC_ASSERT(is_valid_history(stage.agent(i).conversation().value()));
        };
        check();
        stage.play_after(check);
        stage.rest();
        check();
        const View end = stage.look();
        for (const std::size_t i : aborted)
          RC_ASSERT(end.histories[i].starts_with(stage.marked(i, "!aborted")));
        for (const std::string& history : end.histories) RC_ASSERT(history.find("partial") == history.npos);
        for (std::size_t c = 0; c < stage.t.llm->calls(); ++c)
          for (const ChatMessage& message : stage.t.llm->call(c).request.messages)
            RC_ASSERT(message.content().find("partial") == std::string::npos);
        RC_ASSERT(stage.broken() == "");
      });
}
