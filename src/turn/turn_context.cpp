#include "turn/turn_context.hpp"

#include "core/text_hash.hpp"
#include "tools/registry.hpp"

#include <new>
#include <optional>
#include <utility>

namespace agentcore::detail::turn {

void use_tools(const AgentSpec& spec, const std::shared_ptr<loop::Engine>& engine) noexcept {
  if (spec.tools) spec.tools->impl().use(engine);
}

std::string TurnContext::name_of(const core::Node& node) const noexcept {
  try {
    return table.names().name_of(node, node.id());
  } catch (const std::bad_alloc&) {
    return {};
  }
}

const std::string& TurnContext::own_identity() {
  if (!identity.empty()) return identity;
  return identity = core::random_digits();
}

void TurnContext::log(LogLevel level, std::string_view message,
                      std::initializer_list<LogField> fields) noexcept {
  hub.porch.log(level, message, fields);
}

void TurnContext::follow_up(const core::Node& node, std::uint64_t turn, ToolRegistry& tools,
                            const CallNames& call, ToolResult& result) {
  const std::optional<WindowCloseReason> closed =
      tools.impl().follow_up(engine, hub.handle(node), call.window_id, call.tool, result);
  if (!closed || hub.closed()) return;
  hub.emit(node, [&](Agent agent) {
    return WindowClosed{std::move(agent), turn, call.id, call.window_id, *closed};
  });
}

void TurnContext::discard(const core::Node& node, std::uint64_t turn, std::size_t deltas, LateResult kind,
                          DiscardReason reason) noexcept {
  if (cuts) cuts->note_discarded(node, deltas);
  log(LogLevel::debug, "late result discarded",
      {{"agent", name_of(node)}, {"kind", to_string(kind)}, {"reason", to_string(reason)}});
  hub.emit(node, [&](Agent agent) { return Discarded{std::move(agent), turn, deltas, kind, reason}; });
}

void TurnContext::drop_outgoing(ActiveTurn& active) noexcept {
  if (!active.outgoing) return;
  operations.close(std::exchange(active.operation, {}));
  active.outgoing.reset();
}

void TurnContext::emit_turn_ended(const core::Node& node, std::uint64_t turn, MessageId message,
                                  const std::shared_ptr<const TurnResult>& result) noexcept {
  ended_turns.add(message, node.id(), turn, result);
  if (hub.changes) [[unlikely]]
    hub.changes->on_turn_ended(node, message);
  hub.emit(node, [&](Agent agent) { return TurnEnded{std::move(agent), turn, message, result}; });
}

}  // namespace agentcore::detail::turn
