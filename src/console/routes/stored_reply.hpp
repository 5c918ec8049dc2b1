// reply_when_stored(): an answer that waits until what its request has changed is in the store.
#pragma once

#include "console/http/reply.hpp"
#include "console/http/response.hpp"
#include "loop/engine.hpp"

#include <agentcore/fwd.hpp>

#include <memory>
#include <optional>
#include <string>

namespace agentcore::detail::console {

// What an answer needs to wait for the store of a tree. It may outlive the console.
struct Storing {
  std::shared_ptr<loop::Engine> engine;
  AgentTree* tree = nullptr;                // null: the answer does not wait
  std::optional<std::string> stop_of = {};  // of core::when_stored()
};

// Sends `response`, whose body is a JSON object with members, when the store of the tree has what was changed
// so far. The body then has the member `persisted`: true, or false with `persistError` if the commit has
// failed, or takes more than a second. In a tree without a store, the answer is sent at once, without these
// members. Called while the tree exists. @loop_thread
void reply_when_stored(const Storing& storing, Reply&& reply, Response response);

}  // namespace agentcore::detail::console
