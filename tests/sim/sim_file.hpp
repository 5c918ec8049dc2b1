// SimFile: a real SqliteStore on a simulated disk, and what it must have.
#pragma once

#include "sim/sim_disk.hpp"
#include "sim/verdict.hpp"
#include "support/store/faulty_vfs.hpp"

#include <agentcore/memory_store.hpp>
#include <agentcore/sqlite_store.hpp>
#include <agentcore/store.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace agentcore::sim {

// A folder for the files that SqliteStore opens itself (its lock and its reserve), in memory where the system
// has such a place. All names have the same length.
class SimFolder {
 public:
  SimFolder();
  ~SimFolder();
  SimFolder(const SimFolder&) = delete;
  SimFolder& operator=(const SimFolder&) = delete;

  std::string file() const { return path_ + "/agents.db"; }

 private:
  std::string path_;
};

class SimFile final : public Store {
 public:
  SimFile(Clock& clock, SimDisk::Loss loss, Verdict& verdict);
  ~SimFile() override;

  Result<void> commit(const StoreBatch& batch, StoreSync sync) override;
  Result<void> read(const RecordKey& first, const RecordKey& last, const Visit& visit) override;

  // A process begins. False: a call of the disk has failed (SimDisk::calls).
  bool open();
  bool is_open() const noexcept { return store_ != nullptr; }
  // The process is killed now: what follows until end_process() is lost.
  void kill(std::uint64_t seed);
  void end_process();

  // The call of the disk after `calls` more fails.
  void fail_after(std::size_t calls, test::FaultyVfs::Fault fault) noexcept {
    faults_.fail_after(calls, fault);
  }
  std::size_t failures() const noexcept { return failures_ + faults_.failures(); }
  void heal() noexcept;
  SimDisk& disk() noexcept { return disk_; }

 private:
  // A batch that may be there or not when the process ends now.
  void doubt(const StoreBatch& batch);
  // Compares what is there with what was acknowledged.
  void check_records();

  Verdict& verdict_;
  const SimFolder folder_;
  SimDisk disk_;
  test::FaultyVfs faults_{SimDisk::name};
  std::unique_ptr<SqliteStore> store_;
  MemoryStore acknowledged_;
  std::vector<MemoryStore> doubtful_;  // with each batch that has failed since the last one that did not
  const StoreBatch* in_progress_ = nullptr;
  bool is_killed_ = false, lost_power_ = false;  // this process; the one before
  std::size_t failures_ = 0;
};

}  // namespace agentcore::sim
