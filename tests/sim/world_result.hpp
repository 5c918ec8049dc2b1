// How a World notes what a verb has returned.
#pragma once

#include "sim/world.hpp"
#include "support/observe/host_code.hpp"

#include <string>

namespace agentcore::sim {

template <typename R>
void World::note_result(const Command& command, const R& result) {
  test::runs_host_code = true;
  if constexpr (requires { result.status; }) {
    const std::string why = result.reason == Errc::none ? "" : ' ' + std::string(to_string(result.reason));
    note(command, std::string(to_string(result.status)) + why);
    // All verbs are called on the loop thread.
    verdict_.require(result.quiet, "G1", std::string(to_string(command.act)) + " is not quiet");
  } else if constexpr (requires { result.reason; }) {
    note(command, result.accepted() ? "done" : "refused " + std::string(to_string(result.reason)));
  } else {
    note(command, result ? "done" : "refused " + std::string(to_string(result.error().code)));
  }
}

}  // namespace agentcore::sim
