#include "persist/owned_store.hpp"

#include "persist/host_store.hpp"
#include "persist/record_kinds.hpp"
#include "persist/stored_forest.hpp"
#include "persist/tree_record.hpp"

#include <cstdint>
#include <string_view>

namespace agentcore::detail::persist {

Result<OwnedStore> OwnedStore::take(SharedOrBorrowed<Store> store, StoreSync sync) {
  if (store->in_use_.exchange(true, std::memory_order_acquire))
    return Error{
        Errc::store_in_use,
        "AgentTree::restore: another tree uses this Store; destroy that tree first, or give this one "
        "a store of its own"};
  OwnedStore owned(std::move(store));
  owned.taken_.reset(&owned.store_->in_use_);
  if (Result<void> begun = owned.begin_epoch(sync); !begun) return begun.error();
  return owned;
}

// The epoch is in the tree record as well, because a store does not tell which one it keeps. If somebody has
// put back an earlier record (a backup), the store keeps a greater one, which is looked for in rising steps.
Result<void> OwnedStore::begin_epoch(StoreSync sync) {
  constexpr std::uint64_t longest_step = std::uint64_t{1} << 61;
  Result<void> begun;
  std::uint64_t seen = 0;
  for (std::uint64_t step = 1;; step *= 2) {
    Result<TreeRecord> tree = TreeRecord();
    const RecordKey key = key_of(Kind::tree);
    if (auto done = read(key, key, [&](const RecordKey&, std::string_view body) { tree = tree_of(body); });
        !done)
      return done;
    if (!tree) return tree.error();
    const std::uint64_t found = tree->epoch;
    if (step > 1 && found != seen) return begun;  // another owner was faster
    seen = found;
    epoch_ = tree->epoch = found + step;
    StoreBatch batch;
    batch.put(key, to_json(*tree));
    batch.set_epoch(epoch_, true);
    batch.use_reserve(true);  // it replaces a record
    begun = commit_to(*store_, batch, sync);
    if (begun || begun.error().code != Errc::store_fenced || step == longest_step) return begun;
  }
}

Result<void> OwnedStore::commit(StoreBatch& batch, StoreSync sync) {
  batch.set_epoch(epoch_);
  return commit_to(*store_, batch, sync);
}

Result<void> OwnedStore::read(const RecordKey& first, const RecordKey& last, const VisitRecord& visit) {
  return read_from(*store_, first, last, visit);
}

}  // namespace agentcore::detail::persist
