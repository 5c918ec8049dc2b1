// BoostAsioLoop: drives a Runtime from the event loop of Boost.Asio (1.74 or newer).
#pragma once

#include <agentcore/adapters/basic_asio_loop.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/system/error_code.hpp>

namespace agentcore::adapters {

/// Drives a Runtime from a boost::asio::io_context; for standalone Asio: asio.hpp.
///
///     boost::asio::io_context context;
///     agentcore::Runtime runtime;
///     agentcore::adapters::BoostAsioLoop attached{context, runtime};
///     context.run();
///
/// Threads, errors and lifetimes: see BasicAsioLoop.
using BoostAsioLoop = BasicAsioLoop<boost::asio::posix::stream_descriptor, boost::system::error_code>;

}  // namespace agentcore::adapters
