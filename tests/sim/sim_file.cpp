#include "sim/sim_file.hpp"

#include "support/observe/host_code.hpp"
#include "support/store/store_reading.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <stdlib.h>

namespace agentcore::sim {

SimFolder::SimFolder() {
  std::error_code ignored;
  const std::filesystem::path memory("/dev/shm");
  const bool has_memory = std::filesystem::is_directory(memory, ignored);
  path_ = ((has_memory ? memory : std::filesystem::temp_directory_path()) / "agentcore-sim-XXXXXX").string();
  if (::mkdtemp(path_.data()) == nullptr) throw std::runtime_error(path_ + ": the folder cannot be created");
}

SimFolder::~SimFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

namespace {

class Checking {
 public:
  explicit Checking(SimDisk& disk) noexcept : disk_(disk) { disk_.is_checked = true; }
  ~Checking() { disk_.is_checked = false; }
  Checking(const Checking&) = delete;
  Checking& operator=(const Checking&) = delete;

 private:
  SimDisk& disk_;
};

}  // namespace

SimFile::SimFile(Clock& clock, SimDisk::Loss loss, Verdict& verdict)
    : verdict_(verdict), disk_(clock, loss, [this] {
        std::error_code missing;
        const auto bytes = std::filesystem::file_size(folder_.file() + "-reserve", missing);
        return missing ? std::uint64_t{0} : std::uint64_t{bytes};
      }) {
}

SimFile::~SimFile() {
  const test::HostCode host;
  disk_.live_on();
  store_.reset();
}

Result<void> SimFile::commit(const StoreBatch& batch, StoreSync sync) {
  if (!store_) return Error{Errc::store_unavailable, "the simulated store is closed"};
  in_progress_ = &batch;
  Result<void> done = [&] {
    const test::LibraryCode library;
    return store_->commit(batch, sync);
  }();
  in_progress_ = nullptr;
  const test::HostCode host;
  if (is_killed_) return done;
  if (done) {
    static_cast<void>(acknowledged_.commit(batch, sync));
    doubtful_.clear();
    return done;
  }
  doubt(batch);
  const Checking checking(disk_);
  try {
    verdict_.require(test::records_of(*store_) == test::records_of(acknowledged_), "store",
                     "a commit that failed has changed something: " + done.error().message);
  } catch (const BadResultAccess&) {  // the disk is still gone
  }
  return done;
}

Result<void> SimFile::read(const RecordKey& first, const RecordKey& last, const Visit& visit) {
  if (!store_) return Error{Errc::store_unavailable, "the simulated store is closed"};
  return store_->read(first, last, visit);
}

void SimFile::doubt(const StoreBatch& batch) {
  doubtful_.push_back(acknowledged_);
  static_cast<void>(doubtful_.back().commit(batch, StoreSync::process));
}

bool SimFile::open() {
  const test::HostCode host;
  auto opened = SqliteStore::open(folder_.file(), {.reserve_bytes = 65'536, .vfs = test::FaultyVfs::name});
  if (!opened) {
    if (!disk_.calls.failed() && !is_killed_)
      verdict_.fail("store", "it cannot be opened: " + opened.error().message);
    return false;
  }
  store_ = std::move(*opened);
  if (!is_killed_) check_records();
  return true;
}

void SimFile::check_records() {
  const Checking checking(disk_);
  const auto problems = store_->check();
  if (!problems) return;
  for (const std::string& problem : *problems) verdict_.fail("store", "the file is damaged: " + problem);
  const auto read = [](Store& store) -> std::optional<test::StoredRecords> {
    try {
      return test::records_of(store);
    } catch (const BadResultAccess&) {
      return std::nullopt;
    }
  };
  const auto found = read(*store_);
  if (!found) return;
  const auto has = [&](MemoryStore& store) { return test::records_of(store) == *found; };
  if (!has(acknowledged_)) {
    const auto other = std::ranges::find_if(doubtful_, has);
    if (other == doubtful_.end())
      return verdict_.fail("store",
                           "after the end of a process the file has neither what was acknowledged nor "
                           "one more batch: " +
                               std::to_string(found->size()) + " records");
    std::swap(acknowledged_, *other);
    // Without a loss of power a process finds what was written and not flushed. A later loss may still take
    // it.
    if (!lost_power_) return;
  }
  doubtful_.clear();
}

void SimFile::kill(std::uint64_t seed) {
  const test::HostCode host;
  if (std::exchange(is_killed_, true)) return;
  if (in_progress_) doubt(*in_progress_);
  disk_.cut(seed);
}

void SimFile::end_process() {
  const test::HostCode host;
  store_.reset();
  disk_.go_back();
  lost_power_ = std::exchange(is_killed_, false);
}

void SimFile::heal() noexcept {
  failures_ += faults_.failures();
  faults_.repair();
  disk_.heal();
}

}  // namespace agentcore::sim
