#include "support/store/faulty_vfs.hpp"

#include <cerrno>
#include <random>

#include <sqlite3.h>

namespace agentcore::test {
namespace {

struct Plan {
  std::size_t calls = 0;
  std::size_t fail_at = 0;  // 0: never
  FaultyVfs::Fault fault = FaultyVfs::Fault::once;
  bool failed = false;
  std::size_t failures = 0;
  unsigned one_in = 0;  // 0: only `fail_at` counts
  std::minstd_rand random = {};
};
Plan plan;

bool fails() noexcept {
  ++plan.calls;
  if (plan.one_in != 0) {
    const bool now = plan.random() % plan.one_in == 0;
    plan.failures += now ? 1 : 0;
    return now;
  }
  const bool lasts = plan.fault == FaultyVfs::Fault::gone || plan.fault == FaultyVfs::Fault::torn;
  const bool now = plan.fail_at != 0 && (plan.calls == plan.fail_at || (lasts && plan.calls > plan.fail_at));
  plan.failed = plan.failed || now;
  plan.failures += now ? 1 : 0;
  return now;
}

int failure(int of_the_disk) noexcept {
  const bool is_full = plan.fault == FaultyVfs::Fault::full;
  errno = is_full ? ENOSPC : EIO;
  return is_full ? SQLITE_FULL : of_the_disk;
}

// The file of SQLite's own VFS follows this in memory.
struct File {
  sqlite3_file base;
  sqlite3_file* real;
};

sqlite3_file* real_of(sqlite3_file* file) noexcept {
  return reinterpret_cast<File*>(file)->real;
}

int close_file(sqlite3_file* file) {
  return real_of(file)->pMethods->xClose(real_of(file));
}
int read_file(sqlite3_file* file, void* into, int size, sqlite3_int64 at) {
  if (fails()) return failure(SQLITE_IOERR_READ);
  return real_of(file)->pMethods->xRead(real_of(file), into, size, at);
}
int write_file(sqlite3_file* file, const void* from, int size, sqlite3_int64 at) {
  const bool first = !plan.failed;
  if (fails()) {
    if (first && plan.fault == FaultyVfs::Fault::torn)
      real_of(file)->pMethods->xWrite(real_of(file), from, size / 2, at);
    return failure(SQLITE_IOERR_WRITE);
  }
  return real_of(file)->pMethods->xWrite(real_of(file), from, size, at);
}
int truncate_file(sqlite3_file* file, sqlite3_int64 size) {
  if (fails()) return failure(SQLITE_IOERR_TRUNCATE);
  return real_of(file)->pMethods->xTruncate(real_of(file), size);
}
bool is_over_own = true;

int sync_file(sqlite3_file* file, int flags) {
  if (fails()) return failure(SQLITE_IOERR_FSYNC);
  return is_over_own ? SQLITE_OK : real_of(file)->pMethods->xSync(real_of(file), flags);
}
int size_of_file(sqlite3_file* file, sqlite3_int64* size) {
  if (fails()) return failure(SQLITE_IOERR_FSTAT);
  return real_of(file)->pMethods->xFileSize(real_of(file), size);
}
int lock_file(sqlite3_file* file, int level) {
  if (fails()) return failure(SQLITE_IOERR_LOCK);
  return real_of(file)->pMethods->xLock(real_of(file), level);
}
int unlock_file(sqlite3_file* file, int level) {
  return real_of(file)->pMethods->xUnlock(real_of(file), level);
}
int check_lock(sqlite3_file* file, int* result) {
  return real_of(file)->pMethods->xCheckReservedLock(real_of(file), result);
}
int control(sqlite3_file* file, int what, void* argument) {
  return real_of(file)->pMethods->xFileControl(real_of(file), what, argument);
}
int sector_size(sqlite3_file* file) {
  return real_of(file)->pMethods->xSectorSize(real_of(file));
}
int characteristics(sqlite3_file* file) {
  return real_of(file)->pMethods->xDeviceCharacteristics(real_of(file));
}
int map_shared(sqlite3_file* file, int region, int size, int extend, void volatile** memory) {
  if (fails()) return failure(SQLITE_IOERR_SHMMAP);
  return real_of(file)->pMethods->xShmMap(real_of(file), region, size, extend, memory);
}
int lock_shared(sqlite3_file* file, int offset, int count, int flags) {
  if ((flags & SQLITE_SHM_LOCK) != 0 && fails()) return failure(SQLITE_IOERR_SHMLOCK);
  return real_of(file)->pMethods->xShmLock(real_of(file), offset, count, flags);
}
void barrier_shared(sqlite3_file* file) {
  real_of(file)->pMethods->xShmBarrier(real_of(file));
}
int unmap_shared(sqlite3_file* file, int erase) {
  return real_of(file)->pMethods->xShmUnmap(real_of(file), erase);
}

const sqlite3_io_methods methods{
    2,           close_file,     read_file,    write_file, truncate_file, sync_file,       size_of_file,
    lock_file,   unlock_file,    check_lock,   control,    sector_size,   characteristics, map_shared,
    lock_shared, barrier_shared, unmap_shared, nullptr,    nullptr};

sqlite3_vfs* original = nullptr;
sqlite3_vfs faulty;

int open_file(sqlite3_vfs*, const char* path, sqlite3_file* file, int flags, int* out_flags) {
  auto* const wrapped = reinterpret_cast<File*>(file);
  wrapped->base.pMethods = nullptr;
  if (fails()) return failure(SQLITE_CANTOPEN);
  wrapped->real = reinterpret_cast<sqlite3_file*>(wrapped + 1);
  const int result = original->xOpen(original, path, wrapped->real, flags, out_flags);
  if (wrapped->real->pMethods) wrapped->base.pMethods = &methods;
  return result;
}
int delete_file(sqlite3_vfs*, const char* path, int sync_folder) {
  if (fails()) return failure(SQLITE_IOERR_DELETE);
  return original->xDelete(original, path, sync_folder);
}
int access_file(sqlite3_vfs*, const char* path, int flags, int* result) {
  if (fails()) return failure(SQLITE_IOERR_ACCESS);
  return original->xAccess(original, path, flags, result);
}

}  // namespace

FaultyVfs::FaultyVfs() : FaultyVfs(nullptr) {
}

FaultyVfs::FaultyVfs(const char* over) {
  plan = {};
  is_over_own = over == nullptr;
  original = sqlite3_vfs_find(over);
  faulty = *original;
  faulty.zName = name;
  faulty.pNext = nullptr;
  faulty.szOsFile = static_cast<int>(sizeof(File)) + original->szOsFile;
  faulty.xOpen = open_file;
  faulty.xDelete = delete_file;
  faulty.xAccess = access_file;
  sqlite3_vfs_register(&faulty, 0);
}

FaultyVfs::~FaultyVfs() {
  sqlite3_vfs_unregister(&faulty);
}

void FaultyVfs::fail_after(std::size_t calls, Fault fault) noexcept {
  plan = {.fail_at = calls + 1, .fault = fault};
}

void FaultyVfs::fail_at_random(unsigned seed, unsigned one_in, Fault fault) noexcept {
  plan = {.fault = fault, .one_in = one_in, .random = std::minstd_rand(seed)};
}

void FaultyVfs::repair() noexcept {
  plan = {};
}

std::size_t FaultyVfs::calls() const noexcept {
  return plan.calls;
}

std::size_t FaultyVfs::failures() const noexcept {
  return plan.failures;
}

}  // namespace agentcore::test
