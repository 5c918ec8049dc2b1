#include "core/code_points.hpp"
#include "core/utf8.hpp"

#include <agentcore/log.hpp>

#include <cstdio>
#include <string>
#include <string_view>

namespace agentcore {

namespace {

void append_escape(std::string& line, char32_t code_point) {
  if (code_point == '\n')
    line += "\\n";
  else if (code_point == '\r')
    line += "\\r";
  else if (code_point == '\t')
    line += "\\t";
  else
    detail::core::append_escape(line, code_point);
}

// Appends `text` so that it stays within its line, and within its quotes.
void append_escaped(std::string& line, std::string_view text) {
  const std::string valid = detail::core::valid_utf8(text);
  for (std::string_view left = valid; !left.empty();) {
    const std::string_view before = left;
    const char32_t code_point = detail::core::take_code_point(left);
    if (code_point == '"' || code_point == '\\')
      (line += '\\') += static_cast<char>(code_point);
    else if (detail::core::is_unsafe_to_show(code_point))
      append_escape(line, code_point);
    else
      line += before.substr(0, before.size() - left.size());
  }
}

std::string line_of(const LogRecord& record) {
  std::string line = "agentcore ";
  line.append(to_string(record.level)).append(": ");
  append_escaped(line, record.message);
  for (const LogField& field : record.fields) {
    line += ' ';
    append_escaped(line, field.key);
    line += "=\"";
    append_escaped(line, field.value);
    line += '"';
  }
  line += '\n';
  return line;
}

}  // namespace

LogSink log_to_stderr(LogLevel at_least) {
  return [at_least](const LogRecord& record) {
    if (record.level < at_least) return;
    const std::string line = line_of(record);
    std::fwrite(line.data(), 1, line.size(), stderr);
  };
}

}  // namespace agentcore
