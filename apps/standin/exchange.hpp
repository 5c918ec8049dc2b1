// Exchange: the answer to one chat call as a function of time. Depends on HTTP and tokens, but on no socket
// and no clock.
#pragma once

#include "answer.hpp"
#include "answer_format.hpp"
#include "chat_call.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace standin {

// The next action once the bytes that came with it are written.
struct Next {
  enum What : std::uint8_t {
    at_time,   // call produce() again at `due_ns`
    never,     // silence, until one side closes the connection
    finished,  // the answer is complete
    close,     // end the connection
  };
  What what = never;
  std::int64_t due_ns = 0;
};

// `tokens` tokens end at byte `end` of what was produced.
struct TokenMark {
  std::size_t end = 0;
  std::uint64_t tokens = 0;
};

class Exchange {
 public:
  // `chunked` false: the end of the connection ends a stream (HTTP/1.0).
  Exchange(ChatCall call, std::uint64_t number, std::int64_t start_ns, bool keep_alive, bool chunked);

  // Appends what is due at `now_ns` to `out`, and where tokens end in it to `marks`. Bounded: a stream that
  // is late is caught up in several calls.
  Next produce(std::int64_t now_ns, std::string& out, std::vector<TokenMark>& marks);

  std::uint64_t number() const noexcept { return number_; }
  // HTTP status of the answer.
  int status() const noexcept { return status_; }

 private:
  Next produce_error(std::string& out) const;
  Next produce_whole(std::int64_t now_ns, std::string& out, std::vector<TokenMark>& marks);
  Next produce_stream(std::int64_t now_ns, std::string& out, std::vector<TokenMark>& marks);
  Next finish_stream(std::string& out) const;
  Next at_fault(std::string& out);

  std::string whole_body();
  void append_head(std::string& out) const;
  void append_token(std::string& out);
  void append_chunk(std::string& out, std::string_view bytes) const;
  void append_delta(std::string& out);

  std::int64_t due_ns(std::uint64_t token) const noexcept;
  std::uint64_t tokens_due(std::int64_t now_ns) const noexcept;

  ChatCall call_;
  const AnswerFormat& format_;
  AnswerText text_;
  std::uint64_t number_;
  std::int64_t first_ns_;  // when the first token is due
  int status_ = 200;
  bool keep_alive_;
  bool chunked_;
  bool head_sent_ = false;
  bool opening_sent_ = false;
  std::uint64_t produced_ = 0;
  std::uint64_t fault_at_ = 0;  // produced tokens at which a fault in mid-stream happens; 0: none
  DeltaFrame frame_;
  std::vector<std::string> deltas_;  // of a dictated answer: each counts as a token
};

}  // namespace standin
