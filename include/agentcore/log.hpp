// Structured log records. The library prints nothing: the host provides a sink.
#pragma once

#include <functional>
#include <span>
#include <string_view>

namespace agentcore {

/// The severity of a log record, in rising order.
enum class LogLevel : unsigned char { debug, info, warning, error };

/// The name of the enumerator: "debug", "info", "warning" or "error".
std::string_view to_string(LogLevel level) noexcept;

/// One named value of a log record.
struct LogField {
  std::string_view key;    ///< the name, e.g. "agent"
  std::string_view value;  ///< the value as text
};

/// One log record. All of its data is valid only during the call of the sink. Never contains a secret.
struct LogRecord {
  LogLevel level = LogLevel::info;   ///< the severity
  std::string_view message;          ///< the text, without the values of `fields`
  std::span<const LogField> fields;  ///< named values that belong to the message
};

/// Receives the log records of a Runtime (RuntimeOptions::log). Called on the loop thread. Exceptions of the
/// sink are ignored, because no receiver is left for them. Records that the library writes while the sink
/// runs are dropped.
///
///     agentcore::RuntimeOptions options;
///     options.log = [](const agentcore::LogRecord& record) {
///       std::fprintf(stderr, "%.*s\n", static_cast<int>(record.message.size()), record.message.data());
///     };
///     agentcore::Runtime runtime{options};
using LogSink = std::function<void(const LogRecord&)>;

}  // namespace agentcore
