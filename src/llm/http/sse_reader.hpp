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
// skipped; an event without its blank line at the end of the stream is dropped, unless finish() is called.
// Two things are not in the standard:
// - A field "error" is read as data, because llama.cpp sends its errors so ("error: {...}").
// - Some servers send no blank lines, but each event as one line. So a data line that cannot continue the
//   JSON before it begins an event of its own: one behind "}" that begins neither with a comma nor with a
//   closing bracket. From then on, each line that may be whole JSON, or "[DONE]", is an event as soon as it
//   ends. No event that is valid JSON is read in another way than the standard's: a line ends in no text of
//   JSON.
// Lines are read in place: only a line that is cut by a piece is copied. One reader reads one stream; between
// events it holds a few hundred bytes at most. From a line that is longer than allowed, the members that
// repeat the request are left out.
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

  // At the end of the stream: delivers the event that has no blank line behind it, as far as it came; two, if
  // each is a line. The reader cannot be used after it.
  Status finish(Listener& listener);

 private:
  const char* skip_mark(const char* at, const char* end);
  Status take_line(std::string_view line, const char* piece_end, Listener& listener);
  Status take_long_line(std::string_view rest, const char* piece_end, Listener& listener);
  Status take_data(std::string_view value, const char* piece_end, Listener& listener);
  bool add_data(std::string_view value);
  bool begins_event(std::string_view value) const noexcept;
  bool dispatch(const char* piece_end, Listener& listener);
  bool keep_rest(std::string_view rest);
  void keep_data();

  std::size_t max_line_bytes_;
  std::span<const std::string_view> echoed_;
  std::unique_ptr<EchoFilter> filter_;  // of line_, once it was too long
  std::string line_;                    // the beginning of a line that a piece cut in two
  std::string data_;                    // the event's data so far, unless it is `view_`
  std::string_view view_;  // the event's only data line so far, where it lies in the current piece
  bool has_data_ = false;
  bool has_line_events_ = false;  // an event had no blank line behind it
  bool after_cr_ = false;         // the last piece ended in CR: an LF at the next one's start belongs to it
  unsigned char mark_ = 0;        // bytes of the byte order mark read so far; 3: complete, or there was none
};

}  // namespace agentcore::detail::llm
