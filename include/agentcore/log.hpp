// Structured log records. The library prints nothing; the host hands in a sink and decides.
#pragma once

#include <functional>
#include <span>
#include <string_view>

namespace agentcore {

enum class LogLevel : unsigned char { debug, info, warning, error };

std::string_view to_string(LogLevel level) noexcept;

struct LogField {
  std::string_view key;
  std::string_view value;
};

// One record. Everything in it is valid only during the call of the sink. Never holds a secret.
struct LogRecord {
  LogLevel level = LogLevel::info;
  std::string_view message;
  std::span<const LogField> fields;
};

// Called on the loop thread. What it throws is swallowed: there is nobody left to tell.
using LogSink = std::function<void(const LogRecord&)>;

}  // namespace agentcore
