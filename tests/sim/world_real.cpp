// A World with real sockets, a real poller and a real file: what is on its way there takes real time.
#include "sim/world.hpp"
#include "sim/world_run.hpp"

#include <poll.h>

namespace agentcore::sim {
namespace {

bool is_readable(int descriptor, int most) {
  pollfd watched{descriptor, POLLIN, 0};
  return ::poll(&watched, 1, most) > 0;
}

}  // namespace

bool World::is_io_ready() {
  return is_real() ? is_readable(run_->runtime.poll_descriptor(), 0) : network_->is_ready();
}

ClientNetwork& World::clients_network() {
  if (wire_clients_) return *wire_clients_;
  return *network_;
}

bool World::serve() {
  return run_->http && run_->http->wire() != nullptr && run_->http->wire()->serve();
}

// True: there is more to do. What the kernel carries from one socket to the other is read after a moment.
bool World::wait_for_system() {
  if (!run_->http || run_->http->wire() == nullptr || run_->http->wire()->is_settled()) return false;
  static_cast<void>(is_readable(run_->runtime.poll_descriptor(), 1));
  return true;
}

}  // namespace agentcore::sim
