#include "turn/operations.hpp"

#include "core/stop_request.hpp"
#include "turn/turn_data.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <optional>
#include <utility>

namespace agentcore::detail::turn {
namespace {

// Cutting a socket takes the stopping thread 15 to 45 microseconds, reading a slot about ten nanoseconds.
// These bounds keep a stop short whatever the number of open calls. They are counts, not times: each cut
// costs about the same, a count gives the same result on each run, and the host's clock may be stopped.
constexpr std::size_t most_cuts = 200;
constexpr std::size_t most_looks = 16'384;
constexpr std::size_t few_cuts = 8;
constexpr std::size_t few_looks = 256;
constexpr std::size_t looks_per_lock = 256;

// True if it is not admitted any more, and its token not triggered yet.
bool is_to_be_cut(const Operation& operation) {
  return operation.node && !operation.stop.stop_requested() && !is_admitted(operation);
}

}  // namespace

TaskKind task_kind(Operation::Kind kind) noexcept {
  switch (kind) {
    case Operation::Kind::model_call:
    case Operation::Kind::summary:
      return TaskKind::model_call;
    case Operation::Kind::tool_call:
      return TaskKind::tool_call;
    case Operation::Kind::background:
      return TaskKind::background;
  }
  return TaskKind::background;
}

bool is_admitted(const Operation& operation) noexcept {
  const core::Node& node = *operation.node;
  const std::uint32_t generation = core::generation_of(operation.agent);
  return operation.kind == Operation::Kind::background ? core::admits(node, generation, node.load().epoch())
                                                       : core::admits_turn(node, generation, operation.epoch);
}

bool is_admitted_now(const Operation& operation) noexcept {
  if (!is_admitted(operation)) return false;
  if (operation.kind == Operation::Kind::background) return true;
  const ActiveTurn* const active = active_turn(*operation.node);
  return !active || !active->deadline || !active->deadline->has_passed();
}

// Copies of stop sources, to be triggered without the lock.
struct Operations::Batch {
  std::array<std::optional<StopSource>, 8> sources;
  std::size_t count = 0;

  // Triggers and releases them; returns how many were not triggered before.
  std::size_t trigger() {
    std::size_t triggered = 0;
    for (std::size_t i = 0; i < count; ++i) {
      triggered += core::request_stop(*sources[i]) ? 1U : 0U;
      sources[i].reset();
    }
    count = 0;
    return triggered;
  }
};

OperationId Operations::open(core::Node& node, Operation::Kind kind, std::uint32_t epoch, std::uint64_t turn,
                             std::shared_ptr<Call> call) {
  StopSource source;  // allocates: not under the lock
  const core::Lock lock(mutex_);
  std::uint32_t slot;
  if (free_.empty()) {
    slot = static_cast<std::uint32_t>(slots_.size());
    // Room for every slot in the free list, so that close() never allocates.
    if (free_.capacity() <= slots_.size()) free_.reserve(slots_.size() * 2 + 8);
    slots_.emplace_back();
  } else {
    slot = free_.back();
    free_.pop_back();
  }
  const std::uint32_t before = node.newest_operation.load(std::memory_order_relaxed);
  const OperationId id{slot, next_serial_++};
  const ActiveTurn* const active = active_turn(node);
  slots_[slot] = {&node,
                  node.id(),
                  id,
                  epoch,
                  before,
                  0,
                  turn,
                  active ? active->message : MessageId(),
                  0,
                  kind,
                  false,
                  false,
                  false,
                  {},
                  std::move(call),
                  std::move(source),
                  std::nullopt};
  if (before) slots_[before - 1].newer = slot + 1;
  open_.fetch_add(1, std::memory_order_seq_cst);
  node.newest_operation.store(slot + 1, std::memory_order_release);
  ++node.operations;
  return id;
}

void Operations::close(OperationId id) noexcept {
  const std::uint32_t slot = id.slot;
  assert(slots_[slot].node && slots_[slot].id == id);
  StopSource last{std::nostopstate};  // released after the lock
  Timer timer;
  std::shared_ptr<Call> call;
  SharedOrBorrowed<ToolRegistry> tools;
  const core::Lock lock(mutex_);
  Operation& operation = slots_[slot];
  core::Node& node = *std::exchange(operation.node, nullptr);
  last.swap(operation.stop);
  timer = std::move(operation.timer);
  call.swap(operation.call);
  if (call) tools = std::exchange(call->tools, {});
  free_.push_back(slot);
  open_.fetch_sub(1, std::memory_order_relaxed);
  --node.operations;
  if (operation.next) slots_[operation.next - 1].newer = operation.newer;
  if (operation.newer)
    slots_[operation.newer - 1].next = operation.next;
  else
    node.newest_operation.store(operation.next, std::memory_order_release);
}

void Operations::shut_down() {
  refuse_outcomes();
  for (std::uint32_t slot = 0; slot < slots(); ++slot)
    if (slots_[slot].node) cut(slots_[slot].id);
}

void Operations::drop_timers_and_tools() noexcept {
  for (Operation& operation : slots_) {
    operation.timer = Timer();
    if (operation.call) operation.call->release_tools();
  }
}

Operation* Operations::find(OperationId id) noexcept {
  if (refuses_outcomes_) return nullptr;
  Operation& operation = slots_[id.slot];
  return operation.node && operation.id == id ? &operation : nullptr;
}

void Operations::cut(OperationId id) {
  StopSource source = slots_[id.slot].stop;  // a copy: the outcome may arrive at once and free the slot
  core::request_stop(source);
}

std::size_t Operations::cut_closed_below(const core::Node& root, bool with_subtree, StopCut cut) {
  if (open_.load(std::memory_order_seq_cst) == 0) return 0;
  if (cut == StopCut::none) {
    left_.store(true, std::memory_order_release);
    return 0;
  }
  const bool few = cut == StopCut::few;
  const std::size_t most = few ? few_cuts : most_cuts;
  const std::size_t looks = few ? few_looks : most_looks;
  Batch batch;
  bool done = copy_own(root, batch);
  std::size_t count = batch.trigger();
  // In-flight operations below were registered under the lock, after their agent was linked: after copy_own()
  // this thread finds that child.
  if (with_subtree && root.first_child.load(std::memory_order_relaxed) != core::no_node) done = false;
  for (std::size_t next = 0; !done && next < looks && count < most; count += batch.trigger())
    done = copy_closed(root, with_subtree, next, std::min(batch.sources.size(), most - count), batch);
  if (!done) left_.store(true, std::memory_order_release);
  return count;
}

StopSource Operations::model_call_of(const core::Node& node, std::uint32_t epoch) {
  const core::Lock lock(mutex_);
  for (std::uint32_t at = node.newest_operation.load(std::memory_order_acquire); at; at = slots_[at - 1].next)
    if (slots_[at - 1].kind == Operation::Kind::model_call && slots_[at - 1].epoch == epoch)
      return slots_[at - 1].stop;
  return StopSource(std::nostopstate);
}

bool Operations::has_summary(const core::Node& node, std::uint32_t epoch) {
  const core::Lock lock(mutex_);
  for (std::uint32_t at = node.newest_operation.load(std::memory_order_acquire); at; at = slots_[at - 1].next)
    if (slots_[at - 1].kind == Operation::Kind::summary && slots_[at - 1].epoch == epoch) return true;
  return false;
}

// Copies the newest operations of the agent itself, found by its list. True: the list has no others.
bool Operations::copy_own(const core::Node& root, Batch& batch) {
  const core::Lock lock(mutex_);
  // Read under the lock: only a slot that is in use now can be in the list.
  std::uint32_t own = root.newest_operation.load(std::memory_order_acquire);
  for (; own && batch.count < batch.sources.size(); own = slots_[own - 1].next)
    if (is_to_be_cut(slots_[own - 1])) batch.sources[batch.count++] = slots_[own - 1].stop;
  return own == 0;
}

// Checks a part of the slots, from `next` on, and moves `next` behind them: the loop must not wait long for
// the lock. True: there are no more slots.
bool Operations::copy_closed(const core::Node& root, bool with_subtree, std::size_t& next, std::size_t room,
                             Batch& batch) {
  const core::Lock lock(mutex_);
  const std::size_t end = std::min(slots_.size(), next + looks_per_lock);
  for (; next < end && batch.count < room; ++next) {
    const Operation& operation = slots_[next];
    if (is_to_be_cut(operation) &&
        (operation.node == &root || (with_subtree && core::is_within(operation.node, &root))))
      batch.sources[batch.count++] = operation.stop;
  }
  return next >= slots_.size();
}

void Operations::cut_left() {
  if (!left_.exchange(false, std::memory_order_acquire)) return;
  for (std::uint32_t slot = 0; slot < slots(); ++slot)
    if (is_to_be_cut(slots_[slot])) cut(slots_[slot].id);
}

std::size_t Operations::cut_turn(const core::Node& node, StopCut cut) {
  if (cut == StopCut::none) {
    left_.store(true, std::memory_order_release);
    return 0;
  }
  const std::size_t most = cut == StopCut::few ? few_cuts : most_cuts;
  std::size_t count = 0;
  Batch batch;
  for (bool done = false; !done;) {
    done = copy_own(node, batch);
    const bool none = batch.count == 0;
    count += batch.trigger();
    if (done || none) break;
    if (count < most) continue;
    left_.store(true, std::memory_order_release);
    break;
  }
  return count;
}

}  // namespace agentcore::detail::turn
