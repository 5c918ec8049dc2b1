// StoreFiles: whether the files of a store are still those that it has opened.
#pragma once

#include "platform/posix/watched_file.hpp"
#include "store/sqlite/database.hpp"

#include <agentcore/error.hpp>

#include <optional>
#include <string>

namespace agentcore::detail::store {

// The database and its write-ahead log. A store that is only read never calls note(), and finds no problem.
class StoreFiles {
 public:
  explicit StoreFiles(const std::string& path) : data_(path), log_(path + "-wal") {}

  // They are as they should be now.
  void note() noexcept;
  // Why a commit would be lost, or is lost already; nothing if it is not. Throws std::bad_alloc.
  std::optional<Error> problem(Database& database);
  const std::string& log() const noexcept { return log_.path(); }

 private:
  platform::WatchedFile data_, log_;
};

}  // namespace agentcore::detail::store
