// Generator: the Script of a seed. Each seed switches features on and off and prefers other commands (swarm).
#pragma once

#include "sim/command.hpp"

#include <cstdint>

namespace agentcore::sim {

Script script_of_seed(std::uint64_t seed);

}  // namespace agentcore::sim
