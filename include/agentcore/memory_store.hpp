// MemoryStore: a Store in memory. Link agentcore::store.
#pragma once

#include <agentcore/export.hpp>
#include <agentcore/store.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace agentcore {

/// Keeps records in memory, as long as it exists. For tests, and to hand agents from one tree to another
/// within a process.
///
///     agentcore::MemoryStore store;
///     agentcore::StoreBatch batch;
///     batch.put({.kind = 1, .owner = 1}, "a record");
///     store.commit(batch, agentcore::StoreSync::process).value();
class AGENTCORE_API MemoryStore final : public Store {
 public:
  Result<void> commit(const StoreBatch& batch, StoreSync sync) override;
  Result<void> read(const RecordKey& first, const RecordKey& last, const Visit& visit) override;

  /// The number of records.
  std::size_t size() const noexcept { return records_.size(); }

 private:
  std::map<RecordKey, std::string> records_;
  std::uint64_t epoch_ = 0;
};

}  // namespace agentcore
