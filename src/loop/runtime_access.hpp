// engine_of(): the engine of a Runtime, for the other parts of the library.
#pragma once

#include <agentcore/runtime.hpp>

#include <memory>

namespace agentcore::detail::loop {

struct RuntimeAccess {
  static const std::shared_ptr<Engine>& engine(const Runtime& runtime) noexcept { return runtime.engine_; }
};

// Never null. @threadsafe
inline const std::shared_ptr<Engine>& engine_of(const Runtime& runtime) noexcept {
  return RuntimeAccess::engine(runtime);
}

}  // namespace agentcore::detail::loop
