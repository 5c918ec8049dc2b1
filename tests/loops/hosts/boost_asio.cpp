#include "loops/hosts/asio_host.hpp"

#include <agentcore/adapters/boost_asio.hpp>

#include <boost/asio/steady_timer.hpp>

std::unique_ptr<loops_test::HostLoop> loops_test::make_host_loop() {
  using Host =
      AsioHost<boost::asio::io_context, boost::asio::steady_timer, agentcore::adapters::BoostAsioLoop>;
  return std::make_unique<Host>();
}
