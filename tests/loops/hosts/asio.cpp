#include "loops/hosts/asio_host.hpp"

#include <agentcore/adapters/asio.hpp>

#include <asio/steady_timer.hpp>

std::unique_ptr<loops_test::HostLoop> loops_test::make_host_loop() {
  return std::make_unique<AsioHost<asio::io_context, asio::steady_timer, agentcore::adapters::AsioLoop>>();
}
