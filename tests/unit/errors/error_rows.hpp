// The table of errors: what provokes an error of the public API, its code, and its whole text. Each area has
// a function that provokes its errors and returns its rows.
#pragma once

#include "support/catch.hpp"

#include <agentcore/error.hpp>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace agentcore::test {

struct ErrorRow {
  std::string cause;  // what provokes the error
  Error error;        // what the library returned
  Errc code;          // what it must return
  std::string text;
};

using ErrorRows = std::vector<ErrorRow>;

ErrorRows tree_errors();
ErrorRows spec_errors();
ErrorRows function_errors();
ErrorRows turn_errors();
ErrorRows client_errors();
ErrorRows router_errors();
ErrorRows http_option_errors();
ErrorRows http_request_errors();
ErrorRows http_answer_errors();
ErrorRows transfer_errors();
ErrorRows tool_errors();
ErrorRows history_errors();
ErrorRows recording_errors();
ErrorRows store_errors();
ErrorRows receipt_errors();

inline void check(const ErrorRows& rows) {
  for (const ErrorRow& row : rows) {
    INFO(row.cause);
    CHECK(to_string(row.error.code) == to_string(row.code));
    CHECK(row.error.message == row.text);
  }
}

// The text of the std::invalid_argument that `function` throws, as an error without a code.
template <typename Function>
Error thrown_by(Function&& function) {
  try {
    function();
  } catch (const std::invalid_argument& error) {
    return {Errc::none, error.what()};
  }
  return {Errc::none, "nothing was thrown"};
}

}  // namespace agentcore::test
