// OwnedStore: the store of a tree, which no other tree writes meanwhile.
#pragma once

#include "persist/read_range.hpp"

#include <agentcore/error.hpp>
#include <agentcore/shared_or_borrowed.hpp>
#include <agentcore/store.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

namespace agentcore::detail::persist {

// Two trees that write the same records would destroy them. Within a process the Store object is taken by one
// tree at a time; for the rest each owner begins an epoch, and the store refuses the batches of earlier ones.
class OwnedStore {
 public:
  // Takes the store, then begins the next epoch: what is read after that is what the last owner has
  // committed, because it commits nothing more. Errors: `store_in_use`, `store_fenced` (another owner was
  // faster), `store_newer`, `store_corrupt`, and those of the store. Throws std::bad_alloc.
  static Result<OwnedStore> take(SharedOrBorrowed<Store> store, StoreSync sync);

  OwnedStore(OwnedStore&& other) noexcept = default;
  OwnedStore(const OwnedStore&) = delete;
  OwnedStore& operator=(const OwnedStore&) = delete;
  ~OwnedStore() = default;
  // Another tree may take the Store object.
  void release() noexcept { taken_ = nullptr; }

  const SharedOrBorrowed<Store>& store() const noexcept { return store_; }
  std::uint64_t epoch() const noexcept { return epoch_; }
  // Gives the batch its epoch. What the store throws is an error.
  Result<void> commit(StoreBatch& batch, StoreSync sync);
  // Calls visit(key, body) for each of the records. What the store throws is an error; what `visit` throws
  // ends the reading, and is thrown.
  Result<void> read(const RecordKey& first, const RecordKey& last, const VisitRecord& visit);

 private:
  explicit OwnedStore(SharedOrBorrowed<Store> store) noexcept : store_(std::move(store)) {}
  Result<void> begin_epoch(StoreSync sync);

  SharedOrBorrowed<Store> store_;
  std::uint64_t epoch_ = 0;
  // The flag of the Store object. Null: another object has it, or it was released.
  struct Released {
    void operator()(std::atomic<bool>* flag) const noexcept { flag->store(false, std::memory_order_release); }
  };
  std::unique_ptr<std::atomic<bool>, Released> taken_;
};

}  // namespace agentcore::detail::persist
