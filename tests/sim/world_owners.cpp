// Who owns the store: a second tree that is restored from it while the first one lives, and what a tree does
// after a commit has failed.
#include "sim/choices.hpp"
#include "sim/store_probe.hpp"
#include "sim/world.hpp"
#include "sim/world_result.hpp"
#include "sim/world_run.hpp"

#include <agentcore/memory_store.hpp>

#include <array>
#include <charconv>
#include <cstdint>
#include <memory>
#include <utility>

namespace agentcore::sim {
namespace {

// Another Store object for the same records, as another process has one.
class SameRecords final : public Store {
 public:
  explicit SameRecords(Store& records) : records_(records) {}

  Result<void> commit(const StoreBatch& batch, StoreSync sync) override {
    return records_.commit(batch, sync);
  }
  Result<void> read(const RecordKey& first, const RecordKey& last, const Visit& visit) override {
    return records_.read(first, last, visit);
  }

 private:
  Store& records_;
};

}  // namespace

// What a restart would find now.
bool World::act_on_copy(const Command& command) {
  if (command.act != Act::damage_record && command.act != Act::lose_code) return false;
  if (setup_[Knob::store] != 1 || is_real() || depth_ != 0) return true;
  const test::HostCode host;
  const auto turns = command.n[2] % 2 == 1 ? InterruptedTurns::go_on : InterruptedTurns::end;
  StoreProbe probe(verdict_, clock_, static_cast<const MemoryStore&>(store_.records()), turns);
  if (command.act == Act::damage_record) {
    const std::string outcome = probe.damage(command.n[0], command.n[1]);
    note(command, outcome == "no record" ? outcome : "done");
    counts_.add("damage: " + outcome);
    return true;
  }
  probe.lose_code(turn_rules_.handled());
  note(command, "done");
  return true;
}

bool World::act_on_owner(const Command& command) {
  if (command.act != Act::second_owner) return false;
  // What was committed before is acknowledged first.
  const bool may_be = setup_[Knob::store] == 1 && !is_real() && depth_ == 0 && !in_poll_ && !healed_;
  if (!may_be || is_left_) return true;
  poll_until_quiet();
  while (!killed_ && executor_.run_one()) poll_until_quiet();
  if (killed_ || tree_is_destroyed_ || store_.fails()) return true;
  const test::HostCode host;
  restore_another(command);
  if (killed_ || tree_is_destroyed_) return true;
  const auto flushed = run_->tree->flush();
  verdict_.require(!flushed, "owners", "the store takes what its first owner writes, and has a second one");
  if (flushed) return true;
  const bool is_clear = flushed.error().code == Errc::store_fenced || goes_on_in_memory() || store_.fails();
  verdict_.require(
      is_clear, "owners",
      "the first owner is told of the second one as " + std::string(to_string(flushed.error().code)));
  return true;
}

void World::restore_another(const Command& command) {
  Runtime other({.clock = &clock_});
  test::FakeClient llm(other);
  SameRecords records(store_.records());  // outlives its tree
  AgentTree tree(other, {.llm = &llm});
  if (command.n[1] % 4 == 3) {  // the same object
    AgentTree third(other, {.llm = &llm});
    const auto refused = third.restore(&store_, {.code = code_of_another(llm, true)});
    verdict_.require(!refused && refused.error().code == Errc::store_in_use, "owners",
                     "a store that a tree uses is given to another one");
  }
  RestoreOptions options{.sync = StoreSync::process, .code = code_of_another(llm, true)};
  const auto restored = tree.restore(&records, std::move(options));
  verdict_.require(bool(restored), "owners",
                   "a second owner is refused: " + (restored ? "" : restored.error().message));
  if (!restored) return;
  note(command, "done");
  leave_store();
  if (command.n[1] % 2 == 0)
    verdict_.require(bool(tree.flush()), "owners", "a second owner cannot write to the store");
}

// From now on nothing of this tree reaches the store.
void World::leave_store() {
  if (std::exchange(is_left_, true)) return;
  say("-- the store has another owner, or none");
  counts_.add("the store is left");
  calls_when_left_ = calls_;
  tool_rules_.store_is_left();
  messages_.store_is_left();
  people_.tasks.store_is_left();
}

void World::check_acknowledged(const Event& event) {
  if (!is_left_) return;
  verdict_.require(event.get<MessagePersisted>() == nullptr && event.get<StopPersisted>() == nullptr,
                   "owners", "a tree acknowledges what it cannot write: " + event.agent().id());
}

// A call that was asked for afterwards has no record, so no tool begins for it that must not repeat; unless
// its agents are to go on in memory.
void World::check_intent(const std::string& call_id, bool may_repeat) {
  if (!is_left_ || may_repeat || goes_on_in_memory() || !call_id.starts_with('c')) return;
  std::uint32_t number = 0;
  const char* const end = call_id.data() + call_id.size();
  if (std::from_chars(call_id.data() + 1, end, number).ptr != end) return;
  verdict_.require(number <= calls_when_left_, "owners",
                   "a tool has begun, and the store has another owner: " + call_id);
}

bool World::goes_on_in_memory() const noexcept {
  return setup_[Knob::after_failure] == 2;
}

// All that is to be asked of an owner that is left is whether it ends.
void World::end_first_owner() {
  if (!is_left_ || goes_on_in_memory()) return;
  restart(steps_ % 2 == 0);
  while (killed_ || tree_is_destroyed_) restart(killed_);
}

// Its tree ends: the store has less than was seen.
void World::owner_ends() {
  was_fenced_ = false;
  if (!std::exchange(is_left_, false)) return;
  approvals_.changes_are_lost();
  messages_.restore_was_cut();  // what the second owner has found and ended is not seen
}

std::function<AfterStoreFailure(const Error&)> World::on_store_failure() {
  if (setup_[Knob::after_failure] == 0) return {};
  return [this](const Error& error) {
    const test::HostCode host;
    ++events_;
    say("on_failure " + std::string(to_string(error.code)));
    if (killed_) return AfterStoreFailure::retry;
    const bool is_again = std::exchange(was_fenced_, error.code == Errc::store_fenced);
    verdict_.require(!is_again || !in_poll_ || flushes_, "owners",
                     "a commit is tried again after store_fenced");
    const auto after =
        one_of(std::array{AfterStoreFailure::retry, AfterStoreFailure::go_on, AfterStoreFailure::stop_all},
               setup_[Knob::after_failure] - 1);
    if (after == AfterStoreFailure::go_on) leave_store();
    if (after != AfterStoreFailure::stop_all) return after;
    run_->tree->walk([this](const Agent& one) { may_drop(one.id()); });
    ++verbs_;  // an answer of the console that is under way may be of before
    gates_.stopped_all();
    cuts_later_ = true;
    counts_.add("stop_all after a failure of the store");
    return after;
  };
}

}  // namespace agentcore::sim
