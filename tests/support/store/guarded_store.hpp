// GuardedStore: a MemoryStore of which a test decides when commits fail.
#pragma once

#include <agentcore/memory_store.hpp>

#include <atomic>
#include <cstddef>
#include <stdexcept>
#include <thread>

namespace agentcore::test {

class GuardedStore final : public Store {
 public:
  Result<void> commit(const StoreBatch& batch, StoreSync sync) override {
    ++commits;
    last_sync = sync;
    committed_on = std::this_thread::get_id();
    if (throws) throw std::runtime_error("the store is broken");
    if (failure.code != Errc::none && !(has_reserve && batch.uses_reserve())) return failure;
    return records.commit(batch, sync);
  }
  Result<void> read(const RecordKey& first, const RecordKey& last, const Visit& visit) override {
    if (read_failure.code != Errc::none) return read_failure;
    return records.read(first, last, visit);
  }

  MemoryStore records;
  Error failure;
  bool has_reserve = false;  // true: it fails no batch that uses the reserve
  Error read_failure;
  bool throws = false;
  std::atomic<std::size_t> commits{0};
  StoreSync last_sync = StoreSync::process;
  std::thread::id committed_on;
};

}  // namespace agentcore::test
