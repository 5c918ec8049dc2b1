#include "sim/sim_store.hpp"

#include "support/observe/host_code.hpp"

#include <utility>

namespace agentcore::sim {
namespace {

std::size_t& count_of(FaultCounts& counts, FailedCall fault) noexcept {
  return counts[static_cast<std::size_t>(fault)];
}

}  // namespace

SimStore::SimStore(std::uint32_t kind, bool real, Clock& clock, Verdict& verdict, const Faults& faults)
    : is_flushed_(kind >= 3),
      refused_commits_(faults[FailedCall::commit_refused]),
      unknown_commits_(faults[FailedCall::commit_unknown]),
      failed_reads_(faults[FailedCall::read]) {
  if (kind != 0 && real) real_ = std::make_unique<RealFile>();
  if (kind < 2 || real) return;
  file_ = std::make_unique<SimFile>(clock, is_flushed_ ? SimDisk::Loss::unflushed : SimDisk::Loss::nothing,
                                    verdict);
  file_->disk().calls = Failing(faults[FailedCall::disk]);
}

Store& SimStore::records() noexcept {
  if (real_) return *real_;
  if (file_) return *file_;
  return memory_;
}

Result<void> SimStore::commit(const StoreBatch& batch, StoreSync sync) {
  const test::HostCode host;
  const Error refusal{Errc::store_failed, "the simulated disk refuses"};
  if (refused_commits_.next()) return refusal;
  if (refused_ != 0) {
    --refused_;
    ++refusals;
    return refusal;
  }
  Result<void> done = records().commit(batch, sync);
  const bool unknown = unknown_commits_.next();
  if (!done || (unknown_ == 0 && !unknown)) return done;
  if (!unknown) --unknown_;
  ++unknown_outcomes;
  return refusal;
}

Result<void> SimStore::read(const RecordKey& first, const RecordKey& last, const Visit& visit) {
  if (failed_reads_.next()) {
    const test::HostCode host;
    return Error{Errc::store_failed, "the simulated disk cannot be read"};
  }
  return records().read(first, last, visit);
}

void SimStore::heal() {
  refused_ = unknown_ = 0;
  if (file_) file_->heal();
}

void SimStore::calm() {
  if (!file_) return;
  file_->heal();
  file_->disk().live_on();
}

bool SimStore::open() {
  if (real_) return real_->open();
  return !file_ || file_->is_open() || file_->open();
}

void SimStore::kill(std::uint64_t seed) {
  if (real_)
    real_->kill();
  else if (file_)
    file_->kill(seed);
  else if (!kept_)
    kept_ = memory_;
}

void SimStore::end_process() {
  if (real_) real_->end_process();
  if (file_) file_->end_process();
  if (kept_) memory_ = *std::exchange(kept_, std::nullopt);
}

FaultCounts& SimStore::add_to(FaultCounts& counts) const noexcept {
  count_of(counts, FailedCall::commit_refused) = refused_commits_.seen();
  count_of(counts, FailedCall::commit_unknown) = unknown_commits_.seen();
  count_of(counts, FailedCall::read) = failed_reads_.seen();
  count_of(counts, FailedCall::disk) = file_ ? file_->disk().calls.seen() : 0;
  return counts;
}

bool SimStore::failed() const noexcept {
  return refused_commits_.failed() || unknown_commits_.failed() || failed_reads_.failed() ||
         (file_ && file_->disk().calls.failed());
}

void SimStore::end_faults() {
  heal();
  for (Failing* const failing : {&refused_commits_, &unknown_commits_, &failed_reads_}) failing->end();
  if (!file_) return;
  file_->disk().calls.end();
  file_->disk().live_on();
}

}  // namespace agentcore::sim
