// What a step causes is delivered at its end, in the order of causes. Then agents settle, then turns go on.
#include "events/porch.hpp"

#include "events/event_hub.hpp"
#include "support/catch.hpp"
#include "support/observe/counted_heap.hpp"
#include "support/observe/recorder.hpp"

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

using namespace agentcore;
using namespace agentcore::detail::events;
using detail::core::Node;

namespace {

struct Porches final : PorchListener {
  Porches() { hub.porch.listener = this; }

  void go_on(detail::core::NodeId, std::uint64_t turn) noexcept override {
    note("phase " + std::to_string(turn));
    if (on_phase) on_phase();
  }
  void on_activity_ended(detail::core::NodeId agent) noexcept override {
    note(agent == 0 ? "ended all" : "ended");
    if (on_end) on_end();
  }
  void on_delivered_delta(detail::core::NodeId, std::uint32_t, std::string_view text) noexcept override {
    kept += text;
  }
  void on_refused_delta(detail::core::OperationId call) noexcept override {
    note("refused " + std::to_string(call.serial));
  }

  void note(std::string what) { seen.push_back(std::move(what)); }
  std::string text() const { return test::joined(seen); }
  void see(const Event& event) {
    CHECK(event.sequence > last);
    last = event.sequence;
    if (const auto* start = event.get<TurnStarted>()) {
      note("started " + std::to_string(start->turn));
      if (on_started) on_started();
    }
    if (const auto* delta = event.get<DeltaReceived>()) note("delta " + std::string(delta->text));
    if (const auto* state = event.get<StateChanged>())
      note(std::string(to_string(state->from)) + "->" + std::string(to_string(state->to)));
  }
  void started(std::uint64_t turn) {
    hub.emit(node, [&](Agent agent) { return TurnStarted{std::move(agent), turn, {}}; });
  }
  void delta(std::uint32_t epoch, std::string_view words, bool ends_step = true) {
    hub.emit_delta(node, epoch, {1, 7}, ends_step, [&](Agent agent) {
      return DeltaReceived{std::move(agent), 1, 1, words};
    });
  }

  std::vector<std::string> seen;
  std::string kept;  // of the deltas that have waited
  std::function<void()> on_phase, on_end, on_started;
  detail::core::AgentTable table;
  Node& node = table.insert(table.root_sentinel());
  detail::loop::Engine engine{{.log = [this](const LogRecord& record) {
    note(std::string(record.message) +
         (record.fields.empty() ? "" : " " + std::string(record.fields[0].value)));
  }}};
  EventHub hub{nullptr, table, engine};
  Porch& porch = hub.porch;
  std::uint64_t last = 0;
  Subscription all = hub.subscribe(detail::all_event_kinds, [this](const Event& event) { see(event); });
};

}  // namespace

TEST_CASE("a step delivers at its end, in order, then agents settle, then turns go on", "[events][porch]") {
  Porches t;
  {
    const Porch::Step step(t.porch);
    t.porch.append_phase(t.node.id(), 5);
    t.porch.note_ended(t.node.id());
    t.porch.note_ended(t.node.id());
    t.started(1);
    const std::string value = "value";
    t.porch.log(LogLevel::info, "record", {{"key", value}});
    t.porch.call("a callback", [&] { t.note("call"); });
    t.started(2);
    {
      const Porch::Step inner(t.porch);
      t.started(3);
    }
    CHECK(t.seen.empty());
    CHECK(t.porch.has_entries());
  }
  CHECK(t.text() == "started 1 record value call started 2 started 3 ended phase 5");
  CHECK_FALSE(t.porch.has_entries());
}

TEST_CASE("what a phase or an end causes is delivered before the next one", "[events][porch]") {
  Porches t;
  t.on_phase = [&] {
    const Porch::Step step(t.porch);
    t.started(t.seen.size());
  };
  t.on_end = [&] { t.started(10); };
  {
    const Porch::Step step(t.porch);
    t.porch.append_phase(t.node.id(), 1);
    t.porch.append_phase(t.node.id(), 2);
    t.porch.note_ended(t.node.id());
  }
  CHECK(t.text() == "ended started 10 phase 1 started 3 phase 2 started 5");
}

TEST_CASE("a step within a beginning delivers, and no turn goes on before it returns", "[events][porch]") {
  Porches t;
  {
    const Porch::Step step(t.porch);
    {
      const Porch::Beginning beginning(t.porch);
      const Porch::Step inner(t.porch);
      t.started(1);
      t.porch.append_phase(t.node.id(), 1);
      CHECK_FALSE(t.porch.may_go_on());
    }
    CHECK(t.text() == "started 1");
  }
  CHECK(t.text() == "started 1 phase 1");
}

TEST_CASE("a step within a callback delivers nothing, and the delivery on the stack goes on",
          "[events][porch]") {
  Porches t;
  t.on_started = [&] {
    if (t.seen.size() > 1) return;
    {
      const Porch::Step step(t.porch);
      t.started(2);
      t.porch.append_phase(t.node.id(), 1);
    }
    CHECK(t.text() == "started 1");
  };
  {
    const Porch::Step step(t.porch);
    t.started(1);
  }
  CHECK(t.text() == "started 1 started 2 phase 1");
}

TEST_CASE("outside of a step an event is delivered at once, and turns go on at the next step",
          "[events][porch]") {
  Porches t;
  t.on_started = [&] {
    if (t.seen.size() == 1) t.porch.append_phase(t.node.id(), 1);
  };
  t.started(1);
  CHECK(t.text() == "started 1");
  t.porch.drain();
  CHECK(t.text() == "started 1 phase 1");
}

TEST_CASE("a step that delivers alone leaves turns for later", "[events][porch]") {
  Porches t;
  {
    const Porch::Step step(t.porch, false);
    t.started(1);
    t.porch.append_phase(t.node.id(), 1);
  }
  CHECK(t.text() == "started 1");
  t.porch.drain();
  CHECK(t.text() == "started 1 phase 1");
}

TEST_CASE("what an exception leaves is delivered by the next step", "[events][porch]") {
  Porches t;
  const auto fail = [&] {
    const Porch::Step step(t.porch);
    t.started(1);
    throw std::runtime_error("x");
  };
  CHECK_THROWS_AS(fail(), std::runtime_error);
  CHECK(t.seen.empty());
  { const Porch::Step step(t.porch); }
  CHECK(t.text() == "started 1");
}

TEST_CASE("a delta that waits asks its turn when it is taken out", "[events][porch][G1]") {
  Porches t;
  const std::uint32_t epoch = t.node.load().epoch();
  std::string words = "a text that is too long for a string without a heap";
  {
    const Porch::Step step(t.porch);
    t.started(1);
    t.delta(epoch, words);
    t.delta(epoch + 1, "of another turn");
    words.assign(words.size(), '-');
  }
  CHECK(t.text() == "started 1 delta a text that is too long for a string without a heap refused 7");
}

TEST_CASE("a delta is delivered at once where it is next and ends its step", "[events][porch]") {
  Porches t;
  const std::uint32_t epoch = t.node.load().epoch();
  {
    const Porch::Step step(t.porch);
    t.delta(epoch, "first");
    CHECK(t.text() == "delta first");
    t.delta(epoch, "second", false);
    CHECK(t.text() == "delta first");
    t.delta(epoch, "third");
    CHECK(t.text() == "delta first");
  }
  CHECK(t.text() == "delta first delta second delta third");
  CHECK(t.kept == "secondthird");
}

TEST_CASE("a state that is refused is not reported, and the next one follows from the last reported one",
          "[events][porch][X2]") {
  Porches t;
  const std::uint32_t epoch = t.node.load().epoch();
  {
    const Porch::Step step(t.porch);
    t.hub.emit_working_state(t.node, AgentState::waiting_llm, epoch + 1);
    t.hub.emit_working_state(t.node, AgentState::processing, epoch);
    t.hub.emit_idle(t.node);
    CHECK(t.node.reported == AgentState::idle);
  }
  CHECK(t.text() == "idle->processing processing->idle");
}

TEST_CASE("the end of the tree empties the outbox", "[events][porch]") {
  Porches t;
  t.on_started = [&] { t.hub.close(); };
  {
    const Porch::Step step(t.porch);
    t.started(1);
    t.started(2);
    t.porch.append_phase(t.node.id(), 1);
    t.porch.note_ended(t.node.id());
  }
  CHECK(t.text() == "started 1");
  CHECK_FALSE(t.porch.has_entries());
}

TEST_CASE("an end that cannot be noted without memory counts for all agents", "[events][porch]") {
  Porches t;
  {
    const Porch::Step step(t.porch);
    for (detail::core::NodeId other = 101; other <= 116; ++other) t.porch.note_ended(other);  // it has room
    const test::FailingAllocation failing(1, 1);
    t.porch.note_ended(t.node.id());
  }
  CHECK(t.seen.front() == "ended all");
  CHECK(t.seen.size() == 17);
}

TEST_CASE("an event that cannot be kept is lost, and the log says so", "[events][porch]") {
  Porches t;
  const std::string words = "a text that is too long for a string without a heap";
  {
    const Porch::Step step(t.porch);
    {
      const test::FailingAllocation failing(1, 1);
      t.delta(t.node.load().epoch(), words, false);
    }
    CHECK(t.porch.has_deliveries());
    CHECK_FALSE(t.porch.may_go_on());  // else its turn would go on, and wait for a delivery
    CHECK_FALSE(t.porch.delivers_next());
  }
  CHECK(t.text() == "an event was lost, because there was no memory for it observer");
}
