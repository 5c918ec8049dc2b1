// Recordings as files, and as the input of a replay.
#include "core/validate.hpp"

#include <agentcore/http_recording.hpp>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <system_error>

namespace agentcore {
namespace {

Error cannot(const char* what, const std::string& path, int why) {
  return {Errc::invalid_recording,
          std::string("cannot ") + what + " " + path + ": " + std::generic_category().message(why)};
}

bool is_blank(std::string_view line) noexcept {
  return line.find_first_not_of(" \t\r") == line.npos;
}

}  // namespace

HttpRecorder::HttpRecorder(std::function<void(std::string_view line)> write) : write_(std::move(write)) {
  detail::core::require_function(write_ != nullptr, "HttpRecorder: write");
}

void HttpRecorder::add(const HttpExchange& exchange) const {
  write_(to_json_line(exchange) + "\n");
}

Result<std::shared_ptr<HttpRecorder>> HttpRecorder::to_file(const std::string& path) {
  errno = 0;
  auto file = std::make_shared<std::ofstream>(path, std::ios::binary | std::ios::app);
  if (!*file) return cannot("open", path, errno);
  return std::make_shared<HttpRecorder>([file, path](std::string_view line) {
    file->write(line.data(), static_cast<std::streamsize>(line.size())).flush();
    if (!*file) throw std::runtime_error("cannot write to " + path);
  });
}

HttpReplay::HttpReplay(std::vector<HttpExchange> exchanges, Pace pace, Match match)
    : exchanges_(std::move(exchanges)), pace_(pace), match_(match) {
}

Result<std::shared_ptr<const HttpReplay>> HttpReplay::from_text(std::string_view lines, Pace pace,
                                                                Match match) {
  std::vector<HttpExchange> exchanges;
  for (std::size_t number = 1; !lines.empty(); ++number) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(std::min(line.size() + 1, lines.size()));
    if (is_blank(line)) continue;
    auto exchange = exchange_from_json_line(line);
    if (!exchange)
      return Error{Errc::invalid_recording,
                   "line " + std::to_string(number) + ": " + exchange.error().message};
    exchanges.push_back(std::move(*exchange));
  }
  return std::make_shared<const HttpReplay>(std::move(exchanges), pace, match);
}

Result<std::shared_ptr<const HttpReplay>> HttpReplay::from_file(const std::string& path, Pace pace,
                                                                Match match) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) return cannot("open", path, errno);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (file.bad()) return cannot("read", path, errno);
  return from_text(text, pace, match);
}

}  // namespace agentcore
