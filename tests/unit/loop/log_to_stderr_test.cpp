// The sink that writes log records to standard error.
#include "support/catch.hpp"

#include <agentcore/agentcore.hpp>

#include <array>
#include <cstdio>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <unistd.h>

using namespace agentcore;

namespace {

// What the process writes to standard error while this object exists, at most what a pipe holds (64 KiB).
class CapturedStderr {
 public:
  CapturedStderr() {
    std::fflush(stderr);
    REQUIRE(::pipe2(ends_.data(), O_CLOEXEC | O_NONBLOCK) == 0);
    saved_ = ::dup(STDERR_FILENO);
    ::dup2(ends_[1], STDERR_FILENO);
  }
  ~CapturedStderr() {
    ::dup2(saved_, STDERR_FILENO);
    for (const int descriptor : {saved_, ends_[0], ends_[1]}) ::close(descriptor);
  }
  CapturedStderr(const CapturedStderr&) = delete;
  CapturedStderr& operator=(const CapturedStderr&) = delete;

  // What was written since the last call.
  std::string take() const {
    std::string text;
    std::array<char, 4096> bytes{};
    for (ssize_t size; (size = ::read(ends_[0], bytes.data(), bytes.size())) > 0;)
      text.append(bytes.data(), static_cast<std::size_t>(size));
    return text;
  }

 private:
  std::array<int, 2> ends_{-1, -1};
  int saved_ = -1;
};

// What the sink writes for one record.
std::string written(const LogSink& sink, LogLevel level, std::string_view message,
                    std::initializer_list<LogField> fields = {}) {
  const CapturedStderr captured;
  sink({level, message, {fields.begin(), fields.size()}});
  return captured.take();
}

// What the sink writes for a value, without the text around it.
std::string written_value(std::string_view value) {
  const std::string line = written(log_to_stderr(), LogLevel::info, "m", {{"k", value}});
  const std::string before = "agentcore info: m k=\"", after = "\"\n";
  REQUIRE(line.starts_with(before));
  REQUIRE(line.ends_with(after));
  return line.substr(before.size(), line.size() - before.size() - after.size());
}

}  // namespace

TEST_CASE("a record is one line: level, message, quoted fields", "[loop][log][G16]") {
  const LogSink sink = log_to_stderr();
  CHECK(written(sink, LogLevel::info, "a model call was aborted") ==
        "agentcore info: a model call was aborted\n");
  CHECK(written(sink, LogLevel::error, "a callback threw",
                {{"callback", "an observer"}, {"exception", "no \"such\" file"}, {"path", "C:\\x"}}) ==
        "agentcore error: a callback threw callback=\"an observer\" exception=\"no \\\"such\\\" file\" "
        "path=\"C:\\\\x\"\n");
}

TEST_CASE("records below the least level are not written", "[loop][log]") {
  CHECK(written(log_to_stderr(), LogLevel::debug, "m").empty());
  CHECK(written(log_to_stderr(LogLevel::debug), LogLevel::debug, "m") == "agentcore debug: m\n");
  CHECK(written(log_to_stderr(LogLevel::error), LogLevel::warning, "m").empty());
  CHECK(written(log_to_stderr(LogLevel::error), LogLevel::error, "m") == "agentcore error: m\n");
}

TEST_CASE("no text begins a line of its own or controls the terminal", "[loop][log][G16]") {
  CHECK(written_value("a\nagentcore error: forged\r\t") == "a\\nagentcore error: forged\\r\\t");
  CHECK(written_value("\x1b[2J\x07\x7f") == "\\u001b[2J\\u0007\\u007f");
  CHECK(written_value(std::string_view("a\0b", 3)) == "a\\u0000b");
  CHECK(written_value("\xc2\x9b"
                      "2J\xc2\x85") == "\\u009b2J\\u0085");                             // C1: CSI, NEL
  CHECK(written_value("\xe2\x80\xa8\xe2\x80\xa9") == "\\u2028\\u2029");                 // line separators
  CHECK(written_value("\xe2\x80\xae\xe2\x81\xa6\xd8\x9c") == "\\u202e\\u2066\\u061c");  // direction
  CHECK(written_value("\xff"
                      "a\xc3") ==
        "\xef\xbf\xbd"
        "a\xef\xbf\xbd");
  CHECK(written(log_to_stderr(), LogLevel::info, "a\nb", {{"k\x1b", ""}}) ==
        "agentcore info: a\\nb k\\u001b=\"\"\n");
}

TEST_CASE("other text is written as it is", "[loop][log]") {
  const std::string text =
      "caf\xc3\xa9 \xd0\xb6 \xe6\xb5\x9c\xe8\xbe\xb9 \xf0\x9f\x8c\x8a \xc2\xa0\xe2\x80\xa7\xe2\x81\xa5";
  CHECK(written_value(text) == text);
}

TEST_CASE("a Runtime with this sink reports a callback that throws and prints nothing without a sink",
          "[loop][log][G16]") {
  const CapturedStderr captured;
  Runtime runtime{{.log = log_to_stderr()}};
  runtime.post([] { throw std::runtime_error("first\nsecond"); });
  runtime.poll();
  CHECK(captured.take() ==
        "agentcore error: a callback threw callback=\"a posted function\" exception=\"first\\nsecond\"\n");
  Runtime silent;
  silent.post([] { throw std::runtime_error("x"); });
  silent.poll();
  CHECK(captured.take().empty());
}
