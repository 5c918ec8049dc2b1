// ParsedRecord: the JSON object of a record.
#pragma once

#include <string_view>

#include <nlohmann/json.hpp>

namespace agentcore::detail::persist {

using nlohmann::json;

// The destructor of a JSON value with members allocates, so that a failed allocation in it ends the process.
// A ParsedRecord takes its value apart before it is destroyed, also if the text could be read only in part.
class ParsedRecord {
 public:
  // Throws std::bad_alloc, and json::exception if the text is no JSON object, or nested so deep that to write
  // it would overflow the stack.
  explicit ParsedRecord(std::string_view text);

  const json& operator*() const noexcept { return root_.value; }

 private:
  struct Root {
    Root() = default;
    ~Root();
    Root(const Root&) = delete;
    Root& operator=(const Root&) = delete;

    json value;
  };

  Root root_;
};

}  // namespace agentcore::detail::persist
