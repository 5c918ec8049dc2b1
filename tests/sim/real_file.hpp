// RealFile: a SqliteStore in a file of the system, whose process can be killed.
#pragma once

#include "sim/sim_file.hpp"

#include <agentcore/sqlite_store.hpp>
#include <agentcore/store.hpp>

#include <memory>
#include <optional>
#include <string>

namespace agentcore::sim {

// What a killed process has written is in its files: they are copied at that moment.
class RealFile final : public Store {
 public:
  Result<void> commit(const StoreBatch& batch, StoreSync sync) override;
  Result<void> read(const RecordKey& first, const RecordKey& last, const Visit& visit) override;

  bool open();
  void kill();
  void end_process();

 private:
  std::unique_ptr<SimFolder> folder_ = std::make_unique<SimFolder>();
  std::unique_ptr<SimFolder> kept_;  // since kill()
  std::unique_ptr<SqliteStore> store_;
};

}  // namespace agentcore::sim
