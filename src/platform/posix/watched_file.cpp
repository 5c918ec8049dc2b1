#include "platform/posix/watched_file.hpp"

#ifndef _WIN32

#include <sys/stat.h>

namespace agentcore::detail::platform {

std::optional<WatchedFile::Identity> WatchedFile::look_at(const std::string& path) noexcept {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || status.st_nlink == 0) return std::nullopt;
  return Identity{static_cast<std::uint64_t>(status.st_dev), static_cast<std::uint64_t>(status.st_ino),
                  static_cast<std::uint64_t>(status.st_size)};
}

void WatchedFile::note() noexcept {
  if (const auto found = look_at(path_)) noted_ = found;
}

std::optional<Error> WatchedFile::replaced() const {
  if (!noted_) return std::nullopt;
  const auto found = look_at(path_);
  if (found && found->device == noted_->device && found->inode == noted_->inode) return std::nullopt;
  return Error{Errc::store_unavailable,
               path_ + (found ? " was replaced by another file" : " was removed") +
                   " while it was open, so what is written would be lost; put it back, or close it and open "
                   "it again"};
}

bool WatchedFile::shrank() const noexcept {
  return noted_ && size() < noted_->size;
}

std::uint64_t WatchedFile::size() const noexcept {
  const auto found = look_at(path_);
  return found ? found->size : 0;
}

Error WatchedFile::truncated() const {
  return {Errc::store_corrupt, path_ + " was truncated while it was open; restore it from a backup"};
}

}  // namespace agentcore::detail::platform

#endif
