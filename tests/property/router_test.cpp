// The properties of routed calls, over generated routes, failures and stops.
#include "support/clients/forwarding_client.hpp"
#include "support/prop.hpp"

#include <agentcore/llm_router.hpp>
#include <agentcore/runtime.hpp>
#include <agentcore/testing/manual_clock.hpp>
#include <agentcore/testing/scripted_client.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace agentcore;
using namespace std::chrono_literals;
using agentcore::test::ForwardingClient;

namespace {

enum class End { answer, cut, busy, patience, model, key, silent, deaf };

// One thing that happens.
struct RouterStep {
  int what = 0;      // 0 to 2: chat, 3: abort, 4: stop token of an earlier call, 5: time passes, 6: poll
  int agent = 0;     // 0: anonymous
  int call = 0;      // counted round
  int time = 0;      // ms that pass
  int deadline = 0;  // seconds; 0: none
  bool stop_in_delta = false;
};

// How the n-th attempt ends, for any call.
struct Fate {
  End end = End::answer;
  int deltas = 0;
  int delay = 0;  // ms
};

struct RouterCase {
  int routes = 1;
  bool one_endpoint = false;
  int max_attempts = 1, total = 0, per_endpoint = 0, per_agent = 0, max_waiting = 0, failures = 0;
  int per_minute = 0;
  bool learn = true;
  bool destroy = false;  // while calls are open
  std::vector<Fate> fates;
  std::vector<RouterStep> steps;
};

std::ostream& operator<<(std::ostream& out, const RouterStep& s) {
  static const char* const names[] = {"chat", "chat", "chat", "abort", "token", "pass", "poll"};
  return out << names[s.what] << " agent " << s.agent << " call " << s.call << " time " << s.time
             << " deadline " << s.deadline << (s.stop_in_delta ? " stops in its delta" : "");
}

std::ostream& operator<<(std::ostream& out, const Fate& fate) {
  static const char* const names[] = {"answer", "cut", "busy", "patience", "model", "key", "silent", "deaf"};
  return out << names[static_cast<int>(fate.end)] << "/" << fate.deltas << "/" << fate.delay;
}

std::ostream& operator<<(std::ostream& out, const RouterCase& c) {
  out << c.routes << " routes" << (c.one_endpoint ? ", one endpoint" : "") << ", attempts " << c.max_attempts
      << ", total " << c.total << ", per endpoint " << c.per_endpoint << ", per agent " << c.per_agent
      << ", waiting " << c.max_waiting << ", failures " << c.failures << ", per minute " << c.per_minute
      << (c.learn ? ", learns" : "") << (c.destroy ? ", destroyed" : "") << "\nfates:";
  for (const Fate& fate : c.fates) out << " " << fate;
  for (const RouterStep& step : c.steps) out << "\n  " << step;
  return out;
}

testing::ScriptedReply reply_for(const Fate& fate) {
  testing::ScriptedReply reply;
  reply.deltas.assign(static_cast<std::size_t>(fate.deltas), "word");
  reply.first_delay = reply.interval = std::chrono::milliseconds(fate.delay);
  reply.usage.total_tokens = 1;
  reply.silent = fate.end == End::silent;
  reply.deaf = fate.end == End::deaf;
  if (fate.end == End::cut) reply.error = {.code = Errc::network_error, .message = "x", .retryable = true};
  if (fate.end == End::busy || fate.end == End::patience)
    reply.error = {.code = Errc::api_error,
                   .message = "x",
                   .http_status = 429,
                   .retryable = true,
                   .retry_after = fate.end == End::busy ? 2s : 2min};
  if (fate.end == End::model)
    reply.error = {.code = Errc::api_error, .message = "x", .http_status = 404, .model_specific = true};
  if (fate.end == End::key) reply.error = {.code = Errc::api_error, .message = "x", .http_status = 401};
  return reply;
}

// A router, its models, and what must be true of every call.
class Junction {
 public:
  explicit Junction(const RouterCase& given) : case_(given), runtime_({.clock = &clock_, .seed = 1}) {
    RouterOptions options;
    for (int i = 0; i < case_.routes; ++i) {
      models_.push_back(std::make_unique<Model>(*this, static_cast<std::size_t>(i)));
      options.routes.push_back({.client = &models_.back()->client,
                                .endpoint = case_.one_endpoint ? "e" : "e" + std::to_string(i)});
    }
    options.retry.max_attempts = static_cast<std::uint32_t>(case_.max_attempts);
    options.breaker = {.failures = static_cast<std::uint32_t>(case_.failures), .open_for = 5s};
    options.call_slots = slots_ = std::make_shared<CallSlots>(
        runtime_, CallLimits{.total = static_cast<std::uint32_t>(case_.total),
                             .per_endpoint = static_cast<std::uint32_t>(case_.per_endpoint),
                             .per_agent = static_cast<std::uint32_t>(case_.per_agent),
                             .requests_per_minute = static_cast<std::uint64_t>(case_.per_minute),
                             .max_waiting = static_cast<std::size_t>(case_.max_waiting),
                             .learn = case_.learn});
    router_ = std::make_unique<LlmRouter>(runtime_, std::move(options));
  }
  ~Junction() {
    destroying_ = true;
    router_.reset();
  }

  void run(const RouterStep& s) {
    if (s.what <= 2) chat(s);
    if (s.what == 3) abort(s.agent);
    if (s.what == 4 && !calls_.empty()) stop(*calls_[static_cast<std::size_t>(s.call) % calls_.size()]);
    if (s.what == 5) runtime_.run_for(std::chrono::milliseconds(s.time));
    if (s.what == 6) runtime_.poll();
  }
  void check() const {
    for (int agent = 1; agent < 4; ++agent) {
      const auto open = std::ranges::any_of(calls_, [agent](const auto& call) {
        return call->agent == agent && !call->stopped && call->outcomes == 0;
      });
      RC_ASSERT(router_->has_active_request(name(agent)) == open);
    }
    RC_ASSERT(slots_->running() == running_);
    for (const auto& call : calls_) RC_ASSERT(call->outcomes <= 1);
    RC_ASSERT(wrong_ == "");
  }
  // Every call ends, and then everything is free.
  void close() {
    if (case_.destroy) {
      destroying_ = true;
      router_.reset();
      for (const auto& call : calls_) RC_ASSERT(call->outcomes == 1);
    } else {
      runtime_.run_for(10min);
      check();
      for (const auto& call : calls_) stop(*call);
      runtime_.run_for(10min);
      check();
      RC_ASSERT(router_->open_calls() == 0U);
    }
    runtime_.run_for(10min);
    for (const auto& call : calls_) RC_ASSERT(call->outcomes == 1);
    RC_ASSERT(slots_->running() == 0U);
    RC_ASSERT(slots_->waiting() == 0U);
    RC_ASSERT(wrong_ == "");
  }

 private:
  struct Call {
    int agent = 0;
    int outcomes = 0;
    bool stopped = false, delivered = false, attempting = false, stop_in_delta = false;
    std::size_t route = 0;
    int attempts = 0;  // of this route
    std::optional<TimePoint> deadline;
    StopSource stop;
  };

  // A route's model: looks at each attempt, and lets a scripted model make it.
  struct Model {
    Model(Junction& junction, std::size_t route)
        : scripted(junction.runtime_, [&junction](const ChatRequest&) { return junction.next_reply(); }),
          client(scripted, [&junction, route](const ChatRequest& request, const StopToken&, ChatSink& sink) {
            const auto call =
                junction.calls_[static_cast<std::size_t>(std::stoi(request.messages[0].content()))];
            junction.on_attempt(*call, route);
            const auto to = std::make_shared<ChatSink>(std::move(sink));
            sink = ChatSink([to](std::string_view text) { to->delta(text); },
                            [&junction, to, call](ChatOutcome outcome) {
                              call->attempting = false;
                              --junction.running_;
                              to->finish(std::move(outcome));
                            });
          }) {}

    testing::ScriptedClient scripted;
    ForwardingClient client;
  };

  static std::string name(int agent) { return agent == 0 ? "" : "agent " + std::to_string(agent); }
  testing::ScriptedReply next_reply() {
    return case_.fates.empty() ? testing::ScriptedReply()
                               : reply_for(case_.fates[next_fate_++ % case_.fates.size()]);
  }
  void expect(bool truth, const char* what) {
    if (!truth && wrong_.empty()) wrong_ = what;
  }

  void on_attempt(Call& call, std::size_t route) {
    ++running_;
    expect(!call.stopped, "an attempt after a stop");
    expect(call.outcomes == 0, "an attempt after the outcome");
    expect(!call.delivered, "an attempt after a delta");
    expect(!call.attempting, "two attempts of one call at once");
    expect(!call.deadline || runtime_.now() < *call.deadline, "an attempt after the deadline");
    expect(route >= call.route, "a route is tried again that was left");
    if (route != call.route) call.attempts = 0;
    call.route = route;
    call.attempting = true;
    expect(++call.attempts <= case_.max_attempts, "more attempts than allowed");
    expect(case_.total == 0 || running_ <= static_cast<std::size_t>(case_.total),
           "more than `total` at once");
    expect(slots_->running() == running_, "an attempt without a slot");
    if (call.agent == 0 || case_.per_agent == 0) return;
    const auto mine = std::ranges::count_if(
        calls_, [&](const auto& each) { return each->agent == call.agent && each->attempting; });
    expect(mine <= case_.per_agent, "more of one agent at once than allowed");
  }

  void chat(const RouterStep& s) {
    const auto call = std::make_shared<Call>();
    call->agent = s.agent;
    call->stop_in_delta = s.stop_in_delta;
    ChatRequest request;
    request.agent_id = name(s.agent);
    request.messages.push_back(ChatMessage::user(std::to_string(calls_.size())));
    if (s.deadline > 0) call->deadline = request.deadline = runtime_.now() + std::chrono::seconds(s.deadline);
    const bool taken = s.agent != 0 && router_->has_active_request(name(s.agent));
    calls_.push_back(call);
    router_->chat(std::move(request), call->stop.get_token(),
                  ChatSink([this, call](std::string_view) { on_delta(*call); },
                           [this, call](const ChatOutcome& outcome) { on_outcome(*call, outcome); }));
    expect(!taken || call->outcomes == 1, "a second call of an agent was taken");
  }
  void on_delta(Call& call) {
    expect(!call.stopped, "a delta after a stop");
    expect(call.outcomes == 0, "a delta after the outcome");
    call.delivered = true;
    if (call.stop_in_delta) stop(call);
  }
  void on_outcome(Call& call, const ChatOutcome& outcome) {
    ++call.outcomes;
    const bool cancelled = outcome.kind == ChatOutcome::Kind::cancelled;
    expect(!call.stopped || cancelled, "a stopped call ended otherwise");
    expect(!cancelled || call.stopped || destroying_, "cancelled, and nobody had stopped it");
    expect(cancelled == (outcome.error.code == Errc::cancelled), "cancelled is not a failure");
    expect(!call.deadline || runtime_.now() <= *call.deadline || call.stopped ||
               outcome.error.code == Errc::deadline_exceeded || (destroying_ && cancelled),
           "an answer after the deadline");
  }
  void abort(int agent) {
    for (const auto& call : calls_)
      if (agent != 0 && call->agent == agent && call->outcomes == 0) call->stopped = true;
    router_->abort(name(agent));
  }
  void stop(Call& call) {
    if (call.outcomes == 0) call.stopped = true;
    call.stop.request_stop();
  }

  const RouterCase& case_;
  testing::ManualClock clock_;
  Runtime runtime_;
  std::vector<std::shared_ptr<Call>> calls_;
  std::size_t running_ = 0, next_fate_ = 0;
  std::string wrong_;
  bool destroying_ = false;  // from here on calls are cancelled without a stop
  std::vector<std::unique_ptr<Model>> models_;
  std::shared_ptr<CallSlots> slots_;
  std::unique_ptr<LlmRouter> router_;
};

template <typename T>
rc::Gen<std::vector<T>> list_of(int most) {
  return rc::gen::resize(most,
                         rc::gen::container<std::vector<T>>(rc::gen::resize(100, rc::gen::arbitrary<T>())));
}

}  // namespace

namespace rc {

template <>
struct Arbitrary<RouterStep> {
  static Gen<RouterStep> arbitrary() {
    const auto deadline = gen::weightedOneOf<int>({{3, gen::just(0)}, {1, gen::inRange(1, 6)}});
    return gen::build<RouterStep>(
        gen::set(&RouterStep::what, gen::inRange(0, 7)), gen::set(&RouterStep::agent, gen::inRange(0, 4)),
        gen::set(&RouterStep::call, gen::inRange(0, 40)), gen::set(&RouterStep::time, gen::inRange(0, 3000)),
        gen::set(&RouterStep::deadline, deadline),
        gen::set(&RouterStep::stop_in_delta, gen::weightedElement<bool>({{5, false}, {1, true}})));
  }
};

template <>
struct Arbitrary<Fate> {
  static Gen<Fate> arbitrary() {
    const auto end = gen::element(End::answer, End::answer, End::cut, End::cut, End::busy, End::patience,
                                  End::model, End::key, End::silent, End::deaf);
    const auto deltas = gen::weightedOneOf<int>({{2, gen::just(0)}, {1, gen::inRange(1, 4)}});
    return gen::build<Fate>(gen::set(&Fate::end, end), gen::set(&Fate::deltas, deltas),
                            gen::set(&Fate::delay, gen::element(0, 0, 10, 1500)));
  }
};

template <>
struct Arbitrary<RouterCase> {
  static Gen<RouterCase> arbitrary() {
    return gen::build<RouterCase>(
        gen::set(&RouterCase::routes, gen::inRange(1, 4)), gen::set(&RouterCase::one_endpoint),
        gen::set(&RouterCase::max_attempts, gen::inRange(1, 4)),
        gen::set(&RouterCase::total, gen::inRange(0, 4)),
        gen::set(&RouterCase::per_endpoint, gen::inRange(0, 3)),
        gen::set(&RouterCase::per_agent, gen::inRange(0, 3)),
        gen::set(&RouterCase::max_waiting, gen::element(0, 1, 3, 100)),
        gen::set(&RouterCase::failures, gen::inRange(0, 4)),
        gen::set(&RouterCase::per_minute, gen::element(0, 0, 5, 60)), gen::set(&RouterCase::learn),
        gen::set(&RouterCase::destroy), gen::set(&RouterCase::fates, list_of<Fate>(20)),
        gen::set(&RouterCase::steps, list_of<RouterStep>(40)));
  }
};

}  // namespace rc

TEST_CASE("a routed call has one outcome within its limits and nothing follows a stop",
          "[property][router][A3][A9][X11][X19][X20][Y5][G5][G7][G10][G15]") {
  prop(
      "whatever the routes do and whenever calls are stopped: each call has exactly one outcome, no attempt "
      "follows a stop, a delta or its deadline, no route is tried more often than allowed, no delta follows "
      "a stop or the outcome, and in the end all slots are free",
      [](const RouterCase& given) {
        Junction junction(given);
        for (const RouterStep& step : given.steps) {
          junction.run(step);
          junction.check();
        }
        junction.close();
      });
}
