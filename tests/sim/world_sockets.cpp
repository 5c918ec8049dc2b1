// The sockets of a console and of models over HTTP: which calls fail, and what must work after that.
#include "sim/world.hpp"
#include "sim/world_run.hpp"

namespace agentcore::sim {

void World::begin_sockets(const Faults& faults) {
  SocketFaults& calls = network_->faults;
  calls.sockets = Failing(faults[FailedCall::socket]);
  calls.transfers = Failing(faults[FailedCall::transfer]);
  calls.note = [this](const std::string& what) { counts_.add(what); };
}

bool World::act_on_sockets(const Command& command) {
  if (command.act != Act::socket_fails) return false;
  const bool has_sockets = !is_real() && (run_->console || run_->http);
  note(command, has_sockets ? "done" : "no sockets");
  if (has_sockets && !healed_)
    network_->faults.fail_next(SocketFault(command.n[0] % socket_fault_count), 1 + command.n[1] % 3);
  return true;
}

// Faults have ceased: a connection that is made now must be accepted before the run is over.
void World::knock_at_console() {
  network_->faults.calm();
  network_->faults.sockets.end();
  network_->faults.transfers.end();
  if (run_->console) static_cast<void>(clients_network().connect_client());
}

void World::check_listener() {
  if (run_->console)
    verdict_.require(clients_network().waiting() == 0, "console",
                     "the console accepts no connection any more");
}

}  // namespace agentcore::sim
