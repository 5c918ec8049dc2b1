// contain: runs the host's code, and reports its exception.
#pragma once

#include "core/mutex.hpp"
#include "loop/engine.hpp"

#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace agentcore::detail::tools {

// The text of the exception of `function`; nothing if it returned. It is logged, too (G16).
template <typename Function>
std::optional<std::string> contain(loop::Engine& engine, std::string_view what,
                                   Function&& function) noexcept AGENTCORE_RUNS_HOST_CODE {
  std::optional<std::string> thrown;
  const bool returned = engine.guarded(what, [&] {
    try {
      std::forward<Function>(function)();
    } catch (const std::exception& error) {
      thrown = error.what();
      throw;
    } catch (...) {
      thrown = "an exception that is no std::exception";
      throw;
    }
  });
  if (!returned && !thrown) thrown.emplace();  // no memory for the text of the exception
  return thrown;
}

}  // namespace agentcore::detail::tools
