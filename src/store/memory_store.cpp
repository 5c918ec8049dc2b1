#include "store/batch_check.hpp"

#include <agentcore/memory_store.hpp>

#include <new>
#include <utility>
#include <vector>

namespace agentcore {
namespace {

using Records = std::map<RecordKey, std::string>;

// The nodes of the records that the batch writes, in its order. All allocations are made here.
std::vector<Records::node_type> nodes_of(const StoreBatch& batch) {
  std::vector<Records::node_type> nodes;
  nodes.reserve(batch.changes().size());
  Records maker;
  for (const StoreBatch::Change& change : batch.changes())
    if (change.body) nodes.push_back(maker.extract(maker.emplace(change.first, *change.body).first));
  return nodes;
}

}  // namespace

Result<void> MemoryStore::commit(const StoreBatch& batch, StoreSync) {
  if (auto problem = detail::store::problem_of(batch)) return *std::move(problem);
  if (auto fence = detail::store::fence_of(batch, epoch_)) return *std::move(fence);
  std::vector<Records::node_type> nodes;
  try {
    nodes = nodes_of(batch);
  } catch (const std::bad_alloc&) {
    return Error{Errc::out_of_memory, "no memory for the records of the batch; nothing was stored"};
  }
  if (batch.begins_epoch()) epoch_ = batch.epoch();
  auto node = nodes.begin();
  for (const StoreBatch::Change& change : batch.changes()) {
    if (change.last < change.first) continue;
    records_.erase(records_.lower_bound(change.first), records_.upper_bound(change.last));
    if (change.body) records_.insert(std::move(*node++));
  }
  return {};
}

Result<void> MemoryStore::read(const RecordKey& first, const RecordKey& last, const Visit& visit) {
  if (auto problem = detail::store::problem_of_range(first, last)) return *std::move(problem);
  for (auto record = records_.lower_bound(first); record != records_.end() && record->first <= last; ++record)
    if (!visit(record->first, record->second)) break;
  return {};
}

}  // namespace agentcore
