#include "sim/real_file.hpp"

#include "support/observe/host_code.hpp"

#include <filesystem>
#include <utility>

namespace agentcore::sim {

Result<void> RealFile::commit(const StoreBatch& batch, StoreSync sync) {
  const test::LibraryCode library;
  return store_->commit(batch, sync);
}

Result<void> RealFile::read(const RecordKey& first, const RecordKey& last, const Visit& visit) {
  return store_->read(first, last, visit);
}

bool RealFile::open() {
  const test::HostCode host;
  if (store_) return true;
  auto opened = SqliteStore::open(folder_->file(), {.reserve_bytes = 65'536});
  if (!opened) return false;
  store_ = std::move(*opened);
  return true;
}

// Not the index of the log, which SQLite makes again when nobody has the file open.
void RealFile::kill() {
  const test::HostCode host;
  if (kept_) return;
  kept_ = std::make_unique<SimFolder>();
  for (const std::string end : {"", "-wal"})
    if (std::filesystem::exists(folder_->file() + end))
      std::filesystem::copy_file(folder_->file() + end, kept_->file() + end);
}

void RealFile::end_process() {
  const test::HostCode host;
  store_.reset();
  if (kept_) folder_ = std::move(kept_);
}

}  // namespace agentcore::sim
