// For hosts that use no exceptions: what a constructor or a function of the library throws, as an Error.
#pragma once

#include <agentcore/error.hpp>

#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

namespace agentcore::detail::core {

// Calls `function`, which returns a Result and throws nothing but the following. Errors: invalid_config with
// the text of an std::invalid_argument; out_of_memory with the text of an std::system_error, which says that
// the system has no thread or descriptor left, and for std::bad_alloc.
template <typename Function>
auto without_exceptions(Function&& function) -> decltype(function()) {
  try {
    try {
      return std::forward<Function>(function)();
    } catch (const std::invalid_argument& error) {
      return Error{Errc::invalid_config, error.what()};
    } catch (const std::system_error& error) {
      return Error{Errc::out_of_memory, error.what()};
    }
  } catch (const std::bad_alloc&) {                      // of `function`, or for the text of an error
    return Error{Errc::out_of_memory, "out of memory"};  // a short text: no allocation
  }
}

// A T made of these arguments.
template <typename T, typename... Arguments>
Result<std::unique_ptr<T>> make(Arguments&&... arguments) {
  return without_exceptions([&]() -> Result<std::unique_ptr<T>> {
    return std::make_unique<T>(std::forward<Arguments>(arguments)...);
  });
}

}  // namespace agentcore::detail::core
