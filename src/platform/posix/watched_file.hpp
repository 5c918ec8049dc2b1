// WatchedFile: whether the file of a path is still the one that was there.
#pragma once

#include "core/internal_api.hpp"

#include <agentcore/error.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace agentcore::detail::platform {

// A process that has a file open notices nothing when somebody removes, replaces or truncates it: what it
// writes then is lost.
class AGENTCORE_INTERNAL_API WatchedFile {
 public:
  explicit WatchedFile(std::string path) : path_(std::move(path)) {}

  // The file is as it should be now. A file that is missing is not watched until it is there.
  void note() noexcept;
  // It is the same file: not removed, not replaced. Nothing: it is, or it was never there.
  std::optional<Error> replaced() const;
  // The size is smaller than at the last note().
  bool shrank() const noexcept;
  // The size now; 0 if it is missing.
  std::uint64_t size() const noexcept;
  // The error of a file that shrank, although it should not have.
  Error truncated() const;
  const std::string& path() const noexcept { return path_; }

 private:
  struct Identity {
    std::uint64_t device = 0, inode = 0, size = 0;
  };
  static std::optional<Identity> look_at(const std::string& path) noexcept;

  std::string path_;
  std::optional<Identity> noted_;
};

}  // namespace agentcore::detail::platform
