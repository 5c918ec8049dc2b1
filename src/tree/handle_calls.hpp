// How the functions of the handles, Agent and AgentTree, call those of the tree.
#pragma once

#include "core/agent_access.hpp"
#include "loop/engine.hpp"
#include "tree/agent_reads.hpp"
#include "tree/tree_core.hpp"

#include <type_traits>
#include <utility>

namespace agentcore::detail::tree {

// The result of a function that was not called: the handle is empty, or `wrong_thread`, a function of the
// loop thread, was called on another one.
template <typename Returned>
Returned refused(const char* wrong_thread = nullptr) {
  constexpr const char* empty = "the Agent handle is empty; get one from AgentTree::create() or find()";
  const Errc reason = wrong_thread ? Errc::wrong_thread : Errc::agent_not_found;
  if constexpr (std::is_base_of_v<VerbResult, Returned>) {
    return Returned{VerbResult::refused(reason)};
  } else if constexpr (std::is_constructible_v<Returned, Error>) {
    return wrong_thread ? loop::wrong_thread(wrong_thread) : Error{reason, empty};
  } else {
    return Returned{reason};
  }
}

// function(tree, arguments...), unless the handle is empty: then `core` is null.
template <typename Function, typename... Arguments>
auto on_any_thread(TreeCore* core, Function&& function, Arguments&&... arguments) {
  using Returned = std::invoke_result_t<Function, TreeShared&, Arguments...>;
  return core ? function(core->shared(), std::forward<Arguments>(arguments)...) : refused<Returned>();
}

// The same on the loop thread only. `name`: of the function, as the host knows it.
template <typename Function, typename... Arguments>
auto on_loop_thread(TreeCore* core, const char* name, Function&& function, Arguments&&... arguments) {
  if (core && core->shared().refuses_thread(name))
    return refused<std::invoke_result_t<Function, TreeShared&, Arguments...>>(name);
  return on_any_thread(core, std::forward<Function>(function), std::forward<Arguments>(arguments)...);
}

// The same for function(tree, id, arguments...), which reads something of an agent. Returns a Result, which
// says so if the agent or the Runtime does not exist any more.
template <typename Function, typename... Arguments>
auto read(const Agent& agent, const char* name, Function&& function, Arguments&&... arguments) {
  using Value = std::invoke_result_t<Function, TreeShared&, core::NodeId, Arguments...>;
  using Returned = std::conditional_t<std::is_constructible_v<Value, Error>, Value, Result<Value>>;
  const core::NodeId id = core::AgentAccess::node(agent);
  return on_loop_thread(core::AgentAccess::core(agent), name, [&](TreeShared& tree) -> Returned {
    if (const Result<AgentState> state = state_of(tree, id); !state) return state.error();
    return function(tree, id, std::forward<Arguments>(arguments)...);
  });
}

}  // namespace agentcore::detail::tree
