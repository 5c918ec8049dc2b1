// The stream of events, and the conversation that streams, over real connections.
#include "support/console/console_life.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

using namespace agentcore;
using namespace agentcore::test;
using namespace std::chrono_literals;
using nlohmann::json;

namespace {

std::vector<std::string> types_of(const std::vector<json>& events, std::string_view agent) {
  std::vector<std::string> types;
  for (const json& event : events)
    if (event.value("agentId", "") == agent) types.push_back(event["type"]);
  return types;
}

bool has_type(const ConsoleClient& stream, std::string_view type) {
  const auto events = ConsoleLife::events_of(stream);
  return std::any_of(events.begin(), events.end(), [&](const json& event) { return event["type"] == type; });
}

std::string text_of(const std::vector<json>& events) {
  std::string text;
  for (const json& event : events)
    if (event["type"] == "text") text += event["text"];
  return text;
}

}  // namespace

TEST_CASE("a viewer receives what happens to each agent", "[console][B20][X6]") {
  ConsoleLife life;
  ConsoleClient stream = life.follow("/api/events");
  life.create("a");
  life.llm.enqueue({.deltas = {"Hi."}});
  REQUIRE(life.tree->find("a").value().send("hello"));
  life.runtime.run_until_idle();
  life.request("DELETE", "/api/agent/a?reason=done");
  life.until([&] { return has_type(stream, "deleted") && has_type(stream, "receipt"); }, {&stream});
  const auto events = ConsoleLife::events_of(stream);
  CHECK(types_of(events, "a") == std::vector<std::string>{"created", "turn_started", "state", "state",
                                                          "turn_ended", "state", "state", "settled",
                                                          "deleted"});
  CHECK(events.back()["at"].is_number());
  const auto deleted =
      std::find_if(events.begin(), events.end(), [](const json& e) { return e["type"] == "deleted"; });
  CHECK((*deleted)["reason"] == "done");
}

TEST_CASE("a viewer of a subtree receives no events of others", "[console]") {
  ConsoleLife life;
  life.create("root");
  const Agent child = life.create("child", "root");
  life.create("other");
  ConsoleClient stream = life.follow("/api/events?subtree=root");
  life.post("/api/agent/other/stop?wait=settled");
  life.post("/api/agent/child/stop?wait=settled");
  life.until([&] { return !types_of(ConsoleLife::events_of(stream), "child").empty(); }, {&stream});
  CHECK(types_of(ConsoleLife::events_of(stream), "other").empty());
  CHECK(life.get("/api/events?subtree=nobody").status == 404);
}

TEST_CASE("text is sent to the viewers that asked for it, merged and complete", "[console]") {
  ConsoleLife life;
  const Agent agent = life.create("a");
  std::vector<std::string> deltas;
  std::string whole;
  for (int i = 0; i < 500; ++i) whole += deltas.emplace_back("word" + std::to_string(i) + " ");
  ConsoleClient with_text = life.follow("/api/events?text=a"), without = life.follow("/api/events");
  life.llm.enqueue({.deltas = deltas, .reasoning = {"Let me ", "think."}});
  REQUIRE(agent.send("go"));
  life.until([&] { return has_type(with_text, "turn_ended") && has_type(without, "turn_ended"); },
             {&with_text, &without});
  const auto events = ConsoleLife::events_of(with_text);
  CHECK(text_of(events) == whole);
  CHECK(std::count_if(events.begin(), events.end(), [](const json& e) { return e["type"] == "text"; }) < 400);
  CHECK(has_type(with_text, "reasoning"));
  CHECK_FALSE(has_type(without, "text"));
  CHECK_FALSE(has_type(without, "reasoning"));
}

TEST_CASE("text is sent as long as its viewer is there, and a minute longer", "[console]") {
  testing::ManualClock clock;
  ConsoleLife life({}, {}, {.clock = &clock});
  const Agent agent = life.create("a");
  ConsoleClient stream = life.follow("/api/events?text=a");
  clock.advance(std::chrono::minutes(10));
  life.llm.enqueue({.deltas = {"still "}});
  REQUIRE(agent.send("go"));
  const auto ended = [&] { return has_type(stream, "turn_ended"); };
  const auto drive = [&] {
    clock.advance(30ms);
    return ended();
  };
  life.until(drive, {&stream});
  CHECK(text_of(ConsoleLife::events_of(stream)) == "still ");
  const std::string last = ConsoleLife::events_of(stream).back()["id"];
  stream.close();
  life.poll();
  life.llm.enqueue({.deltas = {"there"}});
  REQUIRE(agent.send("go"));
  life.until([&] {
    clock.advance(30ms);
    return agent.state().value() == AgentState::idle && life.llm.calls() == 2;
  });
  ConsoleClient again = life.follow("/api/events?text=a", "Last-Event-ID: " + last + "\r\n");
  life.until([&] { return has_type(again, "turn_ended"); }, {&again});
  CHECK(text_of(ConsoleLife::events_of(again)) == "there");
}

TEST_CASE("a viewer that was away for long gets an event where text is missing", "[console]") {
  testing::ManualClock clock;
  ConsoleLife life({}, {}, {.clock = &clock});
  const Agent agent = life.create("a");
  ConsoleClient stream = life.follow("/api/events?text=a");
  life.llm.enqueue({.deltas = {"one ", "two ", "three"}, .interval = std::chrono::minutes(2)});
  std::string text;
  const auto pieces = agent.on<DeltaReceived>([&](const DeltaReceived& delta) { text += delta.text; });
  REQUIRE(agent.send("go"));
  const auto drive_until = [&](const std::function<bool()>& condition, std::vector<ConsoleClient*> clients) {
    life.until(
        [&] {
          clock.advance(1s);
          return condition();
        },
        std::move(clients));
  };
  drive_until([&] { return has_type(stream, "text"); }, {&stream});
  CHECK(text == "one ");
  const std::string last = ConsoleLife::events_of(stream).back()["id"];
  stream.close();
  drive_until([&] { return text == "one two "; }, {});  // two minutes later
  ConsoleClient again = life.follow("/api/events?text=a", "Last-Event-ID: " + last + "\r\n");
  ConsoleClient other = life.follow("/api/events", "Last-Event-ID: " + last + "\r\n");
  drive_until([&] { return has_type(again, "turn_ended") && has_type(other, "turn_ended"); },
              {&again, &other});
  std::vector<std::string> types;
  for (const json& event : ConsoleLife::events_of(again)) types.push_back(event["type"]);
  CHECK(types == std::vector<std::string>{"text_gap", "text", "state", "turn_ended", "state"});
  CHECK_FALSE(has_type(other, "text_gap"));
}

TEST_CASE("a viewer that comes in mid-stream has the whole text", "[console]") {
  ConsoleLife life;
  const Agent agent = life.create("a");
  std::vector<std::string> deltas;
  std::string whole;
  for (int i = 0; i < 200; ++i) whole += deltas.emplace_back("w" + std::to_string(i) + " ");
  life.llm.enqueue({.deltas = deltas, .interval = 1ms});
  REQUIRE(agent.send("go"));
  std::size_t received = 0;
  auto pieces = agent.on<DeltaReceived>([&](const DeltaReceived& delta) { received += delta.text.size(); });
  life.until([&] { return received > 200; });
  const json conversation = life.get("/api/agent/a/conversation").json();
  std::string text = conversation["live"]["text"];
  CHECK(text.size() >= 200);
  const std::size_t seen = received;
  life.until(
      [&] { return received > seen + 100; });  // what comes before the viewer connects is not lost either
  ConsoleClient stream =
      life.follow("/api/events?text=a&lastEventId=" + conversation["lastEventId"].get<std::string>());
  life.until([&] { return has_type(stream, "turn_ended"); }, {&stream});
  CHECK(text + text_of(ConsoleLife::events_of(stream)) == whole);
}

TEST_CASE("a viewer that connects again misses nothing and gets nothing twice", "[console]") {
  ConsoleLife life;
  ConsoleClient all = life.follow("/api/events");
  ConsoleClient first = life.follow("/api/events");
  for (int i = 0; i < 20; ++i) life.create("a" + std::to_string(i));
  life.until([&] { return ConsoleLife::events_of(first).size() >= 20; }, {&first});
  const auto before = ConsoleLife::events_of(first);
  first.close();
  for (int i = 20; i < 40; ++i) life.create("a" + std::to_string(i));
  const std::string last = before.back()["id"];
  ConsoleClient second = life.follow("/api/events", "Last-Event-ID: " + last + "\r\n");
  life.until([&] { return ConsoleLife::events_of(second).size() >= 20; }, {&second});
  life.until([&] { return ConsoleLife::events_of(all).size() >= 40; }, {&all});
  auto joined = before;
  for (const json& event : ConsoleLife::events_of(second)) joined.push_back(event);
  CHECK(joined == ConsoleLife::events_of(all));
}

TEST_CASE("a position that is not known begins with a reset", "[console]") {
  ConsoleLife life;
  for (const std::string id : {"1.1-3", "nonsense", "1"}) {
    ConsoleClient stream = life.follow("/api/events", "Last-Event-ID: " + id + "\r\n");
    life.until([&] { return has_type(stream, "reset"); }, {&stream});
    CHECK(ConsoleLife::events_of(stream).front()["id"].is_string());
  }
}

TEST_CASE("a viewer that is gone stops no agent, and is forgotten", "[console]") {
  ConsoleLife life;
  const Agent agent = life.create("a");
  life.let_wait(agent);
  {
    ConsoleClient stream = life.follow("/api/events");
    ConsoleClient waiting(life.console->port());
    waiting.send(life.text_of("POST", "/tasks", R"({"prompt":"x","agentId":"a"})"));
    life.poll();
  }
  life.poll();
  CHECK(agent.state().value() == AgentState::waiting_llm);
}

TEST_CASE("a viewer that does not read is closed, and delays no other viewer", "[console][API15][G15]") {
  ConsoleLife life({.max_event_bytes = 64 << 10});
  ConsoleClient deaf = life.follow("/api/events");
  ConsoleClient good = life.follow("/api/events");
  const Agent agent = life.create("a");
  // More than the log and the system keep for a viewer.
  for (int part = 0; part < 60; ++part) {
    for (int i = 0; i < 50; ++i) {
      REQUIRE(agent.pause({.reason = std::string(400, 'x')}).took_effect());
      REQUIRE(agent.unpause().took_effect());
      life.runtime.poll();
    }
    const std::string last = life.get("/api/agents").json()["lastEventId"];
    life.until([&] { return good.received().find("id: " + last + "\n") != std::string::npos; }, {&good});
  }
  CHECK_FALSE(good.ended());
  CHECK_FALSE(has_type(good, "lagged"));
  life.until([&] { return deaf.ended(); }, {&deaf, &good});
  CHECK(has_type(deaf, "lagged"));
}

TEST_CASE("a stream has heartbeats when nothing happens", "[console]") {
  testing::ManualClock clock;
  ConsoleLife life({}, {}, {.clock = &clock});
  ConsoleClient stream = life.follow("/api/events");
  const auto begins = [&] { return stream.received().find("retry: 1000\n\n") != std::string::npos; };
  life.until(begins, {&stream});
  clock.advance(20s);
  life.until([&] { return stream.received().find("\nid: ") != std::string::npos; }, {&stream});
  CHECK(ConsoleLife::events_of(stream).empty());
}

TEST_CASE("one poll serves a limited number of viewers, and the next ones the others", "[console][API15]") {
  testing::ManualClock clock;  // stands still: no poll ends because of its time
  ConsoleLife life({}, {}, {.clock = &clock});
  std::vector<ConsoleClient> streams;
  for (int i = 0; i < 100; ++i) streams.push_back(life.follow("/api/events"));
  life.poll();
  clock.advance(30ms);
  life.create("a");
  const auto served = [&] {
    std::size_t count = 0;
    for (ConsoleClient& stream : streams) {
      stream.receive();
      count += has_type(stream, "created");
    }
    return count;
  };
  // The system may need a moment to deliver what was sent.
  const auto wait_for = [&](std::size_t count) {
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (served() < count && std::chrono::steady_clock::now() < give_up) std::this_thread::yield();
    return served();
  };
  CHECK(life.runtime.poll());  // more is ready
  CHECK(wait_for(64) == 64);
  while (life.runtime.poll()) {
  }
  CHECK(wait_for(100) == 100);
}

TEST_CASE("heartbeats are sent within the budget of a poll", "[console][API15]") {
  testing::ManualClock clock;
  ConsoleLife life({}, {}, {.clock = &clock});
  std::vector<ConsoleClient> streams;
  for (int i = 0; i < 20; ++i) streams.push_back(life.follow("/api/events"));
  life.poll();
  const auto beats = [&] {
    std::size_t count = 0;
    for (ConsoleClient& stream : streams) {
      stream.receive();
      count += stream.received().find("\nid: ") != std::string::npos;
    }
    return count;
  };
  REQUIRE(beats() == 0);
  clock.advance(20s);
  for (std::size_t polls = 1; polls <= streams.size(); ++polls) {
    life.runtime.poll(Duration::zero());  // one step of each kind of work
    CHECK(beats() <= polls);
  }
  life.until([&] { return beats() == streams.size(); });
}

TEST_CASE("a viewer that wants few events continues where it was", "[console]") {
  testing::ManualClock clock;
  ConsoleLife life({.max_event_bytes = 64 << 10}, {}, {.clock = &clock});
  life.create("quiet");
  const Agent busy = life.create("busy");
  ConsoleClient stream = life.follow("/api/events?subtree=quiet");
  const auto position = [&] {
    const std::size_t at = stream.received().rfind("id: ");
    return at == std::string::npos
               ? std::string()
               : stream.received().substr(at + 4, stream.received().find('\n', at) - at - 4);
  };
  for (int i = 0; i < 500; ++i) {
    REQUIRE(busy.pause().took_effect());
    REQUIRE(busy.unpause().took_effect());
    clock.advance(30ms);
    life.poll();
  }
  clock.advance(20s);
  life.until([&] { return !position().empty(); }, {&stream});
  ConsoleClient again = life.follow("/api/events?subtree=quiet", "Last-Event-ID: " + position() + "\r\n");
  const Result<Agent> quiet = life.tree->find("quiet");
  REQUIRE(quiet.value().pause().took_effect());
  life.until([&] { return !ConsoleLife::events_of(again).empty(); }, {&again});
  CHECK(ConsoleLife::events_of(again).front()["type"] == "paused");
}

TEST_CASE("the number of viewers is limited", "[console][G15]") {
  ConsoleLife life({.max_viewers = 2});
  ConsoleClient one = life.follow("/api/events"), two = life.follow("/api/events");
  CHECK(life.get("/api/events").status == 503);
  one.close();
  life.poll();
  ConsoleClient three = life.follow("/api/events");
  CHECK(three.received().find("200 OK") != std::string::npos);
}

TEST_CASE("a viewer sees how many messages wait in a mailbox", "[console]") {
  ConsoleLife life;
  const Agent agent = life.create("a");
  ConsoleClient stream = life.follow("/api/events");
  life.post("/api/agent/a/send", R"({"text":"at rest, it begins at once"})");
  life.let_wait(agent);
  const auto lengths = [&] {
    std::vector<int> all;
    for (const json& event : ConsoleLife::events_of(stream))
      if (event["type"] == "queue") all.push_back(event["length"]);
    return all;
  };
  const auto until_last = [&](int length) {
    life.until([&] { return !lengths().empty() && lengths().back() == length; }, {&stream});
  };
  const std::string id = life.post("/api/agent/a/send", R"({"text":"one"})").json()["messageId"];
  until_last(1);
  life.post("/tasks", R"({"agentId":"a","prompt":"two"})");
  until_last(2);
  life.request("DELETE", "/api/agent/a/queue/" + id);
  until_last(1);
  life.llm.enqueue({.deltas = {"two is done"}});
  life.post("/api/agent/a/abort");
  until_last(0);
  CHECK(lengths() == std::vector<int>{1, 2, 1, 0});
}

TEST_CASE("what the list of agents has shown of a mailbox is corrected by an event", "[console]") {
  ConsoleLife life;
  const Agent agent = life.create("a");
  REQUIRE(agent.pause().accepted());
  life.runtime.run_until_idle();
  ConsoleClient stream = life.follow("/api/events");
  REQUIRE(agent.send("it waits"));
  CHECK(life.get("/api/agents").json()["agents"][0]["queueLength"] == 1);
  REQUIRE(agent.drop_queue());
  const auto is_empty = [](const json& event) { return event["type"] == "queue" && event["length"] == 0; };
  life.until(
      [&] {
        const auto events = ConsoleLife::events_of(stream);
        return std::any_of(events.begin(), events.end(), is_empty);
      },
      {&stream});
}

TEST_CASE("a viewer learns that agents are held or to be stopped with their ancestor", "[console]") {
  ConsoleLife life;
  const Agent root = life.create("root");
  const Agent child = life.create("child", "root");
  life.create("other");
  ConsoleClient stream = life.follow("/api/events");
  const auto of_child = [&](const char* type) {
    std::vector<json> found;
    for (const json& event : ConsoleLife::events_of(stream))
      if (event["type"] == type && event["agentId"] == "child") found.push_back(event);
    return found;
  };
  REQUIRE(root.interrupt({.scope = Scope::subtree, .queue = QueueAction::hold}).accepted());
  life.until([&] { return of_child("queue_held").size() == 1; }, {&stream});
  CHECK(of_child("queue_held")[0]["held"] == true);
  REQUIRE(root.release_queue().accepted());
  life.until([&] { return of_child("queue_held").size() == 2; }, {&stream});
  CHECK(of_child("queue_held")[1]["held"] == false);
  life.llm.enqueue({.silent = true});
  REQUIRE(root.send("work"));
  life.until([&] { return life.llm.open_calls() == 1; });
  REQUIRE(root.stop({.when = StopWhen::after_turn}).accepted());
  life.until([&] { return of_child("stop_pending").size() == 1; }, {&stream});
  CHECK(of_child("stop_pending")[0]["when"] == "after_turn");
  REQUIRE(root.resume().accepted());
  REQUIRE(child.send("work"));  // its state changes before the viewer learns of the resume
  life.until([&] { return of_child("stop_pending").size() == 2; }, {&stream});
  CHECK(of_child("stop_pending")[1]["withdrawn"] == true);
  CHECK(types_of(ConsoleLife::events_of(stream), "other").empty());
}

TEST_CASE("a viewer learns that a stop at once has replaced a pending one", "[console]") {
  ConsoleLife life;
  const Agent agent = life.create("a");
  ConsoleClient stream = life.follow("/api/events");
  life.llm.enqueue({.silent = true});
  REQUIRE(agent.send("work"));
  life.until([&] { return life.llm.open_calls() == 1; });
  REQUIRE(agent.stop({.when = StopWhen::after_turn}).accepted());
  life.until([&] { return agent.status().value().stop_pending.has_value(); }, {&stream});
  REQUIRE(agent.stop().accepted());
  std::vector<json> found;
  life.until(
      [&] {
        found.clear();
        for (const json& event : ConsoleLife::events_of(stream))
          if (event["type"] == "stop_pending") found.push_back(event);
        return found.size() == 2;
      },
      {&stream});
  CHECK(found[0]["withdrawn"] == false);
  CHECK(found[1]["withdrawn"] == true);
}
