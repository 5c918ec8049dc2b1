#include "receipts/lost_count.hpp"

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdio>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

namespace agentcore::detail::receipts {
namespace {

constexpr std::size_t digits = 20;
constexpr std::size_t line_bytes = 2 * digits + 1;

std::optional<std::uint64_t> number_of(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

Result<LostCount> LostCount::open(const std::string& path) {
  Result<LineFile> file = LineFile::open(path, LineFile::Mode::append);
  if (!file) return file.error();
  LostCount count;
  count.file_ = std::move(*file);
  return count;
}

Result<std::uint64_t> LostCount::after(std::uint64_t receipt) {
  const Result<std::optional<std::string_view>> line = file_.next(line_bytes);
  if (line && *line && (*line)->size() == line_bytes) {
    const auto number = number_of((*line)->substr(0, digits));
    const auto lost = number_of((*line)->substr(digits + 1));
    return number == receipt && lost ? *lost : 0;
  }
  if (Result<void> made = set(receipt, 0, false); !made) return made.error();
  return std::uint64_t{0};
}

Result<void> LostCount::set(std::uint64_t receipt, std::uint64_t lost, bool disk) {
  std::array<char, line_bytes + 2> line{};
  std::snprintf(line.data(), line.size(), "%020llu %020llu\n", static_cast<unsigned long long>(receipt),
                static_cast<unsigned long long>(lost));
  if (Result<void> done = file_.write({line.data(), line_bytes + 1}, 0); !done) return done;
  return disk ? file_.flush() : Result<void>();
}

}  // namespace agentcore::detail::receipts
