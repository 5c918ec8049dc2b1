// HeadReader: reads the header lines of an answer.
#pragma once

#include "net/transport.hpp"

#include <string_view>

namespace agentcore::detail::net {

// Receives line by line, as libcurl delivers them. Interim answers (1xx) are skipped.
class HeadReader {
 public:
  // Takes one line, with its line end. True with the empty line that ends the head of the final answer.
  bool read(std::string_view line);

  int status() const noexcept { return head_.status; }
  const HttpHead& head() const noexcept { return head_; }
  // True if the head announces a body of more than 2^63 - 1 bytes. libcurl would read such a body until the
  // connection closes, and treat the bytes received by then as the complete body.
  bool has_absurd_length() const noexcept { return has_absurd_length_; }

 private:
  HttpHead head_;
  bool has_absurd_length_ = false;
};

}  // namespace agentcore::detail::net
