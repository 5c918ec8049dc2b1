// Structured log records. The library prints nothing unless the host provides a sink.
#pragma once

#include <agentcore/export.hpp>

#include <functional>
#include <span>
#include <string_view>

namespace agentcore {

/// The severity of a log record, in rising order.
enum class LogLevel : unsigned char { debug, info, warning, error };

/// The name of the enumerator: "debug", "info", "warning" or "error".
AGENTCORE_API std::string_view to_string(LogLevel level) noexcept;

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
///     options.log = [&lines](const agentcore::LogRecord& record) {
///       lines.emplace_back(record.message);
///     };
///     agentcore::Runtime runtime{options};
///
/// A sink that is ready for use: log_to_stderr().
using LogSink = std::function<void(const LogRecord&)>;

/// Returns a sink that writes the records of level `at_least` and above to the standard error of the process:
///
///     agentcore::Runtime runtime{{.log = agentcore::log_to_stderr()}};
///
/// One line for each record: the level, the message and the fields.
///
///     agentcore error: a callback threw callback="an observer" exception="no such file"
///
/// A value is quoted as in JSON. In all texts the control characters, the line separators of Unicode and the
/// characters that change the direction of text are written as escapes (\n, \u001b), and broken UTF-8 is
/// replaced by U+FFFD. So a text that comes from a model can neither begin a line of its own nor control a
/// terminal.
///
/// Each line is written with one call of std::fwrite(). If the reader of standard error does not read, the
/// call blocks, and with it the loop.
/// @threadsafe
AGENTCORE_API LogSink log_to_stderr(LogLevel at_least = LogLevel::info);

}  // namespace agentcore
