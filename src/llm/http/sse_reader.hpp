// SseReader: an incremental reader of Server-Sent Events, as the WHATWG HTML standard defines the format.
#pragma once

#include "llm/http/echo_filter.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace agentcore::detail::llm {

// Takes a stream in pieces, cut anywhere, and delivers each event's data. Lines end in LF, CR or CRLF;
// several data lines of one event are joined by LF; a byte order mark, comments and all other fields are
// skipped; an event without its blank line at the end of the stream is dropped, see take_rest(). One thing is
// not in the standard: a field "error" is read as data, because llama.cpp sends its errors so ("error:
// {...}"). Lines are read in place: only a line that is cut by a piece is copied. One reader reads one
// stream; between events it holds a few hundred bytes at most. From a line that is longer than allowed, the
// members that repeat the request are left out.
class SseReader {
 public:
  class Listener {
   public:
    // One event. `data` is valid during the call; at least `readable_behind` bytes after its end may be read.
    // False ends the reading.
    virtual bool on_event(std::string_view data, std::size_t readable_behind) = 0;

   protected:
    ~Listener() = default;
  };

  enum class Status : unsigned char {
    more,      // everything was read
    ended,     // the listener ended the reading; the rest of the piece was not read
    too_long,  // a line, or an event's data, is longer than allowed
  };

  // `echoed`: the names of members that repeat the request. They must outlive this object.
  explicit SseReader(std::size_t max_line_bytes, std::span<const std::string_view> echoed = {}) noexcept
      : max_line_bytes_(max_line_bytes), echoed_(echoed) {}

  // Reads the next piece. After anything but `more` the reader cannot be used. The listener may destroy
  // everything but this reader.
  Status feed(std::string_view piece, Listener& listener);

  // At the end of the stream: the data of an event that has no blank line behind it, as far as it came; empty
  // if there is none. Valid until the reader is destroyed. The reader cannot be used after it.
  std::string_view take_rest();

 private:
  const char* skip_mark(const char* at, const char* end);
  bool take_line(std::string_view line, bool in_piece);
  bool take_data(std::string_view value, bool in_piece);
  bool dispatch(const char* piece_end, Listener& listener);
  bool keep_rest(std::string_view rest);
  bool take_long_line(std::string_view rest);
  void keep_data();

  std::size_t max_line_bytes_;
  std::span<const std::string_view> echoed_;
  std::unique_ptr<EchoFilter> filter_;  // of line_, once it was too long
  std::string line_;                    // the beginning of a line that a piece cut in two
  std::string data_;                    // the event's data so far, unless it is `view_`
  std::string_view view_;  // the event's only data line so far, where it lies in the current piece
  bool has_data_ = false;
  bool after_cr_ = false;   // the last piece ended in CR: an LF at the next one's start belongs to it
  unsigned char mark_ = 0;  // bytes of the byte order mark read so far; 3: complete, or there was none
};

}  // namespace agentcore::detail::llm
