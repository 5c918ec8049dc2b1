// SimStore: the store of a World: records in memory, or a real SqliteStore on a simulated disk. It refuses
// commits, or takes them and says that it did not.
#pragma once

#include "sim/faults.hpp"
#include "sim/real_file.hpp"
#include "sim/sim_file.hpp"

#include <agentcore/memory_store.hpp>
#include <agentcore/store.hpp>

#include <cstdint>
#include <memory>
#include <optional>

namespace agentcore::sim {

class SimStore final : public Store {
 public:
  // `real`: in a file of the system, whatever the kind.
  SimStore(std::uint32_t kind, bool real, Clock& clock, Verdict& verdict, const Faults& faults);

  Result<void> commit(const StoreBatch& batch, StoreSync sync) override;
  Result<void> read(const RecordKey& first, const RecordKey& last, const Visit& visit) override;

  void refuse(std::uint32_t commits) { refused_ = commits; }
  void answer_wrongly(std::uint32_t commits) { unknown_ = commits; }
  void heal();
  // The disk works from now on, and the process is not killed there.
  void calm();
  bool fails() const noexcept { return refused_ != 0 || unknown_ != 0; }

  // The process begins. False: it could not be opened.
  bool open();
  // The process is killed now: the next one finds what is there now. `seed` chooses what a loss of power
  // takes.
  void kill(std::uint64_t seed);
  void end_process();
  // Everything is forgotten.
  void clear() { memory_ = MemoryStore(); }
  // What must be flushed for a batch to be safe.
  StoreSync sync() const noexcept { return is_flushed_ ? StoreSync::disk : StoreSync::process; }

  Store& records() noexcept;
  SimFile* file() noexcept { return file_.get(); }  // null: in memory
  FaultCounts& add_to(FaultCounts& counts) const noexcept;
  bool failed() const noexcept;
  // From now on no call fails.
  void end_faults();

  std::uint64_t refusals = 0, unknown_outcomes = 0;  // of commits, so far

 private:
  const bool is_flushed_;
  Failing refused_commits_, unknown_commits_, failed_reads_;
  std::uint32_t refused_ = 0;
  std::uint32_t unknown_ = 0;
  MemoryStore memory_;
  std::optional<MemoryStore> kept_;  // since kill()
  std::unique_ptr<SimFile> file_;
  std::unique_ptr<RealFile> real_;
};

}  // namespace agentcore::sim
