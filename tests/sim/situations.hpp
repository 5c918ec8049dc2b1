// Situations: scripts that begin by bringing an agent to a certain wait, and do something there.
#pragma once

#include "sim/command.hpp"
#include "sim/random.hpp"
#include "sim/waits.hpp"

namespace agentcore::sim {

// Commands after which the first agent waits for that, in most setups. What they need of the setup is set.
void add_way_to(Wait wait, Script& script, Random& random);
// One to three verbs there, perhaps in a callback or during a fault, and perhaps the end of the process.
void add_verbs(Script& script, Random& random);

}  // namespace agentcore::sim
