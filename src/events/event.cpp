#include <agentcore/event.hpp>

namespace agentcore {

const Agent& Event::agent() const noexcept {
  return std::visit([](const auto& of_kind) -> const Agent& { return of_kind.agent; }, body);
}

}  // namespace agentcore
