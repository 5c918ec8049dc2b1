// The error of a function of the loop thread that was called on another thread (Engine::refuses_thread).
#pragma once

#include <agentcore/error.hpp>

#include <string>

namespace agentcore::detail::loop {

inline Error wrong_thread(const char* function) {
  return {Errc::wrong_thread,
          std::string(function) +
              "() was called on another thread than that of the loop; call it in a function "
              "that you pass to Runtime::post()"};
}

}  // namespace agentcore::detail::loop
