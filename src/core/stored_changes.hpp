// when_stored(): reports when the changes of a tree are in its store, for the console.
#pragma once

#include "core/internal_api.hpp"

#include <agentcore/error.hpp>
#include <agentcore/fwd.hpp>

#include <functional>
#include <optional>
#include <string>

namespace agentcore::detail::core {

// Makes everything due that was changed in `tree` before this call, whatever RestoreOptions::durability is:
// the end of the present poll, or of the next one, commits it. Calls `done` once on the loop thread: when the
// commit that has these changes is in the store, or with the error of that commit, which is tried again. If
// the tree is destroyed first, `done` may be destroyed without a call. It must not call code of the host.
//
// `stop_of`: what was changed is a stop or delete of the agent with that id ("": of all agents). A store that
// is full takes it before everything else, and then `done` is called, too.
//
// False: the tree has no store, and `done` is not called. Throws std::bad_alloc; then nothing is due, and
// `done` is not called. Defined in src/tree. @loop_thread
AGENTCORE_INTERNAL_API bool when_stored(AgentTree& tree, std::function<void(const Result<void>&)> done,
                                        std::optional<std::string> stop_of = {});

}  // namespace agentcore::detail::core
