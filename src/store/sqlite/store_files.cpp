#include "store/sqlite/store_files.hpp"

#include <cstdint>

namespace agentcore::detail::store {
namespace {

// As SQLite documents the format of a log.
constexpr std::uint64_t log_header_bytes = 32, frame_header_bytes = 24;

std::uint64_t number_of(Database& database, std::string_view pragma) {
  const Result<std::int64_t> number = database.integer(pragma);
  return number && *number > 0 ? static_cast<std::uint64_t>(*number) : 0;
}

// Another program may have made a checkpoint that truncates the log: then nothing is missing.
bool has_whole_log(Database& database, std::uint64_t size) {
  const std::optional<std::int64_t> frames = database.frames_of_log();
  if (!frames) return false;
  const std::uint64_t frame = frame_header_bytes + number_of(database, "PRAGMA page_size");
  return *frames == 0 || size >= log_header_bytes + static_cast<std::uint64_t>(*frames) * frame;
}

// Another program may have removed free pages (VACUUM).
bool has_all_pages(Database& database, std::uint64_t size) {
  const std::uint64_t pages = number_of(database, "PRAGMA page_count");
  return pages != 0 && size >= pages * number_of(database, "PRAGMA page_size");
}

}  // namespace

void StoreFiles::note() noexcept {
  data_.note();
  log_.note();
}

std::optional<Error> StoreFiles::problem(Database& database) {
  if (auto problem = data_.replaced()) return problem;
  if (auto problem = log_.replaced()) return problem;
  if (log_.shrank() && !has_whole_log(database, log_.size())) return log_.truncated();
  if (data_.shrank() && !has_all_pages(database, data_.size())) return data_.truncated();
  if (log_.shrank() || data_.shrank()) note();  // nothing is missing
  return std::nullopt;
}

}  // namespace agentcore::detail::store
