// Failure: why the program cannot do what it was asked for.
#pragma once

#include <agentcore/error.hpp>

#include <stdexcept>
#include <string>
#include <utility>

namespace store_tool {

// The exit codes.
inline constexpr int exit_ok = 0;
inline constexpr int exit_check_failed = 1;
inline constexpr int exit_error = 2;

// what() has what happened, where, and what to change; it is not yet safe for a terminal.
class Failure : public std::runtime_error {
 public:
  Failure(agentcore::Errc code, const std::string& text) : std::runtime_error(text), code_(code) {}
  explicit Failure(const agentcore::Error& error) : Failure(error.code, error.message) {}

  agentcore::Errc code() const noexcept { return code_; }

 private:
  agentcore::Errc code_;
};

// The value. Throws Failure if there is none.
template <typename T>
T value_of(agentcore::Result<T> result) {
  if (!result) throw Failure(result.error());
  return *std::move(result);
}

}  // namespace store_tool
