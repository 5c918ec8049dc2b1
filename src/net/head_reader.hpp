// HeadReader: takes status and content type from the header lines of an answer.
#pragma once

#include <string>
#include <string_view>

namespace agentcore::net {

// Fed line by line, as libcurl delivers them. Interim answers (1xx) are passed over.
class HeadReader {
 public:
  // One line, with its line end. True with the empty line that ends the head of the final answer.
  bool read(std::string_view line);

  int status() const noexcept { return status_; }
  // Lower case, without parameters; empty when the answer named none.
  const std::string& content_type() const noexcept { return content_type_; }

 private:
  int status_ = 0;
  std::string content_type_;
};

}  // namespace agentcore::net
