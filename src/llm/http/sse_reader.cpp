#include "llm/http/sse_reader.hpp"

#include <cstring>
#include <utility>

namespace agentcore::detail::llm {
namespace {

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
constexpr std::size_t kept_buffer_capacity = 256;  // what an idle reader may hold per buffer

const char* find(const char* at, const char* end, char wanted) noexcept {
  const void* found = at == end ? nullptr : std::memchr(at, wanted, static_cast<std::size_t>(end - at));
  return found ? static_cast<const char*>(found) : end;
}

std::string_view between(const char* begin, const char* end) noexcept {
  return {begin, static_cast<std::size_t>(end - begin)};
}

void empty(std::string& buffer) {
  if (buffer.capacity() > kept_buffer_capacity) {
    std::string().swap(buffer);
  } else {
    buffer.clear();
  }
}

}  // namespace

SseReader::Status SseReader::feed(std::string_view piece, Listener& listener) {
  const char* at = piece.data();
  const char* const end = at + piece.size();
  if (mark_ < byte_order_mark.size()) at = skip_mark(at, end);
  if (after_cr_ && at != end) {
    after_cr_ = false;
    if (*at == '\n') ++at;
  }
  // The next CR is looked up once and kept until it is passed, and LF only as far as that: each byte is
  // looked at twice, whatever the line ends are.
  const char* next_cr = find(at, end, '\r');
  while (at != end) {
    if (next_cr < at) next_cr = find(at, end, '\r');
    const char* line_end = *at == '\n' ? at : find(at, next_cr, '\n');
    if (line_end == end) {
      if (!keep_rest(between(at, end))) return Status::too_long;
      break;
    }
    const char* next = line_end + 1;
    if (*line_end == '\r') {
      after_cr_ = next == end;
      if (next != end && *next == '\n') ++next;
    }
    if (line_end == at && line_.empty()) {
      if (!dispatch(end, listener)) return Status::ended;
    } else if (line_.empty()) {
      const std::string_view line = between(at, line_end);
      if (line.size() > max_line_bytes_ ? !take_long_line(line) : !take_line(line, true))
        return Status::too_long;
    } else if (!take_long_line(between(at, line_end))) {
      return Status::too_long;
    }
    at = next;
  }
  keep_data();
  return Status::more;
}

std::string_view SseReader::take_rest() {
  if (!line_.empty() && !take_line(line_, false)) return {};
  return has_data_ ? std::string_view(data_) : std::string_view();
}

const char* SseReader::skip_mark(const char* at, const char* end) {
  for (; at != end && mark_ < byte_order_mark.size(); ++at, ++mark_) {
    if (*at == byte_order_mark[mark_]) continue;
    line_.assign(byte_order_mark.substr(0, mark_));  // not a byte order mark after all: it is text
    mark_ = static_cast<unsigned char>(byte_order_mark.size());
    break;
  }
  return at;
}

// The end of a line that was cut, or a line that is too long. False: it still is.
bool SseReader::take_long_line(std::string_view rest) {
  if (!keep_rest(rest) || !take_line(line_, false)) return false;
  filter_.reset();
  empty(line_);
  return true;
}

// False: too long.
bool SseReader::take_line(std::string_view line, bool in_piece) {
  const std::size_t name = line.starts_with("data") ? 4 : line.starts_with("error:") ? 5 : 0;
  if (name == 0) return true;
  line.remove_prefix(name);
  if (line.empty()) return take_data(line, in_piece);
  if (line.front() != ':') return true;
  line.remove_prefix(line.starts_with(": ") ? 2 : 1);
  return take_data(line, in_piece);
}

// False: too long.
bool SseReader::take_data(std::string_view value, bool in_piece) {
  if (!has_data_) {
    has_data_ = true;
    if (in_piece) {
      view_ = value;
    } else {  // the end of line_: its buffer is taken over
      line_.erase(0, line_.size() - value.size());
      data_.swap(line_);
    }
    return true;
  }
  keep_data();
  if (data_.size() + 1 + value.size() > max_line_bytes_) return false;
  data_.push_back('\n');
  data_.append(value);
  return true;
}

// A blank line: delivers the event, if there is one. False: the listener ended the reading.
bool SseReader::dispatch(const char* piece_end, Listener& listener) {
  if (!has_data_) return true;
  has_data_ = false;
  if (view_.data() != nullptr) {
    const std::string_view data = std::exchange(view_, {});
    return listener.on_event(data, between(data.data() + data.size(), piece_end).size());
  }
  const bool go_on = listener.on_event(data_, 0);
  empty(data_);
  return go_on;
}

// False: too long.
bool SseReader::keep_rest(std::string_view rest) {
  if (filter_) {
    filter_->feed(rest, line_);
    return line_.size() <= max_line_bytes_;
  }
  if (line_.size() + rest.size() <= max_line_bytes_) {
    line_.append(rest);
    return true;
  }
  if (echoed_.empty()) return false;
  filter_ = std::make_unique<EchoFilter>(echoed_);
  const std::string begun = std::exchange(line_, {});
  filter_->feed(begun, line_);
  filter_->feed(rest, line_);
  return line_.size() <= max_line_bytes_;
}

// Copies what is still a view of the piece, before the piece is gone or more data is added.
void SseReader::keep_data() {
  if (view_.data() == nullptr) return;
  data_.assign(view_);
  view_ = {};
}

}  // namespace agentcore::detail::llm
