#include "store/sqlite/backup.hpp"

#include "platform/posix/lock_file.hpp"

#include <array>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

namespace agentcore::detail::store {
namespace {

// What SQLite keeps beside a file. It would take those of another file for its own, and write them into it.
constexpr std::array side_files{"-wal", "-shm", "-journal"};

Error failure_of(const std::string& path, int number) {
  std::string text = path + ": " + std::generic_category().message(number);
  switch (number) {
    case EACCES:
    case EPERM:
    case EROFS:
      return {Errc::store_read_only, text + "; give this process the right to write there, or another path"};
    case ENOSPC:
    case EDQUOT:
      return {Errc::store_full, text + "; free space there, or give another path"};
    case ENOENT:
    case ENOTDIR:
    case EISDIR:
    case ENAMETOOLONG:
    case ELOOP:
      return {Errc::store_unavailable, text + "; check that the path names a file in a folder that exists"};
    default:
      return {Errc::store_failed, std::move(text)};
  }
}

bool is_same_file(const std::string& one, const struct stat& other) noexcept {
  struct stat status {};
  return ::stat(one.c_str(), &status) == 0 && status.st_dev == other.st_dev && status.st_ino == other.st_ino;
}

bool exists(const std::string& path) noexcept {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0;
}

Error exists_already(const std::string& path) {
  return {Errc::store_unavailable, path +
                                       ": the file exists; name another one, or set "
                                       "SqliteBackupOptions::replace (agentcore-store: --force)"};
}

// Why no copy can be put there. `is_there`: there is a file that may be replaced.
std::optional<Error> problem_of(const std::string& source, const std::string& target, bool replaces,
                                bool& is_there) {
  if (target.empty())
    return Error{Errc::invalid_config, "SqliteStore::back_up: the path is empty; name a file"};
  if (target.find('\0') != std::string::npos)
    return Error{Errc::invalid_config, "SqliteStore::back_up: the path has a zero byte"};
  struct stat status {};
  is_there = ::stat(target.c_str(), &status) == 0;
  if (!is_there && errno != ENOENT) return failure_of(target, errno);
  if (is_there && is_same_file(source, status))
    return Error{Errc::invalid_config, target +
                                           ": the copy of a store cannot be the store itself; name "
                                           "another file"};
  if (is_there && !S_ISREG(status.st_mode))
    return Error{
        Errc::store_unavailable,
        target + (S_ISDIR(status.st_mode) ? " is a folder" : " is not a file") + "; give the path of a file"};
  if (replaces) return std::nullopt;
  if (exists(target)) return exists_already(target);
  for (const char* const end : side_files)
    if (exists(target + end)) return exists_already(target + end);
  return std::nullopt;
}

// The copy, until it is complete: a file with mode 0600 and a name of its own beside the target, so that
// nothing that is incomplete has the name of the target, however the process ends.
class PartialFile {
 public:
  explicit PartialFile(const std::string& target) : path_(target + "-partial-XXXXXX") {}
  ~PartialFile() {
    if (is_there_) ::unlink(path_.c_str());
  }
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;

  std::optional<Error> create(const std::string& target) {
    const int file = ::mkostemp(path_.data(), O_CLOEXEC);
    if (file < 0) return failure_of(target, errno);
    is_there_ = true;
    ::close(file);
    return std::nullopt;
  }
  // On the disk, after SQLite has closed it.
  std::optional<Error> flush(const std::string& target) const { return flush(path_, O_RDONLY, target); }
  // The target must not exist.
  std::optional<Error> become(const std::string& target) {
    if (::link(path_.c_str(), target.c_str()) == 0) return flush_folder(target);
    if (errno == EEXIST || exists(target)) return exists_already(target);
    return replace(target);  // a file system without hard links
  }
  std::optional<Error> replace(const std::string& target) {
    for (const char* const end : side_files)
      if (::unlink((target + end).c_str()) != 0 && errno != ENOENT) return failure_of(target + end, errno);
    if (::rename(path_.c_str(), target.c_str()) != 0) return failure_of(target, errno);
    is_there_ = false;
    return flush_folder(target);
  }
  const std::string& path() const noexcept { return path_; }

 private:
  static std::optional<Error> flush(const std::string& path, int flags, const std::string& target) {
    const int file = ::open(path.c_str(), flags | O_CLOEXEC);
    if (file < 0) return failure_of(target, errno);
    const int number = ::fsync(file) == 0 ? 0 : errno;
    ::close(file);
    if (number == 0) return std::nullopt;
    return failure_of(target, number);
  }
  // Its new name.
  static std::optional<Error> flush_folder(const std::string& target) {
    const std::filesystem::path folder = std::filesystem::path(target).parent_path();
    return flush(folder.empty() ? "." : folder.string(), O_RDONLY | O_DIRECTORY, target);
  }

  std::string path_;
  bool is_there_ = false;
};

Result<void> copy(Database& source, const PartialFile& file, const std::string& target,
                  const std::string& vfs) {
  Result<Database> database = Database::open(file.path(), SQLITE_OPEN_READWRITE, vfs);
  if (!database) return database.error();
  // What is incomplete is removed, so there is nothing to roll back.
  if (!database->run("PRAGMA journal_mode = OFF; PRAGMA synchronous = FULL")) return database->error();
  Result<void> done = source.copy_to(*database);
  if (done || !done.error().message.starts_with(file.path())) return done;
  return Error{done.error().code, target + done.error().message.substr(file.path().size())};
}

}  // namespace

Result<void> back_up(Database& source, const std::string& target, const SqliteBackupOptions& options,
                     const std::string& vfs) {
  bool is_there = false;
  if (auto problem = problem_of(source.path(), target, options.replace, is_there)) return *std::move(problem);
  platform::LockFile lock;  // no store has the target open for writing
  if (is_there) {
    Result<platform::LockFile> acquired = platform::LockFile::acquire(target + "-lock", "store", "");
    if (!acquired) return acquired.error();
    lock = std::move(*acquired);
  }
  PartialFile file(target);
  if (auto problem = file.create(target)) return *std::move(problem);
  if (auto done = copy(source, file, target, vfs); !done) return done;
  if (auto problem = file.flush(target)) return *std::move(problem);
  if (auto problem = options.replace ? file.replace(target) : file.become(target)) return *std::move(problem);
  return {};
}

}  // namespace agentcore::detail::store
