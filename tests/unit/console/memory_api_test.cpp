// A request whose handling finds no memory: it is answered with an error, or its connection ends; the process
// goes on, and what has changed was told.
#include "console/top/agents.hpp"
#include "support/amount.hpp"
#include "support/console/console_life.hpp"
#include "support/observe/counted_heap.hpp"
#include "support/sanitized.hpp"

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace agentcore;
using namespace agentcore::test;
using nlohmann::json;

namespace {

// "POST /path" and a body. "$" in the path is the message, task or question that `prepare` has made.
struct Case {
  std::string request;
  std::string body = {};
  std::function<std::string(ConsoleLife&)> prepare = {};  // "b" exists, below "a"
};

// All of a tree that a request may change: "a idle; b stopped paused 2; questions 1".
std::string state_of(const ConsoleLife& life) {
  std::string all;
  life.tree->walk([&](const Agent& agent) {
    if (agent.id() == "c") return;  // its turn goes on after the request, or fails without memory
    const AgentStatus status = agent.status().value();
    all += agent.id().starts_with('@') ? std::string("made") : agent.id();
    all += ' ' + std::string(to_string(status.state)) + (status.paused ? " paused" : "") +
           (status.queue_held ? " held" : "") + ' ' + std::to_string(agent.queue_length().value()) + "; ";
  });
  return all + "questions " + std::to_string(life.tree->questions().size());
}

// The same agents as before, whatever the last request has done.
void begin_again(ConsoleLife& life) {
  static_cast<void>(life.tree->unpause_all());
  static_cast<void>(life.tree->resume_all());
  std::vector<Agent> roots;
  life.tree->walk([&](const Agent& agent) {
    if (!agent.parent()) roots.push_back(agent);
  });
  for (const Agent& agent : roots) static_cast<void>(agent.terminate());
  life.poll();
  REQUIRE(life.tree->size() == 0);
  life.create("a");
  life.create("b", "a");
  life.poll();
}

// What a viewer of the page knows: it reads all agents and follows their events.
class Viewer {
 public:
  explicit Viewer(ConsoleLife& life) : life_(life), stream_(life.follow("/api/events")) {
    const json page = life.get("/api/agents").json();
    for (const json& agent : page["agents"]) agents_.upsert(agent);
  }
  ConsoleClient& stream() { return stream_; }
  // "": it loads everything again, or knows what is true.
  std::string problem(testing::ManualClock& clock) {
    if (!take_all(clock)) return {};
    std::string problem;
    std::size_t count = 0;
    life_.tree->walk([&](const Agent& agent) {
      if (agent.id() == "last") return;
      ++count;
      const AgentStatus status = agent.status().value();
      const auto* const seen = agents_.find(agent.id());
      if (seen == nullptr)
        problem += agent.id() + " is not seen; ";
      else if (seen->state != console_app::top::state_of(to_string(status.state)) ||
               seen->paused != status.paused || seen->queue_held != status.queue_held)
        problem += agent.id() + " is not seen as it is; ";
    });
    return agents_.rows().size() <= count ? problem : problem + "an agent that is gone is seen";
  }

 private:
  // Applies the events up to that of a last agent, which nobody else makes. False: it loads everything again.
  bool take_all(testing::ManualClock& clock) {
    static_cast<void>(life_.tree->resume_all());  // else there is no last agent
    life_.poll();
    life_.create("last");
    for (std::size_t taken = 0; !stream_.ended(); clock.advance(std::chrono::milliseconds(25))) {
      life_.poll();
      stream_.receive();
      const std::vector<json> events = ConsoleLife::events_of(stream_);
      for (; taken < events.size(); ++taken) {
        const json& event = events[taken];
        if (event["type"] == "lagged" || event["type"] == "reset") return false;
        if (event["type"] == "created" && event["agent"]["id"] == "last") return true;
        agents_.apply(event);
      }
    }
    return false;
  }
  ConsoleLife& life_;
  ConsoleClient stream_;
  console_app::top::Agents agents_;
};

struct Outcome {
  std::optional<HttpAnswer> answer;  // none: the connection has ended
  std::string state;
  bool failed = false;  // an allocation has
};

// `count` allocations fail, from the n-th on; 0: none.
Outcome run(ConsoleLife& life, const Case& one, std::size_t n, Viewer* viewer, std::size_t count = 1) {
  std::string target = one.request.substr(one.request.find(' ') + 1);
  if (one.prepare) {
    const std::string made = one.prepare(life);
    if (const std::size_t at = target.find('$'); at != std::string::npos) target.replace(at, 1, made);
  }
  life.poll();
  ConsoleClient client(life.console->port());
  life.poll();  // accepted
  client.send(life.text_of(one.request.substr(0, one.request.find(' ')), target, one.body));
  Outcome outcome;
  if (n != 0) {
    const FailingAllocation failing(n, count);
    for (int polls = 0; polls < 6; ++polls) life.runtime.poll();
    outcome.failed = failing.failed();
  }
  std::vector<ConsoleClient*> clients{&client};
  if (viewer != nullptr) clients.push_back(&viewer->stream());
  const bool is_stream = target.find("/events") != std::string::npos;
  life.until(
      [&] {
        if (is_stream && !client.received().empty()) return true;
        outcome.answer = client.take_answer();
        return outcome.answer.has_value() || client.ended();
      },
      clients);
  life.poll();
  outcome.state = state_of(life);
  return outcome;
}

std::string pause_b(ConsoleLife& life) {
  CHECK(life.tree->find("b")->pause().took_effect());
  return {};
}
std::string send_to_paused_b(ConsoleLife& life) {
  pause_b(life);
  return to_string(life.tree->find("b")->send("waits").id);
}
std::string stop_b(ConsoleLife& life) {
  CHECK(life.tree->find("b")->stop().took_effect());
  return {};
}
std::string hold_b(ConsoleLife& life) {
  static_cast<void>(life.tree->find("b")->interrupt({.queue = QueueAction::hold}));
  return {};
}
std::string let_b_wait(ConsoleLife& life) {
  life.let_wait(life.tree->find("b").value());
  return {};
}
std::string make_task(ConsoleLife& life) {
  pause_b(life);
  return life.post("/tasks", R"({"agentId":"b","prompt":"so?"})").json()["taskId"];
}
// A tool of "c" has asked. The pause withholds what its turn does after that: it is no part of the request.
std::string ask(ConsoleLife& life, bool approval) {
  const auto tools = std::make_shared<ToolRegistry>();
  tools->add(make_ask_human_tool());
  Tool act = make_tool({.name = "act", .needs_approval = true},
                       [](const json&, const ToolContext&) { return ToolResult::done("acted"); });
  tools->add(std::move(act));
  AgentSpec spec;
  spec.id = "c";
  spec.tools = tools;
  testing::ScriptedReply reply;
  reply.tool_calls = {{.id = "c1",
                       .name = approval ? "act" : "ask_human",
                       .arguments = approval ? "{}" : R"({"question":"so?"})"}};
  life.llm.enqueue(reply);
  REQUIRE(life.tree->create(std::move(spec)).value().send("go"));
  life.until([&] { return life.tree->questions().size() == 1; });
  CHECK(life.tree->find("c")->pause().took_effect());
  return life.tree->questions()[0].id;
}

std::vector<Case> cases() {
  const auto question = [](ConsoleLife& life) { return ask(life, false); };
  const auto approval = [](ConsoleLife& life) { return ask(life, true); };
  return {
      {"GET /api/agents"},
      {"GET /api/agent/a"},
      {"GET /api/agent/a/conversation"},
      {"GET /api/agent/b/queue", "", send_to_paused_b},
      {"GET /api/questions", "", question},
      {"GET /tasks/$", "", make_task},
      {"GET /tasks"},
      {"GET /api/usage"},
      {"GET /api/receipts"},
      {"GET /api/events"},
      {"GET /api/events?text=b&subtree=a"},
      {"GET /tasks/$/events", "", make_task},
      {"POST /api/agents", R"({"id":"new"})"},
      {"POST /api/agents", R"({"id":"new","parentId":"b","systemPrompt":"a long prompt that needs memory"})"},
      {"POST /api/agents", R"({"id":"a"})"},
      {"DELETE /api/agent/b", R"({"reason":"so"})"},
      {"DELETE /api/agent/b?wait=settled"},
      {"DELETE /api/agent/a?wait=settled"},
      {"DELETE /api/agent/b?reason=so&wait=gate"},
      {"POST /api/agent/b/stop", R"({"reason":"so","cascade":false})"},
      {"POST /api/agent/b/stop?wait=settled", R"({"reason":"so","unknown":[{"a":[1]}]})"},
      {"POST /api/agent/b/stop?wait=settled", R"({"reason":"so"})"},
      {"POST /api/agent/b/stop?wait=settled", "{}", let_b_wait},
      {"POST /api/agent/b/resume", "{}", stop_b},
      {"POST /api/agent/b/pause", R"({"reason":"so"})"},
      {"POST /api/agent/b/unpause", "{}", pause_b},
      {"POST /api/agent/b/interrupt", R"({"queue":"hold"})"},
      {"POST /api/agent/b/interrupt", R"({"queue":"drop"})", let_b_wait},
      {"POST /api/agent/b/release", "{}", hold_b},
      {"POST /api/agent/b/abort", R"({"clearQueue":true})", let_b_wait},
      {"POST /api/agent/nobody/abort"},
      {"POST /api/agent/b/send", R"({"text":"a text that is too long to be stored without memory"})",
       pause_b},
      {"POST /api/agent/b/steer", R"({"text":"a text that is too long to be stored without memory"})",
       pause_b},
      {"DELETE /api/agent/b/queue/$", "", send_to_paused_b},
      {"POST /tasks", R"({"agentId":"b","prompt":"a prompt that is not short at all"})", pause_b},
      {"POST /tasks/$/terminate", "", make_task},
      {"POST /tasks/$/interact", R"({"response":"yes"})", make_task},
      {"POST /api/questions/$/answer", R"({"text":"yes"})", question},
      {"POST /api/questions/$/approve", R"({"scope":"agent"})", approval},
      {"POST /api/questions/$/decline", R"({"reason":"no"})", approval},
      {"POST /api/tree/pause", R"({"reason":"so"})"},
      {"POST /api/tree/stop", "{}"},
  };
}

}  // namespace

#ifndef RACES_WATCHED
TEST_CASE("connections are checked again after a check that had no memory", "[console][memory][G15]") {
  testing::ManualClock clock;
  ConsoleLife life({}, {}, {.clock = &clock});
  ConsoleClient slow(life.console->port());
  slow.send("GET /healthz HTTP/1.1\r\n");
  life.poll();
  for (int second = 0; second < 12; ++second) {
    clock.advance(std::chrono::seconds(1));
    const FailingAllocation failing(1, 1000);
    life.poll();
  }
  clock.advance(std::chrono::seconds(1));
  life.until([&] { return slow.ended(); }, {&slow});
}
#endif

TEST_CASE("no failed allocation of a request ends the process, or changes what its client is not told",
          "[console][G16]") {
#ifdef SANITIZED
  return;  // its allocator is used
#endif
  testing::ManualClock clock;
  ConsoleLife life({.max_writes_per_second = 1'000'000}, {}, {.clock = &clock});
  const std::vector<Case> all = cases();
  const std::size_t step = amount<std::size_t>(1, 7);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Case& one = all[i];
    CAPTURE(one.request, one.body);
    begin_again(life);
    if (one.prepare) one.prepare(life);
    life.poll();
    const std::string before = state_of(life);
    begin_again(life);
    const Outcome good = run(life, one, 0, nullptr);
    bool failed = true;
    for (std::size_t n = 1 + i % step; failed && n < 4000; n += step) {
      CAPTURE(n);
      begin_again(life);
      Viewer viewer(life);
      const Outcome outcome = run(life, one, n, &viewer);
      failed = outcome.failed;
      const int status = outcome.answer ? outcome.answer->status : 0;
      CAPTURE(status, before, good.state);
      if (status / 100 == 2)
        CHECK(outcome.state == good.state);
      else
        CHECK(outcome.state == before);
      CHECK(viewer.problem(clock) == "");
      CHECK(life.get("/api/agents").json()["agents"].size() == life.tree->size());
    }
    CHECK_FALSE(failed);
  }
}

// The answer is made once more if it finds no memory: so two allocations fail.
TEST_CASE("an agent whose client cannot be told of it is deleted again", "[console][G16]") {
#ifdef SANITIZED
  return;  // its allocator is used
#endif
  testing::ManualClock clock;
  ConsoleLife life({.max_writes_per_second = 1'000'000}, {}, {.clock = &clock});
  const Case one{"POST /api/agents", R"({"id":"new","parentId":"b"})"};
  begin_again(life);
  const std::string before = state_of(life);
  const Outcome good = run(life, one, 0, nullptr);
  bool is_deleted = false;
  const auto watch = life.tree->on<StateChanged>([&](const StateChanged& change) {
    is_deleted = is_deleted || (change.agent.id() == "new" && change.to == AgentState::terminating);
  });
  std::size_t deleted = 0;
  bool failed = true;
  for (std::size_t n = 1; failed && n < 4000; ++n) {
    CAPTURE(n);
    begin_again(life);
    is_deleted = false;
    const Outcome outcome = run(life, one, n, nullptr, 2);
    failed = outcome.failed;
    deleted += is_deleted ? 1 : 0;
    if (is_deleted) CHECK(outcome.state == before);
    if (outcome.answer && outcome.answer->status == 201) CHECK(outcome.state == good.state);
  }
  CHECK(deleted > 0);
  CHECK_FALSE(failed);
}

TEST_CASE("a viewer that an event cannot reach for lack of memory loads everything again", "[console][G16]") {
#ifdef SANITIZED
  return;  // its allocator is used
#endif
  testing::ManualClock clock;
  ConsoleLife life({.max_writes_per_second = 1'000'000}, {}, {.clock = &clock});
  bool failed = true;
  std::size_t n = 1;
  for (; failed && n < 1000; ++n) {
    CAPTURE(n);
    begin_again(life);
    Viewer viewer(life);
    const Agent b = life.tree->find("b").value();
    {
      const FailingAllocation failing(n);
      static_cast<void>(b.pause());
      for (int polls = 0; polls < 4; ++polls) life.runtime.poll();
      failed = failing.failed();
    }
    CHECK(viewer.problem(clock) == "");
  }
  CHECK(n > 10);
  CHECK_FALSE(failed);
}

TEST_CASE("no failed allocation of a login ends the process", "[console][G16]") {
#ifdef SANITIZED
  return;  // its allocator is used
#endif
  testing::ManualClock clock;
  ConsoleLife life({.token = "secret"}, {}, {.clock = &clock});
  const auto text = [&](const std::string& request, const std::string& body, const std::string& headers) {
    const std::size_t blank = request.find(' ');
    return life.text_of(request.substr(0, blank), request.substr(blank + 1), body, headers);
  };
  const auto exchange = [&](const std::string& bytes, std::size_t n, bool& failed) {
    ConsoleClient client(life.console->port());
    life.poll();
    client.send(bytes);
    if (n != 0) {
      const FailingAllocation failing(n);
      for (int polls = 0; polls < 4; ++polls) life.runtime.poll();
      failed = failing.failed();
    }
    std::optional<HttpAnswer> answer;
    life.until([&] { return (answer = client.take_answer()).has_value() || client.ended(); }, {&client});
    return answer.value_or(HttpAnswer{});
  };
  const std::string session_path = "GET /api/session";
  bool ignored = false;
  for (const std::string request : {"POST /login", "POST /logout", "GET /api/agents", "GET /api/events"}) {
    CAPTURE(request);
    const bool logs_in = request == "POST /login", logs_out = request == "POST /logout";
    bool failed = true;
    for (std::size_t n = 1; failed && n < 4000; ++n) {
      CAPTURE(n);
      clock.advance(std::chrono::seconds(1));  // there is a limit of logins
      std::string cookie;
      if (logs_out) {
        const HttpAnswer in = exchange(text("POST /login", R"({"token":"secret"})", ""), 0, ignored);
        cookie = in.header("Set-Cookie");
        cookie = "Cookie: " + cookie.substr(0, cookie.find(';')) + "\r\n";
      }
      const HttpAnswer answer =
          exchange(text(request, logs_in ? R"({"token":"secret"})" : "", cookie), n, failed);
      CHECK(answer.status != 429);
      if (logs_in && answer.status == 200) {
        cookie = answer.header("Set-Cookie");
        REQUIRE_FALSE(cookie.empty());
        cookie = "Cookie: " + cookie.substr(0, cookie.find(';')) + "\r\n";
        CHECK(exchange(text(session_path, "", cookie), 0, ignored).json()["login"] == "done");
      } else if (logs_out && answer.status == 200) {
        CHECK(exchange(text(session_path, "", cookie), 0, ignored).json()["login"] == "required");
      } else if (!logs_in && !logs_out && answer.status != 0) {
        CHECK((answer.status == 401 || answer.status == 500));
      }
    }
    CHECK_FALSE(failed);
  }
}
