#include "console/top/event_parser.hpp"

namespace console_app::top {
namespace {

constexpr std::size_t most_event_bytes = 16 << 20;  // of one event

}  // namespace

bool EventParser::take(std::string_view bytes) {
  while (true) {
    const std::size_t end = bytes.find('\n');
    line_ += bytes.substr(0, end);
    if (line_.size() + data_.size() > most_event_bytes) return false;
    if (end == std::string_view::npos) return true;
    if (!line_.empty() && line_.back() == '\r') line_.pop_back();
    const std::string line = std::exchange(line_, {});
    take_line(line);
    bytes.remove_prefix(end + 1);
  }
}

void EventParser::restart() {
  line_.clear();
  data_.clear();
  has_data_ = has_id_ = false;
}

void EventParser::take_line(std::string_view line) {
  if (line.empty()) {
    const bool has_id = std::exchange(has_id_, false);
    if (std::exchange(has_data_, false) || has_id) on_event_(id_, std::exchange(data_, {}));
    return;
  }
  const std::size_t colon = line.find(':');
  const std::string_view name = line.substr(0, colon);
  std::string_view value = colon == std::string_view::npos ? std::string_view() : line.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (name == "id") {
    id_ = value;
    has_id_ = true;
  }
  if (name != "data") return;
  if (has_data_) data_ += '\n';
  data_ += value;
  has_data_ = true;
}

}  // namespace console_app::top
