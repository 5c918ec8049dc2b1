// Generator: the Script of a seed. Each seed switches features on and off and prefers other commands (swarm).
#pragma once

#include "sim/command.hpp"

#include <cstdint>

namespace agentcore::sim {

Script script_of_seed(std::uint64_t seed);
// How many values a knob has in the runs of seeds and of a fuzzer; 1: it keeps its plain one.
std::uint32_t choices_of(Knob knob);
// Not those that end a run or drive the loop by themselves.
bool may_be_in_callback(Act act);

}  // namespace agentcore::sim
