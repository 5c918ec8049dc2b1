// AsioLoop: drives a Runtime from the event loop of standalone Asio (1.18 or newer).
#pragma once

#include <agentcore/adapters/basic_asio_loop.hpp>

#include <asio/error_code.hpp>
#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>

namespace agentcore::adapters {

/// Drives a Runtime from an asio::io_context; for Boost.Asio: boost_asio.hpp.
///
///     asio::io_context context;
///     agentcore::Runtime runtime;
///     agentcore::adapters::AsioLoop attached{context, runtime};
///     context.run();
///
/// Threads, errors and lifetimes: see BasicAsioLoop.
using AsioLoop = BasicAsioLoop<asio::posix::stream_descriptor, asio::error_code>;

}  // namespace agentcore::adapters
