// HeadReader: takes what matters from the header lines of an answer.
#pragma once

#include "net/transport.hpp"

#include <string_view>

namespace agentcore::net {

// Fed line by line, as libcurl delivers them. Interim answers (1xx) are passed over.
class HeadReader {
 public:
  // One line, with its line end. True with the empty line that ends the head of the final answer.
  bool read(std::string_view line);

  int status() const noexcept { return head_.status; }
  const HttpHead& head() const noexcept { return head_; }
  // Whether it announces a body of more than 2^63 - 1 bytes. libcurl reads such a one until the connection
  // closes, and takes what came by then for all of it.
  bool has_absurd_length() const noexcept { return has_absurd_length_; }

 private:
  HttpHead head_;
  bool has_absurd_length_ = false;
};

}  // namespace agentcore::net
