#include "platform/posix/lock_file.hpp"

#ifndef _WIN32

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <string>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace agentcore::detail::platform {
namespace {

// The process that wrote its id into the lock file: " (process 123)", or "" if there is none.
std::string owner_of(int descriptor) {
  std::array<char, 20> text{};
  const ssize_t size = ::pread(descriptor, text.data(), text.size(), 0);
  std::string digits(text.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  digits.resize(std::min(digits.size(), digits.find_first_not_of("0123456789")));
  return digits.empty() ? std::string() : " (process " + digits + ")";
}

void write_owner(int descriptor) noexcept {
  const std::string text = std::to_string(::getpid()) + "\n";
  // Only for the message of the next one that wants the lock.
  if (::ftruncate(descriptor, 0) != 0 || ::pwrite(descriptor, text.data(), text.size(), 0) < 0) return;
}

Error failure(const std::string& path, int number, const char* otherwise) {
  const std::string why = std::generic_category().message(number);
  if (number == EACCES || number == EROFS || number == EPERM)
    return {Errc::store_read_only,
            path + ": " + why + "; give this process the right to write there" + otherwise};
  if (number == ENOSPC || number == EDQUOT) return {Errc::store_full, path + ": " + why};
  return {Errc::store_unavailable, path + ": " + why};
}

}  // namespace

Result<LockFile> LockFile::acquire(const std::string& path, const char* owner, const char* otherwise) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (descriptor < 0) return failure(path, errno, otherwise);
  LockFile lock(descriptor);
  while (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return failure(path, errno, otherwise);
    return Error{Errc::store_in_use, path + ": another " + owner + owner_of(descriptor) +
                                         " writes this file; close it" + otherwise};
  }
  write_owner(descriptor);
  return lock;
}

Result<LockFile> LockFile::acquire_existing(const std::string& path, const char* owner,
                                            const char* otherwise) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (descriptor < 0 && errno == ENOENT) return LockFile();
  if (descriptor < 0) return failure(path, errno, "");
  LockFile lock(descriptor);
  while (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return failure(path, errno, "");
    return Error{Errc::store_in_use, path + ": another " + owner +
                                         " writes this file, although its lock file was removed; close it" +
                                         otherwise};
  }
  return lock;
}

bool LockFile::is_on(const std::string& path) const noexcept {
  struct stat locked {
  }, named{};
  return descriptor_ >= 0 && ::fstat(descriptor_, &locked) == 0 && ::stat(path.c_str(), &named) == 0 &&
         locked.st_dev == named.st_dev && locked.st_ino == named.st_ino;
}

LockFile::LockFile(LockFile&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {
}

LockFile& LockFile::operator=(LockFile&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

LockFile::~LockFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace agentcore::detail::platform

#endif
