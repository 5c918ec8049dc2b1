#include "sim/sim_disk.hpp"

#include "support/observe/host_code.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include <sqlite3.h>

namespace agentcore::sim {

// The functions that SQLite calls.
struct SimDisk::Calls {
  struct File {
    sqlite3_file base;
    SimDisk* disk;
    std::shared_ptr<Node> node;
  };
  static File& of(sqlite3_file* file) noexcept { return *reinterpret_cast<File*>(file); }
  static SimDisk& of(sqlite3_vfs* vfs) noexcept { return *static_cast<SimDisk*>(vfs->pAppData); }

  static int close(sqlite3_file* file) {
    const test::HostCode host;
    of(file).node.~shared_ptr();
    return SQLITE_OK;
  }
  static int read(sqlite3_file* file, void* into, int size, sqlite3_int64 at) {
    if (of(file).disk->fails()) return SQLITE_IOERR_READ;
    const std::string& bytes = of(file).node->bytes;
    const std::size_t from = static_cast<std::size_t>(at), wanted = static_cast<std::size_t>(size);
    const std::size_t found = from < bytes.size() ? std::min(wanted, bytes.size() - from) : 0;
    if (found != 0) std::memcpy(into, bytes.data() + from, found);
    if (found == wanted) return SQLITE_OK;
    std::memset(static_cast<char*>(into) + found, 0, wanted - found);
    return SQLITE_IOERR_SHORT_READ;
  }
  static int write(sqlite3_file* file, const void* from, int size, sqlite3_int64 at) {
    const test::HostCode host;
    SimDisk& disk = *of(file).disk;
    Node& node = *of(file).node;
    if (disk.fails()) return SQLITE_IOERR_WRITE;
    const std::string bytes(static_cast<const char*>(from), static_cast<std::size_t>(size));
    const std::size_t begin = static_cast<std::size_t>(at);
    if (!disk.has_room(node, begin + bytes.size())) return SQLITE_FULL;
    if (disk.dies()) {
      // The system has written a part of it.
      const std::size_t part = Random(disk.death_seed_).below(static_cast<std::uint32_t>(bytes.size()) + 1);
      if (part != 0) disk.change(node, {begin, bytes.substr(0, part)});
      disk.die();
    }
    disk.change(node, {begin, bytes});
    return SQLITE_OK;
  }
  static int truncate(sqlite3_file* file, sqlite3_int64 size) {
    const test::HostCode host;
    SimDisk& disk = *of(file).disk;
    if (disk.fails()) return SQLITE_IOERR_TRUNCATE;
    if (disk.dies()) disk.die();
    disk.change(*of(file).node, {static_cast<std::size_t>(size), std::nullopt});
    return SQLITE_OK;
  }
  static int sync(sqlite3_file* file, int) {
    const test::HostCode host;
    SimDisk& disk = *of(file).disk;
    if (disk.fails()) return SQLITE_IOERR_FSYNC;
    if (disk.dies()) disk.die();
    disk.flush(*of(file).node);
    return SQLITE_OK;
  }
  static int size(sqlite3_file* file, sqlite3_int64* size) {
    if (of(file).disk->fails()) return SQLITE_IOERR_FSTAT;
    *size = static_cast<sqlite3_int64>(of(file).node->bytes.size());
    return SQLITE_OK;
  }
  static int lock(sqlite3_file* file, int) { return of(file).disk->fails() ? SQLITE_IOERR_LOCK : SQLITE_OK; }
  static int unlock(sqlite3_file*, int) { return SQLITE_OK; }
  static int check_lock(sqlite3_file*, int* held) {
    *held = 0;
    return SQLITE_OK;
  }
  static int control(sqlite3_file*, int, void*) { return SQLITE_NOTFOUND; }
  static int sector_size(sqlite3_file*) { return 4096; }
  static int characteristics(sqlite3_file*) { return SQLITE_IOCAP_POWERSAFE_OVERWRITE; }
  static int map_shared(sqlite3_file* file, int region, int size, int extend, void volatile** memory) {
    const test::HostCode host;
    *memory = nullptr;
    if (of(file).disk->fails()) return SQLITE_IOERR_SHMMAP;
    auto& regions = of(file).node->shared;
    const std::size_t index = static_cast<std::size_t>(region);
    if (index >= regions.size() && extend == 0) return SQLITE_OK;
    while (regions.size() <= index)
      regions.push_back(std::make_unique<char[]>(static_cast<std::size_t>(size)));
    *memory = regions[index].get();
    return SQLITE_OK;
  }
  static int lock_shared(sqlite3_file* file, int offset, int, int flags) {
    SimDisk& disk = *of(file).disk;
    if ((flags & SQLITE_SHM_LOCK) == 0) return SQLITE_OK;
    if (disk.fails()) return SQLITE_IOERR_SHMLOCK;
    // The locks of a writer and of a checkpoint are the first two; the others are of readers.
    if (disk.busy_ == 0 || offset > 1) return SQLITE_OK;
    --disk.busy_;
    ++disk.found_busy_;
    return SQLITE_BUSY;
  }
  static void barrier_shared(sqlite3_file*) {}
  static int unmap_shared(sqlite3_file* file, int) {
    const test::HostCode host;
    of(file).node->shared.clear();  // there is one connection
    return SQLITE_OK;
  }

  static int open(sqlite3_vfs* vfs, const char* path, sqlite3_file* file, int flags, int* out_flags) {
    const test::HostCode host;
    SimDisk& disk = of(vfs);
    file->pMethods = nullptr;
    if (disk.fails()) return SQLITE_CANTOPEN;
    std::shared_ptr<Node> node;
    if (!path)
      node = std::make_shared<Node>();
    else if (const auto found = disk.names_.find(path); found != disk.names_.end())
      node = found->second;
    else if ((flags & (SQLITE_OPEN_CREATE | SQLITE_OPEN_MAIN_DB)) == 0)
      return SQLITE_CANTOPEN;
    else
      node = disk.names_[path] = std::make_shared<Node>();
    auto* const opened = new (file) File{{&methods}, &disk, std::move(node)};
    static_cast<void>(opened);
    if (out_flags) *out_flags = flags;
    return SQLITE_OK;
  }
  static int remove(sqlite3_vfs* vfs, const char* path, int sync_folder) {
    const test::HostCode host;
    SimDisk& disk = of(vfs);
    if (disk.fails()) return SQLITE_IOERR_DELETE;
    if (disk.dies()) disk.die();
    if (disk.names_.erase(path) == 0) return SQLITE_IOERR_DELETE_NOENT;
    if (sync_folder != 0) disk.flushed_names_ = disk.names_;
    return SQLITE_OK;
  }
  static int access(sqlite3_vfs* vfs, const char* path, int, int* result) {
    const test::HostCode host;
    if (of(vfs).fails()) return SQLITE_IOERR_ACCESS;
    *result = of(vfs).names_.contains(path) ? 1 : 0;
    return SQLITE_OK;
  }
  static int full_path(sqlite3_vfs*, const char* path, int size, char* into) {
    if (std::strlen(path) >= static_cast<std::size_t>(size)) return SQLITE_CANTOPEN;
    std::memcpy(into, path, std::strlen(path) + 1);
    return SQLITE_OK;
  }
  static int randomness(sqlite3_vfs*, int size, char* into) {
    std::memset(into, 7, static_cast<std::size_t>(size));
    return size;
  }
  // A wait for a lock takes simulated time.
  static int sleep(sqlite3_vfs* vfs, int microseconds) {
    of(vfs).clock_.advance(std::chrono::microseconds(microseconds));
    return microseconds;
  }
  static int current_time(sqlite3_vfs*, double* day) {
    *day = 2'460'000;
    return SQLITE_OK;
  }
  static int last_error(sqlite3_vfs*, int, char*) { return 0; }

  static constexpr sqlite3_io_methods methods{2,
                                              close,
                                              read,
                                              write,
                                              truncate,
                                              sync,
                                              size,
                                              lock,
                                              unlock,
                                              check_lock,
                                              control,
                                              sector_size,
                                              characteristics,
                                              map_shared,
                                              lock_shared,
                                              barrier_shared,
                                              unmap_shared,
                                              nullptr,
                                              nullptr};
};

SimDisk::SimDisk(Clock& clock, Loss loss, std::function<std::uint64_t()> space_beside)
    : clock_(clock),
      loss_(loss),
      space_beside_(std::move(space_beside)),
      vfs_(std::make_unique<sqlite3_vfs>()) {
  *vfs_ = {};
  vfs_->iVersion = 1;
  vfs_->szOsFile = static_cast<int>(sizeof(Calls::File));
  vfs_->mxPathname = 512;
  vfs_->zName = name;
  vfs_->pAppData = this;
  vfs_->xOpen = Calls::open;
  vfs_->xDelete = Calls::remove;
  vfs_->xAccess = Calls::access;
  vfs_->xFullPathname = Calls::full_path;
  vfs_->xRandomness = Calls::randomness;
  vfs_->xSleep = Calls::sleep;
  vfs_->xCurrentTime = Calls::current_time;
  vfs_->xGetLastError = Calls::last_error;
  sqlite3_vfs_register(vfs_.get(), 0);
}

SimDisk::~SimDisk() {
  sqlite3_vfs_unregister(vfs_.get());
}

void SimDisk::apply(std::string& bytes, const Write& write) {
  if (!write.bytes) return bytes.resize(write.at);
  if (bytes.size() < write.at + write.bytes->size()) bytes.resize(write.at + write.bytes->size());
  std::ranges::copy(*write.bytes, bytes.begin() + static_cast<std::ptrdiff_t>(write.at));
}

void SimDisk::change(Node& node, Write write) {
  apply(node.bytes, write);
  if (loss_ == Loss::unflushed) node.since.push_back(std::move(write));
}

// The first flush of a file flushes its folder, too, as SQLite's own VFS does it.
void SimDisk::flush(Node& node) {
  for (const Write& write : node.since) apply(node.flushed, write);
  node.since.clear();
  if (std::exchange(node.is_named, true)) return;
  flushed_names_ = names_;
}

bool SimDisk::dies() {
  clock_.advance(std::exchange(slow_, Duration(0)));
  if (!dies_at_) return false;
  if (*dies_at_ != 0) {
    --*dies_at_;
    return false;
  }
  dies_at_.reset();
  return true;
}

void SimDisk::die() {
  cut(death_seed_);
  std::exchange(on_death_, nullptr)();
}

void SimDisk::die_after(std::size_t changes, std::uint64_t seed, std::function<void()> on_death) {
  dies_at_ = changes;
  death_seed_ = seed;
  on_death_ = std::move(on_death);
}

void SimDisk::cut(std::uint64_t seed) {
  if (kept_) return;  // it has ended before
  dies_at_.reset();
  kept_.emplace();
  if (loss_ == Loss::nothing) {
    for (const auto& [path, node] : names_) kept_->emplace(path, node->bytes);
    return;
  }
  Random random(seed);
  // A name that was made, removed or given to another file since the folder was flushed may be there or not.
  Names found = flushed_names_;
  for (const auto& [path, node] : names_)
    if (found[path] != node && random.once_in(2)) found[path] = node;
  for (auto entry = found.begin(); entry != found.end();) {
    const bool is_gone = !entry->second || (!names_.contains(entry->first) && random.once_in(2));
    entry = is_gone ? found.erase(entry) : std::next(entry);
  }
  for (const auto& [path, node] : found) {
    std::string bytes = node->flushed;
    const std::uint32_t taste = random.below(4);  // 0: all is there; 1: nothing is; else any part
    for (Write write : node->since) {
      if (taste == 1 || (taste > 1 && random.once_in(2))) continue;
      const bool is_torn = taste == 3 && write.bytes && random.once_in(4);
      if (is_torn) write.bytes->resize(random.below(static_cast<std::uint32_t>(write.bytes->size())));
      apply(bytes, write);
    }
    kept_->emplace(path, std::move(bytes));
  }
}

void SimDisk::go_back() {
  if (!kept_) return;
  names_.clear();
  for (auto& [path, bytes] : *kept_) {
    const auto node = names_[path] = std::make_shared<Node>();
    node->bytes = node->flushed = std::move(bytes);
    node->is_named = true;
  }
  flushed_names_ = names_;
  kept_.reset();
}

std::uint64_t SimDisk::used() const {
  std::uint64_t bytes = space_beside_();
  for (const auto& [path, node] : names_) bytes += node->bytes.size();
  return bytes;
}

void SimDisk::limit_space(std::optional<std::uint64_t> bytes) {
  most_ = bytes ? std::optional(used() + *bytes) : std::nullopt;
}

bool SimDisk::has_room(const Node& node, std::size_t size) {
  if (!most_ || size <= node.bytes.size() || used() + (size - node.bytes.size()) <= *most_) return true;
  ++refused_;
  return false;
}

void SimDisk::heal() noexcept {
  most_.reset();
  slow_ = Duration(0);
  busy_ = 0;
}

}  // namespace agentcore::sim
