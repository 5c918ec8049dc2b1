// LockFile: at most one store at a time writes a file.
#pragma once

#include "core/internal_api.hpp"

#include <agentcore/error.hpp>

#include <string>

namespace agentcore::detail::platform {

// Holds an exclusive lock on a file. That must not be the database: when a process closes any descriptor of a
// file, POSIX ends all locks of the process on that file, and SQLite has such locks there.
class AGENTCORE_INTERNAL_API LockFile {
 public:
  LockFile() noexcept = default;
  // Creates the file with mode 0600 if it is missing. `store_in_use` names the process that has the lock.
  // `owner`: what has such a lock, for messages. `otherwise`: what else the caller may do, for messages.
  static Result<LockFile> acquire(const std::string& path, const char* owner = "store",
                                  const char* otherwise = ", or open the store read-only");
  // Locks a file that something else writes, and changes nothing in it. If it is missing, nothing is locked.
  static Result<LockFile> acquire_existing(const std::string& path, const char* owner = "store",
                                           const char* otherwise = ", or open the store read-only");
  LockFile(LockFile&& other) noexcept;
  LockFile& operator=(LockFile&& other) noexcept;
  // True if this is the lock of the file that the path names now.
  bool is_on(const std::string& path) const noexcept;
  // The file stays: to remove it would race with the next owner.
  ~LockFile();

 private:
  explicit LockFile(int descriptor) noexcept : descriptor_(descriptor) {}
  int descriptor_ = -1;
};

}  // namespace agentcore::detail::platform
