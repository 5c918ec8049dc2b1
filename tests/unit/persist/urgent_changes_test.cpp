// What a full store takes of a batch: after each part of it the store can be restored, and nothing is opened.
#include "persist/urgent_changes.hpp"

#include "persist/agent_record.hpp"
#include "persist/grant_record.hpp"
#include "persist/history_record.hpp"
#include "persist/host_store.hpp"
#include "persist/record_kinds.hpp"
#include "persist/stored_forest.hpp"
#include "persist/tree_record.hpp"
#include "support/catch.hpp"
#include "support/store/store_faults.hpp"
#include "support/store/store_reading.hpp"

#include <agentcore/memory_store.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

using namespace agentcore;
using namespace agentcore::detail;
using namespace agentcore::detail::persist;
using agentcore::test::faults_of;
using agentcore::test::records_of;

namespace {

constexpr std::uint64_t agents = 160;  // more than one batch has room for

// A store with an agent that has a conversation of three turns and two grants, one below it, and all others
// below that one.
struct Stored {
  Stored() {
    StoreBatch batch;
    TreeRecord tree;
    tree.next_key = tree.next_segment = agents + 1;
    tree.next_spec = 2;
    tree.generation = tree.sequence = tree.grants = 9;
    tree.swept = true;
    batch.put(key_of(Kind::tree), to_json(tree));
    batch.put(key_of(Kind::spec, 1), "{}");
    for (std::uint64_t key = 1; key <= agents; ++key)
      batch.put(key_of(Kind::agent, key), to_json(agent(key)));
    for (std::uint64_t i = 0; i < 6; ++i) batch.put(key_of(Kind::history, 1, i), message(i, "stored"));
    for (std::uint64_t i = 0; i < 2; ++i) batch.put(key_of(Kind::grant, 1, i), grant(i + 1));
    REQUIRE(store.commit(batch, StoreSync::process));
    REQUIRE(faults_of(store).empty());
  }
  static AgentRecord agent(std::uint64_t key) {
    AgentRecord record;
    record.node = (std::uint64_t{1} << 32U) + key;
    record.spec = 1;
    record.parent = std::min<std::uint64_t>(key - 1, 2);
    if (key == 1) {
      record.turns = 3;
      record.history = {{1, 0, 6}};
      record.has_grants = true;
    }
    return record;
  }
  // The questions are at even places.
  static std::string message(std::uint64_t at, const std::string& text) {
    const turn::TurnPlace place{.turn = at / 2 + 1};
    return at % 2 == 0 ? to_json(ChatMessage::user(text), &place)
                       : to_json(ChatMessage::assistant(text), nullptr);
  }
  static std::string grant(std::uint64_t id) {
    turn::StoredGrant grant;
    grant.id = id;
    grant.covers.tool = "t";
    return to_json(grant);
  }
  std::vector<StoreBatch> urgent(const StoreBatch& changes) {
    return urgent_changes(changes, ranges_of(store)).value().batches;
  }
  // Commits them one after the other; after each one the store is whole.
  void take(const StoreBatch& changes) {
    for (const StoreBatch& batch : urgent(changes)) {
      CHECK(batch.uses_reserve());
      CHECK(batch.changes().size() <= 104);  // some records are written together
      REQUIRE(store.commit(batch, StoreSync::process));
      static_cast<void>(read());
    }
  }
  StoredForest read() {
    StoredForest forest;
    REQUIRE(forest.read(ranges_of(store)));
    return forest;
  }

  MemoryStore store;
};

std::vector<std::uint64_t> grants_of(const StoredForest& forest) {
  std::vector<std::uint64_t> ids;
  for (const auto& grant : forest.agents().at(0)->grants) ids.push_back(grant.id);
  return ids;
}

}  // namespace

TEST_CASE("a full store takes what closes the tree, and keeps closed what it has as closed",
          "[persist][failure][full][stop]") {
  Stored here;
  const bool stops = GENERATE(false, true), pauses = GENERATE(false, true);
  const auto commit = [&](bool stopped, bool paused) {
    TreeRecord tree = here.read().tree();
    tree.stopped = stopped;
    tree.paused = paused;
    StoreBatch changes;
    changes.put(key_of(Kind::tree), to_json(tree));
    here.take(changes);
  };
  commit(stops, pauses);
  CHECK(here.read().tree().stopped == stops);
  CHECK(here.read().tree().paused == pauses);
  commit(false, false);
  CHECK(here.read().tree().stopped == stops);
  CHECK(here.read().tree().paused == pauses);
}

TEST_CASE("a full store takes each thing that closes an agent, alone", "[persist][failure][full][stop]") {
  using Set = void (*)(AgentRecord&);
  using Is = bool (*)(const AgentRecord&);
  const auto [set, is] = GENERATE(table<Set, Is>({
      {[](AgentRecord& agent) { agent.gate = core::Gate::stop_self; },
       [](const AgentRecord& agent) { return agent.gate == core::Gate::stop_self; }},
      {[](AgentRecord& agent) { agent.gate = core::Gate::stop_tree; },
       [](const AgentRecord& agent) { return agent.gate == core::Gate::stop_tree; }},
      {[](AgentRecord& agent) { agent.grade = core::Grade::after_turn; },
       [](const AgentRecord& agent) { return agent.grade == core::Grade::after_turn; }},
      {[](AgentRecord& agent) { agent.grade = agent.grade_below = core::Grade::after_step; },
       [](const AgentRecord& agent) { return agent.grade_below == core::Grade::after_step; }},
      {[](AgentRecord& agent) { agent.paused = true; },
       [](const AgentRecord& agent) { return agent.paused; }},
      {[](AgentRecord& agent) { agent.held = true; },
       [](const AgentRecord& agent) { return agent.held && !agent.holds_below; }},
      {[](AgentRecord& agent) { agent.held = agent.held_by_restart = true; },
       [](const AgentRecord& agent) { return agent.held && agent.held_by_restart; }},
      {[](AgentRecord& agent) { agent.held = agent.holds_below = true; },
       [](const AgentRecord& agent) { return agent.held && agent.holds_below; }},
      {[](AgentRecord& agent) { agent.stays_stopped = true; },
       [](const AgentRecord& agent) { return agent.stays_stopped; }},
  }));
  Stored here;
  AgentRecord present = Stored::agent(2);
  set(present);
  StoreBatch changes;
  changes.put(key_of(Kind::agent, 2), to_json(present));
  here.take(changes);
  CHECK(is(here.read().agents().at(1)->record));
  // Nothing is opened in this way.
  changes.clear();
  changes.put(key_of(Kind::agent, 2), to_json(Stored::agent(2)));
  here.take(changes);
  CHECK(is(here.read().agents().at(1)->record));
}

TEST_CASE("a full store takes the permissions of an agent unless they are more",
          "[persist][failure][full][grants]") {
  using Ids = std::vector<std::uint64_t>;
  const Ids ids =
      GENERATE(as<Ids>(), Ids(), Ids{1}, Ids{2}, Ids{2, 3}, Ids{4, 5}, Ids{1, 2, 3}, Ids{4, 5, 6});
  const bool taken = ids.size() <= 2;
  Stored here;
  StoreBatch changes;
  changes.erase(key_of(Kind::grant, 1), last_of(Kind::grant, 1));
  for (std::size_t i = 0; i < ids.size(); ++i) changes.put(key_of(Kind::grant, 1, i), Stored::grant(ids[i]));
  changes.put(key_of(Kind::agent, 1), to_json(Stored::agent(1)));
  here.take(changes);
  CHECK(grants_of(here.read()) == (taken ? ids : Ids{1, 2}));
}

TEST_CASE("a full store takes a rewind, and nothing of what came after it",
          "[persist][failure][full][rewind]") {
  // So many messages of the three turns stay; so many were written since in their places.
  const auto kept = GENERATE(as<std::uint64_t>(), 0, 2, 4);
  const auto written = GENERATE(as<std::uint64_t>(), 0, 1, 2, 3);
  CAPTURE(kept, written);
  Stored here;
  AgentRecord present = Stored::agent(1);
  present.history = kept + written == 0 ? std::vector<Piece>() : std::vector<Piece>{{1, 0, kept + written}};
  StoreBatch changes;
  for (std::uint64_t i = kept; i < 6; ++i) changes.erase(key_of(Kind::history, 1, i));
  for (std::uint64_t i = kept; i < kept + written; ++i)
    changes.put(key_of(Kind::history, 1, i), Stored::message(i, "new"));
  changes.put(key_of(Kind::agent, 1), to_json(present));
  StoreBatch all;
  // As merged() makes it: ranges that do not overlap, then records.
  all.erase(key_of(Kind::history, 1, kept), key_of(Kind::history, 1, 5));
  for (const StoreBatch::Change& change : changes.changes())
    if (change.body) all.put(change.first, *change.body);
  here.take(all);
  const StoredForest forest = here.read();
  std::uint64_t left = 0;
  for (const Piece& piece : forest.agents().at(0)->record.history) left += piece.count;
  const bool everything_written_over = kept + written >= 6;  // then nothing is gone: it waits for room
  if (!everything_written_over) CHECK(left == kept);
  for (const auto& [key, body] : records_of(here.store, key_of(Kind::history), last_of(Kind::history)))
    CHECK(body.find("new") == std::string::npos);
  CHECK(faults_of(here.store).empty());
}

TEST_CASE("a delete of many agents is finished by a restart after each part of it",
          "[persist][failure][full][delete]") {
  Stored here;
  const std::uint64_t root = GENERATE(as<std::uint64_t>(), 1, 2);  // all, or all but the first
  StoreBatch changes;
  for (std::uint64_t key = root; key <= agents; ++key) {
    changes.erase(key_of(Kind::agent, key));
    if (key == 1) changes.erase(key_of(Kind::grant, key), last_of(Kind::grant, key));
  }
  if (root == 1) changes.erase(key_of(Kind::history, 1, 0), key_of(Kind::history, 1, 5));
  const std::vector<StoreBatch> batches = here.urgent(changes);
  CHECK(batches.size() > 1);
  for (const StoreBatch& batch : batches) {
    REQUIRE(here.store.commit(batch, StoreSync::process));
    const StoredForest forest = here.read();
    for (const auto& agent : forest.agents()) CHECK(agent->found.is_deleted == (agent->key >= root));
  }
  CHECK(here.read().agents().size() == root - 1);
  CHECK((records_of(here.store, key_of(Kind::history), last_of(Kind::history)).empty()) == (root == 1));
}
