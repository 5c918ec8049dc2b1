// The records of stops and deletes that a restart finishes, for TreeOptions::audit.
#include "support/catch.hpp"
#include "support/drive/unhurried.hpp"
#include "support/store/life.hpp"
#include "support/store/receipts.hpp"
#include "support/store/store_folder.hpp"

#include <agentcore/agentcore.hpp>
#include <agentcore/memory_store.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

using namespace agentcore;
using agentcore::test::Life;
using agentcore::test::open_receipts;
using agentcore::test::StoreFolder;
using nlohmann::json;
using Strings = std::vector<std::string>;

namespace {

struct Records final : StopAudit {
  void record(const StopRecord& stop) override {
    all.push_back(stop);
    if (then) then();
  }
  std::vector<StopRecord> all;
  std::function<void()> then;
};

// A process that is killed after its last flush.
class Killed final : public Store {
 public:
  Result<void> commit(const StoreBatch& batch, StoreSync sync) override {
    return is_dead ? Result<void>(Error{Errc::store_failed, "killed"}) : records.commit(batch, sync);
  }
  Result<void> read(const RecordKey& first, const RecordKey& last, const Visit& visit) override {
    return records.read(first, last, visit);
  }
  MemoryStore records;
  bool is_dead = false;
};

// "top" with "left", which has "leaf", and "right". A call of "leaf" keeps what is above it from settling.
struct Family {
  explicit Family(Store& store) {
    tools->add({.spec = {.name = "slow"}, .start = [this](const auto&, const ToolContext&, ToolDone done) {
                  open.push_back(std::move(done));
                }});
    options.code.add_tools("tools", tools);
    options.durability = Durability::each_message;
    life.emplace(store, options);
    testing::ScriptedReply call;
    call.tool_calls = {{.id = "c1", .name = "slow", .arguments = "{}"}};
    life->llm.enqueue(call);
    top = life->create("top");
    const Agent left = top.create_child({.id = "left"}).value();
    top.create_child({.id = "right"}).value();
    leaf = left.create_child({.id = "leaf", .code = {.tools = "tools"}}).value();
    REQUIRE(leaf.send("go"));
    for (int i = 0; i < 12; ++i) life->runtime.poll();
    REQUIRE(leaf.send("waits").accepted());
    for (int i = 0; i < 4; ++i) life->runtime.poll();
    REQUIRE(open.size() == 1);
  }

  std::shared_ptr<ToolRegistry> tools = std::make_shared<ToolRegistry>();
  std::vector<ToolDone> open;
  RestoreOptions options;
  std::optional<Life> life;
  Agent top, leaf;
};

}  // namespace

TEST_CASE("a delete that a restart finishes has a record", "[persist][audit][restart_records][G14]") {
  Killed store;
  Family family(store);
  REQUIRE(family.top.terminate().took_effect());
  while (family.life->runtime.poll()) {
  }
  store.is_dead = true;
  Records records;
  Life next(store.records, family.options, {.audit = &records});
  REQUIRE(next.report);
  CHECK(next.tree->size() == 0);
  REQUIRE(records.all.size() == 1);
  const StopRecord& record = records.all[0];
  CHECK(record.restart);
  CHECK(record.verb == StopVerb::terminate);
  CHECK(record.agent_id == "top");
  CHECK(record.cause == StopCause::terminate);
  CHECK(record.descendants == Strings{"leaf", "left"});  // "right" was gone before the kill
  // The store has it now: there is no second one.
  next.runtime.poll();
  next.tree.reset();
  records.all.clear();
  const Life third(store.records, family.options, {.audit = &records});
  CHECK(records.all.empty());
}

TEST_CASE("a stop that a restart finishes has a record", "[persist][audit][restart_records][G14]") {
  Killed store;
  Family family(store);
  const bool deferred = GENERATE(false, true);
  const bool of_all = GENERATE(false, true);
  CAPTURE(deferred, of_all);
  const StopOptions options{.when = deferred ? StopWhen::after_turn : StopWhen::now};
  if (of_all)
    REQUIRE(family.life->tree->stop_all(options).took_effect());
  else
    REQUIRE(family.top.stop(options).took_effect());
  while (family.life->runtime.poll()) {
  }
  store.is_dead = true;
  Records records;
  Life next(store.records, family.options, {.audit = &records});
  REQUIRE(next.report);
  CHECK(next.find("leaf").state().value() == AgentState::stopped);
  REQUIRE(records.all.size() == 1);
  const StopRecord& record = records.all[0];
  CHECK(record.restart);
  CHECK(record.verb == StopVerb::stop);
  CHECK(record.agent_id == (of_all ? "" : "top"));
  CHECK(record.descendants ==
        (of_all ? Strings{"leaf", "right", "left", "top"} : Strings{"leaf", "right", "left"}));
  CHECK(record.messages_dropped == 1);
  // A stop at once has ended the turn before the kill.
  REQUIRE(record.operations.size() == (deferred ? 1 : 0));
  for (const CutOperation& operation : record.operations) {
    CHECK(operation.agent_id == "leaf");
    CHECK(operation.call_id == "c1");
    CHECK(operation.outcome == ToolOutcome::interrupted);
  }
  next.runtime.poll();
  next.tree.reset();
  records.all.clear();
  const Life third(store.records, family.options, {.audit = &records});
  CHECK(records.all.empty());
}

TEST_CASE("a stop that has settled has one record, and none after a restart",
          "[persist][audit][restart_records]") {
  MemoryStore store;
  Records records;
  {
    Life life(store, {}, {.audit = &records});
    const Agent top = life.create("top");
    top.create_child({.id = "leaf"}).value();
    REQUIRE(top.stop().took_effect());
    life.runtime.run_until_idle();
    CHECK(records.all.size() == 1);
    CHECK_FALSE(records.all[0].restart);
  }
  records.all.clear();
  const Life life(store, {}, {.audit = &records});
  CHECK(records.all.empty());
}

TEST_CASE("an agent that a restart stops for its missing code has a record",
          "[persist][audit][restart_records]") {
  MemoryStore store;
  {
    Life life(store);
    life.create("a", {.handler = [](const Agent&, const Message&) {}, .code = {.handler = "printer"}});
    life.create("b");
  }
  Records records;
  const Life life(store, {}, {.audit = &records});
  REQUIRE(records.all.size() == 1);
  CHECK(records.all[0].agent_id == "a");
  CHECK(records.all[0].verb == StopVerb::stop);
  CHECK(records.all[0].reason.find("printer") != std::string::npos);
}

TEST_CASE("an audit of a restart may destroy the tree", "[persist][audit][restart_records][G16]") {
  Killed store;
  Family family(store);
  REQUIRE(family.leaf.terminate().took_effect());
  REQUIRE(family.top.stop().took_effect());
  while (family.life->runtime.poll()) {
  }
  store.is_dead = true;
  Records records;
  Runtime runtime{test::unhurried()};
  std::optional<AgentTree> tree(std::in_place, runtime, TreeOptions{.audit = &records});
  records.then = [&] { tree.reset(); };
  REQUIRE(tree->restore(&store.records, family.options));
  CHECK(records.all.size() == 1);
}

TEST_CASE("a delete that a restart finishes erases the earlier receipts of its agents",
          "[persist][audit][restart_records][receipts][X9]") {
  const StoreFolder folder;
  const std::string path = folder.file("receipts");
  {
    const auto receipts = open_receipts(path);
    receipts->record(test::stop_record("leaf"));
    receipts->record(test::stop_record("other"));
  }
  Killed store;
  Family family(store);
  REQUIRE(family.top.terminate().took_effect());
  while (family.life->runtime.poll()) {
  }
  store.is_dead = true;
  const std::shared_ptr<ReceiptFile> audit = open_receipts(path, {.forget_deleted = true});
  const Life next(store.records, family.options, {.audit = audit});
  const json receipts = json::parse(receipts_to_json(path).value());
  REQUIRE(receipts.size() == 3);
  CHECK(receipts[0]["body"].is_null());
  CHECK(receipts[1]["body"]["agent"] == "other");
  CHECK(receipts[2]["body"]["agent"] == "top");
  CHECK(receipts[2]["body"]["restart"] == true);
  CHECK(verify_receipts(path).value().intact());
}
