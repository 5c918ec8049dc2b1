#include "llm/http/sse_reader.hpp"

#include <cstring>
#include <utility>

namespace agentcore::detail::llm {
namespace {

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
constexpr std::string_view white_space = " \t\r\n";
constexpr std::size_t kept_buffer_capacity = 256;  // what an idle reader may hold per buffer

const char* find(const char* at, const char* end, char wanted) noexcept {
  const void* found = at == end ? nullptr : std::memchr(at, wanted, static_cast<std::size_t>(end - at));
  return found ? static_cast<const char*>(found) : end;
}

std::string_view between(const char* begin, const char* end) noexcept {
  return {begin, static_cast<std::size_t>(end - begin)};
}

// The last character that is no white space; NUL: there is none.
char last_of(std::string_view text) noexcept {
  const auto last = text.find_last_not_of(white_space);
  return last == text.npos ? '\0' : text[last];
}

// True for a line that can be the whole data of an event: an object, a list ("[DONE]") or a string.
bool is_whole(std::string_view value) noexcept {
  const auto first = value.find_first_not_of(white_space);
  if (first == value.npos) return false;
  const char last = last_of(value);
  switch (value[first]) {
    case '{':
      return last == '}';
    case '[':
      return last == ']';
    default:
      return value[first] == '"' && last == '"';
  }
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
      const Status status = line.size() > max_line_bytes_ ? take_long_line(line, end, listener)
                                                          : take_line(line, end, listener);
      if (status != Status::more) return status;
    } else if (const Status status = take_long_line(between(at, line_end), end, listener);
               status != Status::more) {
      return status;
    }
    at = next;
  }
  keep_data();
  return Status::more;
}

SseReader::Status SseReader::finish(Listener& listener) {
  if (!line_.empty()) {
    const Status status = take_line(line_, nullptr, listener);
    if (status != Status::more) return status;
  }
  return dispatch(nullptr, listener) ? Status::more : Status::ended;
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

// The end of a line that was cut, or a line that is too long, which it may still be.
SseReader::Status SseReader::take_long_line(std::string_view rest, const char* piece_end,
                                            Listener& listener) {
  if (!keep_rest(rest)) return Status::too_long;
  const Status status = take_line(line_, piece_end, listener);
  if (status != Status::more) return status;
  filter_.reset();
  empty(line_);
  return Status::more;
}

// The line is line_, if that is not empty, or else lies in the piece.
SseReader::Status SseReader::take_line(std::string_view line, const char* piece_end, Listener& listener) {
  const std::size_t name = line.starts_with("data") ? 4 : line.starts_with("error:") ? 5 : 0;
  if (name == 0) return Status::more;
  line.remove_prefix(name);
  if (line.empty()) return take_data(line, piece_end, listener);
  if (line.front() != ':') return Status::more;
  line.remove_prefix(line.starts_with(": ") ? 2 : 1);
  return take_data(line, piece_end, listener);
}

SseReader::Status SseReader::take_data(std::string_view value, const char* piece_end, Listener& listener) {
  if (has_data_ && begins_event(value)) {
    has_line_events_ = true;
    if (!dispatch(piece_end, listener)) return Status::ended;
  }
  const bool is_event = has_line_events_ && !has_data_ && is_whole(value);
  if (has_data_) return add_data(value) ? Status::more : Status::too_long;
  has_data_ = true;
  if (line_.empty()) {
    view_ = value;
  } else {  // the end of line_: its buffer is taken over
    line_.erase(0, line_.size() - value.size());
    data_.swap(line_);
  }
  return is_event && !dispatch(piece_end, listener) ? Status::ended : Status::more;
}

// False: too long.
bool SseReader::add_data(std::string_view value) {
  keep_data();
  if (data_.size() + 1 + value.size() > max_line_bytes_) return false;
  data_.push_back('\n');
  data_.append(value);
  return true;
}

// True for a data line that cannot continue the data before it, if that is JSON.
bool SseReader::begins_event(std::string_view value) const noexcept {
  const std::string_view before = view_.data() != nullptr ? view_ : std::string_view(data_);
  if (last_of(before) != '}') return false;
  const auto first = value.find_first_not_of(white_space);
  return first != value.npos && std::string_view(",}]").find(value[first]) == std::string_view::npos;
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
