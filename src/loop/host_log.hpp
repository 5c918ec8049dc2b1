// HostLog: the log sink of the host.
#pragma once

#include "core/internal_api.hpp"
#include "core/mutex.hpp"
#include "loop/loop_state.hpp"

#include <agentcore/log.hpp>

#include <initializer_list>
#include <string_view>
#include <utility>

namespace agentcore::detail::loop {

// Calls the log sink. The sink may close the engine, and so destroy itself: it is kept until it has returned.
// @loop_thread
class AGENTCORE_INTERNAL_API HostLog {
 public:
  HostLog(const LoopState& state, LogSink sink) : state_(state), sink_(std::move(sink)) {}

  // Passes one record to the sink. No effect while the sink runs, after the engine was closed, and without a
  // sink. An exception of the sink is dropped.
  void write(LogLevel level, std::string_view message,
             std::initializer_list<LogField> fields) noexcept AGENTCORE_RUNS_HOST_CODE;

  // The engine is closed: releases the sink, or leaves that to write() if the sink is running.
  void close();

 private:
  const LoopState& state_;
  LogSink sink_;
  bool writing_ = false;
};

}  // namespace agentcore::detail::loop
